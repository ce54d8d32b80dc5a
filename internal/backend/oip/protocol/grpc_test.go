package protocol

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/mlperf-go/mlperf/internal/backend/oip/pb"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// What protoc writes (--encode) by the .proto files of KServe (open-inference-protocol d49cc23) and Triton (common 83adf7c).
const (
	tritonRequest = "0a016d1201321a0171220e0a087072696f72697479120210012a2b0a01781204465033321a02010422080a017012031a01762a1232100000c03f000000c0000040400000" +
		"80402a140a016b120555494e54381a01022a05220307ff012a110a01621204424f4f4c1a01012a030a01012a130a0173120542595445531a01012a0442026869" +
		"32160a017912110a0b62696e6172795f6461746112020801"
	kserveRequest    = "0a016d1a01712a0d0a01781204465033321a02010232030a01793a080000c03f000000c0"
	tritonStream     = "123b0a016d1201311a0171221b0a15747269746f6e5f66696e616c5f726573706f6e7365120208012a0d0a01791205494e5431361a010232040100ffff"
	kserveModel      = "0a016d1201311201331a106f6e6e7872756e74696d655f6f6e6e7822160a01781204465033321a0bffffffffffffffffff01042a0d0a01791205494e5436341a0101"
	kserveServer     = "0a01731201321a01611a0162"
	tritonStatistics = "0a470a016d1201311881c8ec96e42e2008280432300a04080110021204080310041a04080510062204080710082a040809100a3204080b100c3a04080d100e4204080f10103a020802"
)

