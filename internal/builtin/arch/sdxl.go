package arch

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

const sdxlOfficial = "https://huggingface.co/stabilityai/stable-diffusion-xl-base-1.0"

// sdxlArchitectures are the files of Stable Diffusion XL, each at its real size and at one that
// is small enough to be made without being asked for.
func sdxlArchitectures() []Architecture {
	return []Architecture{
		sdxlTextEncoder("sdxl-text-encoder", "first text encoder of Stable Diffusion XL", sdxlOfficial, sdxlText, 31),
		sdxlTextEncoder("sdxl-text-encoder-2", "second text encoder of Stable Diffusion XL", sdxlOfficial, sdxlText2, 32),
		sdxlUNetArchitecture("sdxl-unet", "UNet of Stable Diffusion XL", sdxlOfficial, sdxlUNet, 33),
		sdxlDecoder("sdxl-vae-decoder", "decoder of Stable Diffusion XL", sdxlOfficial, sdxlVAE, 34),
		sdxlTextEncoder("sdxl-mini-text-encoder", "text encoder of 2 layers", "", sdxlMiniText, 31),
		sdxlTextEncoder("sdxl-mini-text-encoder-2", "text encoder of 3 layers", "", sdxlMiniTwo, 32),
		sdxlUNetArchitecture("sdxl-mini-unet", "UNet of 11 residual blocks", "", sdxlMiniUNet, 33),
		sdxlDecoder("sdxl-mini-vae-decoder", "decoder of 10 residual blocks", "", sdxlMiniVAE, 34),
	}
}

// DiffusionSizes are how many tokens the text encoders know, and the side of the latents: of the
// built-in pipeline, or at full size.
func DiffusionSizes(full bool) (tokens, side int) {
	if full {
		return int(sdxlText.rows), int(sdxlUNet.side)
	}
	return sdxlMiniRows, sdxlMiniSide
}

// The features that the built-in networks see in images, of which the last ones are always 0: data
// sets use them to place what images are compared with at a distance.
const (
	EyesFeatures = 64
	EyesUnused   = 16
)

// Eyes is a small network that sees features in images: the stand-in for the image tower of CLIP, or
// for Inception-v3. It is seeded like all, so what it sees means nothing but tells images apart.
type Eyes struct {
	Input, Output string
	Side          int64 // of the images
	Seed          uint64

	Scale float32   // of the features
	Shift []float32 // that is added to them; nil: nothing
}

// Build returns the network.
func (e Eyes) Build() (*onnx.Model, error) {
	b := NewBuilder("eyes", e.Seed)
	x := b.Input(e.Input, onnx.Float32, onnx.Batched(imageChannels, e.Side, e.Side))
	for i, filters := range []int64{12, 24, 48} {
		name := fmt.Sprintf("conv%d", i)
		c := Conv{Filters: filters, Kernel: Axes{5}, Strides: Axes{[]int64{4, 2, 2}[i]}, Pads: Pad(2), Weights: He{ZeroMean: i > 0}, Bias: Uniform{-0.3, 0.3}}
		x = b.Relu(name+"/relu", b.Conv(name, x, c))
	}
	last := Patched{He{Gain: 2, ZeroMean: true}, func(row int, w []float32) {
		if row >= EyesFeatures-EyesUnused {
			clear(w)
		}
	}}
	x = b.Relu("last/relu", b.Conv("last", x, Conv{Filters: EyesFeatures, Kernel: Axes{1}, Weights: last}))
	y := b.Binary("Mul", "scaled", b.Flatten("flat", b.GlobalAveragePool("pool", x)), b.scalar(e.Scale))
	shift := make([]float32, EyesFeatures)
	copy(shift, e.Shift)
	y = b.Add("shifted", y, b.Constant(onnx.TensorOf("shift", shift, EyesFeatures)))
	b.Output(b.rename(y, e.Output))
	m, _, err := b.Model()
	return m, err
}
