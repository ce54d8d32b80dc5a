package onnx

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mlperf-go/mlperf/internal/regular"
)

// ReadFile reads a model from a file, but not the elements of its initializers as
// far as they are kept as raw bytes and are more than a few: those stay in the file
// and are read when Bytes, Elements or WriteTo ask for them. So the interface of a
// large model is known in a millisecond, and a model can be rewritten without
// ever being in memory as a whole.
//
// The file is not kept open. If it has changed by the time its elements are wanted,
// that is an error.
//
// Anything that is no ONNX model is refused with an error that begins with "not an
// ONNX model". A model is accepted if its encoding is sound; whether its graph makes
// sense is what Check tells.
func ReadFile(path string) (*Model, error) {
	var m *Model
	err := openModel(path, func(r *fileReader) (err error) {
		m, err = r.model()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Base(path), err)
	}
	return m, nil
}

// openModel has a file read, and explains why it is no model if that fails.
func openModel(path string, read func(*fileReader) error) error {
	f, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r := &fileReader{file: f, path: path, size: info.Size(), changed: info.ModTime(), lazyFrom: 4 << 10}
	err = read(r)
	if err == nil || errors.Is(err, ErrORTFormat) {
		return err
	}
	head := make([]byte, min(r.size, 64))
	if _, err := f.ReadAt(head, 0); err != nil {
		return err
	}
	return refusal(head, err)
}

// A fileReader walks the fields of a model without reading all of it. It copies what
// it does not skip into small messages and leaves these to the decoder.
type fileReader struct {
	file     io.ReaderAt
	path     string
	size     int64
	changed  time.Time
	lazyFrom int64  // the size in bytes from which on elements stay in the file
	window   []byte // content of the file from at on
	at       int64
}

// A span is a stretch of the file.
type span struct{ begin, end int64 }

func (s span) len() int64 { return s.end - s.begin }

func (r *fileReader) model() (*Model, error) {
	var m Model
	var rest, graph []byte
	var initializers []*Tensor
	hasGraph := false
	err := r.eachField(span{0, r.size}, func(f place) error {
		if !f.isMessage(modelGraph) {
			return r.appendTo(&rest, f.whole)
		}
		hasGraph = true
		return r.eachField(f.content, func(f place) error {
			if !f.isMessage(graphInitializer) {
				return r.appendTo(&graph, f.whole)
			}
			t, err := r.tensor(f.content)
			initializers = append(initializers, t)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if err := m.decode(rest, 0); err != nil {
		return nil, err
	}
	if hasGraph {
		m.Graph = &Graph{}
		if err := m.Graph.decode(graph, 0); err != nil {
			return nil, err
		}
		m.Graph.Initializers = initializers
	}
	return &m, m.validate()
}

// tensor reads an initializer; its raw elements become a section of the file if
// there are many.
func (r *fileReader) tensor(content span) (*Tensor, error) {
	t := &Tensor{}
	var rest []byte
	var raw *section
	err := r.eachField(content, func(f place) error {
		if f.isMessage(tensorRawData) && f.content.len() >= r.lazyFrom {
			raw = &section{path: r.path, at: f.content, size: r.size, changed: r.changed}
			return nil
		}
		return r.appendTo(&rest, f.whole)
	})
	if err != nil {
		return nil, err
	}
	if err := t.decode(rest, 0); err != nil {
		return nil, err
	}
	if raw != nil {
		if t.Data != nil || len(t.Strings) > 0 {
			return nil, in("tensor", t.Name, errManyForms)
		}
		t.Data = raw
	}
	return t, nil
}

// A place says where in the file a field is.
type place struct {
	num     protowire.Number
	typ     protowire.Type
	whole   span // with its tag
	content span // empty if the field is no bytes
}

// isMessage reports whether the field is the one of a number that holds bytes or a message. One that holds
// anything else instead is left to the decoder, which refuses it.
func (p place) isMessage(num protowire.Number) bool {
	return p.num == num && p.typ == protowire.BytesType
}

// eachField calls visit for each field of the message in a span.
func (r *fileReader) eachField(msg span, visit func(place) error) error {
	for at := msg.begin; at < msg.end; {
		head, err := r.peek(at, min(msg.end-at, 2*maxVarint))
		if err != nil {
			return err
		}
		num, typ, tag := protowire.ConsumeTag(head)
		if tag < 0 {
			return protowire.ParseError(tag)
		}
		whole, content, err := r.fieldSpan(msg, at, typ, head, tag)
		if err != nil {
			return err
		}
		if err := visit(place{num, typ, whole, content}); err != nil {
			return err
		}
		at = whole.end
	}
	return nil
}

const maxVarint = 10 // bytes

func (r *fileReader) fieldSpan(msg span, at int64, typ protowire.Type, head []byte, tag int) (whole, content span, err error) {
	if typ != protowire.BytesType {
		f, err := nextField(head)
		end := at + int64(len(f.raw))
		return span{at, end}, span{end, end}, err
	}
	length, n := protowire.ConsumeVarint(head[tag:])
	if n < 0 {
		return span{}, span{}, protowire.ParseError(n)
	}
	begin := at + int64(tag+n)
	if length > uint64(msg.end-begin) {
		return span{}, span{}, fmt.Errorf("a field of %d bytes begins at byte %d, but only %d are left", length, begin, msg.end-begin)
	}
	end := begin + int64(length)
	return span{at, end}, span{begin, end}, nil
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

func (r *fileReader) appendTo(dst *[]byte, s span) error {
	content, err := r.peek(s.begin, s.len())
	*dst = append(*dst, content...)
	return err
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
	f, err := regular.Open(s.path)
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
