package jpeg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/preprocess/exif"
)

// JFIF 1.02 §7, rounded; the constants of the encoder have 16 bits, so that a half may go either way.
func TestColoursAreThoseOfJFIF(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 1))
	row := make([]uint8, 3*256)
	light, blue, red, gray := make([]uint8, 256), make([]uint8, 256), make([]uint8, 256), make([]uint8, 256)
	for range 100 {
		for i := range row {
			row[i] = uint8(rng.IntN(256))
			if rng.IntN(4) == 0 {
				row[i] = uint8(255 * rng.IntN(2))
			}
		}
		colourRow(light, blue, red, row)
		grayRow(gray, row)
		for x := range 256 {
			r, g, b := float64(row[3*x]), float64(row[3*x+1]), float64(row[3*x+2])
			for i, c := range []struct {
				got  uint8
				want float64
			}{
				{light[x], 0.299*r + 0.587*g + 0.114*b}, {blue[x], 128 - 0.168736*r - 0.331264*g + 0.5*b}, {red[x], 128 + 0.5*r - 0.418688*g - 0.081312*b},
			} {
				if math.Abs(float64(c.got)-min(c.want, 255)) > 0.502 {
					t.Fatalf("number %d of (%g, %g, %g) is %d, want %.3f", i, r, g, b, c.got, c.want)
				}
			}
			if gray[x] != light[x] {
				t.Fatalf("(%g, %g, %g) has %d in grey, and %d in colour", r, g, b, gray[x], light[x])
			}
		}
	}
}

func TestRowsRepeatTheirLastPixel(t *testing.T) {
	row := []uint8{10, 20, 30, 200, 100, 50}
	light, blue, red := make([]uint8, 8), make([]uint8, 8), make([]uint8, 8)
	colourRow(light, blue, red, row)
	for _, plane := range [][]uint8{light, blue, red} {
		for x := 2; x < 8; x++ {
			if plane[x] != plane[1] || plane[0] == plane[1] {
				t.Errorf("samples %v", plane)
			}
		}
	}
}

// The mean of a few samples, of which halves go down and up in turns: by the numbers themselves.
func TestMeansGoUpAndDownInTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 2))
	for _, c := range []struct {
		across, down int
		bias         [2]int // of even and odd samples, before the division
	}{{2, 1, [2]int{0, 1}}, {2, 2, [2]int{1, 2}}, {1, 2, [2]int{1, 1}}} {
		for range 50 {
			width, rows := 2*(1+rng.IntN(10)), 2*(1+rng.IntN(4))
			from := make([]uint8, width*rows)
			for i := range from {
				from[i] = uint8(rng.IntN(256))
			}
			to := make([]uint8, len(from)/(c.across*c.down))
			average(to, from, width, c.across, c.down)
			for i, got := range to {
				x, y := i%(width/c.across), i/(width/c.across)
				sum := c.bias[x%2]
				for dy := range c.down {
					for dx := range c.across {
						sum += int(from[(y*c.down+dy)*width+x*c.across+dx])
					}
				}
				if want := sum / (c.across * c.down); int(got) != want {
					t.Fatalf("sample %d, %d of %d×%d is %d, want %d", x, y, c.across, c.down, got, want)
				}
			}
		}
	}
}

// Over many pictures colours keep their mean: before, each was a little brighter.
func TestColoursKeepTheirMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 3))
	for _, factors := range [][2]int{{2, 1}, {2, 2}} {
		from, to := make([]uint8, 64*64), make([]uint8, 64*64/(factors[0]*factors[1]))
		before, after := 0.0, 0.0
		for range 100 {
			for i := range from {
				from[i] = uint8(rng.IntN(256))
				before += float64(from[i]) / float64(len(from))
			}
			average(to, from, 64, factors[0], factors[1])
			for _, v := range to {
				after += float64(v) / float64(len(to))
			}
		}
		if d := (after - before) / 100; math.Abs(d) > 0.02 {
			t.Errorf("means of %d×%d are %.3f brighter", factors[0], factors[1], d)
		}
	}
}

