package jpeg

import (
	"bytes"
	"encoding/hex"
	"image"
	"image/color"
	stdjpeg "image/jpeg"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
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

func TestDecodeErrors(t *testing.T) {
	good := encode(t, 20, 10, 80)
	const frameHeight, frameComponents = 3, 7
	progressive := testenv.Read(t, "testdata/images/photo_301x201_411_prog_q30.jpg")
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"empty file", nil, "does not begin with"},
		{"PNG", []byte("\x89PNG\r\n\x1A\n"), "does not begin with"},
		{"truncated header", good[:100], "marker FF DB: file ends before any image data"},
		{"no image", []byte{0xFF, 0xD8, 0xFF, 0xD9}, "ends before any image data"},
		{"no more segments", good[:2], "ends before any image data"},
		{"arithmetic coding", edit(good, markerSOF0, -1, 0xC9), "arithmetic coding"},
		{"lossless coding", edit(good, markerSOF0, -1, 0xC3), "lossless coding"},
		{"hierarchical coding", edit(good, markerSOF0, -1, 0xC5), "hierarchical coding"},
		{"12 bits", edit(good, markerSOF0, 2, 12), "12 bits"},
		{"height in a DNL marker", edit(good, markerSOF0, frameHeight, 0, 0), "DNL"},
		{"zero width", edit(good, markerSOF0, frameHeight+2, 0, 0), "size is 0×10"},
		{"too high", edit(good, markerSOF0, frameHeight, 0xFF, 0xFF), "65500"},
		{"two components", edit(good, markerSOF0, 0, 0, 14, 8, 0, 10, 0, 20, 2), "2 components"},
		{"frame length", edit(good, markerSOF0, frameComponents, 4), "wrong length"},
		{"sampling factor zero", edit(good, markerSOF0, frameComponents+2, 0x02), "sampling factors 0×2"},
		{"fractional sampling", edit(edit(good, markerSOF0, frameComponents+2, 0x31), markerSOF0, frameComponents+5, 0x21), "expected whole numbers"},
		{"large MCU", edit(edit(good, markerSOF0, frameComponents+2, 0x42), markerSOF0, frameComponents+5, 0x22), "MCU has"},
		{"unknown component", edit(good, markerSOS, 3, 99), "component 99"},
		{"component order", edit(good, markerSOS, 3, 2, 0x11, 1, 0x00), "misplaced component 1"},
		{"repeated component", edit(good, markerSOS, 5, 1), "repeated"},
		{"no quantisation table", edit(good, markerSOF0, frameComponents+3, 3), "no quantisation table 3"},
		{"quantisation table number", edit(good, markerDQT, 2, 0x07), "number 7"},
		{"short quantisation table", insert(good, 0xFF, markerDQT, 0, 4, 0x13, 1), "quantisation table 3 has 1 bytes, expected 128"},
		{"no DC table", edit(good, markerSOS, 4, 0x30), "DC Huffman table 3 is missing"},
		{"no AC table", edit(good, markerSOS, 4, 0x04), "AC Huffman table 4 is missing"},
		{"no progressive DC table", edit(progressive, markerDHT, -1, markerCOM), "DC Huffman table 0 is missing"},
		{"all-ones code", edit(good, markerDHT, 3, 2, 1, 3), "too many codes of length 1"},
		{"DC symbol 16", edit(good, markerDHT, 2+17, 16), "symbol 16 in a DC"},
		{"short Huffman table", edit(good, markerDHT, 3, 255), "symbols"},
		{"Huffman class", insert(good, append([]byte{0xFF, markerDHT, 0, 19, 0x20}, make([]byte, 16)...)...), "class 2 or number 0"},
		{"Huffman leftover", insert(good, append([]byte{0xFF, markerDHT, 0, 18}, make([]byte, 16)...)...), "segment of Huffman tables has 16 bytes too many"},
		{"progression", edit(progressive, markerSOS, 10, 5), "progression Ss=0 Se=5"},
		{"restart interval", insert(good, 0xFF, 0xDD, 0, 3, 1), "expected 2"},
		{"unknown marker", insert(good, 0xFF, 0x02, 0, 2), "FF 02: is not allowed here"},
		{"segment length", insert(good, 0xFF, 0xDB, 0, 0), "length 0"},
		{"second frame", insert(good, 0xFF, markerSOF0, 0, 11, 8, 0, 1, 0, 1, 1, 1, 0x11, 0), "second frame header"},
		{"scan before its frame", insert(good, 0xFF, markerSOS, 0, 8, 1, 1, 0, 0, 63, 0), "scan without a frame header"},
		{"scan header length", edit(good, markerSOS, 2, 0), "scan header has a wrong length of 10 bytes"},
	}
	var d Decoder
	for _, c := range tests {
		if _, err := d.Decode(c.data, nil, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	d.MaxPixels = 199
	if _, err := d.Decode(good, nil, nil); err == nil || !strings.Contains(err.Error(), "limit of 199 pixels") {
		t.Errorf("Decode of 200 pixels: error %v, want the limit of 199", err)
	}
	d.MaxPixels = 200
	if _, err := d.Decode(good, nil, nil); err != nil {
		t.Errorf("Decode of 200 pixels with a limit of 200: %v", err)
	}
}

func TestDecodeIgnoresOtherData(t *testing.T) {
	data := encode(t, 40, 30, 80)
	want, err := new(Decoder).Decode(data, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	end := len(data) - 2
	for name, data := range map[string][]byte{
		"comment":                  insert(data, 0xFF, 0xFE, 0, 4, 'h', 'i'),
		"DNL marker":               insert(data, 0xFF, 0xDC, 0, 4, 0, 30),
		"fill bytes":               insert(data, 0xFF, 0xFF, 0xFF),
		"TEM marker":               insert(data, 0xFF, 0x01),
		"short JFIF segment":       insert(data, 0xFF, markerAPP0, 0, 7, 'J', 'F', 'I', 'F', 0),
		"other APP14":              insert(data, append([]byte{0xFF, markerAPP14, 0, 14}, "Adept\x00\x00\x00\x00\x00\x00\x00"...)...),
		"short Adobe segment":      insert(data, append([]byte{0xFF, markerAPP14, 0, 13}, "Adobe\x00\x00\x00\x00\x00\x00"...)...),
		"garbage between segments": append(insert(data[:20], 'a', 0xFF, 0, 'b'), data[20:]...),
		"garbage before EOI":       append(append(bytes.Clone(data[:end]), "garbage"...), data[end:]...),
		"garbage behind EOI":       append(bytes.Clone(data), "garbage"...),
		"no EOI":                   data[:end],
	} {
		got, err := new(Decoder).Decode(data, nil, nil)
		if err != nil || !bytes.Equal(got.Pix, want.Pix) {
			t.Errorf("with %s: Decode gives error %v, or other pixels", name, err)
		}
	}
}

// testdata/make_orientations.py asked OpenCV about whole, truncated, wrong and unusual headers.
func TestExifOrientationEqualsOpenCV(t *testing.T) {
	type header struct {
		TIFF        string
		Orientation int
	}
	for _, c := range testenv.JSON[[]header](t, "testdata/orientations.json") {
		tiff, err := hex.DecodeString(c.TIFF)
		if err != nil {
			t.Fatal(err)
		}
		if got := exifOrientation(tiff); got != c.Orientation {
			t.Errorf("exifOrientation(%x) = %d, want %d", tiff, got, c.Orientation)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, g := range corpus(f) {
		f.Add(g.data)
	}
	f.Add(insert(encode(f, 20, 10, 80), 0xFF, markerAPP1, 0, 34, 'E', 'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0))
	d := Decoder{MaxPixels: 1 << 16}
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := d.Decode(data, nil, nil)
		if err != nil {
			return
		}
		if len(img.Pix) != 3*img.Width*img.Height || img.Orientation < 1 || img.Orientation > 8 {
			t.Fatalf("Decode gives %+v with %d bytes", img.Config, len(img.Pix))
		}
		if c, err := stdjpeg.DecodeConfig(bytes.NewReader(data)); err == nil && (c.Width != img.Width || c.Height != img.Height) {
			t.Fatalf("Decode gives %d×%d, image/jpeg %d×%d", img.Width, img.Height, c.Width, c.Height)
		}
		again, err := new(Decoder).Decode(data, nil, nil)
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
		{"640x480 4:2:0 progressive", testenv.Read(b, "testdata/images/photo_640x480_420_prog_q85.jpg")},
		{"500x333 gray", testenv.Read(b, "testdata/images/gray_500x333_q85.jpg")},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(bm.data)))
			var d Decoder
			var pix []byte
			for b.Loop() {
				img, err := d.Decode(bm.data, pix, nil)
				if err != nil {
					b.Fatal(err)
				}
				pix = img.Pix
			}
		})
	}
}
