package oip

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mlperf-go/mlperf/internal/oip/oiptest/pb"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Protobuf's library says what a message has whose fields come in any order, and whose messages come in pieces.
func TestMessagesInPiecesAreReadAsProtobufReadsThem(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		wire := message(torn(random, written(t, randomRequest(random)).Materialize(), 5)).slice()
		want := oracle(t, wire, &pb.InferRequest{})
		in := &Receiving{Accept: freshFor}
		if err := in.unmarshal(chopped(wire, 1+random.IntN(9))); err != nil {
			t.Fatalf("%v\n%x", err, wire.Materialize())
		}
		if in.Head.Model != want.ModelName || in.Head.Version != want.ModelVersion || in.Head.ID != want.ID || len(in.Tensors) != len(want.Inputs) {
			t.Fatalf("the head is %+v, want that of %+v", in.Head, want)
		}
		for i, x := range want.Inputs {
			got := fmt.Sprintf("%v %s", in.Head.Tensors[i], elements(in.Tensors[i]))
			if want := fmt.Sprintf("%s %s%v %v", x.Name, x.Datatype, x.Shape, typed(x.Contents)); got != want {
				t.Fatalf("a tensor is %s, want %s", got, want)
			}
		}
	}
}

// randomRequest has tensors of one to three axes with typed contents.
func randomRequest(random *rand.Rand) *pb.InferRequest {
	r := &pb.InferRequest{ModelName: "m", ID: fmt.Sprint(random.Uint32()), Parameters: map[string]*pb.Parameter{"priority": {Int64: random.Int64()}, "timeout": {String_: "x"}}}
	for i := range random.IntN(4) {
		x := &pb.Tensor{Name: fmt.Sprint("x", i), Contents: &pb.Contents{}, Parameters: map[string]*pb.Parameter{"p": {Int64: 1}}}
		n := 1
		for range 1 + random.IntN(3) {
			d := random.IntN(4)
			x.Shape, n = append(x.Shape, int64(d)), n*d
		}
		x.Datatype = fillRandom(random, x.Contents, n)
		r.Inputs = append(r.Inputs, x)
	}
	return r
}

// fillRandom adds elements of some type, and returns its name.
func fillRandom(random *rand.Rand, c *pb.Contents, n int) string {
	kind := random.IntN(6)
	for range n {
		switch kind {
		case 0:
			c.FP32 = append(c.FP32, random.Float32())
		case 1:
			c.FP64 = append(c.FP64, random.NormFloat64())
		case 2:
			c.Int = append(c.Int, int32(int16(random.Uint32())))
		case 3:
			c.Uint64 = append(c.Uint64, random.Uint64())
		case 4:
			c.Bool = append(c.Bool, random.IntN(2) == 1)
		default:
			c.Bytes = append(c.Bytes, make([]byte, random.IntN(3)))
		}
	}
	return []string{"FP32", "FP64", "INT16", "UINT64", "BOOL", "BYTES"}[kind]
}

// torn is a message with its fields in another order, those of a number in theirs; and its contents, where a tensor is the
// field of a number, in several fields.
func torn(random *rand.Rand, b []byte, tensorField protowire.Number) []byte {
	byNumber := map[protowire.Number][][]byte{}
	var order []protowire.Number
	for len(b) > 0 {
		number, kind, tag := protowire.ConsumeTag(b)
		n := tag + protowire.ConsumeFieldValue(number, kind, b[tag:])
		pieces := [][]byte{b[:n:n]}
		if inner, size := protowire.ConsumeBytes(b[tag:]); size > 0 && number == tensorField {
			pieces = [][]byte{message{}.text(number, string(torn(random, inner, -5)))}
		} else if size > 0 && tensorField == -5 && number == 5 {
			pieces = inPieces(inner)
		}
		byNumber[number] = append(byNumber[number], pieces...)
		order = append(order, slices.Repeat([]protowire.Number{number}, len(pieces))...)
		b = b[n:]
	}
	random.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
	var all []byte
	for _, number := range order {
		all = append(all, byNumber[number][0]...)
		byNumber[number] = byNumber[number][1:]
	}
	return all
}

// inPieces has each field of the contents of a tensor in contents of its own.
func inPieces(contents []byte) (pieces [][]byte) {
	for len(contents) > 0 {
		number, kind, tag := protowire.ConsumeTag(contents)
		n := tag + protowire.ConsumeFieldValue(number, kind, contents[tag:])
		pieces = append(pieces, message{}.text(5, string(contents[:n])))
		contents = contents[n:]
	}
	return append(pieces, message{}.text(5, ""))
}

