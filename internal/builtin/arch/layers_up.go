package arch

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// ConvTranspose describes a transposed convolution without overlap, which enlarges
// each spatial axis by the size of its kernel.
type ConvTranspose struct {
	Filters int64  // output channels
	Kernel  Axes   // elements, and strides
	Weights Filler // [channels, filters, kernel…]
	Bias    Filler // no bias
}

// ConvTranspose adds a transposed convolution: [N C spatial…] → [N Filters spatial·Kernel…].
func (b *Builder) ConvTranspose(name string, x *onnx.Value, c ConvTranspose) *onnx.Value {
	kernel, err := c.kernelFor(x)
	if err != nil {
		return b.fail("ConvTranspose", name, err)
	}
	dims := append([]int64{x.Channels(), c.Filters}, kernel...)
	inputs := []*onnx.Value{x, b.Weight(name+"/weights", c.Weights, dims...)}
	if c.Bias != nil {
		inputs = append(inputs, b.Weight(name+"/bias", c.Bias, c.Filters))
	}
	out := onnx.Shape{x.Type.Shape[0], onnx.Fixed(c.Filters)}
	for i, d := range x.Type.Shape[2:] {
		out = append(out, onnx.Fixed(d.Size*kernel[i]))
	}
	attrs := []onnx.Attribute{onnx.Attr("kernel_shape", kernel), onnx.Attr("strides", kernel)}
	return b.layer("ConvTranspose", name, inputs, attrs, onnx.Type{Elem: x.Type.Elem, Shape: out}, out.PerSample()*x.Channels())
}

// kernelFor is the size of the kernel along each spatial axis of an input, if that fits.
func (c ConvTranspose) kernelFor(x *onnx.Value) ([]int64, error) {
	kernel, err := c.Kernel.expand("kernel sizes", max(len(x.Type.Shape)-2, 0), 0)
	if err != nil {
		return nil, err
	}
	if len(kernel) == 0 || slices.Min(kernel) < 1 || c.Filters < 1 || x.Channels() == 0 || !allKnown(x.Type.Shape[2:]) {
		return nil, fmt.Errorf("%d filters of %v elements cannot read input %v", c.Filters, c.Kernel, x)
	}
	return kernel, nil
}

// InstanceNorm describes a normalisation of each channel of each sample:
// Gamma·(x-mean)/√(variance+Epsilon)+Beta, with the mean and variance of that channel.
type InstanceNorm struct {
	Epsilon float32 // 1e-5
	Gamma   Filler  // Constant(1)
	Beta    Filler  // Constant(0)
}

// InstanceNorm adds an instance normalisation over axis 1.
func (b *Builder) InstanceNorm(name string, x *onnx.Value, n InstanceNorm) *onnx.Value {
	if len(x.Type.Shape) < 3 || x.Channels() == 0 {
		return b.fail("InstanceNormalization", name, fmt.Errorf("input %v has no spatial axes or no known number of channels", x))
	}
	if n.Epsilon == 0 {
		n.Epsilon = 1e-5
	}
	inputs := []*onnx.Value{
		x,
		b.Weight(name+"/gamma", or(n.Gamma, 1), x.Channels()),
		b.Weight(name+"/beta", or(n.Beta, 0), x.Channels()),
	}
	return b.layer("InstanceNormalization", name, inputs, []onnx.Attribute{onnx.Attr("epsilon", n.Epsilon)}, x.Type, 0)
}
