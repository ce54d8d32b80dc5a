package onnx

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mlperf-go/mlperf/internal/onnx/onnxpb"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// everything returns a model that uses every field and every kind of attribute.
func everything() *Model {
	const unknown Extra = "\xc2\x3e\x03new" // field 1000
	w := &Tensor{Name: "weights", Type: Float32, Dims: []int64{2, 2}, Data: Raw("0123456789abcdef"), Extra: unknown}
	words := &Tensor{Name: "words", Type: String, Dims: []int64{2}, Strings: []string{"one", "\xff\x00"}}
	outside := &Tensor{Name: "outside", Type: Int8, Dims: []int64{3}, External: []Property{{Key: "location", Value: "w.bin"}}}
	empty := &Tensor{Name: "empty", Type: Int64, Dims: []int64{0}, Data: Raw{}}
	body := &Graph{
		Name:         "body",
		Initializers: []*Tensor{w},
		Nodes:        []*Node{{Op: "Identity", Inputs: []string{"x"}, Outputs: []string{"inner"}}},
		Outputs:      []*Value{{Name: "inner"}},
	}
	return &Model{
		IRVersion: 8, Producer: "p", Doc: "doc", Extra: unknown,
		Opsets:   []Opset{{Version: 17}, {Domain: "com.example", Version: 1}},
		Metadata: []Property{{Key: "k", Value: "v"}, {}},
		Graph: &Graph{
			Name: "g", Extra: unknown,
			Nodes: []*Node{{
				Name: "node", Op: "Op", Domain: "com.example", Overload: "o", Extra: unknown,
				Inputs: []string{"x", "", "weights"}, Outputs: []string{"y", ""},
				Attributes: []Attribute{
					Attr("f", float32(1.5)), Attr("zero", float32(0)), Attr("i", int64(-1)), Attr("s", "\x80bytes"), Attr("nothing", ""),
					Attr("t", w), Attr("g", body),
					Attr("floats", []float32{0, -1, float32(math.Inf(1))}), Attr("ints", []int64{math.MinInt64, 0, math.MaxInt64}),
					Attr("strings", []string{"", "a"}), Attr("tensors", []*Tensor{words, empty}), Attr("graphs", []*Graph{body, body}),
					Attr("none", []int64(nil)), {Name: "newer", Value: onnxpb.AttributeProto_AttributeType(99), Extra: unknown},
				},
			}},
			Initializers: []*Tensor{w, words, outside, empty},
			Inputs: []*Value{
				{Name: "x", Type: Type{Elem: Float32, Shape: Shape{Free("N"), Fixed(3), {Size: -1, Denotation: "H"}, Fixed(0)}}, Extra: unknown},
				{Name: "scalar", Type: Type{Elem: Bool, Shape: Shape{}}},
				{Name: "unranked", Type: Type{Elem: Bool}},
				{Name: "list", Type: Type{Extra: "\x22\x02\x0a\x00"}}, // a sequence
			},
			Outputs: []*Value{{Name: "y"}},
			Values:  []*Value{{Name: "inner", Type: Type{Elem: Int4, Shape: Batched(1)}}},
		},
	}
}

// large is everything, and a tensor that ReadFile leaves in the file.
func large() *Model {
	m := everything()
	m.Graph.Initializers = append(m.Graph.Initializers, TensorOf("large", make([]float32, 10_000), 10, 1000))
	return m
}

func writeModel(t testing.TB, m *Model) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "model.onnx")
	testenv.Must(t, m.WriteFile(t.Context(), path))
	return path
}

func writeBytes(t testing.TB, content []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "model.onnx")
	testenv.Must(t, os.WriteFile(path, content, 0o600))
	return path
}

func mustRead(t testing.TB, path string) *Model {
	t.Helper()
	m, err := ReadFile(path)
	testenv.Must(t, err)
	return m
}

func mustEncode(t testing.TB, m *Model) []byte {
	t.Helper()
	var buf bytes.Buffer
	_, err := m.WriteTo(&buf)
	testenv.Must(t, err)
	return buf.Bytes()
}

func filesIn(t testing.TB, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	testenv.Must(t, err)
	return each(entries, os.DirEntry.Name)
}

