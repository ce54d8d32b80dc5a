package oip

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/mem"

	"github.com/mlperf-go/mlperf/internal/oip/oiptest/pb"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// randomTensor is one of any type, with any bits that JSON can have if that is asked for.
func randomTensor(random *rand.Rand, inJSON bool) tensor.Tensor {
	types := []tensor.DType{tensor.Bool, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Float32, tensor.Float64, tensor.String}
	if !inJSON {
		types = append(types, tensor.Float16, tensor.BFloat16)
	}
	var shape []int64
	for range random.IntN(4) {
		shape = append(shape, int64(random.IntN(4)))
	}
	t := tensor.New(types[random.IntN(len(types))], shape...)
	for i := range t.Bytes() {
		t.Bytes()[i] = byte(random.Uint32())
	}
	for i := range t.Strings() {
		t.Strings()[i] = []string{"", "a\"b", "é😀\x00", strings.Repeat("x", 300)}[random.IntN(4)]
	}
	switch t.Type {
	case tensor.Bool:
		for i := range t.Bytes() {
			t.Bytes()[i] &= 1
		}
	case tensor.Float32:
		finite(tensor.Data[float32](t))
	case tensor.Float64:
		finite(tensor.Data[float64](t))
	}
	return t
}

// finite replaces what JSON does not have.
func finite[T float32 | float64](list []T) {
	for i, v := range list {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			list[i] = -0.1
		}
	}
}

// randomHead describes random tensors, some of them in shared memory.
func randomHead(random *rand.Rand, inJSON, shared bool) (h *Head, list []tensor.Tensor) {
	h = &Head{Model: "mödel", Version: fmt.Sprint(random.IntN(3)), ID: []string{"", "7", "\x01\"\\"}[random.IntN(3)]}
	for i := range random.IntN(5) {
		t := randomTensor(random, inJSON)
		s := Spec{Name: fmt.Sprint("t", i), Type: t.Type, Shape: t.Shape}
		if shared && t.Type != tensor.String && random.IntN(2) == 0 {
			s.Window = Window{"region", int64(random.IntN(1 << 20)), int64(len(t.Bytes()))}
		}
		h.Tensors, list = append(h.Tensors, s), append(list, t)
	}
	for i := range random.IntN(3) {
		h.Wanted, h.Windows = append(h.Wanted, fmt.Sprint("y", i)), append(h.Windows, Window{})
		if shared && random.IntN(2) == 0 {
			h.Windows[i] = Window{"other", random.Int64N(1 << 40), random.Int64N(1 << 40)}
		}
	}
	return h, list
}

// loading takes what is in shared memory from the tensors that are there.
func loading(h *Head, list []tensor.Tensor) Load {
	return func(w Window, dst []byte) error {
		for i, s := range h.Tensors {
			if s.Window == w && len(list[i].Bytes()) == len(dst) {
				copy(dst, list[i].Bytes())
				return nil
			}
		}
		return fmt.Errorf("nothing is at %+v", w)
	}
}

// sizeless is a head without the sizes on the wire, which only who reads knows, and with windows for all outputs or none.
func sizeless(h Head) Head {
	h.Tensors = slices.Clone(h.Tensors)
	for i := range h.Tensors {
		h.Tensors[i].Size = 0
		if len(h.Tensors[i].Shape) == 0 {
			h.Tensors[i].Shape = nil
		}
	}
	h.WantsJSON = false
	return h
}

