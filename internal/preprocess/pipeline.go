package preprocess

import (
	"fmt"
	"image"
	"slices"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Layout is the order of a tensor's axes.
type Layout uint8

// The layouts, of one image or of a batch.
const (
	NCHW Layout = iota
	NHWC
)

// String returns the layout's usual name.
func (l Layout) String() string {
	if l == NHWC {
		return "NHWC"
	}
	return "NCHW"
}

// A Pipeline leads from an image to the input tensor of a model. Its fields may be changed;
// Lookup returns those of the reference.
type Pipeline struct {
	Name   string
	Size   int          // height and width of the output in pixels
	Fit    Fit          // how the image gets that size
	Short  int          // shorter side in pixels before the middle is cut out, at least Size; 0: that of Fit
	Stride int          // of Letterbox: the shorter side of the output is the next multiple of it that leads to Size; 0: Size
	Kernel Kernel       // how it is resized
	Float  bool         // resize in float32; otherwise the result is rounded to bytes
	BGR    bool         // blue first in the output; not with Float
	Steps  []Step       // arithmetic after resizing
	Type   tensor.DType // Float32, or Uint8 or Int8, to which values are truncated
	Layout Layout

	IgnoreOrientation bool // do not rotate as EXIF asks
}

// An Op is an operation on every value of a channel.
type Op uint8

// The operations.
const (
	Subtract Op = iota
	Divide
	Multiply
)

// A Step is one arithmetic step in float32, rounded on its own, with an operand for each
// channel of the output.
type Step struct {
	Op Op
	By [3]float32
}

// apply does the step to pixels of three channels, in place.
func (s Step) apply(pixels []float32) {
	a, b, c := s.By[0], s.By[1], s.By[2]
	pixels = pixels[s.applyVectors(pixels):]
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

// Shape returns the shape of one image's tensor, without a Stride.
func (p Pipeline) Shape() tensor.Shape {
	return p.shape(Size{p.Size, p.Size})
}

// Output returns the size of the output for an image of a size.
func (p Pipeline) Output(from Size) Size {
	x, y := p.Fit.spans(from, p.Size, p.Short)
	return p.frame(x, y).Size
}

// ShapeOf returns the shape of the tensor of an image of a size.
func (p Pipeline) ShapeOf(from Size) tensor.Shape { return p.shape(p.Output(from)) }

func (p Pipeline) shape(n Size) tensor.Shape {
	if p.Layout == NHWC {
		return tensor.Shape{int64(n.Height), int64(n.Width), 3}
	}
	return tensor.Shape{3, int64(n.Height), int64(n.Width)}
}

// ApplyFile decodes an image file, as far as the pipeline looks at it, and applies the pipeline.
func (p Pipeline) ApplyFile(dst tensor.Tensor, data []byte, s *Scratch) error {
	img, err := p.decode(data, s)
	if err != nil {
		return err
	}
	return p.Apply(dst, img, s)
}

// Make is ApplyFile into a new tensor.
func (p Pipeline) Make(data []byte, s *Scratch) (tensor.Tensor, error) {
	img, err := p.decode(data, s)
	if err != nil {
		return tensor.Tensor{}, err
	}
	t := tensor.New(p.Type, p.ShapeOf(Size{img.Width, img.Height})...)
	return t, p.Apply(t, img, s)
}

func (p Pipeline) decode(data []byte, s *Scratch) (Image, error) {
	img, err := s.decode(data, !p.IgnoreOrientation, func(from Size) image.Rectangle {
		x, y := p.Fit.spans(from, p.Size, p.Short)
		left, right := x.source()
		top, bottom := y.source()
		return image.Rect(left, top, right, bottom)
	})
	s.Decoded = Size{img.Width, img.Height}
	return img, err
}

// Apply writes the tensor of img to dst, which has the type of p and the shape for the image, or that shape with a
// batch axis of 1 before it.
func (p Pipeline) Apply(dst tensor.Tensor, img Image, s *Scratch) error {
	want, got := p.ShapeOf(Size{img.Width, img.Height}), dst.Shape
	if len(got) == 4 && got[0] == 1 {
		got = got[1:]
	}
	if dst.Type != p.Type || !slices.Equal(got, want) {
		return fmt.Errorf("pipeline %s: output tensor is %v: must be %v%v", p.Name, dst, p.Type, want)
	}
	if p.Short != 0 && p.Short < p.Size {
		return fmt.Errorf("pipeline %s: the image is resized to %d pixels, and the model takes %d", p.Name, p.Short, p.Size)
	}
	if p.Fit == PadBlack {
		img = s.squared(img)
	}
	x, y := p.Fit.spans(Size{img.Width, img.Height}, p.Size, p.Short)
	t, f := task{kernel: p.Kernel, x: x, y: y}, p.frame(x, y)
	switch p.Type {
	case tensor.Float32:
		run(p, f, tensor.Data[float32](dst), t, img.Pix, s, &s.tables32)
	case tensor.Uint8:
		run(p, f, tensor.Data[uint8](dst), t, img.Pix, s, &s.tablesU8)
	case tensor.Int8:
		run(p, f, tensor.Data[int8](dst), t, img.Pix, s, &s.tablesI8)
	default:
		return fmt.Errorf("pipeline %s: output type is %v: must be float32, uint8 or int8", p.Name, p.Type)
	}
	return nil
}

// An element is a type of the elements of an input tensor. Conversion from float32 truncates
// towards zero, like NumPy's astype.
type element interface{ float32 | uint8 | int8 }

// tables holds the element that follows from each byte, by channel of the output.
type tables[T element] [3][256]T

// run resizes row by row, does the steps to each row and writes it.
func run[T element](p Pipeline, f frame, dst []T, t task, pix []byte, s *Scratch, tab *tables[T]) {
	step, plane := 1, f.Width*f.Height // from a value to the next of its channel, and to its pixel's next
	if p.Layout == NHWC {
		step, plane = 3, 1
	}
	order := [3]int{0, 1, 2} // the channel of the image for each of the output
	if p.BGR {
		order = [3]int{2, 1, 0}
	}
	if p.Float {
		row := s.startFloats(t, pix)
		s.floats = tensor.Grown(s.floats, t.width())
		for y := range p.Size {
			row(y, s.floats)
			for _, step := range p.Steps {
				step.apply(s.floats)
			}
			at, x := y*p.Size*step, 0
			if to, ok := any(dst).([]float32); ok && p.Layout == NCHW {
				at += planesVectors(to[at:], to[at+plane:], to[at+2*plane:], s.floats)
				x = 3 * (at - y*p.Size)
			}
			for ; x < len(s.floats); x += 3 {
				pixel := s.floats[x:][:3]
				dst[at], dst[at+plane], dst[at+2*plane] = T(pixel[0]), T(pixel[1]), T(pixel[2])
				at += step
			}
		}
		return
	}
	for v := range 256 {
		pixel := [3]float32{float32(v), float32(v), float32(v)}
		for _, s := range p.Steps {
			s.apply(pixel[:])
		}
		for c := range tab {
			tab[c][v] = T(pixel[c])
		}
	}
	row := s.startBytes(t, pix)
	s.line = tensor.Grown(s.line, 3*f.Width)
	for y := range f.Height {
		if y == 0 || y == f.top+t.y.size { // what is beside the image stays as it is
			for i := range s.line {
				s.line[i] = f.around[i%3]
			}
		}
		if y >= f.top && y < f.top+t.y.size {
			row(y-f.top, s.line[3*f.left:][:t.width()])
		}
		at := y * f.Width * step
		for x := 0; x < len(s.line); x += 3 {
			pixel := s.line[x:][:3]
			dst[at], dst[at+plane], dst[at+2*plane] = tab[0][pixel[order[0]]], tab[1][pixel[order[1]]], tab[2][pixel[order[2]]]
			at += step
		}
	}
}
