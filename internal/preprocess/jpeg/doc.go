// Package jpeg reads and writes JPEG files.
//
// Decoder decodes to RGB, bit for bit as libjpeg-turbo with its
// default settings does underneath cv2.imread, which is what the MLPerf reference
// feeds its vision models with. image/jpeg of the standard library differs from
// that by up to 149 grey levels (no smooth chroma upsampling, another inverse
// DCT) and refuses files that the reference accepts.
//
//	var d jpeg.Decoder // reuse it: it keeps its buffers
//	img, err := d.Decode(data, nil)
//	if err != nil {
//		return fmt.Errorf("%s: %w", name, err)
//	}
//	r, g, b := img.Pix[0], img.Pix[1], img.Pix[2] // top left pixel
//
// It reads baseline, extended sequential and progressive Huffman-coded files of 8
// bits with 1, 3 or 4 components, any whole-number sampling ratio and restart
// intervals; in the words of the standard (ITU-T T.81), MCU, block, component and
// scan mean what they mean there. CMYK becomes RGB as in OpenCV.
//
// Damaged files. What libjpeg only warns of is no error here either: entropy-coded
// data that end early leave the rest grey, wrong codes decode as zero, lost restart
// markers are searched for, and unfinished progressive files are smoothed. Such an
// image is returned with Damaged set. What libjpeg gives up on is an error. One case is known
// to differ, in damaged files only: sometimes a block before FF FF 00 in coded data, of which
// libjpeg-turbo's fast reader leaves some coefficients behind for its careful one.
//
// Memory. A header can claim 65500×65500 pixels. MaxPixels bounds what is believed, and
// beyond 2²⁴ pixels a file must have the bytes that so many pixels take at least.
//
// Left out: arithmetic coding, 12 bits, lossless and hierarchical files (an error
// that is errUnsupported), a height given only by a DNL marker (an error in libjpeg
// too), more than 1000 scans, ICC profiles, thumbnails, and rotating the picture as EXIF
// asks: Orientation says how, package preprocess does it.
//
// Encode and Encoder write baseline files with the tables of the standard. Go's image/jpeg
// writes 4:2:0 only; Encode writes the samplings, restart markers, orientations and
// comments that official data sets have, the same bytes on every platform:
//
//	err := jpeg.Encode(w, picture, jpeg.EncodeOptions{Quality: 95, Sampling: jpeg.Sampling420})
package jpeg
