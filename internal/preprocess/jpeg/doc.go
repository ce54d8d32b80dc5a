// Package jpeg decodes JPEG files to RGB, bit for bit as libjpeg-turbo with its default
// settings does underneath cv2.imread, from which the MLPerf reference takes the inputs of
// its vision models. image/jpeg of the standard library differs by up to 149 grey levels (it
// has no smooth chroma upsampling and another inverse DCT).
//
//	var d jpeg.Decoder // reuse it: it keeps its buffers
//	img, err := d.Decode(data, nil, nil)
//	if err != nil {
//		return fmt.Errorf("%s: %w", name, err)
//	}
//	r, g, b := img.Pix[0], img.Pix[1], img.Pix[2] // top left pixel
//
// It reads baseline, extended sequential and progressive Huffman-coded files of 8 bits with
// 1, 3 or 4 components, whole-number sampling ratios and restart intervals. MCU, block,
// component and scan mean what they mean in the standard (ITU-T T.81). CMYK becomes RGB as
// in OpenCV. The files follow the data: header.go reads segments, entropy.go coefficients,
// idct.go makes samples, color.go pixels, vector.go both with vector instructions where the program
// was built with GOEXPERIMENT=simd, as make does; exif.go reads the orientation.
//
// A damaged file is an error: OpenCV fills in what is missing and goes on, but a benchmark on
// broken data is worth nothing. What Decode accepts has OpenCV's pixels, unless coefficients
// overflow 16 bits.
//
// Left out, with an error: arithmetic coding, 12 bits, lossless and hierarchical files, and a
// height given only by a DNL marker. ICC profiles and thumbnails are ignored. Package
// preprocess rotates the image as Orientation asks.
package jpeg