func TestRoundTrip(t *testing.T) {
	path := writeModel(t, large())
	m := mustRead(t, path)
	l := m.Graph.Index().Initializer("large")
	if _, lazy := l.Data.(*section); !lazy {
		t.Errorf("the elements of a large tensor are in a %T, want them left in the file", l.Data)
	}
	raw, err := l.Bytes()
	testenv.Must(t, err)
	l.Data = Raw(raw)
	if diff := cmp.Diff(large(), m); diff != "" {
		t.Errorf("model differs (-want +got):\n%s", diff)
	}
	head, err := ReadHead(path)
	want := &Head{Opsets: m.Opsets, Producer: m.Producer, Inputs: m.Graph.FreeInputs(), Outputs: m.Graph.Outputs, Metadata: m.Metadata}
	if diff := cmp.Diff(want, head); err != nil || diff != "" {
		t.Errorf("the head: %v (-ReadFile +ReadHead):\n%s", err, diff)
	}
}

// The official codec reads what is written, field by field.
func TestOfficialCodec(t *testing.T) {
	m := everything()
	var p onnxpb.ModelProto
	testenv.Must(t, proto.Unmarshal(mustEncode(t, m), &p))
	want := m.proto()
	var err error
	want.Graph, err = m.Graph.proto()
	testenv.Must(t, err)
	if !proto.Equal(want, &p) {
		t.Errorf("the file is %v, want %v", &p, want)
	}
}

func TestForeignModels(t *testing.T) {
	paths, err := filepath.Glob("testdata/foreign/*.onnx")
	if err != nil || len(paths) != 10 {
		t.Fatalf("found %d models (%v), want 10", len(paths), err)
	}
	// These have all fields in canonical order and only raw data, so they must come back byte by byte.
	canonical := []string{"int4.onnx", "scan.onnx", "sequence.onnx", "strings.onnx"}
	for _, path := range paths {
		m := mustRead(t, path)
		if err := m.Check(); err != nil {
			t.Errorf("%s: Check() = %v for a valid model", path, err)
		}
		again := mustEncode(t, m)
		if diff := cmp.Diff(m, mustRead(t, writeBytes(t, again))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
		if slices.Contains(canonical, filepath.Base(path)) && !bytes.Equal(again, testenv.Read(t, path)) {
			t.Errorf("%s: the written file differs", path)
		}
	}
}

func TestTypedElements(t *testing.T) {
	for _, c := range []struct {
		typ  ElemType
		from *onnxpb.TensorProto
		want Raw
	}{
		{Float32, &onnxpb.TensorProto{Dims: []int64{1}, FloatData: []float32{1.5}}, Raw("\x00\x00\xc0\x3f")},
		{Complex64, &onnxpb.TensorProto{Dims: []int64{1}, FloatData: []float32{1.5, 0}}, Raw("\x00\x00\xc0\x3f\x00\x00\x00\x00")},
		{Float64, &onnxpb.TensorProto{Dims: []int64{1}, DoubleData: []float64{1.5}}, Raw("\x00\x00\x00\x00\x00\x00\xf8\x3f")},
		{Int32, &onnxpb.TensorProto{Dims: []int64{2}, Int32Data: []int32{-2, 1}}, Raw("\xfe\xff\xff\xff\x01\x00\x00\x00")},
		{Int8, &onnxpb.TensorProto{Dims: []int64{2}, Int32Data: []int32{-2, 1}}, Raw("\xfe\x01")},
		{Bool, &onnxpb.TensorProto{Dims: []int64{2}, Int32Data: []int32{0, 1}}, Raw("\x00\x01")},
		{Float16, &onnxpb.TensorProto{Dims: []int64{1}, Int32Data: []int32{0x3c00}}, Raw("\x00\x3c")},
		{Int4, &onnxpb.TensorProto{Dims: []int64{3}, Int32Data: []int32{0x21, 0x03}}, Raw("\x21\x03")},
		{Int64, &onnxpb.TensorProto{Dims: []int64{1}, Int64Data: []int64{-1}}, Raw("\xff\xff\xff\xff\xff\xff\xff\xff")},
		{Uint32, &onnxpb.TensorProto{Dims: []int64{1}, Uint64Data: []uint64{5}}, Raw("\x05\x00\x00\x00")},
		{Uint64, &onnxpb.TensorProto{Dims: []int64{1}, Uint64Data: []uint64{5}}, Raw("\x05\x00\x00\x00\x00\x00\x00\x00")},
	} {
		c.from.DataType = proto.Int32(int32(c.typ))
		got, err := tensorOf(c.from)
		testenv.Must(t, err)
		if diff := cmp.Diff(Source(c.want), got.Data); diff != "" || got.check() != nil {
			t.Errorf("%v: %v (-want +got):\n%s", c.typ, got.check(), diff)
		}
	}
	if _, err := tensorOf(&onnxpb.TensorProto{FloatData: []float32{1}, RawData: []byte{}}); !errors.Is(err, errManyForms) {
		t.Errorf("elements in two forms: %v", err)
	}
}

// Files of IR version 1 do not say what kind an attribute has.
func TestAttributesWithoutKind(t *testing.T) {
	for _, a := range everything().Graph.Nodes[0].Attributes[:10] {
		p, err := a.proto()
		testenv.Must(t, err)
		p.Type = nil
		got, err := attributeOf(p)
		if diff := cmp.Diff(a, got); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", a.Name, err, diff)
		}
	}
}

