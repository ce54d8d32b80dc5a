// Package tflite converts models of TensorFlow Lite (.tflite) to ONNX.
//
//	m, err := tflite.Convert("mobilenet_edgetpu_224_1.0_uint8.tflite", content)
//
// Reading order: file.go has the model as the FlatBuffer (flatbuffer.go) says it, by the official schema
// (tensorflow/lite/schema/schema.fbs, version 3). graph.go holds the ONNX graph while it is made: the values, in the file's layout
// (channels last) or with channels first. ops.go has the table of operators; conv.go, elements.go, shapes.go and
// detection.go have their conversions, a file for each kind.
//
// Inputs and outputs keep names, types and shapes. Quantised tensors become integers between QuantizeLinear and
// DequantizeLinear, which ONNX Runtime fuses with the operator between them. A chain of convolutions stays with channels first:
// a Transpose is only where an operator needs the other layout.
//
// Left out: control flow, variables, strings, recurrent operators. The error names the operator.
// Hybrid models (integer weights, float activations) compute with float weights: TensorFlow Lite quantises the activations as it runs.
package tflite
