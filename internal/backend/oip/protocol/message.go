package protocol

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Spec is a tensor without its elements.
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

// A Place gives memory to the i-th tensor of a head, of exactly its type and shape. It is
// asked once for each. An error says what is wrong with the tensor.
type Place func(i int, s Spec) (tensor.Tensor, error)

// mostTensors bounds the tensors of a message, and the outputs that are asked for; mostAxes those of a tensor.
const mostTensors, mostAxes = 1024, 32

// checkShape finds extents that no tensor has: negative ones, and more elements than tensor.Shape counts.
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

// placed asks for memory, and sees to it that it is what was asked for.
func placed(place Place, i int, s Spec) (tensor.Tensor, error) {
	t, err := place(i, s)
	if err != nil {
		return t, fmt.Errorf("tensor %s: %w", s.Name, err)
	}
	if t.Type != s.Type || int64(t.Len()) != s.Shape.Len() {
		return t, fmt.Errorf("tensor %s is %v%v, there is room for %v", s.Name, s.Type, s.Shape, t)
	}
	return t, nil
}

// sizeFits checks the bytes that a tensor is said to have against its type and shape.
func (s Spec) sizeFits() error {
	if s.Type == tensor.String {
		if least := 4 * s.Shape.Len(); s.Size < least {
			return fmt.Errorf("tensor %v has %d bytes, want at least %d", s, s.Size, least)
		}
		return nil
	}
	if want := s.Shape.Len() * int64(s.Type.Size()); s.Size != want {
		return fmt.Errorf("tensor %v has %d bytes, want %d", s, s.Size, want)
	}
	return nil
}
