package exif

import (
	"encoding/binary"
	"slices"
	"testing"
)

var le, be = binary.LittleEndian, binary.BigEndian

// entry is an entry of a directory; value fills its last four bytes.
func entry(order binary.AppendByteOrder, tag, typ uint16, count uint32, value ...byte) []byte {
	b := order.AppendUint16(nil, tag)
	b = order.AppendUint16(b, typ)
	b = order.AppendUint32(b, count)
	return append(b, append(value, 0, 0, 0, 0)[:4]...)
}

func orientationEntry(order binary.AppendByteOrder, v uint16) []byte {
	return entry(order, tagOrientation, 3, 1, order.AppendUint16(nil, v)...)
}

// at is an entry whose data are at an offset of a little-endian file.
func at(tag uint16, offset uint32) []byte {
	return entry(le, tag, 5, 100, le.AppendUint32(nil, offset)...)
}

func tiff(order binary.AppendByteOrder, entries ...[]byte) []byte {
	b := []byte("II")
	if order == binary.AppendByteOrder(be) {
		b = []byte("MM")
	}
	b = order.AppendUint16(b, 42)
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, uint16(len(entries)))
	return append(b, slices.Concat(entries...)...)
}

func with(data []byte, at int, bytes string) []byte {
	copy(data[at:], bytes)
	return data
}

// The expected values are what cv2.imread of OpenCV 4.6.0 did with such files.
func TestOrientationIsWhatOpenCVReads(t *testing.T) {
	six := orientationEntry(le, 6)
	tests := []struct {
		name string
		tiff []byte
		want int
	}{
		{"nothing", nil, 1},
		{"a header only", tiff(le)[:8], 1},
		{"no entries", tiff(le), 1},
		{"1", tiff(le, orientationEntry(le, 1)), 1},
		{"8", tiff(le, orientationEntry(le, 8)), 8},
		{"0, which is not defined", tiff(le, orientationEntry(le, 0)), 1},
		{"9, which is not defined", tiff(le, orientationEntry(le, 9)), 1},
		{"big-endian", tiff(be, orientationEntry(be, 6)), 6},
		{"a wrong magic number", with(tiff(le, six), 2, "+"), 1},
		{"an unknown byte order is big-endian", with(tiff(be, orientationEntry(be, 6)), 0, "JJ"), 6},
		{"an unknown byte order, little-endian", with(tiff(le, six), 0, "JJ"), 1},
		{"mixed letters", with(tiff(be, orientationEntry(be, 6)), 0, "MI"), 6},
		{"a 32-bit value, little-endian", tiff(le, entry(le, tagOrientation, 4, 1, 6)), 6},
		{"a 32-bit value, big-endian", tiff(be, entry(be, tagOrientation, 4, 1, 0, 0, 0, 6)), 1},
		{"more entries promised than there are", with(tiff(le, six), 8, "\x32"), 6},
		{"behind an unknown entry", tiff(le, entry(le, 0x9999, 3, 1), six), 6},
		{"twice", tiff(le, six, orientationEntry(le, 3)), 6},
		{"twice, the first not defined", tiff(le, orientationEntry(le, 9), orientationEntry(le, 3)), 1},
		{"a directory outside the data", with(tiff(le, six), 4, "\x88\x13"), 1},
		{"a value cut off behind its first half", tiff(le, six)[:20], 6},
		{"a value cut off", tiff(le, six)[:19], 1},
		{"behind short text", tiff(le, entry(le, 0x010F, 2, 4, 'a', 'b', 'c', 'd'), six), 6},
		{"behind text at a valid offset", tiff(le, entry(le, 0x010F, 2, 5), six), 6},
		{"behind text that just fits", tiff(le, entry(le, 0x010F, 2, 5, 29), six), 6},
		{"behind text that just does not", tiff(le, entry(le, 0x010F, 2, 5, 30), six), 1},
		{"behind text of five bytes outside", tiff(le, entry(le, 0x010F, 2, 5, 0x88, 0x13), six), 1},
		{"behind text outside", tiff(le, at(0x010F, 5000), six), 1},
		{"before text outside", tiff(le, six, at(0x010F, 5000)), 6},
		{"behind a resolution", tiff(le, at(0x011A, 8), six), 6},
		{"behind a resolution that just fits", tiff(le, at(0x011A, 26), six), 6},
		{"behind a resolution that just does not", tiff(le, at(0x011A, 27), six), 1},
		{"behind a white point outside", tiff(le, at(0x013E, 5000), six), 1},
		{"behind chromaticities outside", tiff(le, at(0x013F, 5000), six), 1},
		{"behind YCbCr coefficients outside", tiff(le, at(0x0211, 5000), six), 1},
		{"behind reference black and white outside", tiff(le, at(0x0214, 5000), six), 1},
		{"behind a copyright outside", tiff(le, at(0x8298, 5000), six), 1},
		{"behind YCbCr positioning", tiff(le, at(0x0213, 5000), six), 6},
		{"behind a resolution unit", tiff(le, at(0x0128, 5000), six), 6},
		{"behind the offset of the EXIF directory", tiff(le, at(0x8769, 5000), six), 6},
	}
	for _, tt := range tests {
		if got := Orientation(tt.tiff); got != tt.want {
			t.Errorf("Orientation of %s = %d, want %d", tt.name, got, tt.want)
		}
	}
}

func FuzzOrientation(f *testing.F) {
	f.Add(tiff(le, at(0x011A, 8), orientationEntry(le, 6)))
	f.Add(tiff(be, orientationEntry(be, 3)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if o := Orientation(data); o < 1 || o > 8 {
			t.Fatalf("Orientation = %d", o)
		}
	})
}
