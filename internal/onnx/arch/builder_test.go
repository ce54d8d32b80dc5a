package arch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func shapeOf(v *onnx.Value) string { return v.Type.Elem.String() + v.Type.Shape.String() }

// image returns a builder and an input of 8 channels.
func image(height, width int64) (*Builder, *onnx.Value) {
	b := NewBuilder("test", 1)
	return b, b.Input("x", onnx.Float32, onnx.Batched(8, height, width))
}

func TestLayersWorkOutTheirShapes(t *testing.T) {
	for _, c := range []struct {
		name, want string
		layer      func(b *Builder, x *onnx.Value) *onnx.Value // x is float32[N 8 14 15]
	}{
		{"convolution", "float32[N 4 12 13]", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Conv("l", x, Conv{Filters: 4, Kernel: Axes{3}})
		}},
		{"convolution with stride, padding and dilation per axis", "float32[N 4 7 6]", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Conv("l", x, Conv{Filters: 4, Kernel: Axes{3, 5}, Strides: Axes{2, 3}, Dilations: Axes{1, 2},
				Pads: Pads{Begin: Axes{0, 4}, End: Axes{1, 6}}})
		}},
		{"depthwise convolution with a multiplier", "float32[N 16 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Conv("l", x, Conv{Filters: 16, Groups: 8, Kernel: Axes{3}, Pads: PadSame()})
		}},
		{"convolution with a stride, padded as SAME", "float32[N 4 7 8]", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Conv("l", x, Conv{Filters: 4, Kernel: Axes{3}, Strides: Axes{2}, Pads: PadSame()})
		}},
		{"convolution with a bias", "float32[N 4 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Conv("l", x, Conv{Filters: 4, Kernel: Axes{1}, Bias: Constant(1)})
		}},
		{"batch norm", "float32[N 8 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.BatchNorm("l", x, BatchNorm{}) }},
		{"max pooling", "float32[N 8 6 7]", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.MaxPool("l", x, Pool{Kernel: Axes{3}, Strides: Axes{2}})
		}},
		{"global average", "float32[N 8 1 1]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.GlobalAveragePool("l", x) }},
		{"ReLU6", "float32[N 8 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Relu6("l", x) }},
		{"sigmoid", "float32[N 8 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Unary("Sigmoid", "l", x) }},
		{"sum with a broadcast vector", "float32[N 8 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Add("l", b.Weight("v", Constant(1), 8, 1, 1), x)
		}},
		{"flatten", "float32[N 1680]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Flatten("l", x) }},
		{"dense", "float32[N 5]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Dense("l", b.Flatten("f", x), Dense{Units: 5}) }},
		{"product with a matrix", "float32[N 8 14 2]", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.MatMul("l", x, b.Weight("m", He{}, 15, 2))
		}},
		{"softmax", "float32[N 8 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Softmax("l", x, -1) }},
		{"argmax over channels", "int64[N 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.ArgMax("l", x, 1) }},
		{"argmax from the end", "int64[N 8 14]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.ArgMax("l", x, -1) }},
		{"reshape that keeps the batch", "float32[N 8 210]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Reshape("l", x, 0, 0, -1) }},
		{"reshape that finds the batch", "float32[N 1680]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Reshape("l", x, -1, 1680) }},
		{"reshape into the batch", "float32[? 210]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Reshape("l", x, -1, 210) }},
		{"concat", "float32[N 16 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Concat("l", 1, x, x) }},
		{"transpose", "float32[N 14 15 8]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Transpose("l", x, 0, 2, 3, 1) }},
		{"resize", "float32[N 8 33 50]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Resize("l", x, Resize{Sizes: Axes{33, 50}}) }},
		{"transposed convolution", "float32[N 4 28 45]", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.ConvTranspose("l", x, ConvTranspose{Filters: 4, Kernel: Axes{2, 3}, Bias: Constant(1)})
		}},
		{"instance norm", "float32[N 8 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.InstanceNorm("l", x, InstanceNorm{}) }},
		{"cast", "int32[N 8 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Cast("l", x, onnx.Int32) }},
		{"slice", "float32[N 8 3 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Slice("l", x, 2, 4, 7) }},
		{"slice from the end", "float32[N 8 14 4]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Slice("l", x, -1, -5, 14) }},
		{"gather of two channels", "float32[N 2 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Gather("l", x, b.ints(3, 1), 1) }},
		{"gather by places", "float32[N 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.GatherND("l", x, b.argMaxes(x), 1) }},
		{"largest elements", "float32[N 8 14 2]", func(b *Builder, x *onnx.Value) *onnx.Value { v, _ := b.TopK("l", x, -1, 2); return v }},
		{"sum over an axis", "float32[N 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Reduce("ReduceSum", "l", x, 1) }},
		{"maximum over an axis", "float32[N 8 14]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Reduce("ReduceMax", "l", x, -1) }},
		{"suppression", "int64[l 3]", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.NonMaxSuppression("l", b.Reshape("boxes", x, 0, -1, 4), b.Reshape("scores", b.Slice("s", x, 3, 0, 4), 0, 2, -1), NMS{PerClass: 5})
		}},
		{"comparison", "bool[N 8 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Compare("Less", "l", x, b.scalar(1)) }},
		{"a new axis", "float32[N 8 14 15 1]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Unsqueeze("l", x, 4) }},
		{"an axis less", "float32[N 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Squeeze("l", b.Slice("s", x, 1, 0, 1), 1) }},
		{"places that are not zero", "int64[4 l]", func(b *Builder, x *onnx.Value) *onnx.Value { return b.NonZero("l", x) }},
		{"lists of unknown length joined", "int64[some 4]", func(b *Builder, x *onnx.Value) *onnx.Value {
			places := b.Transpose("t", b.NonZero("z", x), 1, 0)
			return b.Join("l", "some", places, places)
		}},
		{"updates at places", "float32[N 8 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value {
			places := b.Transpose("t", b.NonZero("z", x), 1, 0)
			return b.ScatterND("l", x, places, b.GatherND("g", x, places, 0))
		}},
		{"shared weights", "float32[N 4 14 15]", func(b *Builder, x *onnx.Value) *onnx.Value {
			c := Conv{Filters: 4, Kernel: Axes{3}, Pads: Pad(1), Bias: Constant(1)}
			b.Conv("first", x, c)
			c.Share = "first"
			return b.Conv("l", x, c)
		}},
		{"any operator", "int64[N]", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Node("Custom", "l", []*onnx.Value{x, nil}, nil, onnx.Type{Elem: onnx.Int64, Shape: onnx.Batched()})[0]
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, x := image(14, 15)
			out := c.layer(b, x)
			b.Output(out)
			m, _, err := b.Model()
			if err != nil {
				t.Fatal(err)
			}
			if got := shapeOf(out); got != c.want || m.Graph.Outputs[0].Name != "l:0" {
				t.Errorf("output is %v, want l:0 %s", out, c.want)
			}
		})
	}
}

// argMaxes makes indices of one channel for each place.
func (b *Builder) argMaxes(x *onnx.Value) *onnx.Value {
	return b.Unsqueeze("index", b.ArgMax("index/best", b.Flatten("index/flat", x), 1), 1)
}

func TestThreeSpatialAxesWorkLikeTwo(t *testing.T) {
	b := NewBuilder("test", 1)
	x := b.Input("x", onnx.Float32, onnx.Batched(1, 16, 16, 8))
	x = b.Conv("c", x, Conv{Filters: 2, Kernel: Axes{3}, Strides: Axes{2}, Pads: Pad(1)})
	x = b.MaxPool("p", x, Pool{Kernel: Axes{2}, Strides: Axes{2}})
	b.Output(x)
	_, stats, err := b.Model()
	if want := "float32[N 2 4 4 2]"; err != nil || shapeOf(x) != want {
		t.Errorf("output is %v (%v), want %s", x, err, want)
	}
	if want := int64(2 * 8 * 8 * 4 * 27); stats.MACs != want {
		t.Errorf("MACs = %d, want %d", stats.MACs, want)
	}
}

// TensorFlow pads at the end what does not split evenly, and only what is needed.
func TestSamePaddingIsThatOfTensorFlow(t *testing.T) {
	for _, c := range []struct {
		in, kernel, stride int64
		want               []int64
	}{
		{224, 3, 2, []int64{0, 0, 1, 1}},
		{112, 3, 1, []int64{1, 1, 1, 1}},
		{7, 3, 2, []int64{1, 1, 1, 1}},
		{224, 7, 2, []int64{2, 2, 3, 3}},
		{8, 2, 2, []int64{0, 0, 0, 0}},
		{8, 1, 4, []int64{0, 0, 0, 0}},
		{5, 2, 1, []int64{0, 0, 1, 1}},
	} {
		b, x := image(c.in, c.in)
		out := b.MaxPool("p", x, Pool{Kernel: Axes{c.kernel}, Strides: Axes{c.stride}, Pads: PadSame()})
		if b.err != nil {
			t.Fatal(b.err)
		}
		got := onnx.AttrOr(b.graph.Nodes[0], "pads", []int64(nil))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("kernel %d, stride %d over %d: pads differ (-want +got):\n%s", c.kernel, c.stride, c.in, diff)
		}
		if size := (c.in + c.stride - 1) / c.stride; out.Type.Shape[2] != onnx.Fixed(size) {
			t.Errorf("kernel %d, stride %d over %d makes %v, want %d", c.kernel, c.stride, c.in, out.Type.Shape[2], size)
		}
	}
}

func TestWrongShapesAreErrorsThatNameTheLayer(t *testing.T) {
	vector := func(b *Builder) *onnx.Value { return b.Input("v", onnx.Float32, onnx.Batched(8)) }
	for _, c := range []struct {
		name, want string
		layer      func(b *Builder, x *onnx.Value) *onnx.Value // x is float32[N 8 14 15]
	}{
		{"a window larger than the image", `Conv "l": axis 3 of input x float32[N 8 14 15]: a window of 17 elements does not fit into 15`,
			func(b *Builder, x *onnx.Value) *onnx.Value {
				return b.Conv("l", x, Conv{Filters: 1, Kernel: Axes{9, 17}})
			}},
		{"groups that do not divide the channels", `Conv "l": 3 groups of 8 channels cannot make 6 filters`,
			func(b *Builder, x *onnx.Value) *onnx.Value {
				return b.Conv("l", x, Conv{Filters: 6, Groups: 3, Kernel: Axes{1}})
			}},
		{"no filters", `0 filters`, func(b *Builder, x *onnx.Value) *onnx.Value { return b.Conv("l", x, Conv{Kernel: Axes{1}}) }},
		{"no kernel", `0 kernel sizes for 2 spatial axes`, func(b *Builder, x *onnx.Value) *onnx.Value { return b.Conv("l", x, Conv{Filters: 1}) }},
		{"three strides for two axes", `3 strides for 2 spatial axes`,
			func(b *Builder, x *onnx.Value) *onnx.Value {
				return b.MaxPool("l", x, Pool{Kernel: Axes{1}, Strides: Axes{1, 1, 1}})
			}},
		{"padding at one end", `0 pads for 2 spatial axes`,
			func(b *Builder, x *onnx.Value) *onnx.Value {
				return b.MaxPool("l", x, Pool{Kernel: Axes{2}, Pads: Pads{End: Axes{1}}})
			}},
		{"a stride of zero", `must be positive`, func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.MaxPool("l", x, Pool{Kernel: Axes{1}, Strides: Axes{0}})
		}},
		{"convolution of a vector", `input v float32[N 8] has no spatial axes`,
			func(b *Builder, x *onnx.Value) *onnx.Value {
				return b.Conv("l", vector(b), Conv{Filters: 1, Kernel: Axes{1}})
			}},
		{"image of unknown size", `axis 2 of input i float32[N 3 H W]: its size must be known, or be padded by half of the window at both ends`, func(b *Builder, x *onnx.Value) *onnx.Value {
			i := b.Input("i", onnx.Float32, onnx.Shape{onnx.Free("N"), onnx.Fixed(3), onnx.Free("H"), onnx.Free("W")})
			return b.MaxPool("l", i, Pool{Kernel: Axes{2}})
		}},
		{"given weights of the wrong number", `weights "l/weights": 3 weights given for the shape [1 8 1 1] of 8`,
			func(b *Builder, x *onnx.Value) *onnx.Value {
				return b.Conv("l", x, Conv{Filters: 1, Kernel: Axes{1}, Weights: Given{1, 2, 3}})
			}},
		{"batch norm of a scalar", "no known number of channels", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.BatchNorm("l", b.Input("s", onnx.Float32, onnx.Shape{}), BatchNorm{})
		}},
		{"global average of a vector", "has no spatial axes", func(b *Builder, x *onnx.Value) *onnx.Value { return b.GlobalAveragePool("l", vector(b)) }},
		{"dense over an image", `5 units cannot read input x`, func(b *Builder, x *onnx.Value) *onnx.Value { return b.Dense("l", x, Dense{Units: 5}) }},
		{"matrices that do not fit", `MatMul "l": inputs`, func(b *Builder, x *onnx.Value) *onnx.Value { return b.MatMul("l", x, x) }},
		{"a vector as matrix", `must be matrices`, func(b *Builder, x *onnx.Value) *onnx.Value { return b.MatMul("l", x, b.Weight("w", Constant(0), 15)) }},
		{"a sum of other shapes", `Add "l": shapes [N 8 14 15] and [N 8] do not fit`, func(b *Builder, x *onnx.Value) *onnx.Value { return b.Add("l", x, vector(b)) }},
		{"a sum of other types", `types float32 and int64 do not fit`, func(b *Builder, x *onnx.Value) *onnx.Value { return b.Add("l", x, b.ArgMax("a", x, 0)) }},
		{"batches of other names", `shapes [M] and [N] do not fit`, func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Add("l", b.Input("m", onnx.Float32, onnx.Shape{onnx.Free("M")}), b.Input("n", onnx.Float32, onnx.Shape{onnx.Free("N")}))
		}},
		{"softmax over no axis", "no such axis", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Softmax("l", x, 4) }},
		{"argmax over no axis", "no such axis", func(b *Builder, x *onnx.Value) *onnx.Value { return b.ArgMax("l", x, -5) }},
		{"a reshape that loses elements", "1680 elements for each of 1000", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Reshape("l", x, 0, 1000) }},
		{"a reshape with two free axes", "one -1", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Reshape("l", x, -1, -1) }},
		{"a reshape that keeps too many axes", "no such axis", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Reshape("l", x, 0, 0, 0, 0, 0) }},
		{"concat of nothing", "nothing to join", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Concat("l", 1) }},
		{"concat of other sizes", "axis 3 differs", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Concat("l", 1, x, b.Input("y", onnx.Float32, onnx.Batched(8, 14, 16)))
		}},
		{"transpose of half the axes", "[0 1] does not order the axes", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Transpose("l", x, 0, 1) }},
		{"transpose with an axis twice", "does not order the axes", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Transpose("l", x, 0, 1, 2, 2) }},
		{"resize of a vector", "needs spatial axes", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Resize("l", vector(b), Resize{Sizes: Axes{1}}) }},
		{"resize to nothing", "14 to 0 elements", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Resize("l", x, Resize{Sizes: Axes{0}}) }},
		{"transposed convolution of a vector", "cannot read input v", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.ConvTranspose("l", vector(b), ConvTranspose{Filters: 1})
		}},
		{"transposed convolution without filters", "0 filters of [2] elements", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.ConvTranspose("l", x, ConvTranspose{Kernel: Axes{2}})
		}},
		{"instance norm of a vector", "has no spatial axes", func(b *Builder, x *onnx.Value) *onnx.Value { return b.InstanceNorm("l", vector(b), InstanceNorm{}) }},
		{"an empty slice", `Slice "l": 3 to 3 of 8 elements`, func(b *Builder, x *onnx.Value) *onnx.Value { return b.Slice("l", x, 1, 3, 3) }},
		{"a slice past the end", "0 to 9 of 8 elements", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Slice("l", x, 1, 0, 9) }},
		{"a slice of the batch", "the size of axis 0 is not known", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Slice("l", x, 0, 0, 1) }},
		{"gather along no axis", "no such axis", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Gather("l", x, b.ints(0), 4) }},
		{"places with too many axes", "cannot be looked up", func(b *Builder, x *onnx.Value) *onnx.Value { return b.GatherND("l", x, b.ints(1, 2, 3, 4, 5), 0) }},
		{"more than there are", "16 elements of axis 3", func(b *Builder, x *onnx.Value) *onnx.Value { v, _ := b.TopK("l", x, 3, 16); return v }},
		{"a sum over no axis", "no such axis", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Reduce("ReduceSum", "l", x, 4) }},
		{"suppression of what are no boxes", "NonMaxSuppression", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.NonMaxSuppression("l", x, x, NMS{PerClass: 1})
		}},
		{"comparison of other shapes", "do not fit", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Compare("Less", "l", x, vector(b)) }},
		{"an axis too far", "no such axis", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Unsqueeze("l", x, 5) }},
		{"squeeze of many elements", "axis 1 of input x", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Squeeze("l", x, 1) }},
		{"join of nothing", "nothing to join", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Join("l", "n") }},
		{"join of other widths", "does not fit", func(b *Builder, x *onnx.Value) *onnx.Value { return b.Join("l", "n", x, vector(b)) }},
		{"weights of another shape shared", `no convolution "c" with weights [4 8 1 1] to share`, func(b *Builder, x *onnx.Value) *onnx.Value {
			b.Conv("c", x, Conv{Filters: 4, Kernel: Axes{3}})
			return b.Conv("l", x, Conv{Filters: 4, Kernel: Axes{1}, Share: "c"})
		}},
		{"weights of nobody shared", `no convolution "c"`, func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Conv("l", x, Conv{Filters: 4, Kernel: Axes{1}, Share: "c"})
		}},
		{"a name given twice", `output "x": defined twice`, func(b *Builder, x *onnx.Value) *onnx.Value { return b.rename(b.Relu("l", x), "x") }},
		{"two layers of one name", `value "l:0": defined twice`, func(b *Builder, x *onnx.Value) *onnx.Value { return b.Relu("l", b.Relu("l", x)) }},
		{"a value of another model", `reads "y", which this model does not have`, func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Relu("l", &onnx.Value{Name: "y", Type: x.Type})
		}},
		{"flatten of unknown axes", "inner axes of unknown size", func(b *Builder, x *onnx.Value) *onnx.Value {
			return b.Flatten("l", b.Input("y", onnx.Float32, onnx.Shape{onnx.Fixed(1), onnx.Free("M")}))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, x := image(14, 15)
			b.Output(c.layer(b, x))
			_, _, err := b.Model()
			if err == nil || !strings.HasPrefix(err.Error(), "building test: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Model() = %v, want %q", err, c.want)
			}
		})
	}
}

