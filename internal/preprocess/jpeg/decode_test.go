package jpeg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	stdjpeg "image/jpeg"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// encode writes a picture of gradients and noise as 4:2:0.
func encode(t testing.TB, width, height, quality int) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			n := rng.IntN(24)
			m.SetRGBA(x, y, color.RGBA{uint8(x*200/width + n), uint8(y*200/height + n), uint8((x+y)%200 + n), 255})
		}
	}
	var buf bytes.Buffer
	if err := stdjpeg.Encode(&buf, m, &stdjpeg.Options{Quality: quality}); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// edit returns a copy of data with what follows the first occurrence of marker FF m, from
// offset on, replaced.
func edit(data []byte, m byte, offset int, with ...byte) []byte {
	data = bytes.Clone(data)
	at := bytes.Index(data, []byte{0xFF, m})
	copy(data[at+2+offset:], with)
	return data
}

// insert returns data with more bytes behind SOI.
func insert(data []byte, more ...byte) []byte {
	return append(append(bytes.Clone(data[:2]), more...), data[2:]...)
}

func TestDecodeNamesWhatItCannotRead(t *testing.T) {
	good := encode(t, 20, 10, 80)
	const frameHeight, frameComponents = 3, 7
	progressive := read(t, "images/photo_301x201_411_prog_q30.jpg")
	scan := bytes.LastIndex(progressive, []byte{0xFF, markerSOS})
	manyScans := append(bytes.Clone(progressive[:scan]), bytes.Repeat(progressive[scan:len(progressive)-2], 1000)...)
	tests := []struct {
		name        string
		data        []byte
		want        string
		unsupported bool
	}{
		{"an empty file", nil, "does not begin with", false},
		{"a PNG file", []byte("\x89PNG\r\n\x1A\n"), "does not begin with", false},
		{"a file that ends in its headers", good[:100], "ends before any image data", false},
		{"a file of tables only", []byte{0xFF, 0xD8, 0xFF, 0xD9}, "ends before any image data", false},
		{"arithmetic coding", edit(good, markerSOF0, -1, 0xC9), "arithmetic coding", true},
		{"lossless coding", edit(good, markerSOF0, -1, 0xC3), "lossless coding", true},
		{"hierarchical coding", edit(good, markerSOF0, -1, 0xC5), "hierarchical coding", true},
		{"12 bits", edit(good, markerSOF0, 2, 12), "12 bits", true},
		{"a height given by DNL", edit(good, markerSOF0, frameHeight, 0, 0), "DNL", true},
		{"a width of zero", edit(good, markerSOF0, frameHeight+2, 0, 0), "size is 0×10", false},
		{"too large a size", edit(good, markerSOF0, frameHeight, 0xFF, 0xFF), "65500", false},
		{"two components", edit(good, markerSOF0, 0, 0, 14, 8, 0, 10, 0, 20, 2), "2 components", true},
		{"a wrong number of components", edit(good, markerSOF0, frameComponents, 4), "wrong length", false},
		{"sampling factors of zero", edit(good, markerSOF0, frameComponents+2, 0x02), "sampling factors 0×2", false},
		{"sampling that is not whole", edit(edit(good, markerSOF0, frameComponents+2, 0x31), markerSOF0, frameComponents+5, 0x21), "not a whole number", true},
		{"too large an MCU", edit(edit(good, markerSOF0, frameComponents+2, 0x42), markerSOF0, frameComponents+5, 0x22), "MCU has", false},
		{"an unknown component", edit(good, markerSOS, 3, 99), "component 99", false},
		{"components in another order", edit(good, markerSOS, 3, 2, 0x11, 1, 0x00), "misplaced component 1", false},
		{"a component twice", edit(good, markerSOS, 5, 1), "repeated", false},
		{"a missing quantisation table", edit(good, markerSOF0, frameComponents+3, 3), "no quantisation table 3", false},
		{"a quantisation table number", edit(good, markerDQT, 2, 0x07), "number 7", false},
		{"a missing Huffman table", edit(good, markerSOS, 4, 0x30), "DC Huffman table 3 is missing", false},
		{"a progressive file without its first Huffman table", edit(progressive, markerDHT, -1, markerCOM), "DC Huffman table 0 is missing", false},
		{"a Huffman code of all ones", edit(good, markerDHT, 3, 2, 1, 3), "too many codes of length 1", false},
		{"a DC symbol of 16", edit(good, markerDHT, 2+17, 16), "symbol 16 in a DC", false},
		{"a Huffman table cut short", edit(good, markerDHT, 3, 255), "symbols", false},
		{"a restart interval of one byte", insert(good, 0xFF, 0xDD, 0, 3, 1), "want 2", false},
		{"a second SOI", insert(good, 0xFF, 0xD8), "FF D8: is not allowed here", false},
		{"an unknown marker", insert(good, 0xFF, 0x02), "FF 02: is not allowed here", false},
		{"a table without length", insert(good, 0xFF, 0xDB, 0, 0), "length 0", false},
		{"an AC table that is missing", edit(good, markerSOS, 4, 0x02), "AC Huffman table 2 is missing", false},
		{"a DC table that cannot be", edit(good, markerSOS, 4, 0x40), "DC Huffman table 4 is missing", false},
		{"an AC table that cannot be", edit(good, markerSOS, 4, 0x04), "AC Huffman table 4 is missing", false},
		{"a Huffman table of a third class", insert(good, append([]byte{0xFF, markerDHT, 0, 19, 0x20}, make([]byte, 16)...)...), "class 2 or number 0", false},
		{"a fifth Huffman table", insert(good, append([]byte{0xFF, markerDHT, 0, 19, 0x14}, make([]byte, 16)...)...), "class 1 or number 4", false},
		{"less than a Huffman table", insert(good, append([]byte{0xFF, markerDHT, 0, 18}, make([]byte, 16)...)...), "segment of Huffman tables has 16 bytes too many", false},
		{"a quantisation table cut short", insert(good, 0xFF, markerDQT, 0, 4, 0x13, 1), "quantisation table 3 has 1 bytes, want 128", false},
		{"a frame header without components", insert(good, 0xFF, markerSOF0, 0, 8, 8, 0, 1, 0, 1, 0), "0 components, want 1, 3 or 4", true},
		{"a frame header of five bytes", insert(good, 0xFF, markerSOF0, 0, 7, 8, 0, 1, 0, 1), "frame header has a wrong length of 5 bytes", false},
		{"a frame header twice", insert(good, 0xFF, markerSOF0, 0, 11, 8, 0, 1, 0, 1, 1, 1, 0x11, 0), "second frame header", false},
		{"a scan before its frame", insert(good, 0xFF, markerSOS, 0, 8, 1, 1, 0, 0, 63, 0), "scan without a frame header", false},
		{"a scan header of no components", edit(good, markerSOS, 2, 0), "scan header has a wrong length of 10 bytes", false},
		{"a scan header of five components", edit(good, markerSOS, 0, 0, 16, 5), "scan header has a wrong length of 14 bytes", false},
		{"a conditioning table that cannot be", insert(good, 0xFF, markerDAC, 0, 4, 32, 0), "conditioning table has number 32, want at most 31", false},
		{"conditioning bounds the wrong way round", insert(good, 0xFF, markerDAC, 0, 4, 15, 0x12), "conditioning table 15 has the bounds 2 to 1", false},
		{"half a conditioning table", insert(good, 0xFF, markerDAC, 0, 5, 15, 0x21, 1), "segment of conditioning tables has a byte too many", false},
		{"1000 scans", manyScans, "more than 1000 scans", false},
	}
	var d Decoder
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := d.Decode(tt.data, nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Decode fails with %v, want an error with %q", err, tt.want)
			}
			if errors.Is(err, errUnsupported) != tt.unsupported {
				t.Errorf("errors.Is(%v, errUnsupported) = %v, want %v", err, !tt.unsupported, tt.unsupported)
			}
		})
	}
	if _, err := d.Decode(good, nil); err != nil {
		t.Errorf("Decode of a good file after bad ones fails: %v", err)
	}
}

