package arch

import "github.com/mlperf-go/mlperf/internal/onnx"

// DeepLabV3Plus is DeepLab v3+ (Chen et al., arXiv:1802.02611) on MobileNet-v2 for the 32
// classes of ADE20K that MLPerf Mobile used up to v2.0: the image is made 16 times smaller,
// then a decoder joins what is known at a quarter of its size. In this variant the spatial
// pyramid has no dilated branches (vision/deeplab of mlcommons/mobile_open).
//
// The official file is a TFLite model; names of input and output are its own, the image
// is scaled to -1 … 1. The output is the class of each pixel.
func DeepLabV3Plus() Architecture {
	return Architecture{
		Name:     "deeplab-v3plus",
		Title:    "DeepLab v3+ MobileNet-v2 512",
		Official: "https://github.com/mlcommons/mobile_models/tree/main/v0_7/tflite",
		Inputs:   []onnx.Value{{Name: "MobilenetV2/MobilenetV2/input", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(512, 512, 3)}}},
		Outputs:  []onnx.Value{{Name: "ArgMax", Type: onnx.Type{Elem: onnx.Int32, Shape: onnx.Batched(512, 512)}}},
		Seed:     3,
		layers:   deepLabV3PlusLayers,
	}
}

const deepLabClasses = 32

func deepLabV3PlusLayers(b *Builder, _ Options) {
	x := b.Transpose("channels_first", b.Input("MobilenetV2/MobilenetV2/input", onnx.Float32, onnx.Batched(512, 512, 3)), 0, 3, 1, 2)
	net := steadyMobileNet{b, 1e-3}.mobileNetV2("MobilenetV2/", x, 16)
	d := deepLab{steadyMobileNet{b, 1e-5}}
	x = d.pyramid(net.blocks[len(net.blocks)-1])
	x = d.decoder(x, net.depthwise[2])
	x = b.Conv("logits/semantic", x, Conv{Filters: deepLabClasses, Kernel: Axes{1}, Weights: Rounded{He{ZeroMean: true}}, Bias: deepLabBiases()})
	x = d.enlarge("upsampled_logits", x, 512)
	b.Output(b.rename(b.Cast("labels", b.ArgMax("argmax", x, 1), onnx.Int32), "ArgMax"))
}

type deepLab struct{ steadyMobileNet }

// pyramid joins what is at each place with the mean over the image.
func (d deepLab) pyramid(x *onnx.Value) *onnx.Value {
	image := d.conv("image_pooling", d.GlobalAveragePool("AvgPool2D", x), Conv{Filters: 256, Kernel: Axes{1}})
	image = d.enlarge("image_pooling/resize", image, extentOf(x, 2))
	here := d.conv("aspp0", x, Conv{Filters: 256, Kernel: Axes{1}})
	return d.conv("concat_projection", d.Concat("concat", 1, image, here), Conv{Filters: 256, Kernel: Axes{1}})
}

// decoder joins features with those of an earlier layer, which are larger.
func (d deepLab) decoder(x, early *onnx.Value) *onnx.Value {
	early = d.conv("decoder/feature_projection0", early, Conv{Filters: 48, Kernel: Axes{1}})
	x = d.enlarge("decoder/resize", x, extentOf(early, 2))
	x = d.Concat("decoder/concat", 1, x, early)
	for _, name := range []string{"decoder/decoder_conv0", "decoder/decoder_conv1"} {
		x = d.depthwise(name+"_depthwise", x, Conv{Kernel: Axes{3}})
		x = d.conv(name+"_pointwise", x, Conv{Filters: 256, Kernel: Axes{1}})
	}
	return x
}

// conv replaces ReLU6, which the backbone has, by ReLU.
func (d deepLab) conv(name string, x *onnx.Value, c Conv) *onnx.Value {
	c.Weights = Rounded{He{Gain: 1.1, ZeroMean: true}}
	return d.Relu(name+"/Relu", d.normed(name, x, c, 0.7, 0.9))
}

func (d deepLab) depthwise(name string, x *onnx.Value, c Conv) *onnx.Value {
	c.Filters, c.Groups, c.Weights = x.Channels(), x.Channels(), Rounded{Uniform{0, 0.24}}
	return d.Relu(name+"/Relu", d.normed(name, x, c, 0.7, 0.9))
}

// enlarge resizes as TensorFlow 1 does: bilinear, the first pixels on each other.
func (d deepLab) enlarge(name string, x *onnx.Value, size int64) *onnx.Value {
	return d.Resize(name, x, Resize{Sizes: Axes{size}, Coordinates: "asymmetric"})
}
