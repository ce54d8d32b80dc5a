package oip

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// HeaderLength is the header of HTTP that says how many bytes of the body are JSON; binary
// tensors follow.
const HeaderLength = "Inference-Header-Content-Length"

// A Document is the JSON of a request or an answer, as it was read.
type Document struct {
	Head
	Load Load              // of tensors in shared memory; nil: there is none
	data []json.RawMessage // of each tensor; nil: its elements follow the JSON
	raw  bool              // there is no JSON
}

// ParseRequest reads the JSON of a request.
func ParseRequest(text []byte, l Limits) (*Document, error) {
	w, d, err := parse(text, l)
	if err != nil {
		return nil, fmt.Errorf("the JSON of a request: %w", err)
	}
	if err := w.Parameters.check(); err != nil {
		return nil, err
	}
	if err := d.wanted(w); err != nil {
		return nil, err
	}
	return d, d.fill(w.Inputs, l)
}

// parse reads what requests and answers have in common.
func parse(text []byte, l Limits) (*wireDocument, *Document, error) {
	if err := checkText(text, l.filled().Tensors); err != nil {
		return nil, nil, err
	}
	w := &wireDocument{}
	if err := unmarshal(text, w); err != nil {
		return nil, nil, err
	}
	return w, &Document{Head: Head{Model: w.ModelName, Version: w.ModelVersion, ID: w.ID}}, nil
}

// wanted reads which outputs a request asks for.
func (d *Document) wanted(w *wireDocument) error {
	var binary []bool // of each that is sent
	for _, o := range w.Outputs {
		if err := o.Parameters.check(); err != nil {
			return err
		}
		at := o.Parameters.window()
		d.Wanted, d.Windows = append(d.Wanted, o.Name), append(d.Windows, at)
		if at.Region == "" {
			binary = append(binary, o.Parameters.wantsBinary(w.Parameters.BinaryOutput))
		}
	}
	if slices.Contains(binary, true) && slices.Contains(binary, false) {
		return Errorf(Unsupported, "some outputs are asked for in binary and others in JSON: want all in one form")
	}
	if len(binary) == 0 {
		binary = []bool{w.Parameters.BinaryOutput}
	}
	d.WantsJSON = !binary[0] // as all are
	return nil
}

// ParseResponse reads the JSON of an answer.
func ParseResponse(text []byte, l Limits) (*Document, error) {
	w, d, err := parse(text, l)
	if err != nil {
		return nil, fmt.Errorf("the JSON of an answer: %w", err)
	}
	return d, d.fill(w.Outputs, l)
}

// fill checks tensors and takes them over.
func (d *Document) fill(tensors []wireTensor, l Limits) error {
	for i := range tensors {
		s, err := tensors[i].spec()
		if err != nil {
			return err
		}
		d.Tensors, d.data = append(d.Tensors, s), append(d.data, tensors[i].Data)
	}
	if err := d.check(l); err != nil {
		return err
	}
	for i, s := range d.Tensors {
		err := s.sizeFits()
		if text := d.data[i]; text != nil {
			err = s.countFits(len(text))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// BinarySize is how many bytes have to follow the JSON; negative: more than can be counted.
func (d *Document) BinarySize() int64 {
	n := int64(0)
	for _, s := range d.Tensors {
		if s.Window.Region != "" {
			continue
		}
		if s.Size > math.MaxInt64-n {
			return -1
		}
		n += s.Size
	}
	return n
}

// Read puts all tensors where they belong. Body has what follows the JSON.
func (d *Document) Read(body io.Reader, place Place) ([]tensor.Tensor, error) {
	list := make([]tensor.Tensor, len(d.Tensors))
	for i, s := range d.Tensors {
		t, err := placed(place, i, s)
		if err != nil {
			return nil, err
		}
		switch {
		case s.Window.Region != "":
			err = s.load(d.Load, t)
		case d.data[i] != nil:
			err = readJSON(d.data[i], t, s.Shape)
		default:
			err = d.readBinary(body, t, s.Size)
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %s: %w", s.Name, err)
		}
		list[i] = t
	}
	return list, nil
}

// readBinary reads the elements of a tensor.
func (d *Document) readBinary(body io.Reader, t tensor.Tensor, size int64) error {
	if t.Type != tensor.String {
		if n, err := io.ReadFull(body, t.Bytes()); err != nil {
			return fmt.Errorf("%d of %d bytes arrived: %w", n, len(t.Bytes()), err)
		}
		return checkBools(t)
	}
	data, err := io.ReadAll(io.LimitReader(body, size)) // which takes no more than arrives
	if err == nil && int64(len(data)) < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return fmt.Errorf("%d of %d bytes arrived: %w", len(data), size, err)
	}
	if d.raw {
		t.Strings()[0] = string(data)
		return nil
	}
	return parseBytes(data, t.Strings())
}

// RawDocument is the document of a request without JSON: the elements of its only tensor are
// all there is. Strings have no length in front of them.
func RawDocument(h Head) *Document {
	h.WantsJSON = true
	return &Document{Head: h, data: make([]json.RawMessage, len(h.Tensors)), raw: true}
}
