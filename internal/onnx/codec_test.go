package onnx

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

func mustEncode(t testing.TB, m *Model) []byte {
	t.Helper()
	data, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func mustDecode(t testing.TB, data []byte) *Model {
	t.Helper()
	m, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestDecodeRestoresWhatEncodeWrote(t *testing.T) {
	data := mustEncode(t, everything())
	if diff := cmp.Diff(everything(), mustDecode(t, data)); diff != "" {
		t.Errorf("decoded model differs (-want +got):\n%s", diff)
	}
	if size, err := everything().EncodedSize(); err != nil || size != int64(len(data)) {
		t.Errorf("EncodedSize() = %d, %v, want %d", size, err, len(data))
	}
}

func TestUnknownFieldsSurviveInEveryMessage(t *testing.T) {
	want := everything()
	n := addExtras(want)
	data := mustEncode(t, want)
	got := mustDecode(t, data)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decoded model differs (-want +got):\n%s", diff)
	}
	// Tensors of attributes share the extras of the initializers, so there are more.
	if found := bytes.Count(data, []byte("\xc2\x3e\x03new")); found < n {
		t.Errorf("%d of %d unknown fields were written", found, n)
	}
	if again := mustEncode(t, got); !bytes.Equal(again, data) {
		t.Error("encoding a decoded model gives other bytes")
	}
}

func TestModelsOfOtherProgramsSurviveARoundTrip(t *testing.T) {
	paths, err := filepath.Glob("testdata/foreign/*.onnx")
	if err != nil || len(paths) != 10 {
		t.Fatalf("found %d models (%v), want 10", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			m := mustDecode(t, data)
			if err := m.Check(); err != nil {
				t.Errorf("Check() = %v for a valid model", err)
			}
			again := mustEncode(t, m)
			if diff := cmp.Diff(m, mustDecode(t, again)); diff != "" {
				t.Errorf("decoded model differs (-want +got):\n%s", diff)
			}
			fromFile, err := ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(mustEncode(t, fromFile), again) {
				t.Error("ReadFile gives another model than Decode")
			}
		})
	}
}

// Some foreign files have all fields in canonical order and only raw data, so they
// must come back byte by byte.
func TestCanonicalFilesAreReproducedExactly(t *testing.T) {
	for _, name := range []string{"if_optional.onnx", "int4.onnx", "scan.onnx", "sequence.onnx", "strings.onnx"} {
		data, err := os.ReadFile(filepath.Join("testdata/foreign", name))
		if err != nil {
			t.Fatal(err)
		}
		if again := mustEncode(t, mustDecode(t, data)); !bytes.Equal(again, data) {
			t.Errorf("%s: %d bytes became %d other ones", name, len(data), len(again))
		}
	}
}

// typedTensor encodes a tensor whose elements are in a field other than raw_data.
func typedTensor(typ ElemType, dims []int64, num protowire.Number, content ...[]byte) []byte {
	var m message
	m.ints(tensorDims, dims)
	for _, c := range content { // before the type, which readers must not rely on
		m.string(num, string(c))
	}
	m.int(tensorDataType, int64(typ))
	m.string(tensorName, "t")
	return m.buf
}

func varints(values ...int64) []byte {
	var b []byte
	for _, v := range values {
		b = protowire.AppendVarint(b, uint64(v))
	}
	return b
}