func TestAfterAnErrorEveryLayerDoesNothing(t *testing.T) {
	b, x := image(4, 4)
	x = b.Softmax("first", x, 9)
	values, nodes := len(b.values), len(b.graph.Nodes)
	x = b.Conv("a", x, Conv{Filters: 1, Kernel: Axes{1}})
	x = b.BatchNorm("b", x, BatchNorm{})
	x = b.Relu6("c", b.Relu("d", x))
	x = b.MaxPool("e", x, Pool{Kernel: Axes{1}})
	x = b.GlobalAveragePool("f", x)
	x = b.Concat("g", 1, x, b.Add("h", x, x), b.MatMul("i", x, x))
	x = b.Resize("j", b.Transpose("k", x, 0), Resize{Sizes: Axes{1}})
	x = b.Reshape("l", b.Flatten("m", x), -1)
	x = b.Dense("n", x, Dense{Units: 1})
	x = b.InstanceNorm("q", b.ConvTranspose("r", x, ConvTranspose{Filters: 1, Kernel: Axes{2}}), InstanceNorm{})
	x = b.Gather("s", b.Slice("t", x, 0, 0, 1), b.GatherND("u", x, b.Cast("v", x, onnx.Int64), 0), 0)
	x, _ = b.TopK("w", b.Reduce("ReduceSum", "aa", x, 0), 0, 1)
	x = b.NonMaxSuppression("bb", x, b.ScatterND("cc", x, x, x), NMS{PerClass: 1})
	x = b.Squeeze("dd", b.Unsqueeze("ee", b.Compare("Less", "ff", x, b.scalar(3)), 0), 0)
	x = b.rename(b.Join("gg", "n", b.NonZero("hh", x)), "ii")
	b.Output(b.ArgMax("o", x, 0), b.Input("p", onnx.Float32, onnx.Batched(1)))
	_, _, err := b.Model()
	if err == nil || !strings.Contains(err.Error(), `Softmax "first"`) {
		t.Errorf("Model() = %v, want the first error", err)
	}
	if len(b.values) != values || len(b.graph.Nodes) != nodes {
		t.Errorf("%d values and %d nodes were added after the error", len(b.values)-values, len(b.graph.Nodes)-nodes)
	}
}

