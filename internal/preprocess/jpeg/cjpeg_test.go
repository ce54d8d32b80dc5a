package jpeg_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/mlperf-go/mlperf/internal/preprocess/jpeg"
)

// drawn is the picture of testdata/make_encoded.py: noise, or with an odd seed slopes with some noise upon them.
func drawn(seed uint32, width, height int) *jpeg.RGB {
	img := jpeg.NewRGB(width, height)
	x := seed
	for i := range img.Pix {
		x = x*1664525 + 1013904223
		img.Pix[i] = byte(x >> 24)
		if seed%2 == 1 {
			column, row, c := i/3%width, i/3/width, i%3
			img.Pix[i] = byte((3+c)*column + (5-c)*row + 40*c + int(img.Pix[i]>>4))
		}
	}
	return img
}

// A file has each byte that libjpeg-turbo's own has: transform, quantisation, colour, the mean of colours and what is beyond
// the picture are the same, so that pictures are as good and as small.
func TestFilesAreThoseOfCjpeg(t *testing.T) {
	data, err := os.ReadFile("testdata/encoded.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Seed                                   uint32
		Width, Height, Quality, Restart, Bytes int
		Sampling, SHA256                       string
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) < 100 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		opts := jpeg.EncodeOptions{Quality: c.Quality, RestartInterval: c.Restart}
		for opts.Sampling.String() != c.Sampling {
			opts.Sampling++
		}
		got := encodeJPEG(t, drawn(c.Seed, c.Width, c.Height), opts)
		if len(got) != c.Bytes || hashOf(got) != c.SHA256 {
			t.Errorf("picture %d of %d×%d pixels, %+v: %d bytes, cjpeg makes %d others", c.Seed, c.Width, c.Height, opts, len(got), c.Bytes)
		}
	}
}

// Blocks that nobody sees are as short as can be: of brightness 6 bits each in the tables of the standard, for a difference
// of 0 and the end of a block.
func TestBlocksBeyondThePictureCostNextToNothing(t *testing.T) {
	img := drawn(2, 8, 8)
	for i := range img.Pix {
		img.Pix[i] = img.Pix[i/3*3] // grey noise: no difference of colour, however it is sampled
	}
	size := func(sampling jpeg.Sampling) int {
		return len(encodeJPEG(t, img, jpeg.EncodeOptions{Quality: 100, Sampling: sampling}))
	}
	for sampling, hidden := range map[jpeg.Sampling]int{jpeg.Sampling422: 1, jpeg.Sampling440: 1, jpeg.Sampling420: 3} {
		if all, most := size(sampling), size(jpeg.Sampling444)+(6*hidden+7)/8; all > most {
			t.Errorf("%v: %d blocks that are not seen make the file %d bytes long, want at most %d", sampling, hidden, all, most)
		}
	}
}
