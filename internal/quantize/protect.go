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
	if q.plan.byNode[n] != nil || integers == "" || !isFloat32Constant(w) || len(w.Dims) < 2 {
		return
	}
	channels, axis := inputChannels(n, w), int64(1)
	switch {
	case isOp(n, "ConvTranspose"):
		channels = int(w.Dims[0])
	case isOp(n, "Gemm") && onnx.AttrOr(n, "transA", int64(0)) != 0:
		axis = 0
	case !isOp(n, "Conv") && !isOp(n, "Gemm"):
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
