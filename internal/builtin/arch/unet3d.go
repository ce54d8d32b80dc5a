package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// unet3D is the 3D-UNet for KiTS19: the network that MLPerf Training calls Unet3D
// (image_segmentation/pytorch/model), in the manner of nnU-Net (Isensee et al.,
// arXiv:1809.10486). Five steps make a cube of 128³ voxels smaller and five make it large
// again, each with two 3×3×3 convolutions, instance norms and ReLU; from each step down
// the result goes across to the step up of the same size. The outputs are scores for
// background, kidney and tumour.
func unet3D() Architecture {
	return Architecture{
		Name:     "3d-unet",
		Title:    "3D-UNet KiTS19 128×128×128",
		Official: "https://zenodo.org/record/5597155",
		Inputs:   []onnx.Value{{Name: "input", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(1, 128, 128, 128)}}},
		Outputs:  []onnx.Value{{Name: "output", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(3, 128, 128, 128)}}},
		Seed:     3,
		layers:   unet3DLayers,
	}
}

func unet3DLayers(b *Builder, _ Options) {
	x := unet{b}.scores(b.Input("input", onnx.Float32, onnx.Batched(1, 128, 128, 128)))
	b.Output(b.rename(x, "output"))
}

type unet struct{ *Builder }

// scores adds the whole network. Each side of the volume is to be a multiple of 64.
func (u unet) scores(x *onnx.Value) *onnx.Value {
	filters := []int64{32, 64, 128, 256, 320}
	x = u.twice("input_block", x, filters[0], 1, across)
	down := []*onnx.Value{x}
	for i, n := range filters[1:] {
		x = u.twice(fmt.Sprintf("downsample%d", i), x, n, 2, across)
		down = append(down, x)
	}
	x = u.twice("bottleneck", x, filters[4], 2, 1)
	for i := range filters {
		at := len(filters) - 1 - i
		x = u.up(fmt.Sprintf("upsample%d", i), x, down[at], filters[at])
	}
	// The biases make most of a volume background.
	return u.Conv("output_layer", x, Conv{Filters: 3, Kernel: Axes{1}, Weights: Rounded{He{ZeroMean: true}}, Bias: Given{1, 0, 0.1}})
}

// across is the gain of what goes across: small, so that regions come from the large view
// and their borders from the small one. The norms that follow on the way down undo it.
const across = 0.7

// twice adds two convolutions of 3×3×3, of which the first may have a stride.
func (u unet) twice(name string, x *onnx.Value, filters, stride int64, gain float32) *onnx.Value {
	x = u.conv(name+"/conv1", x, filters, stride, 1)
	return u.conv(name+"/conv2", x, filters, 1, gain)
}

// conv adds a convolution, its instance norm and ReLU.
func (u unet) conv(name string, x *onnx.Value, filters, stride int64, gain float32) *onnx.Value {
	c := Conv{Filters: filters, Kernel: Axes{3}, Strides: Axes{stride}, Pads: Pad(1), Weights: Rounded{Smooth{He{ZeroMean: x.Channels() > 1}, 0.8}}}
	n := InstanceNorm{Gamma: Uniform{0.8 * gain, 1.2 * gain}, Beta: Uniform{-0.1 * gain, 0.1 * gain}}
	return u.Relu(name+"/relu", u.InstanceNorm(name+"/norm", u.Conv(name, x, c), n))
}

// up doubles the size, joins what comes across and adds two convolutions.
func (u unet) up(name string, x, skip *onnx.Value, filters int64) *onnx.Value {
	x = u.ConvTranspose(name+"/upsample_conv", x, ConvTranspose{Filters: filters, Kernel: Axes{2}, Weights: Smooth{He{Gain: 8, ZeroMean: true}, 1}, Bias: Constant(0)})
	return u.twice(name, u.Concat(name+"/concat", 1, x, skip), filters, 1, 1)
}
