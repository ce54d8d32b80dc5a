package arch

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// Axes holds one number for each spatial axis. A single number stands for all axes,
// none for the default.
type Axes []int64

func (a Axes) expand(what string, n int, otherwise int64) ([]int64, error) {
	switch {
	case len(a) == n:
	case len(a) == 1:
		return slices.Repeat(a, n), nil
	case len(a) == 0 && otherwise > 0:
		return slices.Repeat([]int64{otherwise}, n), nil
	default:
		return nil, fmt.Errorf("%d %s for %d spatial axes", len(a), what, n)
	}
	return a, nil
}

// Pads says how a window treats the border. The zero Pads add nothing.
type Pads struct {
	Begin, End Axes
	// Same gives the padding that TensorFlow calls SAME: the output has ⌈in/stride⌉
	// elements, and an odd number of padding elements puts the larger half at the end.
	Same bool
}

// Pad returns equal padding at both ends of every axis.
func Pad(n int64) Pads { return Pads{Begin: Axes{n}, End: Axes{n}} }

// PadSame returns the padding that TensorFlow calls SAME.
func PadSame() Pads { return Pads{Same: true} }

// expand returns the padding at the beginning of each axis, and then at the end of each. SAME is worked out later.
func (p Pads) expand(n int) ([]int64, error) {
	if p.Same || len(p.Begin)+len(p.End) == 0 {
		return make([]int64, 2*n), nil
	}
	begin, errBegin := p.Begin.expand("pads", n, 0)
	end, errEnd := p.End.expand("pads", n, 0)
	return slices.Concat(begin, end), errors.Join(errBegin, errEnd)
}

// A window slides over the spatial axes of a value, those after batch and channel.
type window struct {
	kernel, strides, dilations []int64
	pads                       []int64    // all beginnings, then all ends
	out                        onnx.Shape // spatial axes of the result
}

func newWindow(x *onnx.Value, kernel, strides, dilations Axes, pads Pads) (window, error) {
	n := len(x.Type.Shape) - 2
	if n < 1 {
		return window{}, fmt.Errorf("input %v has no spatial axes", x)
	}
	var w window
	err := errors.Join(
		assign(&w.kernel)(kernel.expand("kernel sizes", n, 0)),
		assign(&w.strides)(strides.expand("strides", n, 1)),
		assign(&w.dilations)(dilations.expand("dilations", n, 1)),
		assign(&w.pads)(pads.expand(n)),
	)
	if err != nil {
		return window{}, err
	}
	w.out = make(onnx.Shape, n)
	for i, in := range x.Type.Shape[2:] {
		if err := w.slide(i, in, pads.Same); err != nil {
			return window{}, fmt.Errorf("axis %d of input %v: %w", i+2, x, err)
		}
	}
	return w, nil
}

func assign(dst *[]int64) func([]int64, error) error {
	return func(v []int64, err error) error {
		*dst = v
		return err
	}
}

// slide works out the padding and the output size of one axis.
func (w *window) slide(i int, in onnx.Dim, same bool) error {
	if !in.Known() {
		return errors.New("its size must be known")
	}
	if w.kernel[i] < 1 || w.strides[i] < 1 || w.dilations[i] < 1 {
		return fmt.Errorf("kernel %d, stride %d and dilation %d must be positive", w.kernel[i], w.strides[i], w.dilations[i])
	}
	n := len(w.kernel)
	reach := (w.kernel[i]-1)*w.dilations[i] + 1
	if same {
		out := (in.Size + w.strides[i] - 1) / w.strides[i]
		total := max(0, (out-1)*w.strides[i]+reach-in.Size)
		w.pads[i], w.pads[n+i] = total/2, total-total/2
	}
	room := in.Size + w.pads[i] + w.pads[n+i] - reach
	if room < 0 {
		return fmt.Errorf("a window of %d elements does not fit into %d", reach, room+reach)
	}
	w.out[i] = onnx.Fixed(room/w.strides[i] + 1)
	return nil
}

func (w *window) attrs() []onnx.Attribute {
	attrs := []onnx.Attribute{onnx.Attr("kernel_shape", w.kernel), onnx.Attr("strides", w.strides), onnx.Attr("pads", w.pads)}
	if slices.ContainsFunc(w.dilations, func(d int64) bool { return d != 1 }) {
		attrs = append(attrs, onnx.Attr("dilations", w.dilations))
	}
	return attrs
}
