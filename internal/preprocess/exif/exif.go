package exif

import "encoding/binary"

const tagOrientation = 0x0112

// outOfLine tells how many bytes of data the offset of a tag points to, for the tags
// that OpenCV follows. It stops reading at one that points outside.
var outOfLine = map[uint16]uint64{
	0x011A: 8, 0x011B: 8, // resolution
	0x013E: 16, // white point
	0x013F: 48, // primary chromaticities
	0x0211: 24, // YCbCr coefficients
	0x0214: 48, // reference black and white
}

// headerSize is that of a TIFF header: order of bytes, 42, and where the first directory is.
const headerSize = 8

// Orientation returns the orientation, 1 to 8, that a TIFF header and its first
// directory ask for. It is 1 if there is none or if tiff cannot be understood.
func Orientation(tiff []byte) int {
	if len(tiff) < headerSize {
		return 1
	}
	order := byteOrder(tiff)
	first := uint64(order.Uint32(tiff[4:]))
	if order.Uint16(tiff[2:]) != 42 || first+2 > uint64(len(tiff)) {
		return 1
	}
	entries := tiff[first+2:]
	for range order.Uint16(tiff[first:]) {
		// Of an orientation at the end, half a value will do.
		if len(entries) >= valueEnd && order.Uint16(entries) == tagOrientation {
			return orientation(order.Uint16(entries[valueAt:]))
		}
		if len(entries) < entrySize || !readable(entries, uint64(len(tiff)), order) {
			return 1
		}
		entries = entries[entrySize:]
	}
	return 1
}

// An entry has tag, type, count, and a value or where that is (TIFF 6.0 §2). Whatever the type is, OpenCV takes the first
// two bytes for the orientation.
const (
	valueAt   = 8
	valueEnd  = 10
	entrySize = 12
)

// byteOrder reads anything but II as big-endian, as OpenCV does.
func byteOrder(tiff []byte) binary.ByteOrder {
	if tiff[0] == 'I' && tiff[1] == 'I' {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

// orientation is 1 for what is not defined.
func orientation(value uint16) int {
	if value == 0 || value > 8 {
		return 1
	}
	return int(value)
}

// readable reports whether OpenCV can read the entry's value in a file of so many bytes and goes on to the next.
func readable(entry []byte, size uint64, order binary.ByteOrder) bool {
	offset := uint64(order.Uint32(entry[valueAt:]))
	switch tag := order.Uint16(entry); tag {
	case 0x010E, 0x010F, 0x0110, 0x0131, 0x0132, 0x8298: // text
		length := uint64(order.Uint32(entry[4:]))
		return length <= 4 || offset+length <= size
	default:
		need, known := outOfLine[tag]
		return !known || offset+need <= size
	}
}
