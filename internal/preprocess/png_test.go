package preprocess

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A plainPNG is written by the letter of the PNG specification: samples of any depth, each row with any filter, in one pass or
// in the seven of Adam7.
type plainPNG struct {
	width, height int
	depth, colour int // bits of a sample; 0 grey, 2 colours, 3 palette, 4 grey and alpha, 6 colours and alpha
	samples       []int
	palette       []byte
	interlaced    bool
}

var samplesOf = map[int]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}

// randomPNG draws a picture of a kind.
func randomPNG(rng *rand.Rand, colour, depth int, interlaced bool) *plainPNG {
	p := &plainPNG{width: 1 + rng.IntN(20), height: 1 + rng.IntN(20), depth: depth, colour: colour, interlaced: interlaced}
	most := 1 << depth
	if colour == 3 {
		for range most {
			p.palette = append(p.palette, byte(rng.IntN(256)), byte(rng.IntN(256)), byte(rng.IntN(256)))
		}
	}
	for range p.width * p.height * samplesOf[colour] {
		p.samples = append(p.samples, rng.IntN(most))
	}
	return p
}

// pixel is what OpenCV makes of it: the upper eight bits, grey three times, and no alpha.
func (p *plainPNG) pixel(x, y int) [3]byte {
	n := samplesOf[p.colour]
	s := p.samples[(y*p.width+x)*n:][:n]
	value := func(v int) byte {
		if p.depth == 16 {
			return byte(v >> 8)
		}
		return byte(v * 255 / (1<<p.depth - 1))
	}
	switch p.colour {
	case 3:
		return [3]byte(p.palette[3*s[0]:])
	case 0, 4:
		return [3]byte{value(s[0]), value(s[0]), value(s[0])}
	}
	return [3]byte{value(s[0]), value(s[1]), value(s[2])}
}

// file writes it, with filters drawn.
func (p *plainPNG) file(rng *rand.Rand, ancillary ...string) []byte {
	header := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(p.width)), uint32(p.height))
	passes := [][4]int{{0, 0, 1, 1}}
	if p.interlaced {
		passes = [][4]int{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
	}
	var raw []byte
	for _, pass := range passes {
		raw = append(raw, p.pass(rng, pass[0], pass[1], pass[2], pass[3])...)
	}
	chunks := []string{chunk("IHDR", string(append(header, byte(p.depth), byte(p.colour), 0, 0, map[bool]byte{true: 1}[p.interlaced])))}
	if p.palette != nil {
		chunks = append(chunks, chunk("PLTE", string(p.palette)))
	}
	chunks = append(append(chunks, ancillary...), idat(string(raw)), chunk("IEND", ""))
	return pngFile(chunks...)
}

// pass writes the pixels from x0, y0 on in steps of dx, dy.
func (p *plainPNG) pass(rng *rand.Rand, x0, y0, dx, dy int) (out []byte) {
	n := samplesOf[p.colour]
	var before []byte
	for y := y0; y < p.height; y += dy {
		bits := ""
		for x := x0; x < p.width; x += dx {
			for _, v := range p.samples[(y*p.width+x)*n:][:n] {
				bits += fmt.Sprintf("%0*b", p.depth, v)
			}
		}
		if bits == "" {
			return nil // no pixel of the pass is in the picture
		}
		bits += strings.Repeat("0", -len(bits)&7)
		row := make([]byte, len(bits)/8)
		for i, c := range bits {
			row[i/8] |= byte(c-'0') << (7 - i%8)
		}
		if before == nil {
			before = make([]byte, len(row))
		}
		filter := rng.IntN(5)
		out = append(append(out, byte(filter)), filtering(filter, row, before, max(1, n*p.depth/8))...)
		before = row
	}
	return out
}

// filtering is chapter 9 of the specification.
func filtering(filter int, row, up []byte, bpp int) []byte {
	out := make([]byte, len(row))
	for i, v := range row {
		a, c := 0, 0 // to the left, and above that
		if i >= bpp {
			a, c = int(row[i-bpp]), int(up[i-bpp])
		}
		b := int(up[i])
		abs := func(v int) int { return max(v, -v) }
		guess := 0
		switch filter {
		case 1:
			guess = a
		case 2:
			guess = b
		case 3:
			guess = (a + b) / 2
		case 4:
			p := a + b - c
			if guess = c; abs(p-a) <= abs(p-b) && abs(p-a) <= abs(p-c) {
				guess = a
			} else if abs(p-b) <= abs(p-c) {
				guess = b
			}
		}
		out[i] = v - byte(guess)
	}
	return out
}

