package oip

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// checkObjects refuses JSON that consists of more objects than so many tensors make: {} is two
// letters, and would take fifty times as much memory as a tensor. Each input and output has one
// object, and one with its parameters.
func checkObjects(text []byte, tensors int) error {
	most := 4*tensors + 2
	if bytes.Count(text, []byte("{")) <= most {
		return nil // strings have few of them, too
	}
	if n := objects(text); n > most {
		return fmt.Errorf("it has %d objects, want at most %d, for %d tensors", n, most, tensors)
	}
	return nil
}

// objects counts those of valid JSON.
func objects(text []byte) (n int) {
	inString := false
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
	return n
}
