package tflite

import "github.com/mlperf-go/mlperf/internal/onnx"

// same is the padding SAME of the schema; the other one is VALID.
const same = 0

// padding returns how much comes in front of and behind an axis, so that a window of so much extent gives the result:
// with SAME the odd one is behind.
func padding(in, out, stride, window int) (front, behind int64) {
	total := max((out-1)*stride+window-in, 0)
	return int64(total / 2), int64(total - total/2)
}

// window returns the attributes of an operator that slides over height and width and makes so many channels.
func (g *graph) window(kind int, kernel, strides, dilations [2]int, channels int) []onnx.Attribute {
	x := g.in(0)
	g.rank4(x)
	pads, made := make([]int64, 4), []int{x.shape[0], 0, 0, channels}
	for a := range 2 {
		if strides[a] < 1 || dilations[a] < 1 || kernel[a] < 1 {
			refuse("kernel %v, strides %v and dilations %v are not possible", kernel, strides, dilations)
		}
		in, extent := x.shape[1+a], (kernel[a]-1)*dilations[a]+1
		if kind != same {
			in -= extent - 1
		}
		made[1+a] = (in + strides[a] - 1) / strides[a]
		if kind == same {
			pads[a], pads[a+2] = padding(in, made[1+a], strides[a], extent)
		}
	}
	g.settle(0, made...)
	return []onnx.Attribute{onnx.Attr("kernel_shape", longs(kernel[:])), onnx.Attr("strides", longs(strides[:])), onnx.Attr("pads", pads)}
}

func (g *graph) rank4(t *tensor) {
	if t.rank() != 4 {
		refuse("tensor %q has shape %v, expected 4 axes", t.name, t.shape)
	}
}