func TestTypedElementsBecomeRawBytes(t *testing.T) {
	for _, c := range []struct {
		name string
		msg  []byte
		want Raw
	}{
		{"float32", typedTensor(Float32, []int64{1}, tensorFloatData, []byte("abcd")), Raw("abcd")},
		{"complex64", typedTensor(Complex64, []int64{1}, tensorFloatData, []byte("abcdefgh")), Raw("abcdefgh")},
		{"float64", typedTensor(Float64, []int64{1}, tensorDoubleData, []byte("abcdefgh")), Raw("abcdefgh")},
		{"float32 in two parts", typedTensor(Float32, []int64{2}, tensorFloatData, []byte("abcd"), []byte("efgh")), Raw("abcdefgh")},
		{"int32", typedTensor(Int32, []int64{2}, tensorInt32Data, varints(-2, 1)), Raw("\xfe\xff\xff\xff\x01\x00\x00\x00")},
		{"int8", typedTensor(Int8, []int64{2}, tensorInt32Data, varints(-2, 1)), Raw("\xfe\x01")},
		{"bool", typedTensor(Bool, []int64{2}, tensorInt32Data, varints(0, 1)), Raw("\x00\x01")},
		{"float16 bits", typedTensor(Float16, []int64{1}, tensorInt32Data, varints(0x3c00)), Raw("\x00\x3c")},
		{"int4 pairs", typedTensor(Int4, []int64{3}, tensorInt32Data, varints(0x21, 0x03)), Raw("\x21\x03")},
		{"int64", typedTensor(Int64, []int64{1}, tensorInt64Data, varints(-1)), Raw("\xff\xff\xff\xff\xff\xff\xff\xff")},
		{"uint32", typedTensor(Uint32, []int64{1}, tensorUint64Data, varints(5)), Raw("\x05\x00\x00\x00")},
		{"uint64", typedTensor(Uint64, []int64{1}, tensorUint64Data, varints(5)), Raw("\x05\x00\x00\x00\x00\x00\x00\x00")},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got Tensor
			if err := got.decode(c.msg, 0); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Source(c.want), got.Data); diff != "" {
				t.Errorf("elements differ (-want +got):\n%s", diff)
			}
			if err := got.check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestUnpackedListsAreReadLikePackedOnes(t *testing.T) {
	var m message
	m.float(tensorFloatData, 1)
	m.float(tensorFloatData, 2)
	m.buf = protowire.AppendTag(m.buf, tensorDims, protowire.BytesType) // dims packed
	m.buf = protowire.AppendBytes(m.buf, varints(1, 2))
	m.int(tensorDataType, int64(Float32))
	var got Tensor
	if err := got.decode(m.buf, 0); err != nil {
		t.Fatal(err)
	}
	floats, err := Elements[float32](&got)
	if diff := cmp.Diff([]float32{1, 2}, floats); diff != "" || err != nil {
		t.Errorf("elements differ (-want +got): %v\n%s", err, diff)
	}
	if diff := cmp.Diff([]int64{1, 2}, got.Dims); diff != "" {
		t.Errorf("dims differ (-want +got):\n%s", diff)
	}
}

func TestDecodingDoesNotWriteIntoItsInput(t *testing.T) {
	// The second part of the list must not be appended to the first in place.
	msg := typedTensor(Float32, []int64{2}, tensorFloatData, []byte("abcd"), []byte("efgh"))
	before := bytes.Clone(msg)
	var got Tensor
	if err := got.decode(msg, 0); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(msg, before) {
		t.Error("the message was changed")
	}
}

func TestMessagesThatComeTwiceAreMerged(t *testing.T) {
	one := mustEncode(t, &Model{IRVersion: 8, Opsets: []Opset{{Version: 17}}, Graph: &Graph{Name: "a", Nodes: []*Node{{Op: "A"}}}})
	two := mustEncode(t, &Model{Graph: &Graph{Name: "b", Nodes: []*Node{{Op: "B"}}}})
	m := mustDecode(t, append(one, two...))
	if m.Graph.Name != "b" || len(m.Graph.Nodes) != 2 {
		t.Errorf("merged graph is %q with %d nodes, want b with 2", m.Graph.Name, len(m.Graph.Nodes))
	}
}

func TestAttributesWithoutAKindAreReadByTheirValue(t *testing.T) {
	var m message
	m.string(attributeName, "a")
	m.int(attributeI, 7)
	var a Attribute
	if err := a.decode(m.buf, 0); err != nil || a.Value != int64(7) {
		t.Errorf("decoded %v, %v, want 7", a.Value, err)
	}
}

func TestExternalDataWithoutItsLocationIsKeptButMeansNothing(t *testing.T) {
	var m message
	m.properties(tensorExternalData, []Property{{Key: "location", Value: "w"}})
	var got Tensor
	if err := got.decode(m.buf, 0); err != nil {
		t.Fatal(err)
	}
	if got.External != nil || got.Extra != Extra(m.buf) {
		t.Errorf("External = %v, Extra = %q", got.External, got.Extra)
	}
}

func TestDecodeRefusesWhatIsNoModel(t *testing.T) {
	valid := mustEncode(t, everything())
	without := func(change func(*Model)) []byte {
		m := everything()
		change(m)
		return mustEncode(t, m)
	}
	deep := &Graph{}
	for range 2 * maxDepth {
		deep = &Graph{Nodes: []*Node{{Op: "If", Attributes: []Attribute{Attr("then", deep)}}}}
	}
	raw := &Tensor{Type: Float32, Data: Raw("abcd")}
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"nothing", "it is empty", nil},
		{"zeros", "zero bytes", make([]byte, 100)},
		{"a Git LFS pointer", "git lfs pull", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:00")},
		{"a web page", "web page", []byte("\n<!DOCTYPE html><html>")},
		{"an error of a store", "XML", []byte("<?xml version='1.0'?><Error>")},
		{"JSON", "JSON", []byte(`{"error": "not found"}`)},
		{"gzip", "gzip", []byte("\x1f\x8b\x08\x00")},
		{"a PyTorch archive", "ZIP", []byte("PK\x03\x04....")},
		{"a TensorFlow Lite model", "TensorFlow Lite", []byte("\x1c\x00\x00\x00TFL3\x14\x00")},
		{"text", "not an ONNX model", []byte("hello, world")},
		{"the first half of a model", "unexpected EOF", valid[:len(valid)/2]},
		{"no version", "no version of the format", without(func(m *Model) { m.IRVersion = 0 })},
		{"no graph", "no graph", without(func(m *Model) { m.Graph = nil })},
		{"no operator set", "no operator set", without(func(m *Model) { m.Opsets = nil })},
		{"a graph that is a number", "field 7 has wire type 0", varints(modelGraph<<3, 5)},
		{"a group", "field 30 has wire type 3", varints(30<<3|3, 30<<3|4)},
		{"graphs in graphs without end", "graphs within graphs", without(func(m *Model) { m.Graph = deep })},
		{"typed and raw elements", `tensor "t": its elements come in more than one form`, without(func(m *Model) {
			raw.Name, raw.Extra = "t", Extra(typedTensor(Float32, nil, tensorFloatData, []byte("abcd")))
			m.Graph.Initializers = []*Tensor{raw}
		})},
		{"floats in a tensor of integers", "in a form that int64 cannot have", without(func(m *Model) {
			m.Graph.Initializers = []*Tensor{{Extra: Extra(typedTensor(Int64, nil, tensorFloatData, []byte("abcd")))}}
		})},
		{"integers in a tensor of floats", "in a form that float32 cannot have", without(func(m *Model) {
			m.Graph.Initializers = []*Tensor{{Extra: Extra(typedTensor(Float32, nil, tensorInt32Data, varints(1)))}}
		})},
		{"strings in a tensor of floats", "strings in a tensor of float32", without(func(m *Model) {
			m.Graph.Initializers = []*Tensor{{Type: Float32, Strings: []string{"a"}}}
		})},
		{"three bytes of floats", "not a multiple of 4", without(func(m *Model) {
			m.Graph.Initializers = []*Tensor{{Extra: Extra(typedTensor(Float32, nil, tensorFloatData, []byte("abc")))}}
		})},
		{"an attribute of two kinds", `node "node": attribute "a": it has values of several kinds`, without(func(m *Model) {
			extra := Attribute{Name: "a", Value: int64(1), Extra: "\x22\x01x"}
			m.Graph.Nodes[0].Attributes = []Attribute{extra}
		})},
		{"an attribute of another kind", "its kind is 2 but its value of kind 3", without(func(m *Model) {
			m.Graph.Nodes[0].Attributes = []Attribute{{Name: "a", Extra: "\x22\x01x\xa0\x01\x02"}}
		})},
		{"an attribute that says it is a tensor", "its kind is 4 but it has no value", without(func(m *Model) {
			m.Graph.Nodes[0].Attributes = []Attribute{{Name: "a", Extra: "\xa0\x01\x04"}}
		})},
		{"an attribute that says it is a sparse tensor", "its kind is 11 but it has no value", without(func(m *Model) {
			m.Graph.Nodes[0].Attributes = []Attribute{{Name: "a", Extra: "\xa0\x01\x0b"}}
		})},
		{"a sparse tensor without values", "sparse tensor: no values", without(func(m *Model) {
			m.Graph.SparseInitializers = []*SparseTensor{{Dims: []int64{9}}}
		})},
		{"words of 16 bytes", "in a form that complex128 cannot have", without(func(m *Model) {
			m.Graph.Initializers = []*Tensor{{Extra: Extra(typedTensor(Complex128, nil, tensorUint64Data, varints(1)))}}
		})},
		{"integers cut off in the middle", "unexpected EOF", without(func(m *Model) {
			m.Graph.Initializers = []*Tensor{{Extra: Extra(typedTensor(Int64, nil, tensorInt64Data, []byte{0x80}))}}
		})},
		{"a name that is a number", "field 8 has wire type 0, want 2", without(func(m *Model) {
			m.Graph.Initializers = []*Tensor{{Extra: Extra(varints(tensorName<<3, 5))}}
		})},
		{"a version that is a text", "field 1 has wire type 2, want 0", without(func(m *Model) {
			m.Extra = "\x0a\x01x"
		})},
		{"an attribute of nothing", "neither kind nor value", without(func(m *Model) {
			m.Graph.Nodes[0].Attributes = []Attribute{{Name: "a"}}
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode(c.data)
			if err == nil || !strings.HasPrefix(err.Error(), "not an ONNX model: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Decode() = %v, want \"not an ONNX model: …%s…\"", err, c.want)
			}
		})
	}
}

