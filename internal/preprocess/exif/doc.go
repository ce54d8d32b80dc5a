// Package exif reads the one EXIF tag that changes the pixels of an image: its
// orientation.
//
//	exif.Orientation(tiff) // 6: the camera was turned; rotate by 90° clockwise
//
// It follows OpenCV's reader (imgcodecs/src/exif.cpp) with its peculiarities, because
// cv2.imread decides what the reference sees. Everything else that EXIF can hold is
// left out.
package exif