func TestStatsCountWhatIsLeftInTheModel(t *testing.T) {
	build := func(outputs ...string) Stats {
		b, x := image(4, 4)
		x = b.Conv("conv", x, Conv{Filters: 6, Groups: 2, Kernel: Axes{3}, Pads: Pad(1), Bias: Constant(0)})
		x = b.BatchNorm("norm", x, BatchNorm{})
		x = b.Flatten("flat", b.Relu6("relu", x))
		x = b.Dense("dense", x, Dense{Units: 10})
		b.Output(b.MatMul("product", x, b.Weight("matrix", He{}, 10, 3)))
		_, stats, err := b.Model(outputs...)
		if err != nil {
			t.Fatal(err)
		}
		return stats
	}
	conv := int64(6*4*9 + 6)
	want := Stats{Parameters: conv + 12 + 960 + 10 + 30, Buffers: 12, MACs: 6*16*4*9 + 960 + 30}
	if got := build(); got != want {
		t.Errorf("Stats = %+v, want %+v", got, want)
	}
	if got, want := build("conv:0"), (Stats{Parameters: conv, MACs: 6 * 16 * 4 * 9}); got != want {
		t.Errorf("Stats of the first layer = %+v, want %+v", got, want)
	}
}

func TestSharedWeightsCountOnce(t *testing.T) {
	b, x := image(4, 4)
	c := Conv{Filters: 8, Kernel: Axes{1}, Bias: Constant(0)}
	x = b.Conv("first", x, c)
	c.Share = "first"
	b.Output(b.rename(b.Conv("second", x, c), "renamed"))
	m, stats, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	if want := (Stats{Parameters: 72, MACs: 2 * 16 * 64}); stats != want || len(m.Graph.Initializers) != 2 {
		t.Errorf("Stats = %+v, %d tensors, want %+v, 2", stats, len(m.Graph.Initializers), want)
	}
	if last := m.Graph.Nodes[1]; last.Outputs[0] != "renamed" || m.Graph.Outputs[0].Name != "renamed" {
		t.Errorf("the output is called %s, made as %s", m.Graph.Outputs[0].Name, last.Outputs[0])
	}
}

