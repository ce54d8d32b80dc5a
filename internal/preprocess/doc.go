// Package preprocess turns image files into the input tensors of the MLPerf vision
// models, bit for bit as the reference implementation does with OpenCV, Pillow and
// torchvision.
//
// A Pipeline is a value that says which steps lead from the pixels to the tensor: how
// the image is fitted to the model's size, with which resize Kernel, on bytes or on
// float32, and what arithmetic follows. Lookup finds the reference's pipelines by name;
// fields of the value may be changed, for instance Layout.
//
//	p, err := preprocess.Lookup("resnet50_vgg_224")
//	if err != nil {
//		return err
//	}
//	batch := tensor.New(p.Type, append(tensor.Shape{n}, p.Shape()...)...)
//	var s preprocess.Scratch // one per goroutine
//	for i, data := range files {
//		if err := p.ApplyFile(batch.Rows(i, 1), data, &s); err != nil {
//			return fmt.Errorf("%s: %w", names[i], err)
//		}
//	}
//
// Scratch holds decoder, coefficient tables and working memory, so that after the first
// few images nothing is allocated. Everything else here is a pure function.
//
// Decoding follows cv2.imread: the type of a file is that of its contents, grey images get three
// equal channels, alpha is dropped, and the EXIF orientation of JPEG files is applied, except for
// the pipelines of the mobile app. Unlike there, a damaged file is an error. Float32 arithmetic is
// never fused, so the results are the same on all processors.
//
// The files: image.go decodes, fit.go and resize.go find which pixels make up which, opencv.go,
// pillow.go and bilinear.go resize, pipeline.go puts this together, vector.go does parts of both by vector instructions,
// pipelines.go is the table of the reference's pipelines. Audio and volumes have packages below; texts become windows of
// tokens in models/text.
//
// Left out: image types other than JPEG and PNG (an error that names the type), INTER_CUBIC and
// INTER_NEAREST of OpenCV, and Pillow's own JPEG colour conversion, none of which the reference
// uses.
package preprocess
