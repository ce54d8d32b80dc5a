package exif

import "encoding/binary"

const (
	tagOrientation = 0x0112
	entrySize      = 12 // tag, type, count, value or offset (TIFF 6.0 §2)
)

// outOfLine tells how many bytes of data the offset of a tag points to, for the tags
// that OpenCV follows. It stops reading at one that points outside.
var outOfLine = map[uint16]uint64{
	0x011A: 8, 0x011B: 8, // resolution
	0x013E: 16, // white point
	0x013F: 48, // primary chromaticities
	0x0211: 24, // YCbCr coefficients
	0x0214: 48, // reference black and white
}

// Orientation returns the orientation, 1 to 8, that a TIFF header and its first
// directory ask for. It is 1 if there is none or if tiff cannot be understood.
func Orientation(tiff []byte) int {
	order := byteOrder(tiff)
	if len(tiff) < 8 || order.Uint16(tiff[2:]) != 42 {
		return 1
	}
	first := uint64(order.Uint32(tiff[4:]))
	if first+2 > uint64(len(tiff)) {
		return 1
	}
	count := int(order.Uint16(tiff[first:]))
	entries := tiff[first+2:]
	for range count {
		if len(entries) < 2 {
			break
		}
		if order.Uint16(entries) == tagOrientation {
			return orientation(entries, order)
		}
		if !readable(tiff, entries, order) {
			break
		}
		entries = entries[min(entrySize, len(entries)):]
	}
	return 1
}

// byteOrder reads anything but II as big-endian, as OpenCV does.
func byteOrder(tiff []byte) binary.ByteOrder {
	if len(tiff) >= 2 && tiff[0] == 'I' && tiff[1] == 'I' {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

// orientation reads the value of the tag; whatever its declared type is, OpenCV takes
// the first two bytes.
func orientation(entry []byte, order binary.ByteOrder) int {
	if len(entry) < 10 {
		return 1
	}
	if o := int(order.Uint16(entry[8:])); o >= 1 && o <= 8 {
		return o
	}
	return 1
}

// readable reports whether OpenCV can read the entry's value and goes on to the next.
func readable(tiff, entry []byte, order binary.ByteOrder) bool {
	size := uint64(len(tiff))
	switch tag := order.Uint16(entry); tag {
	case 0x0128, 0x0213: // resolution unit, YCbCr positioning
		return len(entry) >= 10
	case 0x010E, 0x010F, 0x0110, 0x0131, 0x0132, 0x8298: // text
		return textReadable(entry, size, order)
	default:
		need, known := outOfLine[tag]
		if !known {
			return true
		}
		return len(entry) >= 12 && uint64(order.Uint32(entry[8:]))+need <= size
	}
}

// textReadable looks for short text at the offset 8 of the file, not of the entry;
// that is OpenCV's mistake.
func textReadable(entry []byte, size uint64, order binary.ByteOrder) bool {
	if len(entry) < 8 {
		return false
	}
	length, offset := uint64(order.Uint32(entry[4:])), uint64(8)
	if length > 4 {
		if len(entry) < 12 {
			return false
		}
		offset = uint64(order.Uint32(entry[8:]))
	}
	return offset+length <= size
}
