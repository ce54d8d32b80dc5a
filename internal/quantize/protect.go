package quantize

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// protect keeps a layer in FP32 that reads what a DequantizeLinear makes. From version 1.21
// on ONNX Runtime quantises the weights of any convolution or Gemm between DequantizeLinear
// and QuantizeLinear by itself, with one scale for all, for which the plan had a reason to
// leave the layer out (WeightBiasQuantization,
// onnxruntime/core/optimizer/qdq_transformer/weight_bias_quantization.cc). It does not where
// the input is dequantised with a scale for each channel, so the layer gets a
// DequantizeLinear of its own, with the same scale for every channel.
func (q *quantizer) protect(n *onnx.Node) {
	integers, w := q.integers[n.Input(0)], q.plan.consts[n.Input(1)]
	if q.plan.byNode[n] != nil || integers == "" {
		return
	}
	channels, axis := channelsOf(n, w)
	if channels == 0 {
		return
	}
	a, p := q.options.activations(), q.parameters[q.source[n.Inputs[0]]].Parameters
	name := layerName(n) + "_input"
	scale := onnx.TensorOf(q.names.Unique(name+"_scale"), slices.Repeat([]float32{p.Scale}, channels), int64(channels))
	zero := a.zeroPoints(q.names.Unique(name+"_zero_point"), p, channels)
	addConstant(q.model, scale)
	addConstant(q.model, zero)
	own := q.names.Unique(name)
	q.node("DequantizeLinear", []string{integers, scale.Name, zero.Name}, own, onnx.Attr("axis", axis))
	n.Inputs[0] = own
}

// channelsOf returns how many channels the input of a node has whose weights ONNX Runtime would quantise, and
// along which axis; none if it would not, or if the weights make no sense.
func channelsOf(n *onnx.Node, w *onnx.Tensor) (channels int, axis int64) {
	if !isFloat32Constant(w) || len(w.Dims) < 2 {
		return 0, 0
	}
	switch {
	case isOp(n, "ConvTranspose"):
		return int(w.Dims[0]), 1
	case isOp(n, "Conv") && whyNotKernels(n, w.Dims) == "":
		return inputChannels(n, w), 1
	case isOp(n, "Gemm"):
		if onnx.AttrOr(n, "transA", int64(0)) == 0 {
			axis = 1
		}
		return inputChannels(n, w), axis
	}
	return 0, 0
}
