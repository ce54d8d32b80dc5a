// Package vision has the benchmarks on images and volumes: classification, detection,
// segmentation.
//
//	for _, model := range vision.Models() { … }
//
// Each is a value in a file of its own. The kinds are classifier (classification.go), detector (detection.go, boxes.go),
// segmenter (segmentation.go) and unet (unet3d.go, slidingwindow.go): each opens a data set and a model file, infers
// layout and outputs from the file's ports (binding.go) or takes them from the family's options (options.go), and scores
// responses as the official script does. imagesamples.go and pipelines.go prepare images, package singlepass runs the model.
package vision