// A strip beyond the picture has its last row again; coarse colours have that of the rows which it comes from.
func TestRowsBeyondThePictureRepeatTheLast(t *testing.T) {
	for _, height := range []int{1, 2, 7, 8, 9, 15, 16} {
		img := NewRGB(16, height)
		for i := range img.Pix {
			img.Pix[i] = uint8(i / 48 * 15) // grey, row by row
		}
		for y := range height {
			img.Pix[48*y] = 255 // and red on the left
		}
		var e Encoder
		if _, err := e.Append(nil, img, EncodeOptions{Sampling: Sampling420}); err != nil {
			t.Fatal(err)
		}
		s := e.strip
		for y := height; y < 16; y++ {
			if !bytes.Equal(s.planes[0][16*y:][:16], s.planes[0][16*(height-1):][:16]) {
				t.Errorf("height %d: row %d of brightness is no repetition", height, y)
			}
		}
		last := (height - 1) / 2
		for y := last + 1; y < 8; y++ {
			if !bytes.Equal(s.planes[1][8*y:][:8], s.planes[1][8*last:][:8]) || !bytes.Equal(s.planes[2][8*y:][:8], s.planes[2][8*last:][:8]) {
				t.Errorf("height %d: row %d of colour is no repetition of row %d", height, y, last)
			}
		}
	}
}

// A written segment: its marker and what it holds.
type written struct {
	marker  byte
	content []byte
}

// segmentsOf are those of a file up to its first scan.
func segmentsOf(t *testing.T, data []byte) (list []written) {
	t.Helper()
	if data[0] != 0xFF || data[1] != markerSOI || !bytes.HasSuffix(data, []byte{0xFF, markerEOI}) {
		t.Fatalf("the file begins with % X and ends with % X", data[:2], data[len(data)-2:])
	}
	for at := 2; ; {
		if data[at] != 0xFF {
			t.Fatalf("there is no marker at byte %d", at)
		}
		n := int(binary.BigEndian.Uint16(data[at+2:]))
		list = append(list, written{data[at+1], data[at+4 : at+2+n]})
		if data[at+1] == markerSOS {
			return list
		}
		at += 2 + n
	}
}

// checkNote wants a segment that has no part in the picture to say what was asked for.
func checkNote(t *testing.T, s written, opts EncodeOptions) {
	t.Helper()
	switch s.marker {
	case markerAPP0:
		if want := "JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00"; string(s.content) != want {
			t.Errorf("%+v: JFIF %q, want %q", opts, s.content, want)
		}
	case markerAPP1:
		if got := exif.Orientation(s.content[6:]); got != opts.ExifOrientation || string(s.content[:6]) != "Exif\x00\x00" {
			t.Errorf("%+v: orientation %d of %q", opts, got, s.content)
		}
	case markerCOM:
		if string(s.content) != opts.Comment {
			t.Errorf("%+v: comment %q", opts, s.content)
		}
	}
}

func TestHeadersAreWhatWasAskedFor(t *testing.T) {
	for _, c := range []struct {
		opts    EncodeOptions
		markers string
		frame   []byte // components of SOF0
		scan    []byte
	}{
		{EncodeOptions{}, "E0 DB DB C0 C4 C4 C4 C4 DA", []byte{3, 1, 0x11, 0, 2, 0x11, 1, 3, 0x11, 1}, []byte{3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0}},
		{EncodeOptions{Sampling: Sampling422, Comment: "c"}, "E0 FE DB DB C0 C4 C4 C4 C4 DA", []byte{3, 1, 0x21, 0, 2, 0x11, 1, 3, 0x11, 1}, []byte{3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0}},
		{EncodeOptions{Sampling: Sampling420, RestartInterval: 3}, "E0 DB DB C0 C4 C4 C4 C4 DD DA", []byte{3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1}, []byte{3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0}},
		{EncodeOptions{Sampling: Sampling440, ExifOrientation: 8, Comment: "c"}, "E0 E1 FE DB DB C0 C4 C4 C4 C4 DA", []byte{3, 1, 0x12, 0, 2, 0x11, 1, 3, 0x11, 1}, []byte{3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0}},
		{EncodeOptions{Sampling: SamplingGray}, "E0 DB C0 C4 C4 DA", []byte{1, 1, 0x11, 0}, []byte{1, 1, 0, 0, 63, 0}},
	} {
		var e Encoder
		data, err := e.Append(nil, NewRGB(300, 20), c.opts)
		if err != nil {
			t.Fatal(err)
		}
		var markers []byte
		tables := 0
		for _, s := range segmentsOf(t, data) {
			checkNote(t, s, c.opts)
			markers = append(markers, s.marker)
			switch s.marker {
			case markerDQT:
				if int(s.content[0]) != tables || len(s.content) != 65 {
					t.Errorf("%+v: table %d of %d steps, want %d", c.opts, s.content[0], len(s.content)-1, tables)
				}
				tables++
			case markerSOF0:
				if want := append([]byte{8, 0, 20, 300 >> 8, 300 & 0xff}, c.frame...); !slices.Equal(s.content, want) {
					t.Errorf("%+v: frame % X, want % X", c.opts, s.content, want)
				}
			case markerDRI:
				if got := binary.BigEndian.Uint16(s.content); int(got) != c.opts.RestartInterval {
					t.Errorf("%+v: restart interval %d", c.opts, got)
				}
			case markerSOS:
				if !slices.Equal(s.content, c.scan) {
					t.Errorf("%+v: scan % X, want % X", c.opts, s.content, c.scan)
				}
			}
		}
		if got := fmt.Sprintf("% X", markers); got != c.markers {
			t.Errorf("%+v: segments %s, want %s", c.opts, got, c.markers)
		}
	}
}

