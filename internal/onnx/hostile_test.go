package onnx

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// asBytes makes a field of bytes, which may claim to be longer than it is.
func asBytes(num protowire.Number, claimed uint64, content string) string {
	field := protowire.AppendTag(nil, num, protowire.BytesType)
	return string(append(protowire.AppendVarint(field, claimed), content...))
}

func asNumber(num protowire.Number) string {
	return string(protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), 7))
}

// What is wrong with the fields that a file is searched for is found however the file is read.
func TestEveryReaderRefusesTheSameFields(t *testing.T) {
	valid := string(mustEncode(t, modelOf(diamond())))
	graphOf := func(fields string) string { return asBytes(modelGraph, uint64(len(fields)), fields) }
	for _, c := range []struct{ name, file, want string }{
		{"a graph that is a number", valid + asNumber(modelGraph), "field 7 has wire type 0, want 2"},
		{"a file that is nothing but such a graph", asNumber(modelGraph), "field 7 has wire type 0, want 2"},
		{"an input that is a number", valid + graphOf(asNumber(graphInput)), "field 11 has wire type 0, want 2"},
		{"a graph of more bytes than the file", valid + asBytes(modelGraph, 1<<40, "x"), ""},
		{"a graph of more bytes than there are numbers", valid + asBytes(modelGraph, math.MaxUint64, "x"), ""},
		{"an initializer that leaves its graph", valid + graphOf(asBytes(graphInitializer, 1000, "x")), ""},
		{"a length that never ends", valid + "\x3a" + strings.Repeat("\xff", 30), "variable length integer overflow"},
		{"a field without a number", valid + "\x02\x00", "invalid field number"},
		{"a tag at the very end", valid + "\x3a", "unexpected EOF"},
		{"half a fixed number", valid + "\x0d\x00", "unexpected EOF"},
		{"a group", valid + "\xf3\x01\xf4\x01", "field 30 has wire type 3, which ONNX does not use"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, decoded := Decode([]byte(c.file))
			_, read := readBytes([]byte(c.file))
			_, head := (&fileReader{file: strings.NewReader(c.file), size: int64(len(c.file))}).head()
			for reader, err := range map[string]error{"Decode": decoded, "ReadFile": read, "ReadHead": head} {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v, want an error with %q", reader, err, c.want)
				}
			}
		})
	}
}

func TestAnInitializerThatIsANumberIsRefused(t *testing.T) {
	file := []byte(string(mustEncode(t, modelOf(diamond()))) + asBytes(modelGraph, 2, asNumber(graphInitializer)))
	_, decoded := Decode(file)
	_, read := readBytes(file)
	for _, err := range []error{decoded, read} {
		if err == nil || !strings.Contains(err.Error(), "field 5 has wire type 0, want 2") {
			t.Errorf("got %v", err)
		}
	}
}

// A claim of a few bytes must not cost memory: what a length promises is compared with the file first.
func TestAClaimedSizeTakesNoMemory(t *testing.T) {
	tensor := asBytes(tensorRawData, 1<<31, "x")
	file := []byte(asBytes(modelGraph, uint64(len(tensor)+2), asBytes(graphInitializer, uint64(len(tensor)), tensor)))
	allocated := allocatedBy(func() {
		if _, err := readBytes(file); err == nil || !strings.Contains(err.Error(), "a field of 2147483648 bytes begins at byte") {
			t.Errorf("got %v", err)
		}
	})
	if allocated > 1<<20 {
		t.Errorf("a file of %d bytes had %d allocated", len(file), allocated)
	}
}

// Graphs in graphs cost as much as there are names in them, not as much as there are names around them.
func TestCheckOfManySubgraphsInALargeGraphIsQuick(t *testing.T) {
	const n = 20_000
	g := &Graph{Nodes: make([]*Node, n)}
	for i := range g.Nodes {
		g.Nodes[i] = &Node{Op: "If", Outputs: []string{string(rune('a' + i))}, Attributes: []Attribute{Attr("then_branch", &Graph{})}}
	}
	if err := modelOf(g).Check(); err != nil {
		t.Error(err)
	}
}

func TestAnInitializerInTwoFormsIsRefusedWhereverItsElementsLie(t *testing.T) {
	m := modelOf(diamond())
	twice := &Tensor{Name: "twice", Type: Float32, Dims: []int64{2000}, Data: Raw(make([]byte, 8000)),
		Extra: Extra(typedTensor(Float32, nil, tensorFloatData, []byte("abcd")))}
	m.Graph.Initializers = append(m.Graph.Initializers, twice)
	twice.Extra += "\x42\x05twice" // typedTensor names it otherwise
	_, err := ReadFile(writeModel(t, m))
	if err == nil || !strings.Contains(err.Error(), `tensor "twice": its elements come in more than one form`) {
		t.Errorf("got %v", err)
	}
}

func TestDecodingTwiceGivesModelsThatShareNothing(t *testing.T) {
	data := mustEncode(t, everything())
	first, second := mustDecode(t, data), mustDecode(t, data)
	first.Graph.RenameValue("x", "renamed")
	first.Graph.Nodes[0].SetAttr("i", int64(99))
	first.Graph.Initializers[0].Dims[0] = 99
	if !bytes.Equal(mustEncode(t, second), data) {
		t.Error("an edit of one model changed another")
	}
}
