package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// ResNet50 is ResNet-50 v1.5: the network of He et al. (arXiv:1512.03385) with the
// stride of a stage on its first 3×3 convolution instead of the 1×1 before.
//
// The official file was converted from TensorFlow's ResNet, which explains two
// details: convolutions with a stride are padded by (kernel-1)/2 on both sides,
// and the max pooling, padded as TensorFlow's SAME, at the end only. Class 0 is
// the background, so there are 1001.
//
// The filters have mean zero and the last convolution of a block is damped to 0.4,
// else the features of all images are nearly parallel and no classifier could tell
// them apart. The norm of the stem divides by the size of a pixel's value, as a
// trained one does: from there on activations are of the order of 1.
func ResNet50() Architecture {
	return Architecture{
		Name:     "resnet50",
		Title:    "ResNet-50 v1.5",
		Official: "https://zenodo.org/record/4735647",
		Inputs:   []onnx.Value{{Name: "input_tensor:0", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(3, 224, 224)}}},
		Outputs: []onnx.Value{
			{Name: "ArgMax:0", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Batched()}},
			{Name: "softmax_tensor:0", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(1001)}},
		},
		Features:    "features:0",
		FeatureSize: 2048,
		Classes:     1001,
		Seed:        3,
		layers:      resNet50Layers,
	}
}

func resNet50Layers(b *Builder, o Options) {
	const pixelScale = 64 // standard deviation of pixels less their mean, as a power of two
	r := resNet{b}
	x := b.Input("input_tensor:0", onnx.Float32, onnx.Batched(3, 224, 224))
	x = b.Conv("stem/conv", x, Conv{Filters: 64, Kernel: Axes{7}, Strides: Axes{2}, Pads: Pad(3), Weights: He{ZeroMean: true}})
	x = b.BatchNorm("stem/norm", x, seededNorm(resNetEpsilon, pixelScale))
	x = b.Relu("stem/relu", x)
	x = b.MaxPool("stem/pool", x, Pool{Kernel: Axes{3}, Strides: Axes{2}, Pads: PadSame()})
	for stage, blocks := range []int{3, 4, 6, 3} {
		for block := range blocks {
			stride := int64(1)
			if stage > 0 && block == 0 {
				stride = 2
			}
			x = r.bottleneck(fmt.Sprintf("stage%d/block%d", stage+1, block+1), x, 64<<stage, stride, 1)
		}
	}
	x = b.GlobalAveragePool("pool", x)
	x = b.Flatten("features", x)
	weights, bias := o.classifierFillers()
	x = b.Dense("logits", x, Dense{Units: o.Classes, Weights: weights, Bias: bias})
	b.Output(b.ArgMax("ArgMax", x, 1), b.Softmax("softmax_tensor", x, 1))
}

type resNet struct{ *Builder }

// resNetEpsilon is that of the batch norms of TensorFlow's ResNet.
const resNetEpsilon = 1e-5

// bottleneck adds a block: 1×1 to fewer channels, 3×3, 1×1 to four times as many, and
// the block's input added to that, through a 1×1 convolution if the shape changes.
func (r resNet) bottleneck(name string, x *onnx.Value, filters, stride, dilation int64) *onnx.Value {
	shortcut := x
	if stride != 1 || x.Channels() != 4*filters {
		shortcut = r.conv(name+"/shortcut", x, Conv{Filters: 4 * filters, Kernel: Axes{1}, Strides: Axes{stride}}, 1)
	}
	x = r.conv(name+"/1", x, Conv{Filters: filters, Kernel: Axes{1}}, 1)
	x = r.Relu(name+"/1/relu", x)
	x = r.conv(name+"/2", x, Conv{Filters: filters, Kernel: Axes{3}, Strides: Axes{stride}, Dilations: Axes{dilation}, Pads: Pad(dilation)}, 1)
	x = r.Relu(name+"/2/relu", x)
	x = r.conv(name+"/3", x, Conv{Filters: 4 * filters, Kernel: Axes{1}}, 0.4)
	x = r.Add(name+"/add", x, shortcut)
	return r.Relu(name+"/relu", x)
}

// conv adds a convolution, whose weights have a gain, and its batch norm.
func (r resNet) conv(name string, x *onnx.Value, c Conv, gain float64) *onnx.Value {
	c.Weights = He{Gain: gain, ZeroMean: true}
	x = r.Conv(name+"/conv", x, c)
	return r.BatchNorm(name+"/norm", x, seededNorm(resNetEpsilon, 1))
}
