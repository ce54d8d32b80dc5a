package oip

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

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

type wireDocument struct {
	ModelName    string         `json:"model_name"`
	ModelVersion string         `json:"model_version"`
	ID           string         `json:"id"`
	Parameters   wireParameters `json:"parameters"`
	Inputs       []wireTensor   `json:"inputs"`
	Outputs      []wireTensor   `json:"outputs"`
}

type wireTensor struct {
	Name       string          `json:"name"`
	Datatype   string          `json:"datatype"`
	Shape      []int64         `json:"shape"`
	Parameters wireParameters  `json:"parameters"`
	Data       json.RawMessage `json:"data"`
}

type wireParameters struct {
	BinarySize   *int64 `json:"binary_data_size"`
	Binary       *bool  `json:"binary_data"`
	BinaryOutput bool   `json:"binary_data_output"`
	Region       string `json:"shared_memory_region"`
	Offset       int64  `json:"shared_memory_offset"`
	RegionSize   int64  `json:"shared_memory_byte_size"`
	// Sequence is kept as it is written: as a value of Go it could take many times the memory.
	Sequence json.RawMessage `json:"sequence_id"`
}

// window is the part of shared memory that parameters name.
func (p *wireParameters) window() Window {
	if p.Region == "" {
		return Window{}
	}
	return Window{p.Region, p.Offset, p.RegionSize}
}

// check refuses what changes the meaning of a request and is not understood here.
func (p *wireParameters) check() error {
	switch string(p.Sequence) {
	case "", "null", `""`, "0":
		return nil
	}
	return Errorf(Unsupported, "sequences of requests (sequence_id) are not supported")
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
	if err := checkObjects(text, l.filled().Tensors); err != nil {
		return nil, nil, err
	}
	w := &wireDocument{}
	if err := json.Unmarshal(text, w); err != nil {
		return nil, nil, err
	}
	return w, &Document{Head: Head{Model: w.ModelName, Version: w.ModelVersion, ID: w.ID}}, nil
}

// checkObjects refuses JSON that consists of more objects than so many tensors make: {} is two
// letters, and would take fifty times as much memory as a tensor. Each input and output has one
// object, and one with its parameters.
func checkObjects(text []byte, tensors int) error {
	most := 4*tensors + 2
	if bytes.Count(text, []byte("{")) <= most {
		return nil // strings have few of them, too
	}
	n, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inString = !inString
		case c == '\\':
			i++ // what follows ends no string
		case c == '{' && !inString:
			n++
		}
	}
	if n > most {
		return fmt.Errorf("it has %d objects, want at most %d, for %d tensors", n, most, tensors)
	}
	return nil
}

// wanted reads which outputs a request asks for.
func (d *Document) wanted(w *wireDocument) error {
	binary, sent := 0, 0
	for _, o := range w.Outputs {
		if err := o.Parameters.check(); err != nil {
			return err
		}
		at := o.Parameters.window()
		d.Wanted, d.Windows = append(d.Wanted, o.Name), append(d.Windows, at)
		if at.Region != "" {
			continue
		}
		sent++
		if o.Parameters.wantsBinary(w.Parameters.BinaryOutput) {
			binary++
		}
	}
	if binary > 0 && binary < sent {
		return Errorf(Unsupported, "some outputs are asked for in binary and others in JSON: want all in one form")
	}
	d.WantsJSON = binary == 0 && (sent > 0 || !w.Parameters.BinaryOutput)
	return nil
}

// wantsBinary reports whether an output is asked for in binary, if it does not say: as others are.
func (p *wireParameters) wantsBinary(usual bool) bool {
	if p.Binary == nil {
		return usual
	}
	return *p.Binary
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
		if d.data[i] != nil {
			continue
		}
		if err := s.sizeFits(); err != nil {
			return err
		}
	}
	return nil
}

// spec is what a tensor says of itself.
func (w *wireTensor) spec() (Spec, error) {
	if err := w.Parameters.check(); err != nil {
		return Spec{}, err
	}
	dtype, err := ParseDatatype(w.Datatype)
	if err != nil {
		return Spec{}, fmt.Errorf("tensor %q: %w", w.Name, err)
	}
	s := Spec{Name: w.Name, Type: dtype, Shape: w.Shape, Window: w.Parameters.window()}
	if s.Size, err = w.size(s.Window); err != nil {
		return s, fmt.Errorf("tensor %q: %w", w.Name, err)
	}
	return s, nil
}

// size is how many bytes the elements have outside of the JSON. They are in one place: there, behind
// the JSON, or in shared memory.
func (w *wireTensor) size(at Window) (size int64, err error) {
	behind, inJSON, shared := w.Parameters.BinarySize, len(w.Data) > 0, at.Region != ""
	switch {
	case shared && (behind != nil || inJSON):
		return 0, errors.New("it is in shared memory, and sent, too: want one of the two")
	case shared:
		size = at.Size
	case (behind != nil) == inJSON:
		return 0, errors.New("want either data or binary_data_size")
	case behind != nil:
		size = *behind
	}
	if size < 0 {
		return 0, fmt.Errorf("its size is %d bytes, want 0 or more", size)
	}
	return size, nil
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
			err = readJSON(d.data[i], t, len(s.Shape))
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
