package oip

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"

	"github.com/mlperf-go/mlperf/internal/oip/oiptest/pb"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// fresh gives memory to all tensors.
func fresh(_ int, s Spec) (tensor.Tensor, error) { return tensor.New(s.Type, s.Shape...), nil }

func freshFor(*Head) (Place, error) { return fresh, nil }

// everyType returns a tensor of each type, with elements at both ends of its range.
func everyType() (names []string, list []tensor.Tensor) {
	boolean, _ := tensor.FromBytes(tensor.Bool, []byte{0, 1, 1}, 3)
	for _, t := range []tensor.Tensor{
		boolean, tensor.Of([]uint8{0, 255}, 2), tensor.Of([]uint16{0, 65535}, 2), tensor.Of([]uint32{0, math.MaxUint32}, 1, 2),
		tensor.Of([]uint64{0, math.MaxUint64}, 2, 1), tensor.Of([]int8{-128, 127}, 2), tensor.Of([]int16{-32768, 32767}, 2),
		tensor.Of([]int32{math.MinInt32, math.MaxInt32}, 2), tensor.Of([]int64{math.MinInt64, math.MaxInt64}, 2),
		tensor.Of([]float32{-0.1, math.MaxFloat32, math.SmallestNonzeroFloat32}, 3), tensor.Of([]float64{-0.1, math.MaxFloat64}, 2),
		tensor.OfStrings([]string{"", "a\"\n\x00é", "b"}, 3), tensor.Of([]float32{}, 0), tensor.Of([]float32{7}),
	} {
		names, list = append(names, t.String()), append(list, t)
	}
	return names, list
}

// plain is a tensor as something that can be compared.
func plain(list []tensor.Tensor) (all []any) {
	for _, t := range list {
		all = append(all, t.String(), slices.Clone(t.Bytes()), slices.Clone(t.Strings()))
	}
	return all
}

func head(t *testing.T, names []string, list []tensor.Tensor) *Head {
	t.Helper()
	var specs []Spec
	for i, of := range list {
		specs = append(specs, Spec{Name: names[i], Type: of.Type, Shape: of.Shape})
	}
	return &Head{Model: "m", Version: "1", ID: "7", Tensors: specs}
}

// wireOf are the elements of tensors as they follow the JSON.
func wireOf(list []tensor.Tensor) []byte {
	var b []byte
	for _, t := range list {
		b = append(AppendBytes(b, t.Strings()), t.Bytes()...)
	}
	return b
}

func TestTensorsOfAllTypesSurviveJSON(t *testing.T) {
	names, list := everyType()
	for _, form := range []Form{Binary, JSON} {
		text, err := AppendResponse(nil, head(t, names, list), list, form)
		if err != nil {
			t.Fatal(err)
		}
		d, err := ParseResponse(text, Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		var body []byte
		if form == Binary {
			body = wireOf(list)
		}
		if d.BinarySize() != int64(len(body)) {
			t.Errorf("form %v: %d bytes are to follow, want %d", form, d.BinarySize(), len(body))
		}
		got, err := d.Read(bytes.NewReader(body), fresh)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain(list), plain(got)); diff != "" {
			t.Errorf("form %v (-want +got):\n%s", form, diff)
		}
		if d.Model != "m" || d.Version != "1" || d.ID != "7" {
			t.Errorf("the head is %+v", d.Head)
		}
	}
}