func TestPNGOfAllKindsAreRead(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	var s Scratch
	depths := [7][]int{0: {1, 2, 4, 8, 16}, 2: {8, 16}, 3: {1, 2, 4, 8}, 4: {8, 16}, 6: {8, 16}}
	for colour := range depths {
		for _, depth := range depths[colour] {
			for _, interlaced := range []bool{false, true} {
				for range 5 {
					p := randomPNG(rng, colour, depth, interlaced)
					img, err := s.Decode(p.file(rng))
					if err != nil || img.Damaged || img.Width != p.width || img.Height != p.height {
						t.Fatalf("kind %d of %d bits, interlaced %v: %d×%d pixels, damaged %v, %v", colour, depth, interlaced, img.Width, img.Height, img.Damaged, err)
					}
					for i := range p.width * p.height {
						if got, want := [3]byte(img.Pix[3*i:]), p.pixel(i%p.width, i/p.width); got != want {
							t.Fatalf("kind %d of %d bits, interlaced %v: pixel %d of %d×%d is %v, want %v", colour, depth, interlaced, i, p.width, p.height, got, want)
						}
					}
				}
			}
		}
	}
}

// Notes, the colour that is clear, gamma and all else that is not pixels leave them as they are.
func TestNotesDoNotChangePixels(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 2))
	notes := map[string]string{
		"transparency of grey":      chunk("tRNS", "\x00\x01"),
		"transparency of colours":   chunk("tRNS", "\x00\x01\x00\x02\x00\x03"),
		"transparency of a palette": chunk("tRNS", "\x00\x80\xFF"),
		"gamma":                     chunk("gAMA", "\x00\x00\xB1\x8F"),
		"sRGB":                      chunk("sRGB", "\x00"),
		"chromaticities":            chunk("cHRM", strings.Repeat("\x00\x00\x7A\x26", 8)),
		"significant bits":          chunk("sBIT", "\x01\x01\x01"),
		"background":                chunk("bKGD", "\x00\x00"),
		"a profile":                 chunk("iCCP", "name\x00\x00no stream"),
		"time":                      chunk("tIME", "\x07\xEA\x0B\x17\x0C\x00\x00"),
		"size":                      chunk("pHYs", "\x00\x00\x0B\x13\x00\x00\x0B\x13\x01"),
		"text in Unicode":           chunk("iTXt", "a\x00\x00\x00\x00\x00b"),
		"an animation":              chunk("acTL", "\x00\x00\x00\x01\x00\x00\x00\x00"),
	}
	var s, plain Scratch
	for _, name := range slices.Sorted(maps.Keys(notes)) {
		note := notes[name]
		for _, kind := range [][2]int{{0, 8}, {2, 8}, {3, 4}, {4, 16}, {6, 8}} {
			p := randomPNG(rng, kind[0], kind[1], false)
			want, err := plain.Decode(p.file(rng))
			if err != nil {
				t.Fatal(err)
			}
			if img, err := s.Decode(p.file(rng, note)); err != nil || !bytes.Equal(img.Pix, want.Pix) {
				t.Errorf("%s in kind %d of %d bits: %v, or other pixels", name, kind[0], kind[1], err)
			}
		}
	}
}

func TestPNGCutOffAnywhereAreRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 3))
	data := randomPNG(rng, 2, 8, false).file(rng, chunk("tEXt", "a\x00b"))
	var s Scratch
	for n := range data {
		if _, err := s.Decode(data[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are a picture", n, len(data))
		} else if n >= 8 && err.Error() != "decoding PNG: file is truncated" {
			t.Errorf("the first %d of %d bytes: %v", n, len(data), err)
		}
	}
}

func TestLengthsOfChunksAreNotBelieved(t *testing.T) {
	for _, length := range []uint32{13 + 1, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
		data := pngFile(ihdr(2, 1, 8, 2), idat("\x00abcdef"), chunk("IEND", ""))
		binary.BigEndian.PutUint32(data[8:], length)
		if _, err := new(Scratch).Decode(data); err == nil {
			t.Errorf("a header of %d bytes is read", length)
		}
	}
}

