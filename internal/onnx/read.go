package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/onnx/onnxpb"
)

// ReadFile reads a model from a file, without the raw elements of large initializers: these stay in the file
// until Bytes, Elements or WriteTo read them. So the interface of a large model is known in a millisecond,
// and a model can be rewritten without ever being in memory as a whole.
//
// The file is not kept open. If it changes before its elements are read, reading them is an error.
//
// The error for other files begins with "not an ONNX model". ReadFile checks the encoding; Check checks the
// graph.
func ReadFile(path string) (*Model, error) {
	return readFile(path, false)
}

// A Head describes a model file without its nodes and weights.
type Head struct {
	Opsets   []Opset
	Producer string
	Inputs   []*Value // that a caller has to feed
	Outputs  []*Value
	Metadata []Property
}

// Opset describes the operator sets, as "opset 17, com.microsoft 1".
func (h *Head) Opset() string {
	var own, others []string
	for _, o := range h.Opsets {
		if domain := canonicalDomain(o.Domain); domain != "" {
			others = append(others, fmt.Sprintf("%s %d", domain, o.Version))
		} else {
			own = append(own, fmt.Sprintf("opset %d", o.Version))
		}
	}
	slices.Sort(others)
	return strings.Join(append(own, others...), ", ")
}

// ErrORTFormat is the error of ReadHead for a model in ONNX Runtime's own format, which this package does not
// read.
var ErrORTFormat = errors.New("a model in ORT format")

// ReadHead reads the head of a model file. It steps over nodes and weights, so that it takes a millisecond
// for a file of any size.
func ReadHead(path string) (*Head, error) {
	m, err := readFile(path, true)
	if err != nil {
		return nil, err
	}
	return &Head{Opsets: m.Opsets, Producer: m.Producer, Inputs: m.Graph.FreeInputs(), Outputs: m.Graph.Outputs, Metadata: m.Metadata}, nil
}

// ReadTensor reads a file that has one tensor, as those of ONNX's own test data.
func ReadTensor(path string) (*Tensor, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var p onnxpb.TensorProto
	if err := proto.Unmarshal(content, &p); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return tensorOf(&p)
}

var errNoModel = errors.New("not an ONNX model")

// readFile reads a model, or only its head: without nodes and types of inner values, and only the names of
// initializers.
func readFile(path string, head bool) (m *Model, err error) {
	defer func() {
		if err != nil {
			m, err = nil, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
		}
	}()
	f, err := fileio.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	begin := make([]byte, min(info.Size(), 64))
	if _, err := f.ReadAt(begin, 0); err != nil {
		return nil, err
	}
	if head && strings.HasPrefix(string(begin[min(len(begin), 4):]), "ORTM") {
		return nil, ErrORTFormat
	}
	r := &fileReader{file: f, path: path, size: info.Size(), changed: info.ModTime(), head: head}
	m, err = r.model()
	switch is := guessFormat(begin); {
	case err == nil:
		return m, nil
	case is != "":
		return nil, fmt.Errorf("%w: %s", errNoModel, is)
	}
	return nil, fmt.Errorf("%w: %w", errNoModel, err)
}

// A fileReader walks the fields of a model without reading all of it: it steps over elements of initializers,
// and lets the official codec read all other fields, one by one.
type fileReader struct {
	file    io.ReaderAt
	path    string
	size    int64
	changed time.Time
	head    bool
	window  []byte // content of the file from at on
	at      int64
}

func (r *fileReader) model() (*Model, error) {
	var model onnxpb.ModelProto
	var graph *onnxpb.GraphProto
	var initializers []*Tensor
	err := r.eachField(span{0, r.size}, func(f place) error {
		switch {
		case f.isMessage(modelGraph):
		case r.head && !slices.Contains(headFields, f.num):
			return nil
		default:
			return r.merge(f, &model)
		}
		if graph == nil {
			graph = &onnxpb.GraphProto{}
		}
		return r.eachField(f.content, func(f place) error {
			switch {
			case f.isMessage(graphInitializer):
				t, err := r.tensor(f.content)
				initializers = append(initializers, t)
				return err
			case r.head && f.num != graphInput && f.num != graphOutput:
				return nil
			}
			return r.merge(f, graph)
		})
	})
	if err != nil {
		return nil, err
	}
	m := modelOf(&model)
	if graph != nil {
		if m.Graph, err = graphOf(graph); err != nil {
			return nil, err
		}
		m.Graph.Initializers = initializers
	}
	// Much garbage happens to parse, but lacks the fields of every model.
	switch {
	case m.IRVersion <= 0:
		return nil, errors.New("it names no version of the format")
	case m.Graph == nil:
		return nil, errors.New("it has no graph")
	case m.IRVersion >= 3 && len(m.Opsets) == 0: // required since IR version 3
		return nil, errors.New("it imports no operator set")
	}
	if name := m.selfCalling(); name != "" {
		return nil, fmt.Errorf("its function %s calls itself", name)
	}
	return m, nil
}

// headFields are the fields of a model in its head.
var headFields = []protowire.Number{modelIRVersion, modelProducerName, modelOpsetImport, modelMetadataProps, modelFunctions}

// Elements of at least so many bytes stay in the file.
const lazyFrom = 4 << 10

// tensor reads an initializer; its raw elements become a section of the file if there are many.
func (r *fileReader) tensor(content span) (*Tensor, error) {
	var p onnxpb.TensorProto
	var raw *section
	err := r.eachField(content, func(f place) error {
		switch {
		case r.head && f.num != tensorName:
			return nil
		case f.isMessage(tensorRawData) && f.content.len() >= lazyFrom:
			raw = &section{path: r.path, at: f.content, size: r.size, changed: r.changed}
			return nil
		}
		return r.merge(f, &p)
	})
	if err != nil {
		return nil, err
	}
	t, err := tensorOf(&p)
	if err == nil && raw != nil {
		if t.Data != nil {
			err = in("tensor", t.Name, errManyForms)
		}
		t.Data = raw
	}
	return t, err
}

