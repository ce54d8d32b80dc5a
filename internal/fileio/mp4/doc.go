// Package mp4 writes videos: MP4 files whose frames are JPEG images.
//
//	w := mp4.NewWriter(256, 144, 16)
//	for _, frame := range frames { // rows of pixels of three bytes
//		err := w.Add(frame)
//	}
//	file, err := w.File()
//
// Each frame is a JPEG of its own (object type 0x6C of ISO/IEC 14496-1), which ffmpeg, OpenCV and players read. The boxes are those
// of ISO/IEC 14496-12 and -14. Equal frames make equal files: they have no dates.
//
// The package reads no videos. Is tells whether bytes are one.
package mp4
