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
	switch l {
	case NCHW:
		return "NCHW"
	case NHWC:
		return "NHWC"
	}
	return fmt.Sprintf("Layout(%d)", uint8(l))
}

// A Pipeline leads from an image to the input tensor of a model. Its fields may be
// changed; Lookup returns those of the reference.
type Pipeline struct {
	Name   string
	Size   int          // height and width of the output in pixels
	Fit    Fit          // how the image is brought to that size
	Kernel Kernel       // how it is resized
	Float  bool         // resize in float32; otherwise the result is rounded to bytes
	BGR    bool         // blue first in the output; the image is RGB
	Steps  []Step       // arithmetic after resizing
	Type   tensor.DType // Float32, or Uint8 or Int8, to which values are truncated
	Layout Layout

	IgnoreOrientation bool // do not rotate as EXIF asks
}

// Shape returns the shape of one image's tensor.
func (p Pipeline) Shape() tensor.Shape {
	n := int64(p.Size)
	if p.Layout == NHWC {
		return tensor.Shape{n, n, 3}
	}
	return tensor.Shape{3, n, n}
}

// ApplyFile decodes an image file, as far as the pipeline looks at it, and applies the
// pipeline. It reports whether the file was damaged but could be made up for.
func (p Pipeline) ApplyFile(dst tensor.Tensor, data []byte, s *Scratch) (damaged bool, err error) {
	if err := p.validate(dst); err != nil {
		return false, fmt.Errorf("pipeline %s: %w", p.Name, err)
	}
	img, err := s.decode(data, !p.IgnoreOrientation, p.wanted)
	if err != nil {
		return false, err
	}
	return img.Damaged, p.Apply(dst, img, s)
}

// wanted returns the part of an image that the pipeline looks at.
func (p Pipeline) wanted(from Size) image.Rectangle {
	x, y := p.Fit.spans(from, p.Size)
	left, right := x.source()
	top, bottom := y.source()
	return image.Rect(left, top, right, bottom)
}

// Apply writes the tensor of img to dst, which has the type and shape of p, or that
// shape with a batch axis of 1 before it.
func (p Pipeline) Apply(dst tensor.Tensor, img Image, s *Scratch) error {
	if err := p.validate(dst); err != nil {
		return fmt.Errorf("pipeline %s: %w", p.Name, err)
	}
	if !img.whole() {
		return fmt.Errorf("pipeline %s: image of %d×%d pixels has %d bytes", p.Name, img.Width, img.Height, len(img.Pix))
	}
	x, y := p.Fit.spans(Size{img.Width, img.Height}, p.Size)
	t := task{kernel: p.Kernel, channels: 3, x: x, y: y}
	var err error
	switch p.Type {
	case tensor.Float32:
		err = run(p, tensor.Data[float32](dst), t, img.Pix, s, &s.tables32)
	case tensor.Uint8:
		err = run(p, tensor.Data[uint8](dst), t, img.Pix, s, &s.tablesU8)
	default:
		err = run(p, tensor.Data[int8](dst), t, img.Pix, s, &s.tablesI8)
	}
	if err != nil {
		return fmt.Errorf("pipeline %s: %w", p.Name, err)
	}
	return nil
}

func (p Pipeline) validate(dst tensor.Tensor) error {
	if !slices.Contains([]tensor.DType{tensor.Float32, tensor.Uint8, tensor.Int8}, p.Type) {
		return fmt.Errorf("output type is %v, want float32, uint8 or int8", p.Type)
	}
	if p.Size < 1 || p.Layout > NHWC || !p.canFit() {
		return fmt.Errorf("size %d, fit %d or layout %v is not valid", p.Size, p.Fit, p.Layout)
	}
	for _, s := range p.Steps {
		if err := s.validate(); err != nil {
			return err
		}
	}
	return p.checkOutput(dst)
}

// canFit reports whether there is the fit; that of DeepLab is for bytes.
func (p Pipeline) canFit() bool { return p.Fit < PadDeepLab || p.Fit == PadDeepLab && !p.Float }

// checkOutput wants a tensor for one image, with or without an axis for the batch.
func (p Pipeline) checkOutput(dst tensor.Tensor) error {
	want, got := p.Shape(), dst.Shape
	if len(got) == 4 && got[0] == 1 {
		got = got[1:]
	}
	if dst.Type != p.Type || !slices.Equal(got, want) {
		return fmt.Errorf("output tensor is %v, want %v%v", dst, p.Type, want)
	}
	return nil
}

// channelOrder is the channel of the image for each of the output.
func (p Pipeline) channelOrder() [3]int {
	if p.BGR {
		return [3]int{2, 1, 0}
	}
	return [3]int{0, 1, 2}
}

// run resizes row by row, and does to each row the steps and writes it.
func run[T element](p Pipeline, dst []T, t task, pix []byte, s *Scratch, tab *tables[T]) error {
	out := output[T]{dst: dst, size: p.Size, planar: p.Layout == NCHW, order: p.channelOrder()}
	if p.Float {
		return runFloats(p, out, t, pix, s)
	}
	if err := s.bytes.start(t, pix); err != nil {
		return err
	}
	tab.fill(p.Steps)
	s.line = resized(s.line, 3*p.Size)
	for y := range p.Size {
		if y < t.y.size {
			s.bytes.row(y, s.line[:t.width()])
		}
		switch {
		case y == 0:
			fillUp(s.line[t.width():])
		case y == t.y.size:
			fillUp(s.line)
		}
		out.bytes(y, s.line, tab)
	}
	return nil
}

// fillUp gives pixels the colour of what is beyond an image.
func fillUp(pixels []byte) {
	for i := range pixels {
		pixels[i] = uint8(deepLabMean[i%3])
	}
}

func runFloats[T element](p Pipeline, out output[T], t task, pix []byte, s *Scratch) error {
	if err := s.mixed.start(t, pix); err != nil {
		return err
	}
	s.fline = resized(s.fline, t.width())
	steps, divisor := p.Steps, (*[3]float32)(nil)
	if out.planar {
		steps, divisor = cutDivision(steps) // it is slow: do it while values are moved anyway
	}
	for y := range p.Size {
		s.mixed.row(y, s.fline)
		if p.BGR {
			swapRedBlue(s.fline)
		}
		for _, step := range steps {
			step.apply(s.fline)
		}
		if divisor != nil {
			out.quotients(y, s.fline, *divisor)
		} else {
			out.floats(y, s.fline)
		}
	}
	return nil
}

// cutDivision cuts off the last step if it is a division; nil: it is none.
func cutDivision(steps []Step) ([]Step, *[3]float32) {
	n := len(steps)
	if n == 0 || steps[n-1].Op != Divide {
		return steps, nil
	}
	return steps[:n-1], &steps[n-1].By
}

func swapRedBlue(pixels []float32) {
	for ; len(pixels) >= 3; pixels = pixels[3:] {
		pixels[0], pixels[2] = pixels[2], pixels[0]
	}
}
