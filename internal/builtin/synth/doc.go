// Package synth makes the images and volumes of the built-in data sets: pictures that
// follow from a seed, in JPEG files, in the folders and formats of ImageNet, COCO,
// OpenImages and ADE20K, and volumes in those of KiTS19 and BraTS19. What reads the official data
// sets reads these.
//
//	spec := synth.ImageNetSpec{Seed: 1, Images: 1000, Classes: 100, Jitter: 0.15}
//	dir := filepath.Join(cache, spec.Key())
//	err := synth.WriteImageNet(ctx, dir, spec, nil)   // or nothing, if it is there
//	jpeg, err := synth.AnchorJPEG(spec, 17)           // what class 17 looks like
//
// # Scenes
//
// A Scene is a picture without a size: smooth colours, waves, and a few shapes. Jitter
// disturbs it. In the data set for classification each class is a scene, its anchor, and
// each image a disturbed anchor. In those for detection each image is a scene of its own.
//
// Which answers are right is not decided here, but by those who know the models: the
// classifier of a built-in model is made from the anchors, and the objects, masks and
// segmentations of the other data sets are what the FP32 model finds: a Judge writes
// them before the folder appears. The scores that the model then reaches are kept in the
// data set's Manifest.
//
// # Files
//
// Sizes, proportions, quality, grey images and EXIF orientation are mixed as in the official
// sets, so that reading costs what it costs there and no special case stays untried. Colour
// is sampled 4:2:0, as image/jpeg writes it.
//
// The same spec gives the same bytes on every platform. A change that gives other bytes
// has to raise FormatVersion. Folders appear when they are complete, and several
// processes may make the same one at once.
//
// Files with samples have a Mark, which copies keep (mark.go).
//
// # What is left out
//
// Progressive JPEG, CMYK and damaged files, of which the official sets have very few.
package synth