func TestAnyRequestSurvivesJSON(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	for range 1000 {
		form := Form(random.IntN(2))
		h, list := randomHead(random, form == JSON, form == Binary)
		text, err := AppendRequest(nil, h, list, form)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(text) {
			t.Fatalf("%s is no JSON", text)
		}
		var body []byte
		for i, of := range list {
			if form == Binary && h.Tensors[i].Window.Region == "" {
				body = append(body, wireOf([]tensor.Tensor{of})...)
			}
		}
		d, err := ParseRequest(text, Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		d.Load = loading(h, list)
		got, err := d.Read(bytes.NewReader(body), fresh)
		if err != nil || d.BinarySize() != int64(len(body)) {
			t.Fatalf("%v, %d bytes of %d\n%s", err, d.BinarySize(), len(body), text)
		}
		want := sizeless(*h)
		want.Model, want.Version = "", "" // of a request they are in its path
		if diff := cmp.Diff(want, sizeless(d.Head)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", text, diff)
		}
		if diff := cmp.Diff(plain(list), plain(got)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestAnyMessageSurvivesGRPC(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 24))
	for range 1000 {
		answer := random.IntN(2) == 0
		h, list := randomHead(random, false, true)
		if answer {
			h.Wanted, h.Windows = nil, nil
		}
		stream := answer && random.IntN(2) == 0
		s, err := (&Sending{Head: h, Tensors: list, Answer: answer, Stream: stream}).marshal()
		if err != nil {
			t.Fatal(err)
		}
		in := &Receiving{Answer: answer, Stream: stream, Accept: freshFor, Load: loading(h, list)}
		if err := in.unmarshal(chopped(s, 1+random.IntN(50))); err != nil {
			t.Fatalf("%v\n%+v", err, h)
		}
		if diff := cmp.Diff(sizeless(*h), sizeless(in.Head)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(plain(list), plain(in.Tensors)); diff != "" {
			t.Fatalf("%+v (-want +got):\n%s", h, diff)
		}
	}
}

// Protobuf's library finds in what is sent what was meant.
func TestProtobufReadsWhateverIsSent(t *testing.T) {
	random := rand.New(rand.NewPCG(25, 26))
	for range 300 {
		h, list := randomHead(random, false, false)
		h.Wanted, h.Windows = nil, nil
		s, err := (&Sending{Head: h, Tensors: list, Answer: true}).marshal()
		if err != nil {
			t.Fatal(err)
		}
		got := oracle(t, s, &pb.InferResponse{})
		if got.ModelName != h.Model || got.ModelVersion != h.Version || got.ID != h.ID || len(got.Outputs) != len(list) || len(got.Raw) != len(list) {
			t.Fatalf("%+v, want %+v", got, h)
		}
		for i, of := range list {
			o := got.Outputs[i]
			if o.Name != h.Tensors[i].Name || o.Datatype != Datatype(of.Type) || !slices.Equal(o.Shape, of.Shape) || !bytes.Equal(got.Raw[i], wireOf([]tensor.Tensor{of})) {
				t.Fatalf("%+v with %x is %v", o, got.Raw[i], h.Tensors[i])
			}
		}
	}
}

// Package strconv says which numbers a type has.
func TestNumbersAtTheEndsOfTheirTypesAreTakenAndNoneBeyond(t *testing.T) {
	one := func(datatype, element string) (tensor.Tensor, error) {
		_, list, err := readRequest(data(datatype, "[1]", "["+element+"]"), "")
		if err != nil {
			return tensor.Tensor{}, err
		}
		return list[0], nil
	}
	elements := []string{"0", "-0", "1", "-1", "0.5", "1e2", "1e400", "-1e400", "1e-400", "true", "null", `"1"`}
	for _, bits := range []int{7, 8, 15, 16, 31, 32, 63} {
		n := uint64(1) << bits
		for _, d := range []uint64{n - 1, n, n + 1} {
			elements = append(elements, strconv.FormatUint(d, 10), "-"+strconv.FormatUint(d, 10))
		}
	}
	elements = append(elements, "18446744073709551615", "18446744073709551616")
	for _, e := range elements {
		for bits, name := range map[int]string{8: "INT8", 16: "INT16", 32: "INT32", 64: "INT64"} {
			want, wrong := strconv.ParseInt(e, 10, bits)
			got, err := one(name, e)
			if (err == nil) != (wrong == nil) {
				t.Errorf("%s for %s: %v, want %v", e, name, err, wrong)
			} else if err == nil && !bytes.Equal(got.Bytes(), binary.LittleEndian.AppendUint64(nil, uint64(want))[:bits/8]) {
				t.Errorf("%s for %s is %x", e, name, got.Bytes())
			}
		}
		for bits, name := range map[int]string{8: "UINT8", 16: "UINT16", 32: "UINT32", 64: "UINT64"} {
			want, wrong := strconv.ParseUint(e, 10, bits)
			got, err := one(name, e)
			if (err == nil) != (wrong == nil) {
				t.Errorf("%s for %s: %v, want %v", e, name, err, wrong)
			} else if err == nil && !bytes.Equal(got.Bytes(), binary.LittleEndian.AppendUint64(nil, want)[:bits/8]) {
				t.Errorf("%s for %s is %x", e, name, got.Bytes())
			}
		}
		for bits, name := range map[int]string{32: "FP32", 64: "FP64"} {
			_, wrong := strconv.ParseFloat(e, bits)
			if _, err := one(name, e); (err == nil) != (wrong == nil) {
				t.Errorf("%s for %s: %v, want %v", e, name, err, wrong)
			}
		}
	}
}

// The plain way to read strings: one after the other.
func TestStringsOnTheWireAreReadOrNamed(t *testing.T) {
	random := rand.New(rand.NewPCG(27, 28))
	for range 2000 {
		list := make([]string, random.IntN(4))
		for i := range list {
			list[i] = strings.Repeat("ab", random.IntN(3))
		}
		wire := AppendBytes([]byte("x"), list)[1:]
		if len(wire) != BytesSize(list) {
			t.Fatalf("%q takes %d bytes, and is said to take %d", list, len(wire), BytesSize(list))
		}
		if len(wire) > 0 && random.IntN(2) == 0 { // damaged
			wire[random.IntN(len(wire))] ^= byte(1 << random.IntN(3))
		}
		wire = wire[:len(wire)-min(len(wire), random.IntN(2))]
		want, whole := readSlowly(wire, len(list))
		got := make([]string, len(list))
		if err := parseBytes(wire, got); (err == nil) != whole || whole && !slices.Equal(got, want) {
			t.Fatalf("%x is %q, %v, want %q, %v", wire, got, err, want, whole)
		}
	}
}

// readSlowly reads so many strings, and reports whether there is nothing else.
func readSlowly(wire []byte, n int) (list []string, whole bool) {
	r := bytes.NewReader(wire)
	for range n {
		var size uint32
		if binary.Read(r, binary.LittleEndian, &size) != nil || int64(size) > int64(r.Len()) {
			return nil, false
		}
		b := make([]byte, size)
		_, _ = r.Read(b)
		list = append(list, string(b))
	}
	return list, r.Len() == 0
}

// Numbers of typed contents are those of the type, as protobuf's library writes them.
func TestTypedNumbersBeyondTheirTypeAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ least, most int64 }{
		"INT8": {-1 << 7, 1<<7 - 1}, "INT16": {-1 << 15, 1<<15 - 1}, "INT32": {math.MinInt32, math.MaxInt32}, "UINT8": {0, 1<<8 - 1}, "UINT16": {0, 1<<16 - 1}, "UINT32": {0, 1<<32 - 1}, "BOOL": {0, 1},
	} {
		d, err := ParseDatatype(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []int64{c.least - 1, c.least, 0, c.most, c.most + 1, 1 << 40, -1 << 40, math.MaxInt64, math.MinInt64} {
			wire := message{}.text(5, string(message{}.text(1, "a").text(2, name).number(3, 1).text(5, string(message{}.number(contentsOf[d].number, uint64(v))))))
			err := (&Receiving{Accept: freshFor}).unmarshal(wire.slice())
			if in := v >= c.least && v <= c.most; in != (err == nil) || !in && !strings.Contains(err.Error(), fmt.Sprintf("element 0 is %d, ", v)) {
				t.Errorf("%d as %s: %v", v, name, err)
			}
		}
	}
}

func TestMessagesAreReadFromManyGoroutines(t *testing.T) {
	random := rand.New(rand.NewPCG(29, 30))
	h, list := randomHead(random, true, false)
	s, err := Codec{}.Marshal(&Sending{Head: h, Tensors: list})
	if err != nil {
		t.Fatal(err)
	}
	text, err := AppendRequest(nil, h, list, JSON)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			in := &Receiving{Accept: freshFor}
			err := Codec{}.Unmarshal(mem.BufferSlice{mem.SliceBuffer(s.Materialize())}, in)
			if err != nil || cmp.Diff(plain(list), plain(in.Tensors)) != "" {
				t.Errorf("gRPC: %v", err)
			}
			if _, got, err := readRequest(string(text), ""); err != nil || cmp.Diff(plain(list), plain(got)) != "" {
				t.Errorf("JSON: %v", err)
			}
		})
	}
	all.Wait()
}

