// Package quantize makes models smaller and faster after training: FP32 graphs become
// float16 graphs, or graphs that compute with 8-bit integers.
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
// Quantisation is static and happens after training (MLPerf's inference_policies
// §Quantization): the calibration samples go through the FP32 model, and nothing but
// their statistics is used.
//
//  1. The model is prepared: brought to operator set 13, batch norms and other arithmetic
//     with one constant for each channel folded into the convolutions before them, and a
//     1×1 convolution of pooled features that makes an output written as the matrix
//     product it is (prepare).
//     The results of depthwise convolutions are scaled so that all their channels have the same
//     range, and the weights that read them scaled back (equalize), if the quantised model
//     has less noise for it.
//  2. Each layer with weights, Conv, Gemm and MatMul, is quantised, and what lies between
//     such layers and gains by it: Add, Concat, pooling, and whatever only moves elements.
//     A Relu or Clip behind a layer is done by the limits of the integers. What makes boxes
//     or probabilities of the last layers' results stays in FP32, since no layer with
//     weights follows on it.
//  3. Activations are observed over the samples (calibrate): the smallest and the largest value
//     of each, which are its range, and the mean of each channel.
//  4. Activations become unsigned bytes with a zero point (U8), q = round(x/scale) + zero,
//     scale = (max-min)/255 or a little more, the range extended to contain 0, which an integer represents
//     exactly; or signed bytes without one (S8), scale = max|x|/127. Rounding is to nearest,
//     ties to even.
//  5. Weights become signed bytes, symmetric, with one scale for each output channel or one
//     for all: scale = max|w|/127. Where that makes a bias exceed 2³⁰ the scale is
//     larger. Biases become 32-bit integers with the product of the scales of input and
//     weights. Before that they are corrected for what rounding the weights does to the mean
//     of each output channel: less Σ (w_quantised - w)·mean of the input channel, as
//     Nagel et al. (arXiv:1906.04721, §4.2) propose, with means from calibration.
//  6. The graph is written in the QDQ form: QuantizeLinear and DequantizeLinear around
//     operators that stay what they were. Engines fuse these into integer kernels. A matrix product
//     whose result no layer reads hands out its sums without rounding them to bytes.
//
// A Recipe takes all steps.
//
// # At run time
//
// Dynamic calibrates nothing. Weights of matrix products and of LSTMs become integers as above, and
// what they read becomes bytes while the model runs, by operators of ONNX Runtime. It is for
// models whose steps feed each other, which no set of samples shows: GNMT, RNN-T.
//
// # Accuracy
//
// Recipe.Sensitivity tells what each layer costs, by signal to noise, which needs no labels.
// A Search leaves layers in FP32, the most sensitive first, until a target is reached.
//
// On processors without VNNI or AMX, ONNX Runtime adds pairs of products of unsigned and signed
// bytes in 16 bits, which can overflow: there, Options.SevenBitWeights keeps weights
// within ±63.
//
// # What is left out
//
// There is no training with quantisation in mind, no quantisation of weights alone, no
// INT4, and nothing is done to the graphs inside If, Loop and Scan. Transposed convolutions
// stay in FP32, and so do recurrent layers but for Dynamic.
package quantize
