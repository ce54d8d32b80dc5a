package jpeg

import "encoding/binary"

// exifOrientation returns the orientation, 1 to 8, that a TIFF header and its first directory
// ask for; 1 if they have none or cannot be read. It follows OpenCV's reader
// (imgcodecs/src/exif.cpp) with its peculiarities, because cv2.imread decides what the
// reference sees.
func exifOrientation(tiff []byte) int {
	const headerSize = 8 // order of bytes, 42, and the offset of the first directory
	if len(tiff) < headerSize {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian // also if it is not MM
	if tiff[0] == 'I' && tiff[1] == 'I' {
		order = binary.LittleEndian
	}
	size := uint64(len(tiff))
	first := uint64(order.Uint32(tiff[4:]))
	if order.Uint16(tiff[2:]) != 42 || first+2 > size {
		return 1
	}
	// An entry has tag, type, count, and a value or its offset (TIFF 6.0 §2).
	const countAt, valueAt, entrySize = 4, 8, 12
	entries := tiff[first+2:]
	for range order.Uint16(tiff[first:]) {
		// Of an orientation at the end, half a value will do.
		if len(entries) >= valueAt+2 && order.Uint16(entries) == 0x0112 {
			if v := order.Uint16(entries[valueAt:]); v >= 1 && v <= 8 {
				return int(v)
			}
			return 1
		}
		if len(entries) < entrySize {
			return 1
		}
		// OpenCV stops at a tag that it follows outside of the data.
		need, offset := uint64(0), uint64(order.Uint32(entries[valueAt:]))
		switch order.Uint16(entries) {
		case 0x010E, 0x010F, 0x0110, 0x0131, 0x0132, 0x8298: // text
			if length := uint64(order.Uint32(entries[countAt:])); length > 4 {
				need = length
			}
		case 0x011A, 0x011B: // resolution
			need = 8
		case 0x013E: // white point
			need = 16
		case 0x0211: // YCbCr coefficients
			need = 24
		case 0x013F, 0x0214: // primary chromaticities; reference black and white
			need = 48
		}
		if need > 0 && offset+need > size {
			return 1
		}
		entries = entries[entrySize:]
	}
	return 1
}