func TestWhoHasNoMemoryForATensorSaysSo(t *testing.T) {
	full := Errorf(TooLarge, "no room")
	none := func(int, Spec) (tensor.Tensor, error) { return tensor.Tensor{}, full }
	d, err := ParseRequest([]byte(data("INT8", "[1]", "[1]")), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = d.Read(nil, none); err == nil || err.Error() != "tensor a: no room" || CodeOf(err) != TooLarge {
		t.Errorf("in JSON: %v", err)
	}
	wire := message{}.text(5, string(message{}.text(1, "a").text(2, "INT8").number(3, 0)))
	err = (&Receiving{Accept: func(*Head) (Place, error) { return none, nil }}).unmarshal(wire.slice())
	if err == nil || err.Error() != "tensor a: no room" || CodeOf(err) != TooLarge {
		t.Errorf("over gRPC: %v", err)
	}
	for what, room := range map[string]tensor.Tensor{"another type": tensor.New(tensor.Int16, 1), "another size": tensor.New(tensor.Int8, 2)} {
		other := func(*Head) (Place, error) { return func(int, Spec) (tensor.Tensor, error) { return room, nil }, nil }
		wire := message{}.text(5, string(message{}.text(1, "a").text(2, "INT8").number(3, 1))).text(7, "x")
		if err := (&Receiving{Accept: other}).unmarshal(wire.slice()); err == nil || !strings.Contains(err.Error(), "tensor a is int8[1], there is room for ") {
			t.Errorf("memory of %s: %v", what, err)
		}
	}
}

func TestSharedMemoryThatCannotBeReadIsAnError(t *testing.T) {
	gone := Errorf(InvalidArgument, "it is gone")
	for what, load := range map[string]Load{
		"it is gone":      func(Window, []byte) error { return gone },
		"want 0 or 1":     func(_ Window, dst []byte) error { dst[0] = 2; return nil },
		"are not support": nil,
	} {
		h := &Head{Tensors: []Spec{{Name: "a", Type: tensor.Bool, Shape: tensor.Shape{1}, Window: Window{"r", 0, 1}}}}
		list := []tensor.Tensor{tensor.New(tensor.Bool, 1)}
		text, err := AppendRequest(nil, h, list, Binary)
		if err != nil {
			t.Fatal(err)
		}
		d, err := ParseRequest(text, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		d.Load = load
		if _, err = d.Read(nil, fresh); err == nil || !strings.HasPrefix(err.Error(), "tensor a: ") || !strings.Contains(err.Error(), what) {
			t.Errorf("in JSON: %v, want %q", err, what)
		}
		s, err := (&Sending{Head: h, Tensors: list}).marshal()
		if err != nil {
			t.Fatal(err)
		}
		if err = (&Receiving{Accept: freshFor, Load: load}).unmarshal(s); err == nil || !strings.HasPrefix(err.Error(), "tensor a: ") || !strings.Contains(err.Error(), what) {
			t.Errorf("over gRPC: %v, want %q", err, what)
		}
	}
}
