package preprocess

import (
	"math"
	"math/rand/v2"
	"testing"
)

// extreme draws sizes as they are met, and those that nobody takes pictures of.
func extreme(rng *rand.Rand) Size {
	side := func() int { return []int{1, 2, 1 + rng.IntN(50), 1 + rng.IntN(800), 1 + rng.IntN(65500)}[rng.IntN(5)] }
	return Size{side(), side()}
}

func TestCropsAreInTheMiddle(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 1))
	for _, f := range []Fit{CropCV2, CropTorch, CropTorchFull, CropTFLite} {
		for range 500 {
			from, size := extreme(rng), 1+rng.IntN(400)
			x, y := f.spans(from, size)
			for _, s := range []span{x, y} {
				left, right := s.first, s.dst-s.first-s.size
				if s.size != size || left < 0 || right < 0 || max(left-right, right-left) > 1 {
					t.Fatalf("fit %d of %v to %d: %+v has %d pixels before and %d behind", f, from, size, s, left, right)
				}
			}
		}
	}
}

func TestProportionsAreKept(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 2))
	for _, f := range []Fit{CropCV2, CropTorch, CropTorchFull} {
		for range 500 {
			from, size := extreme(rng), 8+rng.IntN(400)
			to := f.resized(from, size)
			shorter := int(float64(size) / 0.875)
			if f == CropTorchFull {
				shorter = size
			}
			if got := min(to.Width, to.Height); got != shorter {
				t.Fatalf("fit %d of %v to %d: the shorter side of %v, want %d", f, from, size, to, shorter)
			}
			want := float64(shorter) * float64(max(from.Width, from.Height)) / float64(min(from.Width, from.Height))
			if got := float64(max(to.Width, to.Height)); math.Abs(got-want) > 1 {
				t.Fatalf("fit %d of %v to %d: the longer side of %v, want %.2f", f, from, size, to, want)
			}
			if (to.Width > to.Height) != (from.Width > from.Height) && to.Width != to.Height {
				t.Fatalf("fit %d of %v to %d is %v: the longer side is another", f, from, size, to)
			}
		}
	}
}

// With DeepLab the longer side is all of the square, and the other at least a pixel.
func TestPaddedImagesFillOneSide(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 3))
	for range 1000 {
		from, size := extreme(rng), 1+rng.IntN(600)
		x, y := PadDeepLab.spans(from, size)
		if longer, shorter := max(x.size, y.size), min(x.size, y.size); longer != size || shorter < 1 || x.first != 0 || y.first != 0 {
			t.Fatalf("%v to %d: %+v and %+v", from, size, x, y)
		}
		for _, s := range []span{x, y} {
			if want := float64(s.src) * float64(size) / float64(max(from.Width, from.Height)); math.Abs(float64(s.dst)-want) > 1.001 {
				t.Fatalf("%v to %d: %d pixels become %d, want about %.2f", from, size, s.src, s.dst, want)
			}
		}
	}
}

func TestStretchingKeepsAllOfTheImage(t *testing.T) {
	x, y := Stretch.spans(Size{300, 7}, 50)
	if want := (span{src: 300, dst: 50, size: 50}); x != want {
		t.Errorf("%+v, want %+v", x, want)
	}
	if want := (span{src: 7, dst: 50, size: 50}); y != want {
		t.Errorf("%+v, want %+v", y, want)
	}
}

// The numbers are those of dataset.py, of torchvision and of the TFLite stage by hand: halves and odd margins.
func TestMarginsAreRoundedAsEachLibraryRounds(t *testing.T) {
	for _, c := range []struct {
		name string
		fit  Fit
		lost int
		want int
	}{
		{"dataset.py cuts off: int(33 / 2)", CropCV2, 33, 16},
		{"an even margin", CropCV2, 32, 16},
		{"torchvision: round(33 / 2.) is that to even", CropTorch, 33, 16},
		{"and up to even", CropTorch, 35, 18},
		{"of one pixel nothing", CropTorchFull, 1, 0},
		{"of three pixels two", CropTorchFull, 3, 2},
		{"TFLite: up", CropTFLite, 33, 17},
		{"of none none", CropTFLite, 0, 0},
	} {
		if got := c.fit.margin(c.lost); got != c.want {
			t.Errorf("%s: margin(%d) = %d, want %d", c.name, c.lost, got, c.want)
		}
	}
	for size, want := range map[int]int{224: 256, 299: 341, 300: 342, 1: 1, 7: 8, 16: 18} {
		if got := short(size); got != want {
			t.Errorf("the shorter side for %d is %d, want %d", size, got, want)
		}
	}
}

// Pillow, OpenCV and others reach beyond the part that is wanted, but not beyond the image.
func TestTheSourceOfASpanIsWithinTheImage(t *testing.T) {
	rng := rand.New(rand.NewPCG(34, 4))
	for range 2000 {
		s := span{src: 1 + rng.IntN(5000), dst: 1 + rng.IntN(5000)}
		s.first = rng.IntN(s.dst)
		s.size = 1 + rng.IntN(s.dst-s.first)
		from, to := s.source()
		scale := float64(s.src) / float64(s.dst)
		first, last := int(float64(s.first)*scale), int(math.Ceil(float64(s.first+s.size)*scale))
		if from < 0 || to > s.src || from > min(first, s.src-1) || to < min(last, s.src) {
			t.Fatalf("%+v: %d to %d, which are at least %d to %d", s, from, to, first, last)
		}
		if slack := 2*(2*max(scale, 1)+2) + 2; float64(to-from) > float64(last-first)+slack {
			t.Fatalf("%+v: %d to %d is much more than %d to %d", s, from, to, first, last)
		}
	}
}
