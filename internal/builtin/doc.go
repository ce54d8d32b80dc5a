// Package builtin makes the built-in models and data sets: what a benchmark runs with
// when a user has neither the official weights nor the official data.
//
//	maker := builtin.Maker{Dir: cache, Engine: engine, Observer: progress}
//	dir, err := maker.Dataset(ctx, model)
//	path, err := maker.Model(ctx, model)
//	score, err := maker.Reference(ctx, model)
//
// A built-in model is the official architecture with random weights. It knows nothing,
// but model and data are made for each other, so that accuracy means something all the
// same: the model is right about as often as a trained one is, and the less precisely it
// is computed, or the wrong way its input is pre-processed, the less often. The score of
// the FP32 model on the CPU is the reference, in the place of the official accuracy.
//
// Of a classifier the last layer is made: the weights of class k are the features that
// the network itself computes of a picture, the anchor of the class, and the data set are
// disturbed versions of the anchors.
//
// What detectors and models for segmentation find in an image follows from the image,
// though it means nothing. There the ground truth is made: it is what the FP32 model
// answers on the CPU, with some objects moved, dropped and added, or with masks shifted
// and partly repainted. Each of these models has a data set of its own.
//
// Everything is made once, in seconds, and kept under a name that follows from how it
// was made. Programs that make the same thing at once do not disturb each other.
package builtin
