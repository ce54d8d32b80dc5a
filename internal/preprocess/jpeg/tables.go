package jpeg

import "fmt"

// naturalOrder maps the zigzag index of a coefficient to its place in the block, row
// by row (ITU-T T.81, figure A.6). A run of zeros in damaged data may lead up to 15
// places beyond the block; libjpeg puts those into the last place.
var naturalOrder = [80]uint8{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
	63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
}

// A quantTable holds the quantisation steps in zigzag order.
type quantTable [64]uint16

// A huffSpec is a Huffman table as it is written in a file.
type huffSpec struct {
	counts [17]uint8  // number of codes of each length; [0] is unused
	values [256]uint8 // symbols in order of their codes
}

// size returns the number of codes.
func (h *huffSpec) size() int {
	n := 0
	for _, count := range h.counts {
		n += int(count)
	}
	return n
}

// tables are the quantisation and Huffman tables defined so far.
type tables struct {
	quant   [4]quantTable
	dc, ac  [4]huffSpec
	quantOK [4]bool
	dcOK    [4]bool
	acOK    [4]bool
}

func (t *tables) reset() {
	t.quantOK, t.dcOK, t.acOK = [4]bool{}, [4]bool{}, [4]bool{}
}

// readQuant reads a DQT segment.
func (t *tables) readQuant(seg []byte) error {
	for len(seg) > 0 {
		wide, slot := seg[0]>>4 != 0, seg[0]&15
		if slot >= 4 {
			return fmt.Errorf("quantisation table has number %d, want 0 to 3", slot)
		}
		seg = seg[1:]
		size := 64
		if wide {
			size = 128
		}
		if len(seg) < size {
			return fmt.Errorf("quantisation table %d has %d bytes, want %d", slot, len(seg), size)
		}
		for i := range t.quant[slot] {
			if wide {
				t.quant[slot][i] = uint16(seg[2*i])<<8 | uint16(seg[2*i+1])
			} else {
				t.quant[slot][i] = uint16(seg[i])
			}
		}
		t.quantOK[slot] = true
		seg = seg[size:]
	}
	return nil
}

// readHuffman reads a DHT segment.
func (t *tables) readHuffman(seg []byte) error {
	for len(seg) > 16 {
		class, slot := seg[0]>>4, seg[0]&15
		if class > 1 || slot >= 4 {
			return fmt.Errorf("class %d or number %d of a Huffman table is wrong, want class 0 or 1 and number 0 to 3", class, slot)
		}
		var h huffSpec
		copy(h.counts[1:], seg[1:])
		seg = seg[17:]
		total := h.size()
		if total > 256 || total > len(seg) {
			return fmt.Errorf("number %d of Huffman tables has %d symbols but %d bytes", slot, total, len(seg))
		}
		copy(h.values[:], seg[:total])
		seg = seg[total:]
		t.define(class, slot, h)
	}
	if len(seg) != 0 {
		return fmt.Errorf("segment of Huffman tables has %d bytes too many", len(seg))
	}
	return nil
}

// define takes a Huffman table. Those of class 0 are for DC, of class 1 for AC.
func (t *tables) define(class, slot byte, h huffSpec) {
	if class == 0 {
		t.dc[slot], t.dcOK[slot] = h, true
	} else {
		t.ac[slot], t.acOK[slot] = h, true
	}
}

// addStandard supplies those of the tables in T.81 annex K.3 that a file omits, as the
// frames of motion JPEG do. libjpeg does so in sequential files only.
func (t *tables) addStandard() {
	for i := range 2 {
		if !t.dcOK[i] {
			t.dc[i], t.dcOK[i] = standardDC[i], true
		}
		if !t.acOK[i] {
			t.ac[i], t.acOK[i] = standardAC[i], true
		}
	}
}

// ITU-T T.81 tables K.3 to K.6, luminance first.
var (
	standardDC = [2]huffSpec{
		newHuffSpec("\x00\x01\x05\x01\x01\x01\x01\x01\x01", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b"),
		newHuffSpec("\x00\x03\x01\x01\x01\x01\x01\x01\x01\x01\x01", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b"),
	}
	standardAC = [2]huffSpec{
		newHuffSpec("\x00\x02\x01\x03\x03\x02\x04\x03\x05\x05\x04\x04\x00\x00\x01\x7d",
			"\x01\x02\x03\x00\x04\x11\x05\x12\x21\x31\x41\x06\x13\x51\x61\x07\x22\x71\x14\x32\x81\x91\xa1\x08"+
				"\x23\x42\xb1\xc1\x15\x52\xd1\xf0\x24\x33\x62\x72\x82\x09\x0a\x16\x17\x18\x19\x1a\x25\x26\x27\x28"+
				"\x29\x2a\x34\x35\x36\x37\x38\x39\x3a\x43\x44\x45\x46\x47\x48\x49\x4a\x53\x54\x55\x56\x57\x58\x59"+
				"\x5a\x63\x64\x65\x66\x67\x68\x69\x6a\x73\x74\x75\x76\x77\x78\x79\x7a\x83\x84\x85\x86\x87\x88\x89"+
				"\x8a\x92\x93\x94\x95\x96\x97\x98\x99\x9a\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xb2\xb3\xb4\xb5\xb6"+
				"\xb7\xb8\xb9\xba\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xc9\xca\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xe1\xe2"+
				"\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa"),
		newHuffSpec("\x00\x02\x01\x02\x04\x04\x03\x04\x07\x05\x04\x04\x00\x01\x02\x77",
			"\x00\x01\x02\x03\x11\x04\x05\x21\x31\x06\x12\x41\x51\x07\x61\x71\x13\x22\x32\x81\x08\x14\x42\x91"+
				"\xa1\xb1\xc1\x09\x23\x33\x52\xf0\x15\x62\x72\xd1\x0a\x16\x24\x34\xe1\x25\xf1\x17\x18\x19\x1a\x26"+
				"\x27\x28\x29\x2a\x35\x36\x37\x38\x39\x3a\x43\x44\x45\x46\x47\x48\x49\x4a\x53\x54\x55\x56\x57\x58"+
				"\x59\x5a\x63\x64\x65\x66\x67\x68\x69\x6a\x73\x74\x75\x76\x77\x78\x79\x7a\x82\x83\x84\x85\x86\x87"+
				"\x88\x89\x8a\x92\x93\x94\x95\x96\x97\x98\x99\x9a\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xb2\xb3\xb4"+
				"\xb5\xb6\xb7\xb8\xb9\xba\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xc9\xca\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda"+
				"\xe2\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa"),
	}
)

// newHuffSpec makes a table from the counts of the lengths from 1 on and the symbols.
func newHuffSpec(counts, values string) huffSpec {
	var h huffSpec
	copy(h.counts[1:], counts)
	copy(h.values[:], values)
	return h
}
