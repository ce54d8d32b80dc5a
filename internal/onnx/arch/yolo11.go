package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// YOLO11l is YOLO11l of Ultralytics for the 80 classes of COCO, as its exporter writes it: batch norms are part of the
// convolutions, and the output has the boxes of all 8400 places in pixels, centre and size, and a score for each class. What
// suppresses boxes is not in the file.
func YOLO11l() Architecture {
	return Architecture{
		Name:     "yolo11l",
		Title:    "YOLO11l 640",
		Official: "https://github.com/ultralytics/ultralytics",
		Inputs:   []onnx.Value{{Name: "images", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.FixedShape([]int64{1, 3, yoloSide, yoloSide})}}},
		Outputs:  []onnx.Value{{Name: "output0", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.FixedShape([]int64{1, 4 + yoloClasses, 8400})}}},
		Seed:     8,
		layers:   func(b *Builder, _ Options) { yoloNet{b}.build() },
	}
}

const (
	yoloSide    = 640
	yoloClasses = 80
	yoloBins    = 16 // of the distance from a place to a side of its box, in strides
)

// yoloNet writes the layers of YOLO11l. Names are those of Ultralytics' modules.
type yoloNet struct{ *Builder }

func (y yoloNet) build() {
	x := y.Input("images", onnx.Float32, onnx.FixedShape([]int64{1, 3, yoloSide, yoloSide}))
	x = y.silu("model.0/act", y.linear("model.0", x, 64, 3, 2, 1, 2), 1)
	x = y.conv("model.1", x, 128, 3, 2)
	x = y.c3k2("model.2", x, 256, 4)
	x = y.conv("model.3", x, 256, 3, 2)
	eighth := y.c3k2("model.4", x, 512, 4)
	x = y.conv("model.5", eighth, 512, 3, 2)
	sixteenth := y.c3k2("model.6", x, 512, 2)
	x = y.conv("model.7", sixteenth, 512, 3, 2)
	x = y.c3k2("model.8", x, 512, 2)
	x = y.pyramid("model.9", x)
	last := y.attentive("model.10", x)
	x = y.Concat("model.12", 1, y.double("model.11", last), sixteenth)
	middle := y.c3k2("model.13", x, 512, 2)
	x = y.Concat("model.15", 1, y.double("model.14", middle), eighth)
	fine := y.c3k2("model.16", x, 256, 2)
	x = y.Concat("model.18", 1, y.conv("model.17", fine, 256, 3, 2), middle)
	middle = y.c3k2("model.19", x, 512, 2)
	x = y.Concat("model.21", 1, y.conv("model.20", middle, 512, 3, 2), last)
	y.detect("model.23", fine, middle, y.c3k2("model.22", x, 512, 2))
}

// linear adds a convolution with a bias and no activation.
func (y yoloNet) linear(name string, x *onnx.Value, filters, kernel, stride, groups int64, gain float64) *onnx.Value {
	return y.Conv(name+"/conv", x, Conv{
		Filters: filters, Kernel: Axes{kernel}, Strides: Axes{stride}, Pads: Pad(kernel / 2), Groups: groups,
		Weights: y.weights(kernel, gain), Bias: Uniform{yoloBias - 0.5, yoloBias + 0.5},
	})
}

// SiLU hardly bends where values are well above 0: there the errors of rounding do not grow from layer to layer.
const yoloBias = 1.5

func (y yoloNet) weights(kernel int64, gain float64) Filler {
	w := Filler(He{Gain: gain, ZeroMean: true})
	if kernel > 1 {
		w = Smooth{w, 0.5}
	}
	return Rounded{w}
}

// conv adds a convolution and SiLU.
func (y yoloNet) conv(name string, x *onnx.Value, filters, kernel, stride int64) *onnx.Value {
	return y.silu(name+"/act", y.linear(name, x, filters, kernel, stride, 1, 0.8), 1)
}

// halves splits the channels.
func (y yoloNet) halves(name string, x *onnx.Value) (first, second *onnx.Value) {
	half := x.Channels() / 2
	return y.Slice(name+"/first", x, 1, 0, half), y.Slice(name+"/second", x, 1, half, 2*half)
}