func TestDecodeLimitsTheSize(t *testing.T) {
	data := encode(t, 20, 10, 80)
	d := Decoder{MaxPixels: 199}
	if _, err := d.Decode(data, nil); err == nil || !strings.Contains(err.Error(), "limit of 199 pixels") {
		t.Errorf("Decode of 200 pixels fails with %v, want the limit of 199", err)
	}
	d.MaxPixels = 200
	if _, err := d.Decode(data, nil); err != nil {
		t.Errorf("Decode of 200 pixels with a limit of 200 fails: %v", err)
	}
	huge := edit(data, markerSOF0, 3, 0xFF, 0x00, 0xFF, 0x00)
	if _, err := new(Decoder).Decode(huge, nil); err == nil {
		t.Error("Decode of 65280×65280 pixels does not fail")
	}
}

// A file of half a kilobyte once took 1.6 GB.
func TestAShortFileGetsNoMemoryForWhatItClaims(t *testing.T) {
	const claims = "claims 60000×1000 pixels, which takes 117187 bytes at least"
	for _, file := range []string{"images/photo_301x201_411_prog_q30.jpg", ""} {
		data := encode(t, 20, 10, 80)
		marker := byte(markerSOF0)
		if file != "" {
			data, marker = read(t, file), markerSOF2
		}
		data = edit(data, marker, 3, 1000>>8, 1000&0xff, 60000>>8, 60000&0xff)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := new(Decoder).Decode(data, nil)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), claims) {
			t.Errorf("error %v, want one that says %q", err, claims)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
			t.Errorf("it took %d bytes", taken)
		}
		if c, err := DecodeConfig(data); err != nil || c.Width != 60000 {
			t.Errorf("DecodeConfig = %+v, %v: the header itself is fine", c, err)
		}
	}
}

