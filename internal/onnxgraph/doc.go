// Package onnxgraph reads, edits and writes ONNX models, and knows the architectures
// of the built-in ones.
//
// # The file
//
// A Model is an ONNX file as Go values: a Graph of Nodes, which read and write values
// by name, with constants (Tensor) among them. Decode and ReadFile accept any valid
// file; what this package has no name for is kept and written back. Index,
// ReplaceUses, Prune and Sort make editing short, Check tells what is wrong
// with the result:
//
//	m, err := onnxgraph.ReadFile("resnet50_v1.onnx")
//	…
//	index := m.Graph.Index()
//	for _, n := range m.Graph.Nodes {
//		if n.Op == "Conv" {
//			strides := onnxgraph.AttrOr(n, "strides", []int64{1, 1})
//			weights := index.Initializer(n.Input(1))
//			…
//		}
//	}
//	err = m.WriteFile(ctx, "edited.onnx")
//
// The elements of a tensor come from a Source: memory, a section of the file that was
// read, or a generator. None of them is copied on the way into a file, so models much
// larger than memory can be rewritten, up to the 2 GiB that ONNX allows for a file.
//
// # The built-in models
//
// An Architecture writes the layers of a published network, through a Builder, which
// works out all shapes and counts parameters and multiply-accumulates. Weights
// are drawn from a seed, the same on every machine and in every run:
//
//	a, err := onnxgraph.Lookup("resnet50")
//	m, stats, err := a.Build(onnxgraph.Options{})         // 25.6 M parameters, 4.1 G MACs
//	key, err := a.Key(onnxgraph.Options{})                // names the content, for a cache
//	err = m.WriteFile(ctx, filepath.Join(cache, key+".onnx"))
//
// Random weights make a network that is as fast as the trained one, but whose answers
// mean nothing. What little it can do is tell inputs apart. What is needed for that
// differs with the task:
//
//   - Classification: the last but one layer, Architecture.Features, differs between images.
//     A data set can therefore give it a last layer of its own (Options.Classifier), made
//     from the features of some images, and so a task with a right answer and a score that
//     suffers with every loss of precision.
//   - Detection: an image has some dozens of boxes, of many classes, sizes and scores, which
//     follow from what is in it. See scoreBias for how.
//   - Segmentation: all classes occur, in connected regions.
//
// The networks that look at places are so made that noise stays small in them: Smooth,
// Paired and Rounded say how. So numerical damage changes answers a little, not
// completely.
//
// A new architecture is one file with its layers and a row in Architectures; a detector
// also has a table that TestCalibrate makes.
//
// # What is left out
//
// The package runs no model and infers no types in graphs that it did not build.
// Functions local to a model and training information are kept, but as bytes.
package onnxgraph
