// Package arch writes the layers of published networks as ONNX models with seeded weights: the
// built-in models.
//
// An Architecture writes the layers of a published network, through a Builder, which
// works out all shapes and counts parameters and multiply-accumulates. Weights
// are drawn from a seed, the same on every machine and in every run:
//
//	a := arch.ResNet50()
//	m, stats, err := a.Build(arch.Options{})         // 25.6 M parameters, 4.1 G MACs
//	key, err := a.Key(arch.Options{})                // names the content, for a cache
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
// architecture.go says what an architecture is. Each network has a file with its layers and with the weights that have a meaning.
// builder.go and layers.go write graphs, weights.go fills tensors, detect.go has the parts that detectors share.
// A new architecture is one such file with a function that returns it; a detector may also have a table that TestCalibrate makes.
//
// # What is left out
//
// The package runs no model. The format of the file is package onnx's.
package arch