func TestTensorsOfAllTypesSurviveGRPC(t *testing.T) {
	half, err := tensor.FromBytes(tensor.Float16, []byte{1, 2, 3, 4}, 2)
	if err != nil {
		t.Fatal(err)
	}
	names, list := everyType()
	names, list = append(names, "half"), append(list, half)
	for _, answer := range []bool{false, true} {
		h := head(t, names, list)
		s, err := (&Sending{Head: h, Tensors: list, Answer: answer}).marshal()
		if err != nil {
			t.Fatal(err)
		}
		in := &Receiving{Answer: answer, Accept: freshFor}
		if err := in.unmarshal(chopped(s, 3)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(plain(list), plain(in.Tensors)); diff != "" {
			t.Errorf("answer %v (-want +got):\n%s", answer, diff)
		}
		if in.Head.Model != "m" || in.Head.Version != "1" || in.Head.ID != "7" {
			t.Errorf("the head is %+v", in.Head)
		}
	}
}

// chopped is the same message in pieces of n bytes.
func chopped(s mem.BufferSlice, n int) mem.BufferSlice {
	var pieces mem.BufferSlice
	for b := range slices.Chunk(s.Materialize(), n) {
		pieces = append(pieces, mem.SliceBuffer(b))
	}
	return pieces
}

// oracle is what protobuf's library reads of a message.
func oracle[M pb.Message](t *testing.T, s mem.BufferSlice, m M) M {
	t.Helper()
	if err := proto.Unmarshal(s.Materialize(), protoadapt.MessageV2Of(m)); err != nil {
		t.Fatal(err)
	}
	return m
}

// written is a message as protobuf's library writes it.
func written(t *testing.T, m pb.Message) mem.BufferSlice {
	t.Helper()
	b, err := proto.Marshal(protoadapt.MessageV2Of(m))
	if err != nil {
		t.Fatal(err)
	}
	return mem.BufferSlice{mem.SliceBuffer(b)}
}

func TestProtobufReadsWhatIsSent(t *testing.T) {
	data := tensor.Of([]float32{1, 2, 3, 4}, 1, 4)
	h := head(t, []string{"image"}, []tensor.Tensor{data})
	h.Wanted = []string{"class"}
	s, err := (&Sending{Head: h, Tensors: []tensor.Tensor{data}}).marshal()
	if err != nil {
		t.Fatal(err)
	}
	want := &pb.InferRequest{ModelName: "m", ModelVersion: "1", ID: "7", Outputs: []*pb.Wanted{{Name: "class"}},
		Inputs: []*pb.Tensor{{Name: "image", Datatype: "FP32", Shape: []int64{1, 4}}}, Raw: [][]byte{data.Bytes()}}
	if diff := cmp.Diff(want, oracle(t, s, &pb.InferRequest{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h.Wanted = nil
	s, err = (&Sending{Head: h, Tensors: []tensor.Tensor{data}, Answer: true, Stream: true}).marshal()
	if err != nil {
		t.Fatal(err)
	}
	stream := oracle(t, s, &pb.StreamResponse{})
	if stream.Response == nil || !bytes.Equal(stream.Response.Raw[0], data.Bytes()) || stream.Response.Outputs[0].Name != "image" {
		t.Errorf("the answer of a stream is %+v", stream)
	}
	meta := &ModelMetadata{Name: "m", Versions: []string{"1", "2"}, Platform: "onnx", Inputs: []Port{{"a", "FP32", []int64{-1, 3}}}, Outputs: []Port{{"b", "INT64", []int64{-1}}}}
	if s, err = meta.marshal(); err != nil {
		t.Fatal(err)
	}
	wantMeta := &pb.ModelMetadata{Name: "m", Versions: []string{"1", "2"}, Platform: "onnx",
		Inputs: []*pb.Tensor{{Name: "a", Datatype: "FP32", Shape: []int64{-1, 3}}}, Outputs: []*pb.Tensor{{Name: "b", Datatype: "INT64", Shape: []int64{-1}}}}
	if diff := cmp.Diff(wantMeta, oracle(t, s, &pb.ModelMetadata{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatProtobufWritesIsRead(t *testing.T) {
	request := &pb.InferRequest{ModelName: "m", ID: "x", Parameters: map[string]*pb.Parameter{"priority": {Int64: 3}},
		Inputs: []*pb.Tensor{
			{Name: "f", Datatype: "FP32", Shape: []int64{2}, Contents: &pb.Contents{FP32: []float32{1.5, -2}}, Parameters: map[string]*pb.Parameter{"a": {String_: "b"}}},
			{Name: "d", Datatype: "FP64", Shape: []int64{1}, Contents: &pb.Contents{FP64: []float64{0.1}}},
			{Name: "i", Datatype: "INT8", Shape: []int64{2}, Contents: &pb.Contents{Int: []int32{-128, 127}}},
			{Name: "l", Datatype: "INT64", Shape: []int64{1}, Contents: &pb.Contents{Int64: []int64{-5}}},
			{Name: "u", Datatype: "UINT16", Shape: []int64{1}, Contents: &pb.Contents{Uint: []uint32{65535}}},
			{Name: "b", Datatype: "BOOL", Shape: []int64{2}, Contents: &pb.Contents{Bool: []bool{true, false}}},
			{Name: "s", Datatype: "BYTES", Shape: []int64{2}, Contents: &pb.Contents{Bytes: [][]byte{[]byte("hello"), {}}}},
		}}
	in := &Receiving{Accept: freshFor}
	if err := in.unmarshal(written(t, request)); err != nil {
		t.Fatal(err)
	}
	boolean, _ := tensor.FromBytes(tensor.Bool, []byte{1, 0}, 2)
	want := []tensor.Tensor{tensor.Of([]float32{1.5, -2}, 2), tensor.Of([]float64{0.1}, 1), tensor.Of([]int8{-128, 127}, 2),
		tensor.Of([]int64{-5}, 1), tensor.Of([]uint16{65535}, 1), boolean, tensor.OfStrings([]string{"hello", ""}, 2)}
	if diff := cmp.Diff(plain(want), plain(in.Tensors)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSmallMessagesSurvive(t *testing.T) {
	stats := &StatisticsList{Models: []ModelStatistics{{Name: "m", Version: "2", LastInference: 3, InferenceCount: 4, ExecutionCount: 5,
		InferenceStats: InferenceSum{Success: Sum{1, 2}, Queue: Sum{3, 4}, CacheHit: Sum{5, 6}, CacheMiss: Sum{7, 8}}}}}
	for _, c := range []struct {
		from marshaler
		to   unmarshaler
	}{
		{&Inquiry{"m", "1"}, &Inquiry{}}, {&State{true}, &State{}}, {stats, &StatisticsList{}},
		{&ServerMetadata{"s", "1", []string{"statistics"}}, &ServerMetadata{}},
		{&ModelMetadata{Name: "m", Platform: "p", Inputs: []Port{{"a", "FP16", []int64{-1}}}}, &ModelMetadata{}},
	} {
		s, err := c.from.marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.to.unmarshal(chopped(s, 2)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(any(c.from), any(c.to)); diff != "" {
			t.Errorf("%T (-want +got):\n%s", c.from, diff)
		}
	}
	text, err := FormatStatistics(stats.Models)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseStatistics(text); err != nil || !cmp.Equal(got, stats.Models) {
		t.Errorf("statistics in JSON come back as %v, %v", got, err)
	}
}

func TestWindowsOfSharedMemorySurviveBothForms(t *testing.T) {
	memory := []byte{0, 0, 1, 2, 3, 4}
	load := func(w Window, dst []byte) error { copy(dst, memory[w.Offset:][:w.Size]); return nil }
	sent, shared := tensor.Of([]uint8{9, 8}, 2), tensor.Of([]uint8{1, 2, 3}, 3)
	h := head(t, []string{"a", "b", "c"}, []tensor.Tensor{shared, sent, shared})
	h.Tensors[0].Window, h.Tensors[2].Window = Window{"r", 2, 3}, Window{"r", 3, 3}
	h.Wanted, h.Windows = []string{"x", "y"}, []Window{{}, {"out", 64, 12}}
	list := []tensor.Tensor{shared, sent, shared}
	check := func(how string, got Head, read []tensor.Tensor, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(how, err)
		}
		want := []tensor.Tensor{shared, sent, tensor.Of([]uint8{2, 3, 4}, 3)}
		if diff := cmp.Diff(plain(want), plain(read)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", how, diff)
		}
		if diff := cmp.Diff(h.Windows, got.Windows); diff != "" || !slices.Equal(got.Wanted, h.Wanted) {
			t.Errorf("%s: wanted are %v (-want +got):\n%s", how, got.Wanted, diff)
		}
	}
	text, err := AppendRequest(nil, h, list, Binary)
	if err != nil {
		t.Fatal(err)
	}
	d, err := ParseRequest(text, Limits{})
	if err != nil || d.BinarySize() != 2 || d.WantsJSON {
		t.Fatalf("%+v, %v, want 2 bytes to follow\n%s", d, err, text)
	}
	d.Load = load
	read, err := d.Read(bytes.NewReader([]byte{9, 8}), fresh)
	check("JSON", d.Head, read, err)

	s, err := (&Sending{Head: h, Tensors: list}).marshal()
	if err != nil {
		t.Fatal(err)
	}
	in := &Receiving{Accept: freshFor, Load: load}
	err = in.unmarshal(chopped(s, 3))
	check("gRPC", in.Head, in.Tensors, err)
	if err := (&Receiving{Accept: freshFor}).unmarshal(s); CodeOf(err) != Unsupported {
		t.Errorf("without shared memory: %v", err)
	}
}
