package oip

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"

	"github.com/mlperf-go/mlperf/internal/oip/oiptest/pb"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestWhatCannotBeRightInJSONIsRefused(t *testing.T) {
	one := func(rest string) string { return `{"inputs":[{"name":"a",` + rest + `}]}` }
	for _, c := range []struct{ name, text, body, want string }{
		{"no JSON", `<html>`, "", "invalid character"},
		{"something behind it", `{"inputs":[]} {}`, "", "invalid character"},
		{"an unknown type", one(`"datatype":"FP8","shape":[1],"data":[1]`), "", `unknown datatype "FP8"`},
		{"no name", `{"inputs":[{"datatype":"FP32","shape":[1],"data":[1]}]}`, "", "no name"},
		{"a name twice", `{"inputs":[{"name":"a","datatype":"FP32","shape":[1],"data":[1]},{"name":"a","datatype":"FP32","shape":[1],"data":[1]}]}`, "", `two tensors "a"`},
		{"a negative extent", one(`"datatype":"FP32","shape":[-1],"data":[1]`), "", "negative extent"},
		{"extents beyond all memory", one(`"datatype":"FP32","shape":[4294967296,4294967296,4],"data":[1]`), "", "too many elements"},
		{"a size that does not fit", one(`"datatype":"FP32","shape":[1],"parameters":{"binary_data_size":8}`), "12345678", "has 8 bytes, want 4"},
		{"a negative size", one(`"datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":-8}`), "", "is -8"},
		{"both forms", one(`"datatype":"FP32","shape":[1],"data":[1],"parameters":{"binary_data_size":4}`), "", "either data or"},
		{"neither form", one(`"datatype":"FP32","shape":[1]`), "", "either data or"},
		{"too few bytes", one(`"datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8}`), "1234", "4 of 8 bytes arrived"},
		{"too few elements", one(`"datatype":"FP32","shape":[2],"data":[1]`), "", "1 elements, want 2"},
		{"too many elements", one(`"datatype":"FP32","shape":[2],"data":[1,2,3]`), "", "more than 2"},
		{"a number too large", one(`"datatype":"UINT8","shape":[1],"data":[256]`), "", "out of range"},
		{"a fraction for a whole number", one(`"datatype":"INT32","shape":[1],"data":[1.5]`), "", "invalid syntax"},
		{"a word for a number", one(`"datatype":"FP32","shape":[1],"data":["1"]`), "", "invalid syntax"},
		{"a number for a word", one(`"datatype":"BYTES","shape":[1],"data":[1]`), "", "1 is no string"},
		{"an object", one(`"datatype":"FP32","shape":[1],"data":[{"a":1}]`), "", "is an object"},
		{"no list", one(`"datatype":"FP32","shape":[1],"data":1`), "", "no list"},
		{"lists too deep", one(`"datatype":"FP32","shape":[2],"data":[[1],[2]]`), "", "lists deep"},
		{"lists of all depths", one(`"datatype":"FP32","shape":[1,2],"data":[[1],2]`), "", "lists deep"},
		{"half precision", one(`"datatype":"FP16","shape":[1],"data":[1]`), "", "no form in JSON"},
		{"truth that is neither", one(`"datatype":"BOOL","shape":[1],"data":[2]`), "", "neither true nor false"},
		{"truth that is neither, in bytes", one(`"datatype":"BOOL","shape":[1],"parameters":{"binary_data_size":1}`), "\x02", "want 0 or 1"},
		{"strings that claim too much", one(`"datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}`), "\xff\xff\xff\xffa", "claims 4294967295 bytes"},
		{"strings that leave something", one(`"datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}`), "\x00\x00\x00\x00a", "1 bytes are left"},
		{"fewer strings", one(`"datatype":"BYTES","shape":[2],"parameters":{"binary_data_size":9}`), "\x05\x00\x00\x00abcde", "length is missing"},
		{"shared memory", one(`"datatype":"FP32","shape":[1],"parameters":{"shared_memory_region":"x","shared_memory_byte_size":4}`), "", "shared memory"},
		{"a sequence", `{"parameters":{"sequence_id":7},"inputs":[]}`, "", "sequence_id"},
		{"classes of an output", `{"outputs":[{"name":"a","parameters":{"binary_data":true,"classification":3}}]}`, "", "(classification) are not supported"},
		{"classes that are no number", `{"outputs":[{"name":"a","parameters":{"classification":{}}}]}`, "", "(classification) are not supported"},
		{"outputs in two forms", `{"outputs":[{"name":"a","parameters":{"binary_data":true}},{"name":"b"}]}`, "", "all in one form"},
		{"nothing for a word", one(`"datatype":"BYTES","shape":[1],"data":[null]`), "", "element 0: null is no string"},
		{"bytes for a word", one(`"datatype":"BYTES","shape":[1],"data":["` + "\xff" + `"]`), "", "is not UTF-8"},
		{"nothing for a list", one(`"datatype":"FP32","shape":[1],"data":null`), "", "no list"},
		{"nothing for a number", one(`"datatype":"FP32","shape":[1],"data":[null]`), "", "element 0: "},
		{"a number that no float is", one(`"datatype":"FP32","shape":[1],"data":[1e39]`), "", "out of range"},
		{"a negative number for a count", one(`"datatype":"UINT32","shape":[1],"data":[-1]`), "", "element 0: "},
		{"in shared memory and sent", one(`"datatype":"FP32","shape":[1],"data":[1],"parameters":{"shared_memory_region":"x","shared_memory_byte_size":4}`), "", `"a": it is in shared memory, and sent, too`},
		{"in shared memory and behind the JSON", one(`"datatype":"FP32","shape":[1],"parameters":{"shared_memory_region":"x","binary_data_size":4}`), "", "and sent, too"},
		{"a negative size in shared memory", one(`"datatype":"FP32","shape":[1],"parameters":{"shared_memory_region":"x","shared_memory_byte_size":-4}`), "", "its size is -4 bytes, want 0 or more"},
		{"strings in shared memory", one(`"datatype":"BYTES","shape":[1],"parameters":{"shared_memory_region":"x","shared_memory_byte_size":4}`), "", "BYTES in shared memory are not supported"},
		{"an output without a name", `{"outputs":[{}]}`, "", "an output that is asked for has no name"},
		{"an output twice", `{"outputs":[{"name":"y"},{"name":"z"},{"name":"y"}]}`, "", `the output "y" is asked for twice`},
		{"strings in fewer bytes than their lengths", one(`"datatype":"BYTES","shape":[2],"parameters":{"binary_data_size":7}`), "1234567", "has 7 bytes, want at least 8"},
		{"extents that overflow to something small", one(`"datatype":"INT8","shape":[4294967296,4294967297],"data":[1]`), "", "too many elements"},
		{"a negative extent beside none", one(`"datatype":"INT8","shape":[0,-1],"data":[]`), "", "negative extent"},
		{"33 axes", one(`"datatype":"FP32","shape":[` + strings.Repeat("1,", 32) + `1],"data":[1]`), "", "33 axes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := ParseRequest([]byte(c.text), Limits{})
			if err == nil {
				_, err = d.Read(strings.NewReader(c.body), fresh)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestWhatCannotBeRightInGRPCIsRefused(t *testing.T) {
	input := func(name, datatype string, shape ...int64) *pb.Tensor {
		return &pb.Tensor{Name: name, Datatype: datatype, Shape: shape}
	}
	raw := func(in *pb.Tensor, bytes int) *pb.InferRequest {
		return &pb.InferRequest{ModelName: "m", Inputs: []*pb.Tensor{in}, Raw: [][]byte{make([]byte, bytes)}}
	}
	typed := input("a", "FP32", 1)
	typed.Contents = &pb.Contents{FP32: []float32{1}}
	for _, c := range []struct {
		name    string
		request *pb.InferRequest
		want    string
	}{
		{"bytes that do not fit", raw(input("a", "FP32", 2), 4), "has 4 bytes, want 8"},
		{"an unknown type", raw(input("a", "FP8", 2), 2), "unknown datatype"},
		{"a negative extent", raw(input("a", "FP32", -2), 8), "negative extent"},
		{"both forms", raw(typed, 4), "beside raw contents"},
		{"neither form", &pb.InferRequest{Inputs: []*pb.Tensor{input("a", "FP32", 2)}}, "tensor a FP32[2] has 2 elements, which 0 bytes cannot be"},
		{"fewer elements than the shape", &pb.InferRequest{Inputs: []*pb.Tensor{{Name: "a", Datatype: "FP32", Shape: []int64{2}, Contents: &pb.Contents{FP32: []float32{1}}}}}, "1 elements, want 2"},
		{"more raw contents than tensors", &pb.InferRequest{Inputs: []*pb.Tensor{typed}, Raw: [][]byte{{}, {}}}, "2 pieces of raw contents"},
		{"a name twice", &pb.InferRequest{Inputs: []*pb.Tensor{typed, typed}}, "two tensors"},
		{"contents of another type", &pb.InferRequest{Inputs: []*pb.Tensor{{Name: "a", Datatype: "INT64", Shape: []int64{1}, Contents: typed.Contents}}}, "contents of field 6, want 3"},
		{"a number too large", &pb.InferRequest{Inputs: []*pb.Tensor{{Name: "a", Datatype: "INT8", Shape: []int64{1}, Contents: &pb.Contents{Int: []int32{128}}}}}, "which is no INT8"},
		{"half precision", &pb.InferRequest{Inputs: []*pb.Tensor{{Name: "a", Datatype: "FP16", Shape: []int64{1}, Contents: typed.Contents}}}, "no typed contents"},
		{"truth that is neither, typed", &pb.InferRequest{Inputs: []*pb.Tensor{{Name: "a", Datatype: "INT8", Shape: []int64{1}, Contents: &pb.Contents{Bool: []bool{true}}}}}, "contents of field 1, want 2"},
		{"more elements than the shape", &pb.InferRequest{Inputs: []*pb.Tensor{{Name: "a", Datatype: "INT32", Shape: []int64{1}, Contents: &pb.Contents{Int: []int32{1, 2}}}}}, "more than 1 elements"},
		{"more strings than the shape", &pb.InferRequest{Inputs: []*pb.Tensor{{Name: "a", Datatype: "BYTES", Shape: []int64{1}, Contents: &pb.Contents{Bytes: [][]byte{{1}, {2}}}}}}, "more than 1 elements"},
		{"a count that is negative", &pb.InferRequest{Inputs: []*pb.Tensor{{Name: "a", Datatype: "UINT8", Shape: []int64{1}, Contents: &pb.Contents{Uint: []uint32{256}}}}}, "element 0 is 256, which is no UINT8"},
		{"strings that claim too much", &pb.InferRequest{Inputs: []*pb.Tensor{input("a", "BYTES", 1)}, Raw: [][]byte{{255, 255, 255, 255, 1}}}, "claims 4294967295 bytes, 1 are left"},
		{"an output without a name", &pb.InferRequest{Outputs: []*pb.Wanted{{}}}, "an output that is asked for has no name"},
		{"an output twice", &pb.InferRequest{Outputs: []*pb.Wanted{{Name: "y"}, {Name: "y"}}}, `the output "y" is asked for twice`},
		{"a sequence", &pb.InferRequest{Parameters: map[string]*pb.Parameter{"sequence_id": {Int64: 7}}}, "sequence_id"},
		{"a sequence with a name", &pb.InferRequest{Parameters: map[string]*pb.Parameter{"sequence_id": {String_: "x"}}}, "sequence_id"},
		{"classes of an output", &pb.InferRequest{Outputs: []*pb.Wanted{{Name: "y", Parameters: map[string]*pb.Parameter{"classification": {Int64: 3}}}}}, "(classification) are not supported"},
		{"truth that is neither", &pb.InferRequest{Inputs: []*pb.Tensor{input("a", "BOOL", 1)}, Raw: [][]byte{{2}}}, "want 0 or 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := &Receiving{Accept: freshFor}
			err := in.unmarshal(written(t, c.request))
			if err == nil || !strings.Contains(err.Error(), c.want) || CodeOf(err) != InvalidArgument && CodeOf(err) != Unsupported {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// More elements than tensor.Shape counts would be less than none.
func TestShapesOfMoreThanCanBeCountedAreRefusedInEveryForm(t *testing.T) {
	for bits := 50; bits < 64; bits++ {
		shape := []int64{1 << (bits - 2), 4}
		if bits == 63 {
			shape = []int64{1 << 62, 2}
		}
		refused := func(how string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), "too many elements") && !strings.Contains(err.Error(), "elements, which ") && !strings.Contains(err.Error(), "bytes, want") {
				t.Errorf("2^%d elements, %s: %v", bits, how, err)
			}
		}
		for _, datatype := range []string{"INT8", "BYTES", "FP64"} {
			text := fmt.Sprintf(`{"inputs":[{"name":"a","datatype":%q,"shape":[%d,%d],`, datatype, shape[0], shape[1])
			_, err := ParseRequest([]byte(text+`"data":[]}]}`), Limits{})
			refused("in JSON", err)
			_, err = ParseRequest([]byte(text+`"parameters":{"binary_data_size":8}}]}`), Limits{})
			refused("behind JSON", err)
			_, err = ParseRequest([]byte(text+`"parameters":{"shared_memory_region":"r","shared_memory_byte_size":8}}]}`), Limits{})
			refused("in shared memory", err)
			in := &pb.InferRequest{Inputs: []*pb.Tensor{{Name: "a", Datatype: datatype, Shape: shape}}}
			refused("without contents", (&Receiving{Accept: freshFor}).unmarshal(written(t, in)))
			in.Raw = [][]byte{make([]byte, 8)}
			refused("with raw contents", (&Receiving{Accept: freshFor}).unmarshal(written(t, in)))
		}
	}
}

func TestDamagedMessagesOfGRPCAreErrors(t *testing.T) {
	data := tensor.Of([]float32{1, 2}, 2)
	s, err := (&Sending{Head: head(t, []string{"a"}, []tensor.Tensor{data}), Tensors: []tensor.Tensor{data}}).marshal()
	if err != nil {
		t.Fatal(err)
	}
	whole := s.Materialize()
	for n := range len(whole) - 1 {
		in := &Receiving{Accept: freshFor}
		if err := in.unmarshal(mem.BufferSlice{mem.SliceBuffer(whole[:n+1])}); err == nil && len(in.Tensors) > 0 {
			t.Errorf("the first %d of %d bytes are taken for a request with %v", n+1, len(whole), in.Tensors)
		}
	}
	for _, c := range []struct {
		name, want string
		b          message
	}{
		{"a length beyond the end", "field 7 claims 4294967295 bytes, 0 are left", message{0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f}},
		{"half a length", "the message ends early", message{0x3a, 0xff}},
		{"a length beyond all numbers", "a number has more than 64 bits", append(message{0x3a}, bytes.Repeat([]byte{0xff}, 10)...)},
		{"an endless number", "a number has more than 64 bits", bytes.Repeat([]byte{0xff}, 12)},
		{"half a fixed number", "the message ends early", message{0x0d, 1, 2, 3}},
		{"a group", "field 1 is of the wire type 3, which nothing here has", message{0x0b, 0x0c}},
		{"field 0", "a field has the number 0", message{0x00, 0x00}},
		{"a tag beyond 32 bits", "a field has the tag 34359738369", message{0x81, 0x80, 0x80, 0x80, 0x80, 0x01}},
		{"a model that is no UTF-8", `"\xff" is not UTF-8`, message{}.text(1, "\xff")},
		{"a version that is no UTF-8", `"\xff" is not UTF-8`, message{}.text(2, "\xff")},
		{"an id that is no UTF-8", `"\xff" is not UTF-8`, message{}.text(3, "\xff")},
		{"a tensor that ends early", "field 1 claims 5 bytes, 2 are left", message{}.text(5, "\x0a\x05ab")},
		{"a tensor whose name is a number", "field 1 is of the wire type 0, want 2", message{}.text(5, string(message{}.number(1, 1)))},
		{"contents that are a number", "field 5 is of the wire type 0, want 2", message{}.text(5, string(message{}.text(2, "INT8").number(5, 1)))},
		{"more extents than are read", "a shape has more than 1024 extents", message{}.text(5, string(message{}.text(3, strings.Repeat("\x00", 1025))))},
		{"one extent after as many", "a shape has more than 1024 extents", message{}.text(5, string(message{}.text(3, strings.Repeat("\x00", 1024)).number(3, 0)))},
		{"as many extents as are read", "tensor a has 1024 axes, want at most 32", message{}.text(5, string(message{}.text(1, "a").text(2, "INT8").text(3, strings.Repeat("\x00", 1024))))},
		{"an output that ends early", "field 1 claims 5 bytes, 0 are left", message{}.text(6, "\x0a\x05")},
		{"a parameter that ends early", "field 2 claims 9 bytes, 0 are left", message{}.text(4, "\x12\x09")},
		{"a parameter of a tensor that is a number", "field 4 is of the wire type 0, want 2", message{}.text(5, string(message{}.number(4, 1)))},
		{"a value of a parameter that ends early", "field 3 claims 9 bytes, 0 are left", message{}.text(4, string(message{}.text(1, "k").text(2, "\x1a\x09")))},
		{"strings that end early", "element 1 of 2: its length is missing", message{}.text(5, string(message{}.text(1, "a").text(2, "BYTES").number(3, 2))).text(7, "\x05\x00\x00\x00abcde")},
	} {
		err := (&Receiving{Accept: freshFor}).unmarshal(c.b.slice())
		if err == nil || !strings.Contains(err.Error(), c.want) || CodeOf(err) != InvalidArgument {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestNobodyIsAskedForMemoryBeforeAllWasChecked(t *testing.T) {
	asked := func(int, Spec) (tensor.Tensor, error) {
		t.Error("memory was asked for")
		return tensor.Tensor{}, nil
	}
	text := `{"inputs":[{"name":"a","datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4}},{"name":"b","datatype":"FP32","shape":[1000000000],"parameters":{"binary_data_size":4}}]}`
	if _, err := ParseRequest([]byte(text), Limits{}); err == nil {
		t.Error("a size that does not fit is accepted")
	}
	for _, text := range []string{`{"inputs":[{"name":"a","datatype":"FP32","shape":[1000000000],"data":[1]}]}`, `{"inputs":[{"name":"a","datatype":"BYTES","shape":[10,10],"data":["a"]}]}`} {
		if _, err := ParseRequest([]byte(text), Limits{}); err == nil || !strings.Contains(err.Error(), "elements, which ") {
			t.Errorf("more elements than can be in %s: %v", text, err)
		}
	}
	in := &Receiving{Accept: func(*Head) (Place, error) { return asked, nil }}
	typed := &pb.InferRequest{Inputs: []*pb.Tensor{{Name: "a", Datatype: "INT32", Shape: []int64{1e9}, Contents: &pb.Contents{Int: []int32{1, 2, 3}}}}}
	if err := in.unmarshal(written(t, typed)); err == nil || !strings.Contains(err.Error(), "has 1000000000 elements, which 5 bytes cannot be") {
		t.Errorf("more typed elements than can be there: %v", err)
	}
	bad := &pb.InferRequest{Inputs: []*pb.Tensor{{Name: "a", Datatype: "FP32", Shape: []int64{1e9}}}, Raw: [][]byte{{1, 2, 3, 4}}}
	if err := in.unmarshal(written(t, bad)); err == nil {
		t.Error("a size that does not fit is accepted over gRPC")
	}
}

func FuzzRequestInJSON(f *testing.F) {
	f.Add([]byte(`{"id":"1","inputs":[{"name":"a","datatype":"FP32","shape":[1,2],"data":[[1,2]]}],"outputs":[{"name":"b"}]}`), []byte{})
	f.Add([]byte(`{"inputs":[{"name":"a","datatype":"BYTES","shape":[1],"parameters":{"binary_data_size":5}}]}`), []byte("\x01\x00\x00\x00a"))
	f.Fuzz(func(t *testing.T, text, body []byte) {
		d, err := ParseRequest(text, Limits{})
		if err != nil || d.BinarySize() > 1<<20 {
			return
		}
		list, err := d.Read(bytes.NewReader(body), bounded)
		if err != nil {
			return
		}
		again, err := AppendRequest(nil, &d.Head, list, Binary)
		if err != nil {
			t.Fatal(err)
		}
		second, err := ParseRequest(again, Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, again)
		}
		if _, err := second.Read(bytes.NewReader(wireOf(list)), bounded); err != nil {
			t.Fatal(err)
		}
	})
}

// bounded gives memory to tensors that are not too large for a test.
func bounded(i int, s Spec) (tensor.Tensor, error) {
	if n := s.Shape.Len(); n > 1<<16 {
		return tensor.Tensor{}, Errorf(TooLarge, "%d elements", n)
	}
	return fresh(i, s)
}

func FuzzMessageOfGRPC(f *testing.F) {
	data := tensor.Of([]float32{1, 2}, 2)
	s, err := (&Sending{Head: &Head{Model: "m", Tensors: []Spec{{Name: "a", Type: tensor.Float32, Shape: tensor.Shape{2}}}}, Tensors: []tensor.Tensor{data}}).marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(s.Materialize())
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range []unmarshaler{&Inquiry{}, &State{}, &ServerMetadata{}, &ModelMetadata{}, &StatisticsList{}, &Region{}, &Receiving{Answer: true, Stream: true, Accept: boundedFor}} {
			_ = m.unmarshal(mem.BufferSlice{mem.SliceBuffer(b)})
		}
		in := &Receiving{Accept: boundedFor}
		if in.unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}) != nil {
			return
		}
		s, err := (&Sending{Head: &in.Head, Tensors: in.Tensors}).marshal()
		if err != nil {
			t.Fatal(err)
		}
		again := &Receiving{Accept: boundedFor}
		if err := again.unmarshal(s); err != nil {
			t.Fatal(err)
		}
	})
}

func boundedFor(*Head) (Place, error) { return bounded, nil }
