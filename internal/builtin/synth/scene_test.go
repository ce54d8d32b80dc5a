package synth

import (
	"image"
	"math"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// These pixels were looked at and found good. They have to be the same on all platforms.
func TestRenderedPixelsDoNotChange(t *testing.T) {
	for _, c := range []struct {
		name          string
		scene         Scene
		width, height int
		want          string
	}{
		{"a scene", NewScene(1), 500, 375, "336b27e0cd0b4341d27109d8878f3862"},
		{"another, upright", NewScene(2), 333, 500, "b475415b746595e6c75fa1cd8082e462"},
		{"a disturbed scene", NewScene(1).Jitter(7, 0.15), 500, 375, "b30ffd82ed6a442068c50e59662a2417"},
		{"a scene without noise", quiet(NewScene(3)), 640, 480, "e7d869e1d2e91196cf9e69f39c862a5c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var colours []byte // without alpha
			for pixel := range slices.Chunk(c.scene.Render(c.width, c.height).Pix, 4) {
				colours = append(colours, pixel[:3]...)
			}
			if got := hashOf(colours); got != c.want {
				t.Errorf("hash %s, want %s: if that is meant, raise FormatVersion", got, c.want)
			}
		})
	}
}

// quiet returns a scene without noise.
func quiet(s Scene) Scene {
	s.Noise = 0
	return s
}

func TestScenesDiffer(t *testing.T) {
	for seed := range uint64(20) {
		a, b := NewScene(seed).Render(100, 75), NewScene(seed+1).Render(100, 75)
		if d := distance(t, a, b); d < 30 {
			t.Errorf("scenes %d and %d are only %.1f grey levels apart", seed, seed+1, d)
		}
	}
}

func TestNoJitterIsTheSameScene(t *testing.T) {
	s := NewScene(1)
	for _, amount := range []float64{0, -1, math.NaN()} {
		if s.Jitter(5, amount) != s {
			t.Errorf("Jitter(5, %v) changed the scene", amount)
		}
	}
}

func TestMoreJitterMovesPixelsFarther(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	last := 0.0
	for _, amount := range []float64{0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5} {
		d := meanDistance(t, func(seed uint64) Scene { return NewScene(seed).Jitter(seed+100, amount) })
		if amount > 0 && d <= last {
			t.Errorf("jitter %v moves pixels by %.2f levels, less jitter by %.2f", amount, d, last)
		}
		last = d
	}
}

// meanDistance compares 40 scenes with others made of the same seeds.
func meanDistance(t *testing.T, other func(seed uint64) Scene) float64 {
	sum := 0.0
	for seed := range uint64(40) {
		sum += distance(t, NewScene(seed).Render(80, 60), other(seed).Render(80, 60))
	}
	return sum / 40
}

func TestJitterOfTwentyPerCentLeavesTheSceneRecognisable(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	unrelated := meanDistance(t, func(seed uint64) Scene { return NewScene(seed + 1000) })
	for _, c := range []struct{ amount, low, high float64 }{
		{0.1, 0.2, 0.7},
		{0.2, 0.4, 0.85},
		{1, 0.9, 1.1},
		{math.Inf(1), 0.95, 1.1},
	} {
		d := meanDistance(t, func(seed uint64) Scene { return NewScene(seed).Jitter(seed, c.amount) })
		if share := d / unrelated; share < c.low || share > c.high {
			t.Errorf("jitter %v leads %.2f of the way to another scene, want %v to %v", c.amount, share, c.low, c.high)
		}
	}
}

func TestParametersStayInTheirRange(t *testing.T) {
	for seed := range uint64(200) {
		s := NewScene(seed).Jitter(seed, float64(seed)/10)
		s.each(func(p *float64) {
			if !(*p >= 0 && *p <= 1) {
				t.Fatalf("a parameter of scene %d is %v", seed, *p)
			}
		})
	}
}

func TestReflected(t *testing.T) {
	for _, c := range []struct{ v, want float64 }{
		{0.3, 0.3}, {-0.3, 0.3}, {1.25, 0.75}, {2.25, 0.25}, {-1.75, 0.25}, {0, 0}, {1, 1},
	} {
		if got := reflected(c.v); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("reflected(%v) = %v, want %v", c.v, got, c.want)
		}
	}
}

func TestEverySizeShowsTheSame(t *testing.T) {
	testenv.SkipLong(t, "much arithmetic")
	for _, size := range []image.Point{{800, 600}, {400, 800}, {600, 200}} {
		for seed := range uint64(6) {
			s := quiet(NewScene(seed))
			small := s.Render(200, 200)
			large := shrink(s.Render(size.X, size.Y), 200, 200)
			if d := distance(t, small, large); d > 4.5 {
				t.Errorf("scene %d at %v and at 200×200 differ by %.1f levels", seed, size, d)
			}
		}
	}
}

