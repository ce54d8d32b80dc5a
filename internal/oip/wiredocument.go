package oip

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

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
	Shape      extents         `json:"shape"`
	Parameters wireParameters  `json:"parameters"`
	Data       json.RawMessage `json:"data"`
}

// extents are those of a shape.
type extents []int64

// UnmarshalJSON implements json.Unmarshaler.
func (e *extents) UnmarshalJSON(text []byte) error {
	if bytes.Count(text, []byte(",")) >= mostExtents {
		return errExtents
	}
	if bytes.Contains(text, []byte("null")) { // which would be taken for 0
		return errors.New("a shape has null in it, want numbers")
	}
	return json.Unmarshal(text, (*[]int64)(e))
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
	// Classification asks for the classes of an output instead of its numbers.
	Classification json.RawMessage `json:"classification"`
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
	switch {
	case !isNothing(p.Sequence):
		return errSequence
	case !isNothing(p.Classification):
		return errClassification
	}
	return nil
}

var (
	errSequence       = Errorf(Unsupported, "sequences of requests (sequence_id) are not supported")
	errClassification = Errorf(Unsupported, "classes instead of the numbers of an output (classification) are not supported")
)

// isNothing reports whether a parameter is not there, or says that it is not wanted.
func isNothing(value json.RawMessage) bool {
	switch string(value) {
	case "", "null", `""`, "0":
		return true
	}
	return false
}

// wantsBinary reports whether an output is asked for in binary, if it does not say: as others are.
func (p *wireParameters) wantsBinary(usual bool) bool {
	if p.Binary == nil {
		return usual
	}
	return *p.Binary
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
	if w.Shape == nil {
		return Spec{}, fmt.Errorf("tensor %q has no shape", w.Name)
	}
	s := Spec{Name: w.Name, Type: dtype, Shape: tensor.Shape(w.Shape), Window: w.Parameters.window()}
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