func TestDecodeIgnoresWhatIsNoPartOfTheImage(t *testing.T) {
	data := encode(t, 40, 30, 80)
	want, err := new(Decoder).Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	end := len(data) - 2
	for name, data := range map[string][]byte{
		"a comment":                insert(data, 0xFF, 0xFE, 0, 4, 'h', 'i'),
		"a DNL marker":             insert(data, 0xFF, 0xDC, 0, 4, 0, 30),
		"fill bytes":               insert(data, 0xFF, 0xFF, 0xFF),
		"a TEM marker":             insert(data, 0xFF, 0x01),
		"conditioning tables":      insert(data, 0xFF, markerDAC, 0, 8, 0, 0x10, 15, 0x33, 31, 0x12),
		"a comment without length": insert(data, 0xFF, 0xFE, 0, 0),
		"a short JFIF segment":     insert(data, 0xFF, markerAPP0, 0, 7, 'J', 'F', 'I', 'F', 0),
		"another's APP14":          insert(data, append([]byte{0xFF, markerAPP14, 0, 14}, "Adept\x00\x00\x00\x00\x00\x00\x00"...)...),
		"a short Adobe segment":    insert(data, append([]byte{0xFF, markerAPP14, 0, 13}, "Adobe\x00\x00\x00\x00\x00\x00"...)...),
		"Adobe's text elsewhere":   insert(data, append([]byte{0xFF, markerAPP0 + 13, 0, 14}, "Adobe\x00\x00\x00\x00\x00\x00\x00"...)...),
		"garbage between segments": append(insert(data[:20], 'a', 0xFF, 0, 'b'), data[20:]...),
		"garbage before EOI":       append(append(bytes.Clone(data[:end]), "garbage"...), data[end:]...),
		"a bad marker before EOI":  append(append(bytes.Clone(data[:end]), 0xFF, 0x05), data[end:]...),
		"garbage behind EOI":       append(bytes.Clone(data), "garbage"...),
		"a missing EOI":            data[:end],
	} {
		got, err := new(Decoder).Decode(data, nil)
		if err != nil || got.Damaged || !bytes.Equal(got.Pix, want.Pix) {
			t.Errorf("with %s: Decode gives damaged: %v, error: %v, or other pixels", name, got.Damaged, err)
		}
	}
}

func TestDecodeUsesTheStandardTablesIfThereAreNone(t *testing.T) {
	data := encode(t, 40, 30, 80) // image/jpeg writes just these, in one segment
	want, err := new(Decoder).Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte{0xFF, markerDHT})
	size := 2 + int(binary.BigEndian.Uint16(data[at+2:]))
	got, err := new(Decoder).Decode(append(bytes.Clone(data[:at]), data[at+size:]...), nil)
	if err != nil || !bytes.Equal(got.Pix, want.Pix) {
		t.Errorf("Decode without Huffman tables gives other pixels or fails: %v", err)
	}
}

