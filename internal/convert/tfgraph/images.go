package tfgraph

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// pictures returns the layout of an operator on pictures, and where its rows are among the axes: NCHW is as ONNX has it.
func (s step) pictures() (l layout, rows int) {
	switch format := s.n.attrs["data_format"].s; format {
	case "", "NHWC":
		return first, 1
	case "NCHW":
		return last, 2
	default:
		refuse("data_format %q is not converted", format)
	}
	return last, 0
}

// window returns the attributes of an operator that slides over rows and columns.
func (s step) window(rows int) []onnx.Attribute {
	two := func(name string) []int64 {
		list := s.n.attrs[name].ints
		if name == "dilations" && len(list) == 0 {
			return []int64{1, 1}
		}
		channel := 5 - 2*rows // 3 of NHWC, 1 of NCHW
		if len(list) != 4 || list[0] != 1 || list[channel] != 1 || list[rows] < 1 || list[rows+1] < 1 {
			refuse("%s %v are not converted", name, list)
		}
		return list[rows : rows+2]
	}
	attributes := []onnx.Attribute{onnx.Attr("strides", two("strides"))}
	if s.n.op == "MaxPool" || s.n.op == "AvgPool" {
		attributes = append(attributes, onnx.Attr("kernel_shape", two("ksize")))
	} else {
		attributes = append(attributes, onnx.Attr("dilations", two("dilations")))
	}
	switch padding := s.n.attrs["padding"].s; padding {
	case "SAME":
		return append(attributes, onnx.Attr("auto_pad", "SAME_UPPER"))
	case "VALID":
		return attributes
	case "EXPLICIT":
		p := s.n.attrs["explicit_paddings"].ints
		if len(p) != 8 {
			refuse("explicit_paddings %v are not converted", p)
		}
		p = p[2*rows:]
		return append(attributes, onnx.Attr("pads", []int64{p[0], p[2], p[1], p[3]}))
	default:
		refuse("padding %q is not converted", padding)
	}
	return nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// weights returns filters with their axes in another order.
func (s step) weights(perm ...int) string {
	v := s.arg(1)
	if v.data != nil {
		t := v.data.permuted(perm...)
		return s.constant(&onnx.Tensor{Name: s.n.inputs[1].node, Type: t.elem, Dims: t.dims, Data: onnx.Raw(t.data)})
	}
	var order []int64
	for _, p := range perm {
		order = append(order, int64(p))
	}
	return s.node("Transpose", []string{v.in(last)}, onnx.Attr("perm", order))
}

// conv converts a convolution with filters H W I O.
func (s step) conv() {
	l, rows := s.pictures()
	x, w := s.arg(0), s.arg(1)
	y := s.set(0, l, s.node("Conv", []string{x.in(l), s.weights(3, 2, 0, 1)}, s.window(rows)...), 4, x.elem)
	if y.batch = x.batch; rows == 1 {
		y.channels = w.channels
	}
}

// depthwise converts a convolution of each channel by itself with filters H W C M.
func (s step) depthwise() {
	l, rows := s.pictures()
	x, w := s.arg(0), s.arg(1)
	if w.data == nil || len(w.data.dims) != 4 {
		refuse("expected constant filters of 4 axes")
	}
	d := w.data.dims
	filters := s.node("Reshape", []string{s.weights(2, 3, 0, 1), s.ints(d[2]*d[3], 1, d[0], d[1])})
	y := s.set(0, l, s.node("Conv", []string{x.in(l), filters}, append(s.window(rows), onnx.Attr("group", d[2]))...), 4, x.elem)
	if y.batch = x.batch; rows == 1 {
		y.channels = d[2] * d[3]
	}
}

// bias adds one number for each channel.
func (s step) bias() {
	x, b := s.arg(0), s.arg(1)
	l, channels := last, b.in(last)
	if _, rows := s.pictures(); rows == 2 || x.firstOnly() {
		channels = s.node("Unsqueeze", []string{channels, s.ints(1, 2)})
		if rows == 1 {
			l = first
		}
	}
	s.set(0, l, s.node("Add", []string{x.in(l), channels}), x.rank, x.elem)
}

func (s step) batchNorm() {
	if s.n.attrs["is_training"].i != 0 {
		refuse("it takes mean and variance of its batch, as in training")
	}
	l, _ := s.pictures()
	x := s.arg(0)
	y := s.node("BatchNormalization", []string{x.in(l), s.x(1), s.x(2), s.x(3), s.x(4)}, onnx.Attr("epsilon", s.n.attrs["epsilon"].f))
	s.set(0, l, y, 4, x.elem)
}

func pool(op string) func(step) {
	return func(s step) {
		l, rows := s.pictures()
		x := s.arg(0)
		s.set(0, l, s.node(op, []string{x.in(l)}, s.window(rows)...), 4, x.elem)
	}
}

func resize(mode string) func(step) {
	return func(s step) {
		x := s.arg(0)
		rounding, positions := "floor", "asymmetric"
		if s.n.attrs["align_corners"].i != 0 {
			rounding, positions = "round_prefer_ceil", "align_corners"
		} else if s.n.attrs["half_pixel_centers"].i != 0 {
			positions = "half_pixel"
			if mode == "nearest" { // the nearest one's centre, or the one behind
				rounding = "round_prefer_ceil"
			}
		}
		attributes := []onnx.Attribute{onnx.Attr("mode", mode), onnx.Attr("coordinate_transformation_mode", positions)}
		picture, elem := x.in(first), x.elem
		if mode == "nearest" {
			attributes = append(attributes, onnx.Attr("nearest_mode", rounding))
		} else if elem != onnx.Float32 { // TensorFlow's result is of float32
			picture, elem = s.cast(picture, onnx.Float32), onnx.Float32
		}
		front := s.node("Slice", []string{s.node("Shape", []string{picture}), s.ints(0), s.ints(2)})
		size := s.node("Concat", []string{front, s.wholes(1)}, onnx.Attr("axis", int64(0)))
		s.set(0, first, s.node("Resize", []string{picture, "", "", size}, attributes...), 4, elem)
	}
}

// suppress converts NonMaxSuppression: the boxes that stay, by their number.
func (s step) suppress() {
	inputs := []string{s.node("Unsqueeze", []string{s.x(0), s.ints(0)}), s.node("Unsqueeze", []string{s.x(1), s.ints(0, 1)}), s.wholes(2)}
	if s.n.op == "NonMaxSuppression" {
		inputs = append(inputs, s.of(onnx.Float32, float64(s.n.attrs["iou_threshold"].f)))
	}
	for i := range s.n.inputs[3:] {
		inputs = append(inputs, s.node("Reshape", []string{s.x(3 + i), s.ints(-1)}))
	}
	picked := s.node("NonMaxSuppression", inputs)
	s.set(0, last, s.cast(s.node("Gather", []string{picked, s.of(onnx.Int64, 2)}, onnx.Attr("axis", int64(1))), onnx.Int32), 1, onnx.Int32)
}

func (s step) matMul() {
	a, b := s.arg(0), s.arg(1)
	y := s.node("Gemm", []string{a.in(last), b.in(last)}, onnx.Attr("transA", s.n.attrs["transpose_a"].i),
		onnx.Attr("transB", s.n.attrs["transpose_b"].i))
	v := s.set(0, last, y, 2, a.elem)
	if v.batch = a.batch; s.n.attrs["transpose_b"].i == 0 {
		v.channels = b.channels
	}
}

func (s step) batchMatMul() {
	a := s.arg(0)
	inputs := []string{s.x(0), s.x(1)}
	for i, name := range []string{"adj_x", "adj_y"} {
		if s.n.attrs[name].i == 0 {
			continue
		}
		rank := s.arg(i).rank
		if rank < 2 {
			refuse("the axes of input %d are not known", i)
		}
		perm := make([]int64, rank)
		for at := range perm {
			perm[at] = int64(at)
		}
		slices.Reverse(perm[rank-2:])
		inputs[i] = s.node("Transpose", []string{inputs[i]}, onnx.Attr("perm", perm))
	}
	s.set(0, last, s.node("MatMul", inputs), max(a.rank, s.arg(1).rank), a.elem)
}