// field makes a field of bytes, which may claim to be longer than it is.
func field(num protowire.Number, claimed uint64, content string) string {
	f := protowire.AppendTag(nil, num, protowire.BytesType)
	return string(append(protowire.AppendVarint(f, claimed), content...))
}

func TestReadErrors(t *testing.T) {
	without := func(change func(*Model)) string {
		m := everything()
		change(m)
		return string(mustEncode(t, m))
	}
	valid := string(mustEncode(t, modelWith(diamond())))
	deep := &Graph{}
	for range deepest {
		deep = &Graph{Nodes: []*Node{{Op: "If", Attributes: []Attribute{Attr("then", deep)}}}}
	}
	for _, c := range []struct {
		name, want string
		data       string
		head       bool // ReadHead finds it too
	}{
		{"empty", "it is empty", "", true},
		{"zeros", "zero bytes", strings.Repeat("\x00", 100), true},
		{"a Git LFS pointer", "git lfs pull", "version https://git-lfs.github.com/spec/v1\noid sha256:00", true},
		{"a web page", "web page", "\n<!DOCTYPE html><html>", true},
		{"XML", "XML", "<?xml version='1.0'?><Error>", true},
		{"JSON", "JSON", `{"error": "not found"}`, true},
		{"gzip", "gzip", "\x1f\x8b\x08\x00", true},
		{"a PyTorch archive", "ZIP", "PK\x03\x04....", true},
		{"a TensorFlow Lite model", "TensorFlow Lite", "\x1c\x00\x00\x00TFL3\x14\x00", true},
		{"text", "", "hello, world", true},
		{"the first half of a model", "bytes begins at byte", valid[:len(valid)/2], true},
		{"no version", "it names no version of the format", without(func(m *Model) { m.IRVersion = 0 }), true},
		{"no graph", "it has no graph", without(func(m *Model) { m.Graph = nil }), true},
		{"no operator set", "it imports no operator set", without(func(m *Model) { m.Opsets = nil }), true},
		{"graphs that are too deep", "recursion", without(func(m *Model) { m.Graph = deep }), false},
		{"a tensor attribute without a tensor", `node "node": attribute "a": its tensor is missing`, without(func(m *Model) {
			m.Graph.Nodes[0].Attributes = []Attribute{{Name: "a", Extra: "\xa0\x01\x04"}}
		}), false},
		{"a damaged node", "field 1 of GraphProto, at byte", valid + field(modelGraph, 4, field(1, 2, "\x0a\x09")), false},
		{"a damaged input", "field 11 of GraphProto, at byte", valid + field(modelGraph, 4, field(graphInput, 2, "\x0a\x09")), true},
		{"a graph longer than the file", fmt.Sprintf("a field of 5000 bytes begins at byte %d, but only 1 are left", len(valid)+3), valid + field(modelGraph, 5000, "x"), true},
		{"a graph of 2^64 bytes", "a field of 18446744073709551615 bytes", valid + field(modelGraph, math.MaxUint64, "x"), true},
		{"an initializer longer than its graph", "a field of 1000 bytes", valid + field(modelGraph, 4, field(graphInitializer, 1000, "x")), true},
		{"a length of 30 bytes", "variable length integer overflow", valid + "\x3a" + strings.Repeat("\xff", 30), true},
		{"a field without a number", "invalid field number", valid + "\x02\x00", true},
		{"half a fixed number", "unexpected EOF", valid + "\x0d\x00", true},
	} {
		path := writeBytes(t, []byte(c.data))
		errs := map[string]error{}
		_, errs["ReadFile"] = ReadFile(path)
		if c.head {
			_, errs["ReadHead"] = ReadHead(path)
		}
		for reader, err := range errs {
			if err == nil || !strings.HasPrefix(err.Error(), "reading model.onnx: not an ONNX model: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: %v, want %q", c.name, reader, err, c.want)
			}
		}
	}
	ort := writeBytes(t, []byte("\x20\x00\x00\x00ORTM and more"))
	if _, err := ReadHead(ort); !errors.Is(err, ErrORTFormat) {
		t.Errorf("the head of a model in ORT format: %v", err)
	}
	if _, err := ReadFile(ort); err == nil || !strings.Contains(err.Error(), "it is a model in ORT format; convert") {
		t.Errorf("a model in ORT format: %v", err)
	}
}

