package accuracy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// maskGolden holds results of pycocotools.mask.
type maskGolden struct {
	Polygons []struct {
		Size         [2]int
		Segmentation [][]float64
		Counts       []string
		Union        string
		Area         int
		BBox         [4]float64
		Pixels       string
		Box          [4]float64
		BoxCounts    string `json:"box_counts"`
	}
	Masks []struct {
		Size   [2]int
		Runs   []uint32
		Counts string
		Pixels string
		Area   int
		BBox   [4]float64
	}
	IoUs []struct {
		Size       [2]int
		Detections []string `json:"dt"`
		Truths     []string `json:"gt"`
		Crowd      []int    `json:"iscrowd"`
		IoU        [][]float64
	}
}

// pixelString formats pixels as a string of 0 and 1, row by row.
func pixelString(m Mask) string {
	var b strings.Builder
	for _, v := range m.Decode() {
		b.WriteByte('0' + v)
	}
	return b.String()
}

func TestPolygonsAgreeWithPycocotools(t *testing.T) {
	for i, c := range decodeTestdata[maskGolden](t, "masks.json").Polygons {
		h, w := c.Size[0], c.Size[1]
		for k, xy := range c.Segmentation {
			m, err := MaskFromPolygon(h, w, xy)
			if err != nil || m.Compress() != c.Counts[k] {
				t.Errorf("case %d: MaskFromPolygon(%d, %d, %v) = %q, %v, want %q", i, h, w, xy, m.Compress(), err, c.Counts[k])
			}
		}
		m, err := (&Segmentation{Polygons: c.Segmentation}).Mask(h, w)
		if err != nil {
			t.Fatal(err)
		}
		if m.Compress() != c.Union || m.Area() != c.Area || m.Box() != box(c.BBox) || pixelString(m) != c.Pixels {
			t.Errorf("case %d: Mask = %q, area %d, box %v, pixels %s, want %q, %d, %v, %s",
				i, m.Compress(), m.Area(), m.Box(), pixelString(m), c.Union, c.Area, c.BBox, c.Pixels)
		}
		m, err = MaskFromBox(h, w, box(c.Box))
		if err != nil || m.Compress() != c.BoxCounts {
			t.Errorf("case %d: MaskFromBox(%v) = %q, %v, want %q", i, c.Box, m.Compress(), err, c.BoxCounts)
		}
	}
}

