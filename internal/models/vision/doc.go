// Package vision has the benchmarks on images and volumes: classification, detection,
// segmentation.
//
//	for _, model := range vision.Models() { … }
//
// Each is a value in a file of its own. The kinds are classifier, detector, segmenter and
// unet: each joins a data set with a model file, reads how images go in and how answers come
// out from the file's ports (binding), and scores responses as the official script does. The
// options of the family say what cannot be told from the ports.
package vision