// c3k2 adds a C3k2 block of two C3k blocks, whose width is filters/part.
func (y yoloNet) c3k2(name string, x *onnx.Value, filters, part int64) *onnx.Value {
	c := filters / part
	a, b := y.halves(name+"/split", y.conv(name+".cv1", x, 2*c, 1, 1))
	all := []*onnx.Value{a, b}
	for i := range 2 {
		all = append(all, y.c3k(fmt.Sprintf("%s.m.%d", name, i), all[len(all)-1]))
	}
	return y.conv(name+".cv2", y.Concat(name+"/concat", 1, all...), filters, 1, 1)
}

// c3k adds a C3k block: two bottlenecks beside a short cut.
func (y yoloNet) c3k(name string, x *onnx.Value) *onnx.Value {
	c := x.Channels() / 2
	a := y.conv(name+".cv1", x, c, 1, 1)
	for i := range 2 {
		inner := fmt.Sprintf("%s.m.%d", name, i)
		a = y.Add(inner+"/add", a, y.conv(inner+".cv2", y.conv(inner+".cv1", a, c, 3, 1), c, 3, 1))
	}
	return y.conv(name+".cv3", y.Concat(name+"/concat", 1, a, y.conv(name+".cv2", x, c, 1, 1)), 2*c, 1, 1)
}

// pyramid adds an SPPF block: the largest values of ever wider surroundings.
func (y yoloNet) pyramid(name string, x *onnx.Value) *onnx.Value {
	all := []*onnx.Value{y.conv(name+".cv1", x, x.Channels()/2, 1, 1)}
	for i := range 3 {
		all = append(all, y.MaxPool(fmt.Sprintf("%s.m/%d", name, i), all[i], Pool{Kernel: Axes{5}, Strides: Axes{1}, Pads: Pad(2)}))
	}
	return y.conv(name+".cv2", y.Concat(name+"/concat", 1, all...), x.Channels(), 1, 1)
}

// attentive adds a C2PSA block: two layers of attention over one half of the channels.
func (y yoloNet) attentive(name string, x *onnx.Value) *onnx.Value {
	c := x.Channels() / 2
	a, b := y.halves(name+"/split", y.conv(name+".cv1", x, 2*c, 1, 1))
	for i := range 2 {
		inner := fmt.Sprintf("%s.m.%d", name, i)
		b = y.Add(inner+"/add", b, y.attention(inner+".attn", b))
		wide := y.conv(inner+".ffn.0", b, 2*c, 1, 1)
		b = y.Add(inner+"/add_1", b, y.linear(inner+".ffn.1", wide, c, 1, 1, 1, 0.4))
	}
	return y.conv(name+".cv2", y.Concat(name+"/concat", 1, a, b), 2*c, 1, 1)
}

// attention adds an attention between all places, with the values around a place added by a depth-wise convolution.
func (y yoloNet) attention(name string, x *onnx.Value) *onnx.Value {
	const value, key = 64, 32
	c, h, w := x.Channels(), extentOf(x, 2), extentOf(x, 3)
	heads, places := c/value, h*w
	qkv := y.linear(name+".qkv", x, c+2*key*heads, 1, 1, 1, 0.7)
	qkv = y.Reshape(name+"/heads", qkv, 1, heads, 2*key+value, places)
	q := y.Transpose(name+"/q", y.Slice(name+"/q_split", qkv, 2, 0, key), 0, 1, 3, 2)
	k := y.Slice(name+"/k", qkv, 2, key, 2*key)
	v := y.Slice(name+"/v", qkv, 2, 2*key, 2*key+value)
	scores := y.Binary("Mul", name+"/scaled", y.MatMul(name+"/scores", q, k), y.scalar(0.17677669)) // 1/√32
	weights := y.Transpose(name+"/weights_turned", y.Softmax(name+"/weights", scores, -1), 0, 1, 3, 2)
	o := y.Reshape(name+"/joined", y.MatMul(name+"/context", v, weights), 1, c, h, w)
	v = y.Reshape(name+"/v_places", v, 1, c, h, w)
	o = y.Add(name+"/add", o, y.linear(name+".pe", v, c, 3, 1, c, 0.5))
	return y.linear(name+".proj", o, c, 1, 1, 1, 0.5)
}

