package diffusion

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/mlperf-go/mlperf/internal/preprocess"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// slowPixel is a number from −1 to 1 as a pixel: the nearest of 256, the even one of two that are as near.
func slowPixel(v float64) byte {
	best, distance := 0, math.Inf(1)
	for p := range 256 {
		d := math.Abs(float64(p) - min(max(v/2+0.5, 0), 1)*255)
		if d < distance || d == distance && p%2 == 0 {
			best, distance = p, d
		}
	}
	return byte(best)
}

// Planes become pixels of three bytes, in rows.
func TestPixelsAreTheNearestOnesInTheirPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	const width, height = 7, 5
	planes := make([]float32, imageChannels*width*height)
	for i := range planes {
		planes[i] = float32(r.IntN(511)-255) / 255 // halves of pixels are among them
		if r.IntN(5) == 0 {
			planes[i] = float32(r.NormFloat64() * 2)
		}
	}
	got := make([]byte, len(planes))
	if err := toBytes(got, planes); err != nil {
		t.Fatal(err)
	}
	for y := range height {
		for x := range width {
			for c := range imageChannels {
				v := planes[c*width*height+y*width+x]
				if p, want := got[(y*width+x)*imageChannels+c], slowPixel(float64(v)); p != want && math.Abs(float64(p)-float64(want)) > 1 || math.Abs(float64(v)) > 1 && p != want {
					t.Errorf("pixel %d,%d of plane %d is %d, want %d of %v", x, y, c, p, want, v)
				}
			}
		}
	}
}

func TestPixelsBeyondTheRangeAreItsEnds(t *testing.T) {
	for v, want := range map[float32]byte{-1: 0, 1: 255, 0: 128, -1.5: 0, 100: 255, float32(math.Inf(1)): 255, float32(math.Inf(-1)): 0, math.MaxFloat32: 255} {
		got := make([]byte, 3)
		if err := toBytes(got, []float32{v, v, v}); err != nil || !bytes.Equal(got, []byte{want, want, want}) {
			t.Errorf("%v is %v, %v, want %d", v, got, err, want)
		}
	}
	for at := range 6 {
		planes := make([]float32, 6)
		planes[at] = float32(math.NaN())
		want := "the image is not a number at pixel " + strconv.Itoa(at%2) + " of plane " + strconv.Itoa(at/2)
		if err := toBytes(make([]byte, 6), planes); err == nil || err.Error() != want {
			t.Errorf("number %d: %v, want %s", at, err, want)
		}
	}
}

// eyeOf is an eye of a kind whose images have a side, without a network.
func eyeOf(kind ImageEncoderKind, side int) *ImageEncoder {
	return &ImageEncoder{kind: kind, side: side, in: &planesOnly{tensor.New(tensor.Float32, 1, imageChannels, int64(side), int64(side))}}
}

type planesOnly struct{ t tensor.Tensor }

func (p *planesOnly) Tensor() tensor.Tensor { return p.t }
func (*planesOnly) Close() error            { return nil }

// An image of one colour has that colour in every size, from one pixel on.
func TestAnImageOfOneColourKeepsIt(t *testing.T) {
	for _, kind := range []ImageEncoderKind{CLIPImages, Inception} {
		for _, from := range []preprocess.Size{{Width: 1, Height: 1}, {Width: 3, Height: 3}, {Width: 40, Height: 40}, {Width: 17, Height: 9}} {
			e := eyeOf(kind, 8)
			image := slices.Repeat([]byte{200, 100, 0}, from.Width*from.Height)
			e.prepare(image, from)
			planes := tensor.Data[float32](e.in.Tensor())
			for c := range imageChannels {
				plane := planes[c*64:][:64]
				if low, high := slices.Min(plane), slices.Max(plane); high-low > 1e-5 {
					t.Errorf("kind %d, %v: colour %d goes from %v to %v", kind, from, c, low, high)
				}
			}
			if !(planes[0] > planes[64] && planes[64] > planes[128]) {
				t.Errorf("kind %d, %v: the colours are %v, %v, %v", kind, from, planes[0], planes[64], planes[128])
			}
		}
	}
}

// Memory of one image serves the next, larger or smaller.
func TestAnEyeSeesImagesOfAllSizesOneAfterTheOther(t *testing.T) {
	for _, kind := range []ImageEncoderKind{CLIPImages, Inception} {
		e := eyeOf(kind, 5)
		see := func(side int, from *ImageEncoder) []float32 {
			image := make([]byte, imageChannels*side*side)
			for i := range image {
				image[i] = byte(i * 7)
			}
			from.prepare(image, preprocess.Size{Width: side, Height: side})
			return slices.Clone(tensor.Data[float32](from.in.Tensor()))
		}
		for _, side := range []int{9, 3, 20, 5, 1, 20} {
			if got, fresh := see(side, e), see(side, eyeOf(kind, 5)); !slices.Equal(got, fresh) {
				t.Errorf("kind %d: an image of %d×%d is seen otherwise after others", kind, side, side)
			}
		}
	}
}