// elements are those of a tensor, as fmt shows them.
func elements(t tensor.Tensor) string {
	switch t.Type {
	case tensor.Float32:
		return fmt.Sprint(tensor.Data[float32](t))
	case tensor.Float64:
		return fmt.Sprint(tensor.Data[float64](t))
	case tensor.Int16:
		return fmt.Sprint(tensor.Data[int16](t))
	case tensor.Uint64:
		return fmt.Sprint(tensor.Data[uint64](t))
	case tensor.Bool:
		var list []bool
		for _, b := range t.Bytes() {
			list = append(list, b != 0)
		}
		return fmt.Sprint(list)
	}
	return fmt.Sprintf("%q", t.Strings())
}

// typed are those of typed contents.
func typed(c *pb.Contents) string {
	switch {
	case c.FP32 != nil:
		return fmt.Sprint(c.FP32)
	case c.FP64 != nil:
		return fmt.Sprint(c.FP64)
	case c.Int != nil:
		return fmt.Sprint(c.Int)
	case c.Uint64 != nil:
		return fmt.Sprint(c.Uint64)
	case c.Bool != nil:
		return fmt.Sprint(c.Bool)
	}
	return fmt.Sprintf("%q", c.Bytes)
}

func TestAnAnswerOfAStreamInPiecesIsOne(t *testing.T) {
	first, second := message{}.text(1, "m").text(5, string(message{}.text(1, "y").text(2, "INT8").number(3, 1))), message{}.text(3, "7").text(6, "\x05")
	in := &Receiving{Answer: true, Stream: true, Accept: freshFor}
	wire := message{}.text(2, string(first)).text(9, "new").text(2, string(second))
	if err := in.unmarshal(wire.slice()); err != nil || in.Head.Model != "m" || in.Head.ID != "7" || tensor.Data[int8](in.Tensors[0])[0] != 5 {
		t.Errorf("read as %+v, %v", in, err)
	}
}

// What is told in a field before must not be changed by what is told behind it.
func TestPiecesOfAMessageLeaveTheMessageAlone(t *testing.T) {
	wire := message{}.text(5, string(message{}.text(1, "x").text(2, "INT8").number(3, 2).text(5, string(message{}.number(2, 1))).text(5, string(message{}.number(2, 2)))))
	before := slices.Clone(wire)
	if err := (&Receiving{Accept: freshFor}).unmarshal(wire.slice()); err != nil || !slices.Equal(before, wire) {
		t.Errorf("%v; the message is %x, want %x", err, wire, before)
	}
}

// Package json, flattened, says what elements in lists are.
func TestListsInJSONAreReadAsPackageJSONReadsThem(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		shape := make(tensor.Shape, 1+random.IntN(3))
		for i := range shape {
			shape[i] = int64(random.IntN(4))
		}
		text := lists(random, shape)
		_, list, err := readRequest(data("FP64", strings.ReplaceAll(fmt.Sprint([]int64(shape)), " ", ","), text), "")
		if err != nil {
			t.Fatalf("%v of %s: %v", shape, text, err)
		}
		var any any
		if err := json.Unmarshal([]byte(text), &any); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(flat(any), append([]float64{}, tensor.Data[float64](list[0])...)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// lists are random numbers in lists of a shape.
func lists(random *rand.Rand, shape tensor.Shape) string {
	space := []string{"", " ", "\n\t"}[random.IntN(3)]
	if len(shape) == 0 {
		return fmt.Sprint(random.NormFloat64(), space)
	}
	var parts []string
	for range shape[0] {
		parts = append(parts, lists(random, shape[1:]))
	}
	return "[" + space + strings.Join(parts, ","+space) + "]"
}

func flat(v any) []float64 {
	if f, ok := v.(float64); ok {
		return []float64{f}
	}
	all := []float64{}
	for _, x := range v.([]any) {
		all = append(all, flat(x)...)
	}
	return all
}

func TestListsThatAreNotThoseOfTheAxesAreRefused(t *testing.T) {
	for _, c := range []struct{ shape, elements, want string }{
		{"[2,2]", "[[1,2,3],[4]]", "a list before element 3, 2 lists deep, has 3 values, want 2 as axis 1"},
		{"[2,3]", "[[1,2],[3,4],[5,6]]", "a list before element 2, 2 lists deep, has 2 values, want 3 as axis 1"},
		{"[2,1]", "[[1],[2],[]]", "a list before element 2, 2 lists deep, has 0 values, want 1 as axis 1"},
		{"[1,2,1]", "[[[1]],[[2]]]", "a list before element 1, 2 lists deep, has 1 values, want 2 as axis 1"},
		{"[2,0]", "[[],[1]]", "more than 0 elements"},
	} {
		if _, _, err := readRequest(data("INT8", c.shape, c.elements), ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: %v, want %q", c.elements, c.shape, err, c.want)
		}
	}
}
