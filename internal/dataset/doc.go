// Package dataset finds and reads samples and their ground truth in the layouts in
// which the official data sets come.
//
//	data, err := dataset.OpenImageNet("imagenet", dataset.Options{}) // val_map.txt and the images it names
//	jpeg, err := data.Read(17)
//
// ImageNet has labelled images, Detection images with objects in them (COCO and
// OpenImages), ADE20K images of which every pixel has a class, KiTS19 volumes. Where the
// reference has pre-processed images already, Options names the folder with them.
//
// Reading is strict: a missing image is an error here and not, as in the reference,
// a shift of all later sample indices.
//
// A SampleCache keeps what pre-processing makes of the samples on disk, so that it is
// done once. The package does not know what that is.
package dataset
