package oip

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Spec is a tensor without its elements.
type Spec struct {
	Name  string
	Type  tensor.DType
	Shape tensor.Shape

	// Size is how many bytes the elements have on the wire; 0 where they are in JSON.
	Size int64
	// Window is where the elements are instead; empty: they are sent.
	Window Window
}

// A Window is a part of a region of shared memory.
type Window struct {
	Region       string // empty: there is none
	Offset, Size int64
}

// A Region is shared memory that a client tells a server of, on the same machine.
type Region struct {
	Name   string `json:"name"`
	Key    string `json:"key"` // of the object (shm_open)
	Offset int64  `json:"offset"`
	Size   int64  `json:"byte_size"`
}

// String describes the tensor as image FP32[1 3 224 224].
func (s Spec) String() string { return fmt.Sprintf("%s %s%v", s.Name, Datatype(s.Type), s.Shape) }

// A Head is everything of a request or an answer but the elements of its tensors: the inputs
// of a request, the outputs of an answer.
type Head struct {
	Model, Version, ID string
	Tensors            []Spec

	Wanted    []string // outputs that a request asks for; nil: all
	Windows   []Window // where each of these is to be put; nil: they are sent
	WantsJSON bool     // a request over HTTP did not ask for binary outputs
}

// sent is how many tensors are sent, and not in shared memory.
func (h *Head) sent() (n int) {
	for _, s := range h.Tensors {
		if s.Window.Region == "" {
			n++
		}
	}
	return n
}

// A Place gives memory to the i-th tensor of a head, of exactly its type and shape. It is
// asked once for each. An error says what is wrong with the tensor.
type Place func(i int, s Spec) (tensor.Tensor, error)

// A Load copies elements out of shared memory.
type Load func(w Window, dst []byte) error

// load has the elements of a tensor copied.
func (s Spec) load(load Load, t tensor.Tensor) error {
	if load == nil || t.Type == tensor.String {
		return Errorf(Unsupported, "%s in shared memory are not supported: send them", Datatype(t.Type))
	}
	if err := load(s.Window, t.Bytes()); err != nil {
		return err
	}
	return checkBools(t)
}

// Limits bound what is read.
type Limits struct {
	Tensors int // number of tensors, and of outputs that are asked for; 0: 1024
	Rank    int // axes of a tensor; 0: 32
}

func (l Limits) filled() Limits {
	if l.Tensors == 0 {
		l.Tensors = 1024
	}
	if l.Rank == 0 {
		l.Rank = 32
	}
	return l
}

// check finds what no tensors can be: too many, of the same name, of extents that no memory has.
func (h *Head) check(l Limits) error {
	l = l.filled()
	if err := h.checkNames(l); err != nil {
		return err
	}
	for _, s := range h.Tensors {
		if len(s.Shape) > l.Rank {
			return fmt.Errorf("tensor %s has %d axes, want at most %d", s.Name, len(s.Shape), l.Rank)
		}
		if err := checkShape(s.Shape); err != nil {
			return fmt.Errorf("tensor %s: %w", s.Name, err)
		}
	}
	return nil
}

// checkNames finds tensors, or outputs that are asked for, that are too many, have no name, or are
// there twice: the same output a thousand times would be an answer of a thousand times its size.
func (h *Head) checkNames(l Limits) error {
	if len(h.Tensors) > l.Tensors {
		return fmt.Errorf("%d tensors, want at most %d", len(h.Tensors), l.Tensors)
	}
	if len(h.Wanted) > l.Tensors {
		return fmt.Errorf("%d outputs are asked for, want at most %d", len(h.Wanted), l.Tensors)
	}
	seen := make(map[string]bool, len(h.Tensors))
	for _, s := range h.Tensors {
		if s.Name == "" {
			return errors.New("a tensor has no name")
		}
		if seen[s.Name] {
			return fmt.Errorf("there are two tensors %q", s.Name)
		}
		seen[s.Name] = true
	}
	return h.checkWanted()
}

func (h *Head) checkWanted() error {
	for i, name := range h.Wanted {
		if name == "" {
			return errors.New("an output that is asked for has no name")
		}
		if slices.Contains(h.Wanted[:i], name) {
			return fmt.Errorf("the output %q is asked for twice", name)
		}
	}
	return nil
}

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

// wireSize is what a tensor takes on the wire.
func wireSize(t tensor.Tensor) int {
	if t.Type == tensor.String {
		return BytesSize(t.Strings())
	}
	return len(t.Bytes())
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

// countFits refuses more elements than so many bytes of JSON, or of typed contents, can have: each takes one or more.
// Otherwise memory would be asked for that nobody fills.
func (s Spec) countFits(bytes int) error {
	if n := s.Shape.Len(); n > int64(bytes) {
		return fmt.Errorf("tensor %v has %d elements, which %d bytes cannot be", s, n, bytes)
	}
	return nil
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