type sizedSource struct {
	Raw
	size int64
}

func (s sizedSource) Size() int64 { return s.size }

func TestEncodeRefusesWhatHasNoEncoding(t *testing.T) {
	withTensor := func(data Source) *Model {
		return &Model{IRVersion: 8, Graph: &Graph{Initializers: []*Tensor{{Name: "w", Type: Uint8, Data: data}}}}
	}
	for _, c := range []struct {
		name, want string
		model      *Model
	}{
		{"an attribute of a foreign Go type", `attribute "a": a value of type int has no encoding`,
			&Model{Graph: &Graph{Nodes: []*Node{{Attributes: []Attribute{Attr("a", 1)}}}}}},
		{"more than 2 GiB", "exceed the 2 GiB", withTensor(sizedSource{size: math.MaxInt32})},
		{"a source that breaks its promise", `tensor "w": its source wrote 3 bytes, not 4`, withTensor(sizedSource{Raw("abc"), 4})},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := c.model.WriteTo(io.Discard)
			if err == nil || n != 0 || !strings.Contains(err.Error(), c.want) { // all of it is smaller than a buffer
				t.Errorf("WriteTo() = %d, %v, want nothing and %q", n, err, c.want)
			}
		})
	}
}

type failingWriter struct{ room int }

var errFull = errors.New("full")

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.room < len(p) {
		return w.room, errFull
	}
	w.room -= len(p)
	return len(p), nil
}

func TestWriteToReportsThatNothingCouldBeWritten(t *testing.T) {
	m := modelOf(diamond()) // small enough for one write
	n, err := m.WriteTo(&failingWriter{room: 10})
	if !errors.Is(err, errFull) || n != 10 || !strings.HasPrefix(err.Error(), "writing ONNX model: ") {
		t.Errorf("WriteTo() = %d, %v, want 10 and the writer's error", n, err)
	}
}

func TestWriteToReportsHowFarItCame(t *testing.T) {
	m := &Model{IRVersion: 8, Graph: &Graph{Initializers: []*Tensor{{Type: Uint8, Data: Raw(make([]byte, 1<<20))}}}}
	n, err := m.WriteTo(&failingWriter{room: 1000})
	if !errors.Is(err, errFull) || n != 1000 {
		t.Errorf("WriteTo() = %d, %v, want 1000 and the writer's error", n, err)
	}
}
