// Package builtin makes the built-in models and data sets: what a benchmark runs with
// when a user has neither the official weights nor the official data.
//
//	maker := builtin.Maker{Dir: cache, Engine: engine, Observer: progress}
//	dir, err := maker.Dataset(ctx, "imagenet")
//	path, err := maker.Model(ctx, model)
//	score, err := maker.Reference(ctx, model)
//
// A built-in model is the official architecture with random weights. It knows nothing,
// but its last layer is made so that accuracy means something all the same: the weights
// of class k are the features that the network itself computes of a picture, the
// anchor of the class, and the data set are disturbed versions of the anchors. The model
// is then right about as often as a trained one is, and the less precisely it is
// computed, or the wrong way its input is pre-processed, the less often. The score of
// the FP32 model on the CPU is the reference, in the place of the official accuracy.
//
// Everything is made once, in seconds, and kept under a name that follows from how it
// was made. Programs that make the same thing at once do not disturb each other.
package builtin
