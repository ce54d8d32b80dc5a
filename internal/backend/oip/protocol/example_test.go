package protocol_test

import (
	"bytes"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func ExampleRequestJSON() {
	image := tensor.Of([]float32{0.5, 1}, 1, 2)
	head := protocol.Head{ID: "7", Tensors: []protocol.Spec{{Name: "image", Type: image.Type, Shape: image.Shape}}, Wanted: []string{"class"}}
	for _, form := range []protocol.Form{protocol.JSON, protocol.Binary} {
		text, err := protocol.RequestJSON(&head, []tensor.Tensor{image}, form)
		fmt.Println(string(text), err)
	}
	// Output:
	// {"id":"7","inputs":[{"name":"image","datatype":"FP32","shape":[1,2],"data":[0.5,1]}],"outputs":[{"name":"class","parameters":{"binary_data":false}}]} <nil>
	// {"id":"7","inputs":[{"name":"image","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}],"outputs":[{"name":"class","parameters":{"binary_data":true}}],"parameters":{"binary_data_output":true}} <nil>
}

func ExampleFromRequestJSON() {
	text := `{"inputs":[{"name":"ids","datatype":"INT64","shape":[1,3],"data":[[1,2,3]]},{"name":"mask","datatype":"UINT8","shape":[1,3],"parameters":{"binary_data_size":3}}]}`
	request, err := protocol.FromRequestJSON([]byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(request.Tensors, request.BinarySize(), "bytes follow")
	place := func(_ int, s protocol.Spec) (tensor.Tensor, error) { return tensor.New(s.Type, s.Shape...), nil }
	list, err := request.Read(bytes.NewReader([]byte{1, 1, 0}), place)
	fmt.Println(tensor.Data[int64](list[0]), tensor.Data[uint8](list[1]), err)
	// Output:
	// [ids INT64[1 3] mask UINT8[1 3]] 3 bytes follow
	// [1 2 3] [1 1 0] <nil>
}