// A field may end before, at and after the end of a window of the file.
func TestFieldLengths(t *testing.T) {
	for _, n := range []int{0, 1, 127, 128, 4070, 4080, 4085, 4090, 4095, 4096, 4097, 8191, 8192, 16383, 16384, 70000} {
		m := modelWith(diamond())
		m.Producer, m.Graph.Name, m.Graph.Nodes[0].Name = strings.Repeat("p", n), strings.Repeat("g", n), strings.Repeat("n", n)
		m.Graph.Inputs[0].Name = strings.Repeat("i", n)
		m.Graph.Initializers = append(m.Graph.Initializers, TensorOf("data", slices.Repeat([]uint8{7}, n), int64(n)))
		path := writeModel(t, m)
		if got, want := mustEncode(t, mustRead(t, path)), mustEncode(t, m); !bytes.Equal(got, want) {
			t.Errorf("texts of %d bytes: the model that was read has %d bytes, want %d", n, len(got), len(want))
		}
		h, err := ReadHead(path)
		if err != nil || len(h.Producer) != n || len(h.Inputs[0].Name) != n {
			t.Errorf("texts of %d bytes: %v, the producer has %d", n, err, len(h.Producer))
		}
	}
}

// failingAt is a file whose bytes from some position on cannot be read.
type failingAt struct {
	io.ReaderAt
	from int64
}

func (f failingAt) ReadAt(p []byte, at int64) (int, error) {
	if at+int64(len(p)) > f.from {
		return 0, syscall.EIO
	}
	return f.ReaderAt.ReadAt(p, at)
}

func TestDiskErrors(t *testing.T) {
	m := modelWith(diamond())
	m.Graph.Name = strings.Repeat("long ", 4000)
	data := mustEncode(t, m)
	for _, from := range []int64{0, 4096, 9000, int64(len(data)) - 1} {
		r := &fileReader{file: failingAt{bytes.NewReader(data), from}, size: int64(len(data))}
		if _, err := r.model(); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "at byte ") {
			t.Errorf("a disk that fails from byte %d on: %v", from, err)
		}
	}
}

// A sparseFile has some bytes, and zeros for the rest. It counts the bytes that are read.
type sparseFile struct {
	begin []byte
	read  int
}

func (h *sparseFile) ReadAt(p []byte, at int64) (int, error) {
	h.read += len(p)
	clear(p)
	if at < int64(len(h.begin)) {
		copy(p, h.begin[at:])
	}
	return len(p), nil
}

func TestReadSkipsWeights(t *testing.T) {
	const weight = 1 << 30
	tensor := field(tensorName, 1, "w") + field(tensorRawData, weight, "")
	graph := field(graphInitializer, uint64(len(tensor)+weight), tensor)
	model := append(mustEncode(t, modelWith(diamond())), field(modelGraph, uint64(len(graph)+weight), graph)...)
	for _, head := range []bool{false, true} {
		file := &sparseFile{begin: model}
		m, err := (&fileReader{file: file, size: int64(len(model) + weight), head: head}).model()
		if err != nil || len(m.Graph.Outputs) == 0 || len(m.Graph.Initializers) != 2 {
			t.Fatalf("got %+v, %v", m, err)
		}
		if file.read > 64<<10 {
			t.Errorf("%d bytes were read of %d", file.read, len(model)+weight)
		}
	}
}

