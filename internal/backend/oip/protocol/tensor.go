package protocol

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Spec describes a tensor without its elements.
type Spec struct {
	Name  string
	Type  tensor.DType
	Shape tensor.Shape

	// Size is how many bytes the elements have on the wire; 0 where they are in JSON.
	Size int64
}

// String describes the tensor as image FP32[1 3 224 224].
func (s Spec) String() string { return fmt.Sprintf("%s %s%v", s.Name, Datatype(s.Type), s.Shape) }

// A Head is everything of a request or an answer but the elements of its tensors: the inputs
// of a request, the outputs of an answer.
type Head struct {
	Model, Version, ID string
	Tensors            []Spec

	Wanted    []string // outputs that a request asks for; nil: all
	WantsJSON bool     // a request over HTTP did not ask for binary outputs
}

// A Place returns memory for the i-th tensor of a head, of exactly its type and shape, or says what is wrong
// with the tensor. It is called once for each.
type Place func(i int, s Spec) (tensor.Tensor, error)

// maxTensors bounds the tensors of a message, and the outputs that are asked for; maxAxes the axes of a tensor.
const maxTensors, maxAxes = 1024, 32

// checkShape refuses negative extents, and more elements than tensor.Shape counts.
func checkShape(shape tensor.Shape) error {
	for _, d := range shape {
		if d < 0 {
			return fmt.Errorf("shape %v has a negative extent", []int64(shape))
		}
	}
	if shape.Len() < 0 {
		return fmt.Errorf("shape %v has too many elements", shape)
	}
	return nil
}

// sizeFits compares the number of bytes of a tensor with its type and shape.
func (s Spec) sizeFits() error {
	if s.Type == tensor.String {
		if least := 4 * s.Shape.Len(); s.Size < least {
			return fmt.Errorf("tensor %v has %d bytes, expected at least %d", s, s.Size, least)
		}
		return nil
	}
	if want := s.Shape.Len() * int64(s.Type.Size()); s.Size != want {
		return fmt.Errorf("tensor %v has %d bytes, expected %d", s, s.Size, want)
	}
	return nil
}

// datatypes are the protocol's names of element types.
var datatypes = map[tensor.DType]string{
	tensor.Bool:  "BOOL",
	tensor.Uint8: "UINT8", tensor.Uint16: "UINT16", tensor.Uint32: "UINT32", tensor.Uint64: "UINT64",
	tensor.Int8: "INT8", tensor.Int16: "INT16", tensor.Int32: "INT32", tensor.Int64: "INT64",
	tensor.Float16: "FP16", tensor.BFloat16: "BF16", tensor.Float32: "FP32", tensor.Float64: "FP64",
	tensor.String: "BYTES",
}

var types = func() map[string]tensor.DType {
	m := map[string]tensor.DType{}
	for d, name := range datatypes {
		m[name] = d
	}
	return m
}()

// Datatype is the protocol's name of an element type; empty: it has none.
func Datatype(d tensor.DType) string { return datatypes[d] }

// ParseDatatype returns the element type that the protocol calls by a name.
func ParseDatatype(name string) (tensor.DType, error) {
	if d, ok := types[name]; ok {
		return d, nil
	}
	var names []string
	for n := range types {
		names = append(names, n)
	}
	slices.Sort(names)
	return tensor.Invalid, fmt.Errorf("unknown datatype %q: must be one of %v", name, names)
}

// Elements of BYTES have their length in front of them, 32 bits, little endian.

// Wire are the elements of a tensor as they are sent: its own memory, except for strings.
func Wire(t tensor.Tensor) []byte {
	if t.Type != tensor.String {
		return t.Bytes()
	}
	b := make([]byte, 0, wireSize(t))
	for _, s := range t.Strings() {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	return b
}

// wireSize is the number of bytes of Wire.
func wireSize(t tensor.Tensor) int {
	n := len(t.Bytes())
	for _, s := range t.Strings() {
		n += 4 + len(s)
	}
	return n
}

// parseBytes reads exactly as many strings as the tensor has.
func parseBytes(data []byte, strings []string) error {
	for i := range strings {
		if len(data) < 4 {
			return fmt.Errorf("element %d of %d: its length is missing", i, len(strings))
		}
		n := binary.LittleEndian.Uint32(data)
		if data = data[4:]; uint64(n) > uint64(len(data)) {
			return fmt.Errorf("element %d of %d claims %d bytes, %d are left", i, len(strings), n, len(data))
		}
		strings[i], data = string(data[:n]), data[n:]
	}
	if len(data) > 0 {
		return fmt.Errorf("%d bytes are left after all %d elements", len(data), len(strings))
	}
	return nil
}
