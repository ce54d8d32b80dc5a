package arch

import "github.com/mlperf-go/mlperf/internal/onnx"

// A steadyMobileNet adds the layers of MobileNets with weights for tasks that look at
// places, not at the whole image: detection and segmentation. Plain random weights
// would lose small things in the noise that they amplify. Here depthwise filters blur, so
// that noise is averaged away early, all others have mean zero, and norms lift the inputs
// of ReLU6 so far that most of them pass it unchanged. So features differ
// between places, little disturbs them, and they are what the image is like around there.
type steadyMobileNet struct {
	*Builder
	epsilon float32 // of the batch norms
}

// conv adds a convolution, its batch norm and ReLU6.
func (m steadyMobileNet) conv(name string, x *onnx.Value, c Conv) *onnx.Value {
	if c.Weights == nil {
		c.Weights = Rounded{He{Gain: 1.1, ZeroMean: true}}
		if x.Channels() == 3 {
			c.Weights = Rounded{He{Gain: 4}} // colour counts
		}
	}
	return m.Relu6(name+"/Relu6", m.normed(name, x, c, 0.7, 0.9))
}

// depthwise adds a convolution of each channel with a filter of its own, batch norm and
// ReLU6.
func (m steadyMobileNet) depthwise(name string, x *onnx.Value, c Conv) *onnx.Value {
	c.Filters, c.Groups = x.Channels(), x.Channels()
	places := c.Kernel[0] * c.Kernel[0]
	c.Weights = Rounded{Uniform{0, 2.16 / float32(places)}}
	return m.conv(name, x, c)
}

// linear adds a convolution and its batch norm.
func (m steadyMobileNet) linear(name string, x *onnx.Value, c Conv, gain float64) *onnx.Value {
	c.Weights = Rounded{He{Gain: gain, ZeroMean: true}}
	return m.normed(name, x, c, -0.1, 0.1)
}

func (m steadyMobileNet) normed(name string, x *onnx.Value, c Conv, low, high float32) *onnx.Value {
	c.Pads = PadSame()
	n := seededNorm(m.epsilon, 1)
	n.Beta = Uniform{low, high}
	return m.BatchNorm(name+"/BatchNorm", m.Conv(name, x, c), n)
}