// Steps grow with worse quality, for all frequencies, and stay within a byte.
func TestStepsGrowWithWorseQuality(t *testing.T) {
	for table := range standardQuant {
		better := newDivider(&standardQuant[table], 100)
		for quality := 99; quality >= 1; quality-- {
			worse := newDivider(&standardQuant[table], quality)
			for i := range worse.step {
				if worse.step[i] < better.step[i] || worse.step[i] < 1 {
					t.Fatalf("table %d: step %d is %d at quality %d, and %d at %d", table, i, worse.step[i], quality, better.step[i], quality+1)
				}
			}
			better = worse
		}
	}
}

// A better quality is a larger file with a smaller error.
func TestBetterQualityIsALargerFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(26, 4))
	img := NewRGB(40, 40)
	for i := range img.Pix {
		img.Pix[i] = uint8(min(255, i/3%40*5+rng.IntN(30)))
	}
	size, wrong := 0, math.Inf(1)
	for _, quality := range []int{5, 20, 50, 80, 95, 100} {
		var b bytes.Buffer
		if err := Encode(&b, img, EncodeOptions{Quality: quality}); err != nil {
			t.Fatal(err)
		}
		got, err := new(Decoder).Decode(b.Bytes(), nil)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, v := range got.Pix {
			d := float64(v) - float64(img.Pix[i])
			sum += d * d
		}
		if b.Len() <= size || sum >= wrong {
			t.Errorf("quality %d: %d bytes and an error of %g, before %d and %g", quality, b.Len(), sum, size, wrong)
		}
		size, wrong = b.Len(), sum
	}
}

func TestAppendLeavesWhatIsThere(t *testing.T) {
	var e Encoder
	img := NewRGB(8, 8)
	alone, err := e.Append(nil, img, EncodeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Append([]byte("before"), img, EncodeOptions{})
	if err != nil || string(got) != "before"+string(alone) {
		t.Errorf("%q, %v", got, err)
	}
	for _, opts := range []EncodeOptions{{Quality: 101}, {Sampling: samplings}, {RestartInterval: -1}} {
		if got, err := e.Append([]byte("before"), img, opts); err == nil || string(got) != "before" {
			t.Errorf("%+v: %q, %v", opts, got, err)
		}
	}
	if got, err := e.Append(nil, img, EncodeOptions{}); err != nil || !bytes.Equal(got, alone) {
		t.Errorf("after errors another file comes out, or %v", err)
	}
}

func ExampleEncode() {
	var b bytes.Buffer
	err := Encode(&b, NewRGB(640, 480), EncodeOptions{Quality: 95, Sampling: Sampling420, ExifOrientation: 6})
	c, _ := DecodeConfig(b.Bytes())
	fmt.Println(c.Width, c.Height, c.Orientation, err)

	err = Encode(&b, NewRGB(640, 480), EncodeOptions{Quality: 950})
	fmt.Println(err)
	// Output:
	// 640 480 6 <nil>
	// encoding JPEG: the quality is 950, want 0 to 100
}

func ExampleEncoder_Append() {
	var e Encoder // keeps its memory
	var file []byte
	for i := range 3 {
		picture := NewRGB(8, 8)
		for k := range picture.Pix {
			picture.Pix[k] = uint8(100 * i)
		}
		file, _ = e.Append(file[:0], picture, EncodeOptions{Sampling: SamplingGray})
		img, err := new(Decoder).Decode(file, nil)
		fmt.Println(img.Pix[0], err)
	}
	// Output:
	// 0 <nil>
	// 100 <nil>
	// 200 <nil>
}
