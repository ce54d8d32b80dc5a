// Package dataset finds and reads samples and their ground truth in the layouts of the
// official data sets.
//
//	data, err := dataset.OpenImageNet("imagenet", dataset.Options{}) // val_map.txt and its images
//	jpeg, err := data.Read(17)
//
// Each data set has a file: images.go ImageNet, COCO and OpenImages, ade20k.go, kits19.go,
// criteo.go and multihot.go (DLRM), squad.go, speech.go (LibriSpeech), translation.go (GNMT).
// Options names the folder of arrays that the reference made of images.
//
// Reading is strict: a missing image is an error here and not, as in the reference,
// a shift of all later sample indices.
//
// A SampleCache keeps pre-processed samples on disk. It does not know their content.
package dataset