func TestColorModelFollowsTheMarkers(t *testing.T) {
	three, rgb := []component{{id: 1}, {id: 2}, {id: 3}}, []component{{id: 'R'}, {id: 'G'}, {id: 'B'}}
	four := make([]component, 4)
	tests := []struct {
		name  string
		frame frame
		want  colorModel
	}{
		{"one component", frame{comps: three[:1]}, grayModel},
		{"no marker", frame{comps: three}, yCbCrModel},
		{"no marker, ids R G B", frame{comps: rgb}, rgbModel},
		{"JFIF, ids R G B", frame{comps: rgb, jfif: true}, yCbCrModel},
		{"Adobe 0", frame{comps: three, adobe: true}, rgbModel},
		{"Adobe 1, ids R G B", frame{comps: rgb, adobe: true, transform: 1}, yCbCrModel},
		{"JFIF and Adobe 0", frame{comps: three, jfif: true, adobe: true}, yCbCrModel},
		{"four components", frame{comps: four}, cmykModel},
		{"four components, Adobe 0", frame{comps: four, adobe: true}, cmykModel},
		{"four components, Adobe 2", frame{comps: four, adobe: true, transform: 2}, ycckModel},
		{"four components, Adobe 1", frame{comps: four, adobe: true, transform: 1}, ycckModel},
	}
	for _, tt := range tests {
		if got, err := tt.frame.colorModel(); err != nil || got != tt.want {
			t.Errorf("colorModel() with %s = %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}

func TestDecodeConfigReadsHeadersOnly(t *testing.T) {
	data := read(t, "images/exif6_400x300_420_q60.jpg")
	scan := bytes.Index(data, []byte{0xFF, markerSOS})
	got, err := DecodeConfig(data[:scan+14])
	want := Config{Width: 400, Height: 300, Components: 3, color: yCbCrModel, Orientation: 6}
	if err != nil || got != want {
		t.Errorf("DecodeConfig = %+v, %v, want %+v", got, err, want)
	}
}

// The fast transform and the one that mimics 16-bit arithmetic agree as long as 16 bits
// suffice.
func TestInverseDoesNotDependOnItsShortCuts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		var b block
		var nonZero uint64
		sum := int64(0)
		limit := []int64{1, 8, 64, 512, 3000}[rng.IntN(5)]
		for range rng.IntN(40) {
			at := rng.IntN(64)
			if rng.IntN(2) == 0 {
				at = rng.IntN(4)*8 + rng.IntN(4)
			}
			v := rng.Int64N(2*limit+1) - limit
			if sum += abs(v) - abs(int64(b[at])); sum > maxSum {
				sum -= abs(v) - abs(int64(b[at]))
				continue
			}
			b[at] = int16(v)
			nonZero |= 1 << at
		}
		var fast, exact [64]uint8
		inverse(fast[:], 8, &b, nonZero, sum)
		inverseWrapping(exact[:], 8, &b, nonZero)
		if fast != exact {
			t.Fatalf("inverse of %v (%b, %d) = %v, want %v", b, nonZero, sum, fast, exact)
		}
	}
}

func TestColorTransformFollowsItsDefinition(t *testing.T) {
	limit := func(v int) uint8 { return uint8(min(max(v, 0), 255)) }
	var line [3 * 256]uint8
	var luma, cbs, crs [256]uint8
	for i := range luma {
		luma[i] = uint8(i)
	}
	for cb := 0; cb < 256; cb += 5 {
		for cr := range 256 {
			for i := range luma {
				cbs[i], crs[i] = uint8(cb), uint8(cr)
			}
			fromYCbCr(line[:], luma[:], cbs[:], crs[:])
			for y := range 256 {
				b, r := cb-128, cr-128
				want := [3]uint8{
					limit(y + (91881*r+32768)>>16),
					limit(y + (-22554*b-46802*r+32768)>>16),
					limit(y + (116130*b+32768)>>16),
				}
				if got := [3]uint8(line[3*y:]); got != want {
					t.Fatalf("YCbCr %d %d %d gives %v, want %v", y, cb, cr, got, want)
				}
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, g := range corpus(f) {
		f.Add(g.data)
	}
	d := Decoder{MaxPixels: 1 << 16}
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := d.Decode(data, nil)
		if err != nil {
			return
		}
		if len(img.Pix) != 3*img.Width*img.Height || img.Orientation < 1 || img.Orientation > 8 {
			t.Fatalf("Decode gives %+v with %d bytes", img.Config, len(img.Pix))
		}
		if c, err := stdjpeg.DecodeConfig(bytes.NewReader(data)); err == nil && (c.Width != img.Width || c.Height != img.Height) {
			t.Fatalf("Decode gives %d×%d, image/jpeg %d×%d", img.Width, img.Height, c.Width, c.Height)
		}
		again, err := new(Decoder).Decode(data, nil)
		if err != nil || !bytes.Equal(again.Pix, img.Pix) {
			t.Fatalf("a fresh Decoder gives other pixels, or fails: %v", err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, bm := range []struct {
		name string
		data []byte
	}{
		{"500x375 4:2:0", encode(b, 500, 375, 90)},
		{"640x480 4:2:0 progressive", read(b, "images/photo_640x480_420_prog_q85.jpg")},
		{"500x333 gray", read(b, "images/gray_500x333_q85.jpg")},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bm.data)))
			var d Decoder
			var pix []byte
			for b.Loop() {
				img, err := d.Decode(bm.data, pix)
				if err != nil {
					b.Fatal(err)
				}
				pix = img.Pix
			}
		})
	}
}