// Elements are read when they are used. Until then the file may change.
func TestChangedFile(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(path string) error
	}{
		{"gone", "no such file", os.Remove},
		{"another size", "has changed since it was read", func(path string) error { return os.Truncate(path, 100) }},
		{"another time", "has changed since it was read", func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) }},
		{"another model", "has changed since it was read", func(path string) error {
			m := mustRead(t, path)
			m.Graph.Name = "renamed"
			return m.WriteFile(t.Context(), path) // in place
		}},
	} {
		path := writeModel(t, large())
		l := mustRead(t, path).Graph.Index().Initializer("large")
		testenv.Must(t, c.change(path))
		if _, err := l.Bytes(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `tensor "large"`) {
			t.Errorf("%s: Bytes() = %v, want tensor \"large\" and %q", c.name, err, c.want)
		}
	}
}

// A brokenSource has one size and writes another number of bytes.
type brokenSource struct {
	size, writes int64
	during       func()
}

func (b brokenSource) Size() int64 { return b.size }

func (b brokenSource) WriteTo(w io.Writer) (written int64, err error) {
	if b.writes == 0 {
		return 0, io.ErrUnexpectedEOF
	}
	for written < b.writes && err == nil {
		var n int
		n, err = w.Write(make([]byte, min(64<<10, b.writes-written)))
		written += int64(n)
		if b.during != nil && written > 1<<20 {
			b.during()
		}
	}
	return written, err
}

// A write that fails leaves the old file, and no other one.
func TestFailedWrites(t *testing.T) {
	path := writeModel(t, everything())
	old := testenv.Read(t, path)
	with := func(s Source) *Model {
		return &Model{IRVersion: 8, Graph: &Graph{Initializers: []*Tensor{{Name: "w", Type: Uint8, Data: s}}}}
	}
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted by the user"))
	midway, stop := context.WithCancelCause(t.Context())
	for _, c := range []struct {
		name, want string
		ctx        context.Context
		model      *Model
	}{
		{"a source that fails", "creating model.onnx: writing ONNX model: unexpected EOF", t.Context(), with(brokenSource{size: 4})},
		{"a source that is too short", `tensor "w": its source wrote 3 bytes, not 4`, t.Context(), with(brokenSource{size: 4, writes: 3})},
		{"an interrupt", "creating model.onnx: writing ONNX model: interrupted by the user", cancelled, everything()},
		{"an interrupt in the middle", "stopped", midway, with(brokenSource{size: 1 << 30, writes: 1 << 30, during: func() { stop(errors.New("stopped")) }})},
		{"more than 2 GiB", "exceed the 2 GiB", t.Context(), with(brokenSource{size: math.MaxInt32})},
		{"an attribute of an unknown Go type", `encoding ONNX model: node "n": attribute "a": a value of type int has no encoding`, t.Context(),
			&Model{Graph: &Graph{Nodes: []*Node{{Name: "n", Attributes: []Attribute{Attr("a", 1)}}}}}},
	} {
		if err := c.model.WriteFile(c.ctx, path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: WriteFile() = %v, want %q", c.name, err, c.want)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, old) {
			t.Errorf("%s: the old file is gone: %d bytes, %v", c.name, len(got), err)
		}
		if names := filesIn(t, filepath.Dir(path)); len(names) != 1 {
			t.Errorf("%s: the folder holds %q, want only the model", c.name, names)
		}
	}
	missing := filepath.Join(t.TempDir(), "none", "m.onnx")
	want := "m.onnx … " + filepath.Dir(missing) + " … no such file or directory"
	if err := everything().WriteFile(t.Context(), missing); !testenv.Names(err, want) {
		t.Errorf("WriteFile() = %v, want %s", err, want)
	}
}

// outside is a model whose constant w_out, two float32, and one in an attribute are in data files.
func outside(entries ...Property) *Model {
	g := diamond()
	g.Initializers = append(g.Initializers, &Tensor{Name: "w_out", Type: Float32, Dims: []int64{2}, External: entries})
	inner := &Tensor{Name: "inner", Type: Int64, Dims: []int64{1}, External: []Property{{Key: "location", Value: "sub/more.data"}}}
	g.Nodes = append(g.Nodes, &Node{Name: "k", Op: "Constant", Outputs: []string{"k_out"}, Attributes: []Attribute{Attr("value", inner)}})
	return modelWith(g)
}