func TestMasksAgreeWithPycocotools(t *testing.T) {
	for i, c := range decodeTestdata[maskGolden](t, "masks.json").Masks {
		h, w := c.Size[0], c.Size[1]
		pixels := []byte(strings.Map(func(r rune) rune { return r - '0' }, c.Pixels))
		encoded, err := EncodeMask(h, w, pixels)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := MaskFromString(h, w, c.Counts)
		if err != nil {
			t.Fatal(err)
		}
		counted, err := (&Segmentation{Height: h, Width: w, Counts: c.Runs}).Mask(1, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []Mask{encoded, decoded, counted} {
			if d := cmp.Diff(c.Runs, m.Counts); d != "" {
				t.Errorf("case %d: runs (-want +got):\n%s", i, d)
			}
			if m.Compress() != c.Counts || m.Area() != c.Area || m.Box() != box(c.BBox) || pixelString(m) != c.Pixels {
				t.Errorf("case %d: %q, area %d, box %v, want %q, %d, %v", i, m.Compress(), m.Area(), m.Box(), c.Counts, c.Area, c.BBox)
			}
		}
	}
}

func TestMaskIoUAgreesWithPycocotools(t *testing.T) {
	for i, c := range decodeTestdata[maskGolden](t, "masks.json").IoUs {
		decode := func(s string) Mask {
			m, err := MaskFromString(c.Size[0], c.Size[1], s)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		for d, row := range c.IoU {
			for g, want := range row {
				if got := MaskIoU(decode(c.Detections[d]), decode(c.Truths[g]), c.Crowd[g] == 1); got != want {
					t.Errorf("case %d: MaskIoU(detection %d, truth %d) = %v, want %v", i, d, g, got, want)
				}
			}
		}
	}
}

func TestMaskIoUOfDifferentSizesIsUndefined(t *testing.T) {
	a, _ := EncodeMask(1, 2, []uint8{1, 1})
	b, _ := EncodeMask(2, 1, []uint8{1, 1})
	if got := MaskIoU(a, b, false); got != -1 {
		t.Errorf("MaskIoU = %v, want -1", got)
	}
}

func TestMasksRefuseWhatIsNoMask(t *testing.T) {
	for _, c := range []struct {
		name string
		make func() (Mask, error)
		want string
	}{
		{"runs that end early", func() (Mask, error) { return MaskFromCounts(2, 2, []uint32{1, 2}) }, "runs cover 3 pixels, the image of 2 × 2 has 4"},
		{"no rows", func() (Mask, error) { return MaskFromCounts(0, 2, nil) }, "want positive sizes"},
		{"more pixels than 32 bits count", func() (Mask, error) { return MaskFromCounts(1<<20, 1<<20, nil) }, "at most 2147483647"},
		{"a character that is no digit", func() (Mask, error) { return MaskFromString(2, 2, "1!") }, "character 1"},
		{"a number that does not end", func() (Mask, error) { return MaskFromString(2, 2, "oo") }, "character 0"},
		{"a negative run", func() (Mask, error) { return MaskFromString(2, 2, "N") }, "run 0 has length -2"},
		{"too few pixels", func() (Mask, error) { return EncodeMask(2, 2, []uint8{1}) }, "1 pixels, want 2 × 2"},
		{"a polygon of two corners", func() (Mask, error) { return MaskFromPolygon(2, 2, []float64{0, 0, 1, 1}) }, "at least three corners"},
		{"a polygon with half a corner", func() (Mask, error) { return MaskFromPolygon(2, 2, make([]float64, 7)) }, "7 numbers"},
		{"a polygon beyond all bounds", func() (Mask, error) { return MaskFromPolygon(2, 2, []float64{0, 0, 1, 1, 1e9, 0}) }, "coordinate 1e+09"},
		{"a union of nothing", func() (Mask, error) { return Union() }, "no masks"},
		{"a union of different sizes", func() (Mask, error) {
			return Union(Mask{1, 2, []uint32{2}}, Mask{2, 1, []uint32{2}})
		}, "1 × 2 and 2 × 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.make()
			wantError(t, err, c.want)
		})
	}
}

func box(b [4]float64) Box { return Box{b[0], b[1], b[2], b[3]} }

func FuzzMaskFromString(f *testing.F) {
	f.Add(3, 4, "06f0")
	f.Add(2, 2, "4")
	f.Add(1, 1, "\x00")
	f.Fuzz(func(t *testing.T, height, width int, text string) {
		if height > 1000 || width > 1000 {
			return // decoding takes memory
		}
		m, err := MaskFromString(height, width, text)
		if err != nil {
			return
		}
		again, err := MaskFromString(height, width, m.Compress())
		if err != nil {
			t.Fatalf("%q was accepted, but not its compressed form %q: %v", text, m.Compress(), err)
		}
		if d := cmp.Diff(m.Counts, again.Counts); d != "" {
			t.Errorf("runs changed (-want +got):\n%s", d)
		}
		encoded, err := EncodeMask(height, width, m.Decode())
		if err != nil {
			t.Fatal(err)
		}
		if encoded.Area() != m.Area() || encoded.Box() != m.Box() {
			t.Errorf("area %d, box %v after decoding and encoding, want %d, %v", encoded.Area(), encoded.Box(), m.Area(), m.Box())
		}
	})
}

func ExampleMaskFromPolygon() {
	m, _ := MaskFromPolygon(3, 4, []float64{1, 1, 4, 1, 4, 3, 1, 3})
	pixels := m.Decode()
	for y := range 3 {
		fmt.Println(pixels[4*y : 4*y+4])
	}
	// Output:
	// [0 0 0 0]
	// [0 1 1 1]
	// [0 1 1 1]
}