// conv converts convolutions. Weights are O H W I, or 1 H W O where each channel is convolved by itself.
func (g *graph) conv(depthwise bool) {
	x, w, o := g.in(0), g.in(1), g.op.options
	g.rank4(w)
	g.rank4(x)
	perm, group, rest, channels := toFirst, int64(1), 3, w.shape[0]
	if depthwise {
		perm, group, rest, channels = []int64{3, 0, 1, 2}, int64(x.shape[3]), 4, w.shape[3]
	} else if w.shape[3] == 0 || x.shape[3]%w.shape[3] != 0 {
		refuse("weights %v do not fit the input %v", w.shape, x.shape)
	} else {
		group = int64(x.shape[3] / w.shape[3])
	}
	dilations := [2]int{o.int(rest+2, 1), o.int(rest+1, 1)}
	attributes := g.window(o.byte(0), [2]int{w.shape[1], w.shape[2]}, [2]int{o.int(2, 1), o.int(1, 1)}, dilations, channels)
	attributes = append(attributes, onnx.Attr("dilations", longs(dilations[:])), onnx.Attr("group", group))
	inputs := []string{g.real(0, first), g.arranged(1, w.shape, perm)}
	if g.has(2) {
		inputs = append(inputs, g.real(2, last))
	}
	g.setReal(0, first, g.node("Conv", inputs, attributes...), o.byte(3+b2i(depthwise)))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (g *graph) transposeConv() {
	o := g.op.options
	g.deconvolve(2, 1, 3, o.byte(0), [2]int{o.int(2, 1), o.int(1, 1)}, o.byte(3))
}

// transposeConvBias is a custom operator of MediaPipe. Its options are TfLiteTransposeConvParams: padding (1: SAME, 2: VALID),
// strides of columns and of rows.
func (g *graph) transposeConvBias() {
	o := g.op.custom
	if len(o) != 12 || i32(o, 0) < 1 || i32(o, 0) > 2 {
		refuse("options %v are not converted", o)
	}
	g.deconvolve(0, 1, 2, i32(o, 0)-1, [2]int{i32(o, 8), i32(o, 4)}, actNone)
}

// deconvolve converts transposed convolutions: the inputs of their elements, weights O H W I and biases.
func (g *graph) deconvolve(from, weights, biases, kind int, strides [2]int, activation int) {
	x, w, y := g.in(from), g.in(weights), g.res(0)
	g.rank4(w)
	g.rank4(x)
	g.rank4(y)
	pads, more := make([]int64, 4), make([]int64, 2)
	for a := range 2 {
		if strides[a] < 1 {
			refuse("strides %v are not possible", strides)
		}
		full := (x.shape[1+a]-1)*strides[a] + w.shape[1+a]
		if kind == same {
			pads[a], pads[a+2] = padding(y.shape[1+a], x.shape[1+a], strides[a], w.shape[1+a])
		}
		more[a] = max(int64(y.shape[1+a])-int64(full)+pads[a]+pads[a+2], 0)
	}
	inputs := []string{g.real(from, first), g.arranged(weights, w.shape, []int64{3, 0, 1, 2})}
	if g.has(biases) {
		inputs = append(inputs, g.real(biases, last))
	}
	g.setReal(0, first, g.node("ConvTranspose", inputs, onnx.Attr("strides", longs(strides[:])), onnx.Attr("pads", pads),
		onnx.Attr("output_padding", more)), activation)
}

// fullyConnected multiplies by weights O I.
func (g *graph) fullyConnected() {
	w, y, o := g.in(1), g.res(0), g.op.options
	if w.rank() != 2 || o.byte(1) != 0 {
		refuse("weights of shape %v in format %d are not converted", w.shape, o.byte(1))
	}
	x := g.real(0, last)
	if g.in(0).rank() != 2 || g.in(0).shape[1] != w.shape[1] {
		x = g.node("Reshape", []string{x, g.ints(-1, int64(w.shape[1]))})
	}
	inputs := []string{x, g.arranged(1, w.shape, nil)}
	if w.data == nil {
		inputs[1] = g.real(1, last)
	}
	if g.has(2) {
		inputs = append(inputs, g.real(2, last))
	}
	x = g.node("Gemm", inputs, onnx.Attr("transB", int64(1)))
	if y.rank() == 0 && g.in(0).rank() == 2 {
		g.settle(0, g.in(0).shape[0], w.shape[0])
	}
	if y.rank() != 2 {
		x = g.node("Reshape", []string{x, g.ints(longs(y.shape)...)})
	}
	g.setReal(0, last, x, o.byte(0))
}

func (g *graph) matMul() {
	inputs := []string{g.real(0, last), g.real(1, last)}
	for n := range 2 {
		if !g.op.options.bool(n) {
			continue
		}
		var perm []int64
		rank := g.in(n).rank()
		for a := range rank {
			perm = append(perm, int64(a))
		}
		if rank < 2 {
			refuse("input %d has fewer than 2 axes", n)
		}
		perm[rank-1], perm[rank-2] = perm[rank-2], perm[rank-1]
		inputs[n] = g.transpose(inputs[n], perm)
	}
	g.setReal(0, last, g.node("MatMul", inputs), actNone)
}

func (g *graph) pool(op string) {
	o := g.op.options
	g.rank4(g.in(0))
	attributes := g.window(o.byte(0), [2]int{o.int(4, 0), o.int(3, 0)}, [2]int{o.int(2, 1), o.int(1, 1)}, [2]int{1, 1}, g.in(0).shape[3])
	g.setReal(0, first, g.node(op, []string{g.real(0, first)}, attributes...), o.byte(5))
}

// resize converts the resizing of pictures. align is the number of the option align_corners, half_pixel_centers follows it.
func (g *graph) resize(mode string, align int) {
	x, y, o := g.in(0), g.res(0), g.op.options
	g.rank4(x)
	if asked := g.in(1); y.rank() == 0 && asked.data != nil {
		if size := must(asked.integers()); len(size) == 2 {
			g.settle(0, x.shape[0], int(size[0]), int(size[1]), x.shape[3])
		}
	}
	g.rank4(y)
	rounding, positions := "floor", "asymmetric"
	if o.bool(align) {
		rounding, positions = "round_prefer_ceil", "align_corners"
	} else if o.bool(align + 1) {
		rounding, positions = "round_prefer_ceil", "half_pixel"
	}
	attributes := []onnx.Attribute{onnx.Attr("mode", mode), onnx.Attr("coordinate_transformation_mode", positions)}
	if mode == "nearest" {
		attributes = append(attributes, onnx.Attr("nearest_mode", rounding))
	}
	size := g.ints(int64(y.shape[0]), int64(y.shape[3]), int64(y.shape[1]), int64(y.shape[2]))
	g.setReal(0, first, g.node("Resize", []string{g.real(0, first), "", "", size}, attributes...), actNone)
}

// depthToSpace takes channels as rows, columns, then depth.
func (g *graph) depthToSpace() {
	g.rank4(g.in(0))
	g.setReal(0, first, g.node("DepthToSpace", []string{g.real(0, first)}, onnx.Attr("blocksize", int64(g.op.options.int(0, 1))),
		onnx.Attr("mode", "DCR")), actNone)
}

func (g *graph) spaceToDepth() {
	g.rank4(g.in(0))
	g.setReal(0, first, g.node("SpaceToDepth", []string{g.real(0, first)}, onnx.Attr("blocksize", int64(g.op.options.int(0, 1)))), actNone)
}

// blocks are the constants of SPACE_TO_BATCH_ND and its reverse: extents of a block, and what is added or cut off around it.
func (g *graph) blocks() (block, around []int64) {
	g.rank4(g.in(0))
	g.rank4(g.res(0))
	block, around = must(g.in(1).integers()), must(g.in(2).integers())
	if len(block) != 2 || len(around) != 4 || block[0] < 1 || block[1] < 1 {
		refuse("blocks of %v within %v are not converted", block, around)
	}
	return block, around
}

func (g *graph) spaceToBatch() {
	block, around := g.blocks()
	s, y := longs(g.in(0).shape), longs(g.res(0).shape)
	x := g.node("Pad", []string{g.real(0, last), g.ints(0, around[0], around[2], 0, 0, around[1], around[3], 0)})
	x = g.node("Reshape", []string{x, g.ints(s[0], y[1], block[0], y[2], block[1], s[3])})
	x = g.transpose(x, []int64{2, 4, 0, 1, 3, 5})
	g.setReal(0, last, g.node("Reshape", []string{x, g.ints(y...)}), actNone)
}

func (g *graph) batchToSpace() {
	block, around := g.blocks()
	s, y := longs(g.in(0).shape), longs(g.res(0).shape)
	x := g.node("Reshape", []string{g.real(0, last), g.ints(block[0], block[1], y[0], s[1], s[2], s[3])})
	x = g.transpose(x, []int64{2, 3, 0, 4, 1, 5})
	x = g.node("Reshape", []string{x, g.ints(y[0], s[1]*block[0], s[2]*block[1], s[3])})
	x = g.node("Slice", []string{x, g.ints(around[0], around[2]), g.ints(around[0]+y[1], around[2]+y[2]), g.ints(1, 2)})
	g.setReal(0, last, x, actNone)
}
