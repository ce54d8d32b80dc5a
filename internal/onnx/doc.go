// Package onnx reads, edits and writes ONNX models.
//
// # The file
//
// A Model is an ONNX file as Go values: a Graph of Nodes, which read and write values by name, with
// constants (Tensor) among them. ReadFile accepts any valid file; unknown fields are kept and written back.
// Index, RenameValue, Prune and Sort make editing short, Check finds errors in the result:
//
//	m, err := onnx.ReadFile("resnet50_v1.onnx")
//	…
//	index := m.Graph.Index()
//	for _, n := range m.Graph.Nodes {
//		if n.Op == "Conv" {
//			strides := onnx.AttrOr(n, "strides", []int64{1, 1})
//			weights := index.Initializer(n.Input(1))
//			…
//		}
//	}
//	err = m.WriteFile(ctx, "edited.onnx")
//
// The elements of a tensor come from a Source: memory, a section of the file that was read, or a generator.
// They stream into a written file, so that models larger than memory can be rewritten: reading and rewriting
// a model of 500 MB takes 5 MB. The official codec, with the generated types of package onnxpb, would need
// all of it in memory; it reads and writes the messages without initializers, and this package the others.
//
// # The work of a model
//
// Operations counts parameters and multiply-accumulates (operations.go, products.go) with the shapes that follow from those of
// the inputs (shapes.go). ONNX Runtime could not give these shapes: its C interface has those of inputs and outputs only, and
// mlperf show, simulated runs and servers' models are counted without it.
//
// # What is left out
//
// The package does not run models and infers no types. It keeps as bytes: functions local to a model, training
// information, documentation of its parts, and sparse tensors.
package onnx
