// Package quantize makes FP32 models smaller and faster after training: it converts them to float16 or
// to 8-bit integers.
//
//	m, err := onnx.ReadFile("resnet50_v1.onnx")
//	c := quantize.Calibration{Engine: engine, Samples: samples}
//	q, report, err := quantize.Recipe{}.Make(ctx, m, c)
//	err = q.WriteFile(ctx, "resnet50_int8.onnx")
//	err = report.WriteMarkdown(file) // the description that MLPerf's rules ask for
//
//	h, report, err := quantize.ToFloat16(m)
//
// # The method
//
// Quantisation is static and happens after training (MLPerf's inference_policies §Quantization): the
// calibration samples go through the FP32 model, and only their statistics count. A Recipe takes all steps.
//
//  1. prepare.go: the model gets operator set 13 (upgrade.go). Batch norms and other arithmetic with one
//     constant for each channel are folded into the convolutions before them. A 1×1 convolution of pooled
//     features that makes an output becomes a matrix product. If it lowers the noise of the quantised
//     model on samples from which it was not made, the results of depthwise convolutions are scaled so that the
//     ranges of their channels differ less, and the weights that read them are scaled back (equalize.go).
//  2. plan.go: each layer with weights, Conv, Gemm and MatMul, is quantised, and between such layers Add,
//     Concat, pooling, and operators that only move elements. The limits of the integers do the work of a
//     Relu or Clip behind a layer. Nodes behind the last layers, for boxes or probabilities, stay in FP32.
//  3. calibrate.go: activations are observed over the samples: the range of each, from its smallest to its
//     largest value, and the mean of each channel.
//  4. scales.go: activations become unsigned bytes with a zero point (U8), q = round(x/scale) + zero, scale
//     = (max-min)/255 or a little more, with a range that contains 0, which an integer represents exactly;
//     or signed bytes without one (S8), scale = max|x|/127. Rounding is to nearest, ties to even.
//  5. scales.go, quantize.go: weights become signed bytes, symmetric, with one scale for each output channel
//     or one for all: scale = max|w|/127, or larger where a bias would exceed 2³⁰. Biases become 32-bit
//     integers with the product of the scales of input and weights, less the shift that rounding the weights
//     gives the mean of each output channel: Σ (w_quantised - w)·mean of the input channel (Nagel et al.,
//     arXiv:1906.04721, §4.2, with means from calibration).
//  6. quantize.go: the graph is written in the QDQ form: QuantizeLinear and DequantizeLinear around operators
//     that stay the same. Engines fuse these into integer kernels. A matrix product whose result no layer
//     reads returns its sums without rounding them to bytes.
//
// # At run time
//
// Dynamic calibrates nothing. Weights of matrix products and of LSTMs become integers as above, their inputs
// become bytes while the model runs, by operators of ONNX Runtime. It is for models whose steps feed each
// other, which no set of samples shows: GNMT, RNN-T. FourBit makes 4-bit weights of matrix products alone, in blocks of 32 with
// a scale each, which ONNX Runtime multiplies as floats.
//
// # Accuracy
//
// Recipe.Sensitivity tells what each layer costs, by signal to noise, which needs no labels. A Search leaves
// layers in FP32, the most sensitive first, until a target is reached.
//
// On processors without VNNI or AMX, ONNX Runtime adds pairs of products of unsigned and signed bytes in 16
// bits, which can overflow: there, Options.SevenBitWeights keeps weights within ±63.
//
// # What is left out
//
// Training with quantisation in mind, bfloat16, which ONNX Runtime's CPU does not compute with, and the graphs inside If, Loop and
// Scan. Transposed convolutions stay in FP32, and recurrent layers but for Dynamic.
package quantize