// shrink averages blocks of pixels.
func shrink(m *image.RGBA, width, height int) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	across, down := m.Rect.Dx()/width, m.Rect.Dy()/height
	for i := range out.Pix {
		x, y, sum := i/4%width, i/4/width, 0
		for dy := range down {
			for dx := range across {
				sum += int(m.Pix[(y*down+dy)*m.Stride+4*(x*across+dx)+i%4])
			}
		}
		out.Pix[i] = uint8(sum / (across * down))
	}
	return out
}

func TestNoiseIsAsStrongAsAsked(t *testing.T) {
	s := NewScene(4)
	for _, want := range []float64{1, 3, 10} {
		s.Noise = want
		img := s.Render(200, 150)
		if got := distance(t, img, quiet(s).Render(200, 150)); math.Abs(got-want) > 0.15*want {
			t.Errorf("noise of %v makes pixels differ by %.2f", want, got)
		}
	}
}

func TestNoiseThatIsNotAboveZeroIsNone(t *testing.T) {
	s := NewScene(4)
	for _, noise := range []float64{0, -3, math.NaN()} {
		s.Noise = noise
		if d := distance(t, s.Render(40, 30), quiet(s).Render(40, 30)); d != 0 {
			t.Errorf("noise of %v makes pixels differ by %.2f", noise, d)
		}
	}
}

func TestNoiseAloneDoesNotShiftThePicture(t *testing.T) {
	s := NewScene(4)
	s.Noise = 5
	noisy, clean := s.Render(300, 300), quiet(s).Render(300, 300)
	sum := 0
	for i := range noisy.Pix {
		sum += int(noisy.Pix[i]) - int(clean.Pix[i])
	}
	if mean := float64(sum) / float64(3*len(noisy.Pix)/4); math.Abs(mean) > 0.3 {
		t.Errorf("the noise has the mean %.2f, want 0", mean)
	}
}

func TestDegenerateFramesAreEmpty(t *testing.T) {
	for _, size := range []image.Point{{0, 0}, {0, 5}, {5, 0}, {-3, 4}, {4, -3}} {
		if img := NewScene(1).Render(size.X, size.Y); len(img.Pix) != 0 {
			t.Errorf("Render(%d, %d) made %d bytes", size.X, size.Y, len(img.Pix))
		}
		if objects := NewScene(1).Objects(size.X, size.Y); len(objects) != 0 {
			t.Errorf("Objects(%d, %d) = %v", size.X, size.Y, objects)
		}
	}
	if img := NewScene(1).Render(1, 1); len(img.Pix) != 4 {
		t.Errorf("Render(1, 1) made %d bytes", len(img.Pix))
	}
}

func TestFramesAreMixedAsInTheOfficialSets(t *testing.T) {
	const n = 20000
	type share struct {
		name      string
		low, high float64 // per cent
		of        func(f frame) bool
	}
	longer := func(f frame) int { return max(f.width, f.height) }
	common := []share{
		{"gray", 1.6, 2.4, func(f frame) bool { return f.gray }},
		{"quality from 70 to 98", 100, 100, func(f frame) bool { return f.quality >= 70 && f.quality <= 98 }},
		{"quality 90 and better", 40, 60, func(f frame) bool { return f.quality >= 90 }},
		{"upright", 18, 30, func(f frame) bool { return f.height > f.width }},
		{"square", 1, 6, func(f frame) bool { return f.height == f.width }},
		{"no side twice the other", 100, 100, func(f frame) bool { return longer(f) < 2*min(f.width, f.height) }},
	}
	for _, c := range []struct {
		name   string
		mix    mix
		shares []share
	}{
		{"ImageNet", imageNetMix(), []share{
			{"500×375 or upright", 54, 58, func(f frame) bool { return f.width+f.height == 875 && longer(f) == 500 }},
			{"300 to 640", 96, 98, func(f frame) bool { return longer(f) >= 300 && longer(f) <= 640 }},
			{"smaller than 224", 1, 2, func(f frame) bool { return longer(f) < 224 }},
			{"larger than 1000", 1, 2, func(f frame) bool { return longer(f) > 1000 }},
		}},
		{"COCO", cocoMix(), []share{
			{"640", 75, 90, func(f frame) bool { return longer(f) == 640 }},
			{"larger than 640", 0, 0, func(f frame) bool { return longer(f) > 640 }},
		}},
		{"OpenImages", openImagesMix(), []share{
			{"1024", 90, 95, func(f frame) bool { return longer(f) == 1024 }},
			{"larger than 1024", 0, 0, func(f frame) bool { return longer(f) > 1024 }},
		}},
	} {
		frames := make([]frame, n)
		for i := range frames {
			frames[i] = c.mix.draw(newStream("test", uint64(i)))
		}
		for _, s := range append(common, c.shares...) {
			count := 0
			for _, f := range frames {
				if s.of(f) {
					count++
				}
			}
			if got := 100 * float64(count) / n; got < s.low || got > s.high {
				t.Errorf("%s: %.2f %% are %s, want %v to %v", c.name, got, s.name, s.low, s.high)
			}
		}
	}
}