// deepest limits how deep messages are nested, so that no file exhausts the stack.
const deepest = 100

// merge adds a field to a message.
func (r *fileReader) merge(f place, p proto.Message) error {
	content, err := r.peek(f.whole.begin, f.whole.len())
	if err != nil {
		return err
	}
	if err := (proto.UnmarshalOptions{Merge: true, RecursionLimit: deepest}).Unmarshal(content, p); err != nil {
		return fmt.Errorf("field %d of %s, at byte %d: %w", f.num, p.ProtoReflect().Descriptor().Name(), f.whole.begin, err)
	}
	return nil
}

// A span is a stretch of the file.
type span struct{ begin, end int64 }

func (s span) len() int64 { return s.end - s.begin }

// A place is where a field is in the file.
type place struct {
	num     protowire.Number
	typ     protowire.Type
	whole   span // with its tag
	content span // of a field that holds bytes or a message
}

func (p place) isMessage(num protowire.Number) bool {
	return p.num == num && p.typ == protowire.BytesType
}

// eachField calls visit for each field of the message in a span.
func (r *fileReader) eachField(msg span, visit func(place) error) error {
	for at := msg.begin; at < msg.end; {
		begin, err := r.peek(at, min(msg.end-at, 2*binary.MaxVarintLen64))
		if err != nil {
			return err
		}
		f := place{whole: span{begin: at}}
		var n int
		if f.num, f.typ, n = protowire.ConsumeTag(begin); n < 0 {
			return fmt.Errorf("at byte %d: %w", at, protowire.ParseError(n))
		}
		if f.typ == protowire.BytesType {
			length, m := protowire.ConsumeVarint(begin[n:])
			if m < 0 {
				return fmt.Errorf("at byte %d: %w", at, protowire.ParseError(m))
			}
			f.content.begin = at + int64(n+m)
			if left := msg.end - f.content.begin; length > uint64(left) {
				return fmt.Errorf("a field of %d bytes begins at byte %d, but only %d are left", length, f.content.begin, left)
			}
			f.content.end = f.content.begin + int64(length)
			f.whole.end = f.content.end
		} else {
			m := protowire.ConsumeFieldValue(f.num, f.typ, begin[n:])
			if m < 0 {
				return fmt.Errorf("at byte %d: %w", at, protowire.ParseError(m))
			}
			f.whole.end = at + int64(n+m)
		}
		if err := visit(f); err != nil {
			return err
		}
		at = f.whole.end
	}
	return nil
}

// peek returns n bytes of the file at an offset. They are valid until the next call.
func (r *fileReader) peek(at, n int64) ([]byte, error) {
	if at < r.at || at+n > r.at+int64(len(r.window)) {
		r.window = append(r.window[:0], make([]byte, min(max(n, 4<<10), r.size-at))...)
		r.at = at
		if _, err := r.file.ReadAt(r.window, at); err != nil {
			r.window = nil
			return nil, fmt.Errorf("at byte %d: %w", at, err)
		}
	}
	return r.window[at-r.at:][:n], nil
}

// A section is a Source in a file.
type section struct {
	path    string
	at      span
	size    int64 // of the file when it was read
	changed time.Time
}

func (s *section) Size() int64 { return s.at.len() }

func (s *section) WriteTo(w io.Writer) (int64, error) {
	f, err := fileio.Open(s.path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() != s.size || !info.ModTime().Equal(s.changed) {
		return 0, fmt.Errorf("%s has changed since it was read", s.path)
	}
	return io.Copy(w, io.NewSectionReader(f, s.at.begin, s.Size()))
}

// guessFormat recognises by its first bytes a file that users have instead of a model; "" if it does not.
func guessFormat(data []byte) string {
	head := string(data[:min(len(data), 64)])
	switch {
	case head == "":
		return "it is empty"
	case strings.Trim(head, "\x00") == "":
		return "it begins with zero bytes"
	case strings.HasPrefix(head[min(len(head), 4):], "TFL3"):
		return "it is a TensorFlow Lite model"
	case strings.HasPrefix(head[min(len(head), 4):], "ORTM"):
		return "it is a model in ORT format; convert the ONNX file from which it was made"
	}
	text := strings.TrimLeft(head, " \t\r\n\ufeff")
	for _, f := range foreignFormats {
		if strings.HasPrefix(text, f.prefix) {
			return f.what
		}
	}
	return ""
}

var foreignFormats = [...]struct{ prefix, what string }{
	{"version https://git-lfs", "it is a Git LFS pointer; fetch the file itself with git lfs pull"},
	{"<!DOCTYPE html", "it is a web page"},
	{"<!doctype html", "it is a web page"},
	{"<html", "it is a web page"},
	{"<?xml", "it is an XML document, perhaps the error message of a server"},
	{"{", "it is text, perhaps JSON"},
	{"\x1f\x8b", "it is compressed with gzip; unpack it first"},
	{"PK\x03\x04", "it is a ZIP archive; unpack it, or export it if it is a PyTorch model"},
	{"\x89HDF", "it is an HDF5 file, perhaps a Keras model"},
	{"\x80\x02", "it is a Python pickle, perhaps an old PyTorch model"},
	{"GGUF", "it is a GGUF model"},
	{"\x7fELF", "it is a program or library"},
}