func TestWhatOpenCVRefusesIsRefused(t *testing.T) {
	end := chunk("IEND", "")
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"no pixels", "png: ", pngFile(ihdr(0, 1, 8, 2), idat(""), end)},
		{"a depth that is none", "png: ", pngFile(ihdr(1, 1, 3, 0), idat("\x00a"), end)},
		{"a kind of colour that is none", "png: ", pngFile(ihdr(1, 1, 8, 5), idat("\x00a"), end)},
		{"too few rows", "png: ", pngFile(ihdr(1, 2, 8, 0), idat("\x00a"), end)},
		{"a filter that is none", "png: ", pngFile(ihdr(1, 1, 8, 0), idat("\x05a"), end)},
		{"a header twice", "png: ", pngFile(ihdr(1, 1, 8, 0), ihdr(1, 1, 8, 0), idat("\x00a"), end)},
		{"a name of digits", `chunk type "1234" has other characters than letters`, pngFile(ihdr(1, 1, 8, 0), chunk("1234", ""), idat("\x00a"), end)},
		{"an unknown critical chunk", `chunk type "ABCD" is not known`, pngFile(ihdr(1, 1, 8, 0), chunk("ABCD", ""), idat("\x00a"), end)},
		{"a palette before the header", `chunk "PLTE" comes before IHDR`, pngFile(chunk("PLTE", "abc"), ihdr(1, 1, 8, 0), idat("\x00a"), end)},
		{"the end before the header", `chunk "IEND" comes before IHDR`, pngFile(end, ihdr(1, 1, 8, 0), idat("\x00a"), end)},
	} {
		_, err := new(Scratch).Decode(c.data)
		if err == nil || !strings.HasPrefix(err.Error(), "decoding PNG: "+c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestTheSizeOfAPNGIsLimited(t *testing.T) {
	data := pngFile(ihdr(7, 3, 8, 0), idat(strings.Repeat("\x00abcdefg", 3)), chunk("IEND", ""))
	for limit, want := range map[int]string{
		21: "", 22: "", 0: "",
		20: "decoding PNG: image of 7×3 pixels exceeds the limit of 20 pixels",
		1:  "decoding PNG: image of 7×3 pixels exceeds the limit of 1 pixels",
	} {
		s := Scratch{MaxPixels: limit}
		if _, err := s.Decode(data); (err != nil) != (want != "") || err != nil && err.Error() != want {
			t.Errorf("limit %d: %v, want %q", limit, err, want)
		}
	}
}

func TestTheFirstOrientationCounts(t *testing.T) {
	data, end := idat("\x00abcdef"), chunk("IEND", "")
	right := string(tiff(binary.BigEndian, 6))
	for _, c := range []struct {
		name   string
		chunks []string
		turned bool
	}{
		{"none", nil, false},
		{"big-endian", []string{chunk("eXIf", right)}, true},
		{"little-endian", []string{chunk("eXIf", string(tiff(binary.LittleEndian, 8)))}, true},
		{"one that does not exist", []string{chunk("eXIf", string(tiff(binary.LittleEndian, 9)))}, false},
		{"the second after one that does not exist", []string{chunk("eXIf", string(tiff(binary.LittleEndian, 9))), chunk("eXIf", right)}, false},
		{"neither II nor MM", []string{chunk("eXIf", "XX"+right[2:])}, false},
		{"too short", []string{chunk("eXIf", right[:7])}, false},
		{"empty", []string{chunk("eXIf", "")}, false},
	} {
		img, err := new(Scratch).Decode(pngFile(append(append([]string{ihdr(2, 1, 8, 2)}, c.chunks...), data, end)...))
		if err != nil || img.Height > img.Width != c.turned || len(img.Pix) != 6 {
			t.Errorf("%s: %d×%d, %v, want turned %v", c.name, img.Width, img.Height, err, c.turned)
		}
	}
}

// A file of chunks without end is read once, not again and again.
func TestManyChunksAreNoProblem(t *testing.T) {
	chunks := append([]string{ihdr(2, 1, 8, 2)}, slices.Repeat([]string{chunk("tEXt", "a\x00b")}, 20000)...)
	img, err := new(Scratch).Decode(pngFile(append(chunks, idat("\x00abcdef"), chunk("IEND", ""))...))
	if err != nil || string(img.Pix) != "abcdef" {
		t.Errorf("%q, %v", img.Pix, err)
	}
}
