// Package tfgraph converts frozen graphs of TensorFlow (.pb, a GraphDef without variables) to ONNX.
//
//	m, err := tfgraph.Convert("frozen_inference_graph.pb", content)
//
// Reading order: graphdef.go reads the file. convert.go begins at the outputs, the nodes that no other node reads, and makes
// what they ask for: a value is in the layout of the file or, behind convolutions, with channels first. control.go has the loops
// and branches of TensorFlow 1 (Enter, Merge, Switch, NextIteration, Exit, TensorArray), which become ONNX's Loop and If: the
// detectors of the Object Detection API decode pictures and suppress boxes in them. ops.go has the table of operators;
// images.go, elements.go and shapes.go have their conversions.
//
// Inputs and outputs have the names of TensorFlow's tensors (image_tensor:0), as other converters write them.
//
// Left out: variables (freeze the graph first), functions, strings, training, random numbers. The error names the node and its operator.
package tfgraph