func TestTransposedConvolutionsCountTheirWork(t *testing.T) {
	b, x := image(4, 4)
	b.Output(b.ConvTranspose("up", x, ConvTranspose{Filters: 3, Kernel: Axes{2}}))
	_, stats, err := b.Model()
	if want := (Stats{Parameters: 8 * 3 * 4, MACs: 8 * 16 * 3 * 4}); err != nil || stats != want {
		t.Errorf("Stats = %+v, %v, want %+v", stats, err, want)
	}
}

func TestAModelNeedsOutputsThatExist(t *testing.T) {
	b, x := image(4, 4)
	b.Relu("relu", x)
	if _, _, err := b.Model(); err == nil || !strings.Contains(err.Error(), "no outputs") {
		t.Errorf("Model() = %v, want an error about outputs", err)
	}
	b, x = image(4, 4)
	b.Output(b.Relu("relu", x))
	want := `test … output … "x" … relu:0`
	if _, _, err := b.Model("x"); !testenv.Names(err, want) {
		t.Errorf("Model(x) = %v, want %s", err, want)
	}
}

// A factor of Resize makes exactly the size that is asked for, as ONNX Runtime rounds it: down, when it runs in float32, when newer versions check shapes in float64.
func TestFactorsMakeTheSizeThatIsAskedFor(t *testing.T) {
	for in := int64(1); in <= 130; in++ {
		for size := int64(1); size <= 300; size++ {
			scale := scaleTo(in, size)
			if run, check := int64(float32(in)*scale), int64(float64(in)*float64(scale)); run != size || check != size {
				t.Errorf("%d elements times %v are %d and %d, want %d", in, scale, run, check, size)
			}
			if exact := float64(size) / float64(in); float64(scale) > exact*(1+1e-6) {
				t.Errorf("from %d to %d the factor is %v, want %v", in, size, scale, exact)
			}
		}
	}
}