// double repeats each place in both directions.
func (y yoloNet) double(name string, x *onnx.Value) *onnx.Value {
	return y.Resize(name, x, Resize{Sizes: Axes{2 * extentOf(x, 2), 2 * extentOf(x, 3)}, Mode: "nearest", Coordinates: "asymmetric", Nearest: "floor"})
}

// detect adds the head: boxes and scores of all places of three grids.
func (y yoloNet) detect(name string, grids ...*onnx.Value) {
	var boxes, scores []*onnx.Value
	var xs, ys, strides []float32
	for i, x := range grids {
		side := extentOf(x, 2)
		boxes = append(boxes, y.Reshape(fmt.Sprintf("%s/box%d", name, i), y.boxes(fmt.Sprintf("%s.cv2.%d", name, i), x), 1, 4*yoloBins, side*side))
		scores = append(scores, y.Reshape(fmt.Sprintf("%s/class%d", name, i), y.classes(fmt.Sprintf("%s.cv3.%d", name, i), i, x), 1, yoloClasses,
			side*side))
		for place := range side * side {
			xs, ys = append(xs, float32(place%side)+0.5), append(ys, float32(place/side)+0.5)
			strides = append(strides, float32(yoloSide/side))
		}
	}
	n := int64(len(strides))
	corner := y.distances(name+".dfl", y.Concat(name+"/boxes", 2, boxes...), n)
	anchors := y.Constant(onnx.TensorOf(name+"/anchors", append(xs, ys...), 1, 2, n))
	low := y.Binary("Sub", name+"/low", anchors, y.Slice(name+"/before", corner, 1, 0, 2))
	high := y.Add(name+"/high", anchors, y.Slice(name+"/behind", corner, 1, 2, 4))
	centre := y.Binary("Div", name+"/centre", y.Add(name+"/sum", low, high), y.scalar(2))
	size := y.Binary("Sub", name+"/size", high, low)
	box := y.Binary("Mul", name+"/box", y.Concat(name+"/centre_size", 1, centre, size), y.Constant(onnx.TensorOf(name+"/strides", strides, 1, 1, n)))
	y.Output(y.rename(y.Concat(name, 1, box, y.Unary("Sigmoid", name+"/scores", y.Concat(name+"/classes", 2, scores...))), "output0"))
}

// boxes adds the branch of a grid for boxes.
func (y yoloNet) boxes(name string, x *onnx.Value) *onnx.Value {
	x = y.conv(name+".1", y.conv(name+".0", x, 64, 3, 1), 64, 3, 1)
	return y.Conv(name+".2", x, Conv{Filters: 4 * yoloBins, Kernel: Axes{1}, Weights: Rounded{He{Gain: 2, ZeroMean: true}}, Bias: Constant(1)})
}

// classes adds the branch of a grid for classes.
func (y yoloNet) classes(name string, grid int, x *onnx.Value) *onnx.Value {
	const wide = 256
	for i := range 2 {
		layer := fmt.Sprintf("%s.%d", name, i)
		x = y.silu(layer+".0/act", y.linear(layer+".0", x, x.Channels(), 3, 1, x.Channels(), 0.8), 1)
		x = y.conv(layer+".1", x, wide, 1, 1)
	}
	return y.Conv(name+".2", x, Conv{
		Filters: yoloClasses, Kernel: Axes{1}, Weights: Rounded{He{Gain: yolo11Calibration.gains[grid], ZeroMean: true}},
		Bias: yolo11Calibration.scores.biases(grid, 1, yoloClasses, anchorMajor),
	})
}

// distances adds the mean of a distribution over whole distances for each side of each box.
func (y yoloNet) distances(name string, x *onnx.Value, n int64) *onnx.Value {
	bins := make(Given, yoloBins)
	for i := range bins {
		bins[i] = float32(i)
	}
	x = y.Transpose(name+"/turned", y.Reshape(name+"/sides", x, 1, 4, yoloBins, n), 0, 2, 1, 3)
	x = y.Conv(name+".conv", y.Softmax(name+"/softmax", x, 1), Conv{Filters: 1, Kernel: Axes{1}, Weights: bins})
	return y.Reshape(name, x, 1, 4, n)
}
