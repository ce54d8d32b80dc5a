package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// UNet3D is the 3D-UNet for KiTS19: the network that MLPerf Training calls Unet3D
// (image_segmentation/pytorch/model), in the manner of nnU-Net (Isensee et al.,
// arXiv:1809.10486). Five steps make a cube of 128³ voxels smaller and five make it large
// again, each with two 3×3×3 convolutions, instance norms and ReLU; from each step down
// the result goes across to the step up of the same size. The outputs are scores for
// background, kidney and tumour.
func UNet3D() Architecture {
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
	x := unet3DScores(b, b.Input("input", onnx.Float32, onnx.Batched(1, 128, 128, 128)))
	b.Output(b.rename(x, "output"))
}

// unet3DScores adds the whole network for a cube of any size.
func unet3DScores(b *Builder, x *onnx.Value) *onnx.Value {
	u := unet{Builder: b, filters: []int64{32, 64, 128, 256, 320}}
	steps := u.steps(x)
	// The biases make most of a volume background.
	return u.Conv("output_layer", steps[len(steps)-1], Conv{Filters: 3, Kernel: Axes{1}, Weights: Rounded{He{ZeroMean: true}}, Bias: Given{1, 0, 0.1}})
}

// UNet3DBraTS19 is the 3D-UNet for BraTS 2019.
func UNet3DBraTS19() Architecture {
	return unet3DBraTS("3d-unet-brats19", "3D-UNet BraTS19 224×224×160", 32)
}

// SmallUNet3DBraTS19 stands in for UNet3DBraTS19.
func SmallUNet3DBraTS19() Architecture {
	return unet3DBraTS("3d-unet-brats19-quarter", "3D-UNet BraTS19 224×224×160 with 8 in place of 32 filters", 8)
}

// unet3DBraTS is the 3D-UNet of nnU-Net for BraTS (Generic_UNet with the plans of the benchmark, MIC-DKFZ/nnUNet b38c69b): the
// same steps with LeakyReLU and other numbers of filters, for whole heads of four images. Each step up has scores of its own, which
// training used: they are outputs, too. Filters are those of the largest step; the official model has 32.
func unet3DBraTS(name, title string, filters int64) Architecture {
	a := Architecture{
		Name: name, Title: title,
		Official: "https://zenodo.org/record/3928973",
		Inputs:   []onnx.Value{{Name: "input", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(4, 224, 224, 160)}}},
		Seed:     19,
		layers:   func(b *Builder, _ Options) { unet3DBraTSLayers(b, filters) },
	}
	for k := range int64(5) {
		a.Outputs = append(a.Outputs, onnx.Value{Name: bratsOutput(k), Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Batched(4, 224>>k, 224>>k, 160>>k)}})
	}
	return a
}

// bratsOutput names the scores at a half of the size, k times. Only the first name is that of the official file.
func bratsOutput(k int64) string {
	if k == 0 {
		return "output"
	}
	return fmt.Sprintf("output_%d", k)
}

func unet3DBraTSLayers(b *Builder, filters int64) {
	u := unet{Builder: b, slope: 0.01, bias: Constant(0)}
	for step := range 5 {
		u.filters = append(u.filters, min(filters<<step, 10*filters))
	}
	steps := u.steps(b.Input("input", onnx.Float32, onnx.Batched(4, 224, 224, 160)))
	for k := range int64(len(steps)) {
		x := steps[int64(len(steps))-1-k]
		// There are no biases: what makes most of a volume background is that the features are mostly positive.
		weights := firstRaised{He{ZeroMean: true}, 2 / float32(x.Channels())}
		x = u.Conv(fmt.Sprintf("seg_outputs%d", k), x, Conv{Filters: 4, Kernel: Axes{1}, Weights: Rounded{weights}})
		b.Output(b.rename(x, bratsOutput(k)))
	}
}

// firstRaised fills a tensor as Of does, and adds By to the weights of the first output.
type firstRaised struct {
	Of Filler
	By float32
}

func (f firstRaised) fill(seed uint64, name string, dims []int64) (onnx.Source, error) {
	of, err := fillOr(f.Of, seed, name, dims)
	if err != nil {
		return nil, err
	}
	return &derived{of: of, group: product(dims[1:]), size: of.Size(), apply: func(i int, row []float32) []float32 {
		for k := range row {
			if i == 0 {
				row[k] += f.By
			}
		}
		return row
	}}, nil
}

// A unet adds the steps of a 3D-UNet.
type unet struct {
	*Builder
	filters []int64 // of the steps, from the largest volume to the one before the smallest, which has as many as the last
	slope   float32 // of the activation below 0
	bias    Filler  // of convolutions; nil: they have none
}

// steps adds the network up to the scores and returns the results of the steps up, the smallest first. Each side of the volume
// is to be a multiple of 32.
func (u unet) steps(x *onnx.Value) (up []*onnx.Value) {
	last := len(u.filters) - 1
	x = u.twice("input_block", x, u.filters[0], 1, across)
	down := []*onnx.Value{x}
	for i, n := range u.filters[1:] {
		x = u.twice(fmt.Sprintf("downsample%d", i), x, n, 2, across)
		down = append(down, x)
	}
	x = u.twice("bottleneck", x, u.filters[last], 2, 1)
	for i := range u.filters {
		x = u.up(fmt.Sprintf("upsample%d", i), x, down[last-i], u.filters[last-i])
		up = append(up, x)
	}
	return up
}

// across is the gain of what goes across: small, so that regions come from the large view
// and their borders from the small one. The norms that follow on the way down undo it.
const across = 0.7

// twice adds two convolutions of 3×3×3, of which the first may have a stride.
func (u unet) twice(name string, x *onnx.Value, filters, stride int64, gain float32) *onnx.Value {
	x = u.conv(name+"/conv1", x, filters, stride, 1)
	return u.conv(name+"/conv2", x, filters, 1, gain)
}

// conv adds a convolution, its instance norm and the activation.
func (u unet) conv(name string, x *onnx.Value, filters, stride int64, gain float32) *onnx.Value {
	c := Conv{Filters: filters, Kernel: Axes{3}, Strides: Axes{stride}, Pads: Pad(1), Weights: Rounded{Smooth{He{ZeroMean: x.Channels() > 1}, 0.8}},
		Bias: u.bias}
	n := InstanceNorm{Gamma: Uniform{0.8 * gain, 1.2 * gain}, Beta: Uniform{-0.1 * gain, 0.1 * gain}}
	x = u.InstanceNorm(name+"/norm", u.Conv(name, x, c), n)
	if u.slope == 0 {
		return u.Relu(name+"/relu", x)
	}
	return u.Unary("LeakyRelu", name+"/relu", x, onnx.Attr("alpha", u.slope))
}

// up doubles the size, joins what comes across and adds two convolutions.
func (u unet) up(name string, x, skip *onnx.Value, filters int64) *onnx.Value {
	t := ConvTranspose{Filters: filters, Kernel: Axes{2}, Weights: Smooth{He{Gain: 8, ZeroMean: true}, 1}}
	if u.bias == nil {
		t.Bias = Constant(0) // nnU-Net has its biases in the other convolutions
	}
	x = u.ConvTranspose(name+"/upsample_conv", x, t)
	return u.twice(name, u.Concat(name+"/concat", 1, x, skip), filters, 1, 1)
}