// folderOf writes a model with its data files, and returns its path.
func folderOf(t *testing.T, m *Model) string {
	t.Helper()
	path := writeModel(t, m)
	folder := filepath.Dir(path)
	testenv.Tree(t, folder, map[string]string{"w.data": "....\x00\x00\x80\x3f\x00\x00\x00\x40", "sub/more.data": "\x07\x00\x00\x00\x00\x00\x00\x00"})
	testenv.Must(t, os.Symlink("../w.data", filepath.Join(folder, "sub", "linked")))
	return path
}

func at(location, offset, length string) []Property {
	return []Property{{Key: "location", Value: location}, {Key: "offset", Value: offset}, {Key: "length", Value: length}}
}

func TestReadWhole(t *testing.T) {
	for _, entries := range [][]Property{
		at("w.data", "4", "8"), at("w.data", "4", "8")[:2], at("./w.data", "4", "8"), at("sub/../w.data", "4", "8"),
		at("sub/linked", "4", "8"), // as in the caches of model hubs
	} {
		m, err := ReadWhole(folderOf(t, outside(entries...)))
		testenv.Must(t, err)
		again := mustRead(t, writeModel(t, m)) // as one file
		w, err := Elements[float32](again.Graph.Index().Initializer("w_out"))
		if err != nil || w[0] != 1 || w[1] != 2 {
			t.Errorf("%v: w_out is %v, %v, want [1 2]", entries, w, err)
		}
		inner := AttrOr[*Tensor](again.Graph.Index().Producer("k_out"), "value", nil)
		if k, err := Elements[int64](inner); err != nil || k[0] != 7 {
			t.Errorf("the constant is %v, %v, want [7]", k, err)
		}
	}
}

func TestDataFileErrors(t *testing.T) {
	for _, c := range []struct {
		want        string
		entries     []Property
		fingerprint bool // finds it too
	}{
		{"its data file: ", at("none.data", "0", "8"), true},
		{`its data file "../w.data" is outside the model's folder`, at("../w.data", "0", "8"), true},
		{"is outside the model's folder", at("/etc/passwd", "0", "8"), true},
		{"is outside the model's folder", at("sub/../../w.data", "0", "8"), true},
		{"sub: is a folder", at("sub", "0", "8"), true},
		{"external data without a location", []Property{{Key: "offset", Value: "0"}}, true},
		{"4 bytes are in w.data: must be 8", at("w.data", "4", "4"), false},
		{"w.data has 12 bytes, expected 8 from byte 6 on", at("w.data", "6", "8"), false},
		{"from byte 9223372036854775807 on", at("w.data", "9223372036854775807", "8"), false},
		{`offset "9223372036854775808" is not a number of bytes`, at("w.data", "9223372036854775808", "8"), true},
		{`length "-4" is not a number of bytes`, at("w.data", "4", "-4"), true},
	} {
		path := folderOf(t, outside(c.entries...))
		_, err := ReadWhole(path)
		errs := []error{err}
		if c.fingerprint {
			_, err := FingerprintOf(t.Context(), path)
			errs = append(errs, err)
		}
		for _, err := range errs {
			if err == nil || !strings.HasPrefix(err.Error(), `reading model.onnx: tensor "w_out": `) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		}
	}
}

func TestFingerprint(t *testing.T) {
	sha := func(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }
	for _, content := range [][]byte{mustEncode(t, modelWith(diamond())), []byte("no model"), nil} {
		got, err := FingerprintOf(t.Context(), writeBytes(t, content))
		if diff := cmp.Diff(Fingerprint{SHA256: sha(content), Bytes: int64(len(content))}, got); diff != "" || err != nil {
			t.Errorf("%v, (-want +got):\n%s", err, diff)
		}
	}
	path := folderOf(t, outside(at("w.data", "4", "8")...))
	var list string
	want := Fingerprint{Data: []string{"sub/more.data", "w.data"}}
	for _, name := range []string{"model.onnx", "sub/more.data", "w.data"} {
		content := testenv.Read(t, filepath.Join(filepath.Dir(path), name))
		if list += sha(content); name != "model.onnx" {
			list += " " + name
		}
		list += "\n"
		want.Bytes += int64(len(content))
	}
	want.SHA256 = sha([]byte(list))
	got, err := FingerprintOf(t.Context(), path)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, (-want +got):\n%s", err, diff)
	}
}

