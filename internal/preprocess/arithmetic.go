package preprocess

import "fmt"

// An Op is an operation on every value of a channel.
type Op uint8

// The operations.
const (
	Subtract Op = iota + 1
	Divide
	Multiply
)

// A Step is one arithmetic step in float32, rounded on its own, with an operand for each
// channel of the output.
type Step struct {
	Op Op
	By [3]float32
}

func each(op Op, by float32) Step { return Step{op, [3]float32{by, by, by}} }

// apply does the step to pixels of three channels, in place.
func (s Step) apply(pixels []float32) {
	a, b, c := s.By[0], s.By[1], s.By[2]
	switch s.Op {
	case Subtract:
		for ; len(pixels) >= 3; pixels = pixels[3:] {
			pixels[0] -= a
			pixels[1] -= b
			pixels[2] -= c
		}
	case Divide:
		for ; len(pixels) >= 3; pixels = pixels[3:] {
			pixels[0] /= a
			pixels[1] /= b
			pixels[2] /= c
		}
	case Multiply:
		for ; len(pixels) >= 3; pixels = pixels[3:] {
			pixels[0] = float32(pixels[0] * a)
			pixels[1] = float32(pixels[1] * b)
			pixels[2] = float32(pixels[2] * c)
		}
	}
}

func (s Step) validate() error {
	if s.Op < Subtract || s.Op > Multiply {
		return fmt.Errorf("operation %d is not known", s.Op)
	}
	return nil
}

// An element is a type of the elements of an input tensor. Conversion from float32
// truncates towards zero, like NumPy's astype.
type element interface{ float32 | uint8 | int8 }

// tables holds the element that follows from each byte, by channel of the output.
type tables[T element] [3][256]T

func (t *tables[T]) fill(steps []Step) {
	for v := range 256 {
		pixel := [3]float32{float32(v), float32(v), float32(v)}
		for _, s := range steps {
			s.apply(pixel[:])
		}
		for c := range t {
			t[c][v] = T(pixel[c])
		}
	}
}
