package preprocess

import (
	"bytes"
	"image"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// turnedTo is where a pixel of a stored image of width×height is seen (EXIF 2.3, tag 0x0112).
func turnedTo(o, x, y, width, height int) image.Point {
	right, bottom := width-1-x, height-1-y
	return [...]image.Point{
		1: {x, y}, 2: {right, y}, 3: {right, bottom}, 4: {x, bottom}, 5: {y, x}, 6: {bottom, x}, 7: {bottom, right}, 8: {y, right},
	}[o]
}

func TestEveryPixelIsSeenWhereItsOrientationSays(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	var s Scratch
	for range 200 {
		width, height := 1+rng.IntN(9), 1+rng.IntN(9)
		stored := Image{Width: width, Height: height, Pix: noise(rng.Uint32(), 3*width*height), Damaged: rng.IntN(2) == 0}
		o := 2 + rng.IntN(7)
		img := s.turn(stored, o)
		if wide := o >= 5; wide && (img.Width != height || img.Height != width) || !wide && (img.Width != width || img.Height != height) {
			t.Fatalf("%d×%d pixels turned by %d are %d×%d", width, height, o, img.Width, img.Height)
		}
		for y := range height {
			for x := range width {
				at := turnedTo(o, x, y, width, height)
				if !bytes.Equal(img.Pix[3*(at.Y*img.Width+at.X):][:3], stored.Pix[3*(y*width+x):][:3]) {
					t.Fatalf("%d×%d pixels turned by %d: that of %d, %d is not at %v", width, height, o, x, y, at)
				}
			}
		}
		if img.Damaged != stored.Damaged {
			t.Errorf("damage is lost by turning: %v", img.Damaged)
		}
	}
}

func TestTurningBackGivesTheStoredImage(t *testing.T) {
	stored := Image{Width: 5, Height: 3, Pix: noise(1, 45)}
	for o, back := range map[int]int{2: 2, 3: 3, 4: 4, 5: 5, 6: 8, 7: 7, 8: 6} {
		var there, again Scratch
		img := again.turn(there.turn(stored, o), back)
		if img.Width != 5 || img.Height != 3 || !bytes.Equal(img.Pix, stored.Pix) {
			t.Errorf("turning by %d and by %d is something else than nothing", o, back)
		}
	}
}

// A JPEG file and its orientation: pipelines see it turned, those of the mobile app as it is stored.
func TestPipelinesTurnAsTheyAreAsked(t *testing.T) {
	m := jpeg.NewRGB(20, 12)
	copy(m.Pix, noise(7, len(m.Pix)))
	file := func(o int) []byte {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, jpeg.EncodeOptions{Quality: 100, ExifOrientation: o}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	var s, plain Scratch
	stored, err := plain.Decode(file(1))
	if err != nil {
		t.Fatal(err)
	}
	for o := range 9 { // 0: the file says nothing
		for _, name := range []string{"coco_mobilenet_300", "mobile_detection_320_uint8"} {
			p := lookup(t, name)
			p.Size = 12
			got := tensor.New(p.Type, p.Shape()...)
			if _, err := p.ApplyFile(got, file(o), &s); err != nil {
				t.Fatal(err)
			}
			seen := stored
			if o > 1 && !p.IgnoreOrientation {
				seen = new(Scratch).turn(stored, o)
			}
			if want := pipelineOf(t, p, seen); !slices.Equal(got.Bytes(), want.Bytes()) {
				t.Errorf("%s of orientation %d gives another tensor", name, o)
			}
		}
	}
}

// An image of a scratch is valid until the next: the memory is used again, whichever way it was turned.
func TestAScratchTurnsOneImageAfterAnother(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 2))
	var used Scratch
	for range 40 {
		m := jpeg.NewRGB(1+rng.IntN(40), 1+rng.IntN(40))
		copy(m.Pix, noise(rng.Uint32(), len(m.Pix)))
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m, jpeg.EncodeOptions{ExifOrientation: rng.IntN(9), Sampling: jpeg.Sampling(rng.IntN(5))}); err != nil {
			t.Fatal(err)
		}
		got, err := used.Decode(b.Bytes())
		want, err2 := new(Scratch).Decode(b.Bytes())
		if err != nil || err2 != nil || got.Width != want.Width || got.Height != want.Height || !bytes.Equal(got.Pix, want.Pix) || !got.whole() {
			t.Fatalf("%d×%d pixels, want %d×%d, %v, %v", got.Width, got.Height, want.Width, want.Height, err, err2)
		}
	}
}

func TestWholeImagesHaveAllTheirBytes(t *testing.T) {
	for _, c := range []struct {
		img  Image
		want bool
	}{
		{Image{}, false}, {Image{Width: 1, Height: 1, Pix: make([]byte, 3)}, true}, {Image{Width: 1, Height: 1, Pix: make([]byte, 4)}, false},
		{Image{Width: 2, Height: 1, Pix: make([]byte, 3)}, false}, {Image{Width: -1, Height: -1, Pix: make([]byte, 3)}, false}, {Image{Width: 0, Height: 5}, false},
	} {
		if got := c.img.whole(); got != c.want {
			t.Errorf("%d×%d pixels of %d bytes are whole: %v", c.img.Width, c.img.Height, len(c.img.Pix), got)
		}
	}
}