func TestWriteFileBeside(t *testing.T) {
	m := large()
	m.Graph.Initializers = append(m.Graph.Initializers[:2:2], m.Graph.Initializers[4], TensorOf("second", make([]float32, 2000), 2000))
	m.Graph.Nodes[0].Attributes = m.Graph.Nodes[0].Attributes[:5]
	want := mustEncode(t, m)
	path := filepath.Join(t.TempDir(), "model.onnx")
	for range 2 { // the second time over the files of the first
		testenv.Must(t, m.WriteFileBeside(t.Context(), path))
		info, err := os.Stat(path + DataSuffix)
		if err != nil || info.Size() != 40960+8000 {
			t.Errorf("the data file: %v, %v", info, err)
		}
		read, err := ReadWhole(path)
		testenv.Must(t, err)
		if !bytes.Equal(mustEncode(t, read), want) || !bytes.Equal(mustEncode(t, m), want) {
			t.Error("the files hold another model, or writing changed it")
		}
	}

	// A failure before the model file is replaced leaves the old model and its data.
	before := testenv.Read(t, path+DataSuffix)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	add := func(t *Tensor) *Model {
		m := large()
		m.Graph.Initializers = append(m.Graph.Initializers, t)
		return m
	}
	foreign := large()
	foreign.Graph.Nodes[0].SetAttr("a", 1)
	for _, c := range []struct {
		want  string
		ctx   context.Context
		model *Model
	}{
		{"creating model.onnx.data: unexpected EOF", t.Context(), add(&Tensor{Name: "b", Type: Uint8, Data: brokenSource{size: 5000}})},
		{`tensor "b": its source wrote 3 bytes, not 5000`, t.Context(), add(&Tensor{Name: "b", Type: Uint8, Data: brokenSource{size: 5000, writes: 3}})},
		{"context canceled", cancelled, large()},
		{`creating model.onnx.data: encoding ONNX model: node "node": attribute "a"`, t.Context(), foreign},
	} {
		if err := c.model.WriteFileBeside(c.ctx, path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
		if now, err := os.ReadFile(path + DataSuffix); err != nil || !bytes.Equal(now, before) || len(filesIn(t, filepath.Dir(path))) != 2 {
			t.Errorf("after %q the old model's data are gone: %v", c.want, err)
		}
	}

	// The source of a small tensor is read when the model file is written, after the data.
	err := add(&Tensor{Name: "late", Type: Uint8, Dims: []int64{4}, Data: brokenSource{size: 4}}).WriteFileBeside(t.Context(), path)
	if names := filesIn(t, filepath.Dir(path)); err == nil || len(names) != 1 {
		t.Errorf("%v; %q are there, want the old model alone", err, names)
	}
}

// A function that calls itself would end ONNX Runtime, and this program with it.
func TestFunctionsThatCallThemselves(t *testing.T) {
	message := func(num protowire.Number, content string) string {
		return string(protowire.AppendString(protowire.AppendTag(nil, num, protowire.BytesType), content))
	}
	node := func(op, domain string, inside ...string) string {
		text := message(4, op) + message(7, domain)
		for _, n := range inside {
			text += message(5, message(1, "body")+message(6, message(1, n))) // an attribute with a graph
		}
		return text
	}
	function := func(name string, nodes ...string) string {
		text := message(1, name) + message(10, "own")
		for _, n := range nodes {
			text += message(7, n)
		}
		return message(25, text)
	}
	for name, c := range map[string]struct{ functions, want string }{
		"none":             {"", ""},
		"itself":           {function("F", node("Relu", ""), node("F", "own")), "function F calls itself"},
		"one another":      {function("F", node("G", "own")) + function("G", node("F", "own")), "calls itself"},
		"in a graph":       {function("F", node("If", "", node("F", "own"))), "function F calls itself"},
		"another domain":   {function("F", node("F", "")), ""},
		"twice the same":   {function("F", node("G", "own"), node("G", "own")) + function("G", node("Relu", "")), ""},
		"broken encodings": {message(25, "\x0a\xff\xff"), ""},
	} {
		m := &Model{IRVersion: 8, Opsets: []Opset{{Version: 17}}, Extra: Extra(c.functions), Graph: &Graph{Name: "g"}}
		path := filepath.Join(t.TempDir(), "m.onnx")
		if err := m.WriteFile(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		for kind, read := range map[string]func() error{
			"head":  func() error { _, err := ReadHead(path); return err },
			"model": func() error { _, err := ReadFile(path); return err },
		} {
			if err := read(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %s: %v, want %q", name, kind, err, c.want)
			}
		}
	}
}
