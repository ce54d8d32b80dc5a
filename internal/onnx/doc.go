// Package onnx reads, edits and writes ONNX models.
//
// # The file
//
// A Model is an ONNX file as Go values: a Graph of Nodes, which read and write values
// by name, with constants (Tensor) among them. ReadFile accepts any valid
// file; what this package has no name for is kept and written back. Index,
// RenameValue, Prune and Sort make editing short, Check tells what is wrong
// with the result:
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
// The elements of a tensor come from a Source: memory, a section of the file that was
// read, or a generator. None of them is copied on the way into a file, so models much
// larger than memory can be rewritten, up to the 2 GiB that ONNX allows for a file. For
// the same reason this package finds its way through a file, and writes it, by itself as
// far as initializers lie on the way; all other messages are read and written by the
// official codec, with the generated types of package onnxpb.
//
// # What is left out
//
// The package runs no model and infers no types. Functions local to a model, training
// information, documentation of its parts and sparse tensors are kept, but as bytes.
package onnx