// decoded is a message of others.
func decoded[M proto.Message](t *testing.T, text string, m M) M {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err == nil {
		err = proto.Unmarshal(b, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// encodes checks that a message is written as others write it.
func encodes(t *testing.T, m proto.Message, want string) {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil || hex.EncodeToString(b) != want {
		t.Errorf("%T is written as %x, %v, want %s", m, b, err, want)
	}
}

func TestForeignMessages(t *testing.T) {
	d, err := FromRequestMessage(decoded(t, tritonRequest, &pb.ModelInferRequest{}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Read(nil, fresh)
	if err != nil {
		t.Fatal(err)
	}
	want := []tensor.Tensor{tensor.Of([]float32{1.5, -2, 3, 4}, 1, 4), tensor.Of([]uint8{7, 255}, 2), truth(1), tensor.OfStrings([]string{"hi"}, 1)}
	if diff := cmp.Diff(plain(want), plain(got)); diff != "" || d.Model != "m" || d.Version != "2" || d.ID != "q" || !cmp.Equal(d.Wanted, []string{"y"}) {
		t.Errorf("%+v (-want +got):\n%s", d.Head, diff)
	}
	x := tensor.Of([]float32{1.5, -2}, 1, 2)
	encodes(t, RequestMessage(&Head{Model: "m", ID: "q", Tensors: []Spec{{Name: "x", Type: x.Type, Shape: x.Shape}}, Wanted: []string{"y"}}, []tensor.Tensor{x}), kserveRequest)

	d, err = FromResponseMessage(decoded(t, tritonStream, &pb.ModelStreamInferResponse{}).InferResponse)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = d.Read(nil, fresh); err != nil || !cmp.Equal(plain(got), plain([]tensor.Tensor{tensor.Of([]int16{1, -1}, 2)})) || d.ID != "q" {
		t.Errorf("the answer is %+v %v, %v", d.Head, got, err)
	}

	about := &ModelMetadata{"m", []string{"1", "3"}, "onnxruntime_onnx", []Port{{"x", "FP32", []int64{-1, 4}}}, []Port{{"y", "INT64", []int64{1}}}}
	if got, err := FromModelMetadataMessage(decoded(t, kserveModel, &pb.ModelMetadataResponse{})); err != nil || cmp.Diff(about, got) != "" {
		t.Errorf("%v (-want +got):\n%s", err, cmp.Diff(about, got))
	}
	encodes(t, ModelMetadataMessage(about), kserveModel)
	encodes(t, &pb.ServerMetadataResponse{Name: "s", Version: "2", Extensions: []string{"a", "b"}}, kserveServer)

	stats := ModelStatistics{"m", "1", 1607439426561, 8, 4, InferenceSum{Sum{1, 2}, Sum{3, 4}, Sum{5, 6}, Sum{7, 8}, Sum{9, 10}, Sum{11, 12}, Sum{13, 14}, Sum{15, 16}}}
	m := decoded(t, tritonStatistics, &pb.ModelStatisticsResponse{})
	if diff := cmp.Diff(stats, FromStatisticsMessage(m.ModelStats[0])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.ModelStats[0] = StatisticsMessage(stats) // without what is not known here
	encodes(t, m, strings.Replace(strings.Replace(tritonStatistics, "0a47", "0a43", 1), "3a020802", "", 1))
}

func TestTensorsSurviveGRPC(t *testing.T) {
	names, list := everyType()
	half, err := tensor.FromBytes(tensor.Float16, []byte{1, 2, 3, 4}, 2)
	if err != nil {
		t.Fatal(err)
	}
	names, list = append(names, "half"), append(list, half)
	b, err := proto.Marshal(ResponseMessage(head(t, names, list), list))
	if err != nil {
		t.Fatal(err)
	}
	m := &pb.ModelInferResponse{}
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatal(err)
	}
	m.Outputs[0].Contents = &pb.InferTensorContents{} // as MLServer sends
	d, err := FromResponseMessage(m)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Read(nil, fresh)
	if diff := cmp.Diff(plain(list), plain(got)); err != nil || diff != "" || d.Model != "m" || d.Version != "1" || d.ID != "7" {
		t.Errorf("%+v, %v (-want +got):\n%s", d.Head, err, diff)
	}
}

func TestBadMessages(t *testing.T) {
	type input = pb.ModelInferRequest_InferInputTensor
	type contents = pb.InferTensorContents
	one := func(in *input, raw ...[]byte) *pb.ModelInferRequest {
		return &pb.ModelInferRequest{ModelName: "m", Inputs: []*input{in}, RawInputContents: raw}
	}
	text := func(name string) map[string]*pb.InferParameter {
		return map[string]*pb.InferParameter{name: {ParameterChoice: &pb.InferParameter_StringParam{StringParam: "x"}}}
	}
	a := func(datatype string, n int64, c *contents) *input {
		return &input{Name: "a", Datatype: datatype, Shape: []int64{n}, Contents: c}
	}
	typed := a("FP32", 1, &contents{Fp32Contents: []float32{1}})
	outputs := func(list ...*pb.ModelInferRequest_InferRequestedOutputTensor) *pb.ModelInferRequest {
		return &pb.ModelInferRequest{Outputs: list}
	}
	for _, c := range []struct {
		name    string
		request *pb.ModelInferRequest
		want    string
	}{
		{"bytes that do not fit", one(a("FP32", 2, nil), make([]byte, 4)), "has 4 bytes, expected 8"},
		{"an unknown type", one(a("FP8", 2, nil), make([]byte, 2)), "unknown datatype"},
		{"a negative extent", one(a("FP32", -2, nil), make([]byte, 8)), "negative extent"},
		{"both forms", one(typed, make([]byte, 4)), "beside raw contents"},
		{"neither form", one(a("FP32", 2, nil)), "tensor a FP32[2] has 0 elements, expected 2"},
		{"memory for elements that are not there", one(a("INT32", 1e9, &contents{IntContents: []int32{1, 2, 3}})), "has 3 elements, expected 1000000000"},
		{"more raw contents than tensors", one(typed, nil, nil), "2 pieces of raw contents"},
		{"a name twice", &pb.ModelInferRequest{Inputs: []*input{typed, typed}}, "two tensors"},
		{"contents of another type", one(a("INT64", 1, typed.Contents)), "has 0 elements, expected 1"},
		{"a number too large", one(a("INT8", 1, &contents{IntContents: []int32{128}})), "element 0 is 128, which is no INT8"},
		{"a number too small", one(a("INT16", 1, &contents{IntContents: []int32{-32769}})), "element 0 is -32769, which is no INT16"},
		{"a count too large", one(a("UINT8", 1, &contents{UintContents: []uint32{256}})), "element 0 is 256, which is no UINT8"},
		{"half precision", one(a("FP16", 1, typed.Contents)), "no typed contents"},
		{"strings that claim too much", one(a("BYTES", 1, nil), []byte{255, 255, 255, 255, 1}), "claims 4294967295 bytes, 1 are left"},
		{"truth that is neither", one(a("BOOL", 1, nil), []byte{2}), "must be 0 or 1"},
		{"an output without a name", outputs(&pb.ModelInferRequest_InferRequestedOutputTensor{}), "a requested output has no name"},
		{"an output twice", outputs(&pb.ModelInferRequest_InferRequestedOutputTensor{Name: "y"}, &pb.ModelInferRequest_InferRequestedOutputTensor{Name: "y"}), `the output "y" is asked for twice`},
		{"a sequence", &pb.ModelInferRequest{Parameters: text("sequence_id")}, "(sequence_id) are not supported"},
		{"classes", outputs(&pb.ModelInferRequest_InferRequestedOutputTensor{Name: "y", Parameters: text("classification")}), "(classification) are not supported"},
		{"an output in shared memory", outputs(&pb.ModelInferRequest_InferRequestedOutputTensor{Name: "y", Parameters: text("shared_memory_region")}), "(shared_memory_region) are not supported"},
		{"an input in shared memory", one(&input{Name: "a", Datatype: "FP32", Shape: []int64{1}, Parameters: text("shared_memory_region")}), "(shared_memory_region) are not supported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := FromRequestMessage(c.request)
			if err == nil {
				_, err = d.Read(nil, fresh)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func FuzzRequestMessage(f *testing.F) {
	for _, text := range []string{tritonRequest, kserveRequest} {
		b, err := hex.DecodeString(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &pb.ModelInferRequest{}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		d, err := FromRequestMessage(m)
		if err != nil {
			return
		}
		list, err := d.Read(nil, bounded)
		if err != nil {
			return
		}
		again, err := FromRequestMessage(RequestMessage(&d.Head, list))
		if err == nil {
			_, err = again.Read(nil, bounded)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}
