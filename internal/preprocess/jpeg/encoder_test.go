package jpeg

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// dctByDefinition is T.81 §A.3.3, times dctScale.
func dctByDefinition(samples *[64]uint8) (out [64]float64) {
	for v := range 8 {
		for u := range 8 {
			sum := 0.0
			for i, s := range samples {
				x, y := float64(i%8), float64(i/8)
				sum += (float64(s) - 128) * math.Cos((2*x+1)*float64(u)*math.Pi/16) * math.Cos((2*y+1)*float64(v)*math.Pi/16)
			}
			scale := 0.25 * dctScale
			for _, w := range []int{u, v} {
				if w == 0 {
					scale /= math.Sqrt2
				}
			}
			out[8*v+u] = sum * scale
		}
	}
	return out
}

func TestTransformIsTheDCT(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	blocks := map[string]func(i int) uint8{
		"black":           func(int) uint8 { return 0 },
		"white":           func(int) uint8 { return 255 },
		"a single point":  func(i int) uint8 { return uint8(255 * (1 - min(i, 1))) },
		"a ramp":          func(i int) uint8 { return uint8(4 * i) },
		"stripes":         func(i int) uint8 { return uint8(i % 2 * 255) },
		"a chequer":       func(i int) uint8 { return uint8((i/8 + i) % 2 * 255) },
		"random numbers":  func(int) uint8 { return uint8(rng.Uint32()) },
		"others":          func(int) uint8 { return uint8(rng.Uint32()) },
		"random extremes": func(int) uint8 { return uint8(rng.Uint32()%2) * 255 },
	}
	for name, at := range blocks {
		var samples [64]uint8
		for i := range samples {
			samples[i] = at(i)
		}
		var got [64]int32
		dct(&got, samples[:], 8)
		for i, want := range dctByDefinition(&samples) {
			if d := float64(got[i]) - want; math.Abs(d) > 1.5 {
				t.Errorf("%s: coefficient %d is %d, want %.2f", name, i, got[i], want)
			}
		}
	}
}

func TestDivisionIsExact(t *testing.T) {
	for step := 1; step <= 255; step++ {
		var spec [64]uint8
		spec[0] = uint8(step)
		q := newDivider(&spec, 50) // 100 per cent
		divisor := dctScale * step
		for c := range 1 << 15 {
			want := int32((c + divisor/2) / divisor)
			if got := q.divide(0, int32(c)); got != want {
				t.Fatalf("%d / %d = %d, want %d", c, divisor, got, want)
			}
			if got := q.divide(0, int32(-c)); got != -want {
				t.Fatalf("-%d / %d = %d, want %d", c, divisor, got, -want)
			}
			if small := int32(c) < q.limit[0]; small != (want == 0) {
				t.Fatalf("%d below the limit of %d: %v, want %v", c, divisor, small, want == 0)
			}
		}
	}
}

// The numbers are what cjpeg writes.
func TestQualityScalesTheTablesAsLibjpegDoes(t *testing.T) {
	for _, c := range []struct {
		quality    int
		light, red [3]uint8 // the first steps in the order of the file
	}{
		{1, [3]uint8{255, 255, 255}, [3]uint8{255, 255, 255}},
		{10, [3]uint8{80, 55, 60}, [3]uint8{85, 90, 90}},
		{50, [3]uint8{16, 11, 12}, [3]uint8{17, 18, 18}},
		{75, [3]uint8{8, 6, 6}, [3]uint8{9, 9, 9}},
		{90, [3]uint8{3, 2, 2}, [3]uint8{3, 4, 4}},
		{95, [3]uint8{2, 1, 1}, [3]uint8{2, 2, 2}},
		{100, [3]uint8{1, 1, 1}, [3]uint8{1, 1, 1}},
	} {
		light, red := newDivider(&standardQuant[0], c.quality), newDivider(&standardQuant[1], c.quality)
		if got := [3]uint8(light.step[:3]); got != c.light {
			t.Errorf("quality %d: brightness has the steps %v, want %v", c.quality, got, c.light)
		}
		if got := [3]uint8(red.step[:3]); got != c.red {
			t.Errorf("quality %d: colour has the steps %v, want %v", c.quality, got, c.red)
		}
	}
}

func TestHuffmanTablesAreComplete(t *testing.T) {
	for name, spec := range map[string]huffSpec{"dc 0": standardDC[0], "dc 1": standardDC[1], "ac 0": standardAC[0], "ac 1": standardAC[1]} {
		total, space := spec.size(), 0.0
		for length, n := range spec.counts {
			space += float64(n) / float64(int(1)<<length)
		}
		if space >= 1 { // the code of all ones must be free
			t.Errorf("%s: the codes take %v of all space", name, space)
		}
		seen := map[uint8]bool{}
		for _, s := range spec.values[:total] {
			seen[s] = true
		}
		if len(seen) != total {
			t.Errorf("%s: a symbol is there twice", name)
		}
	}
}

func TestZigzagVisitsEveryPlace(t *testing.T) {
	seen := [64]bool{}
	for i, place := range naturalOrder[:64] {
		seen[place] = true
		if i == 0 {
			continue
		}
		dx, dy := int(place%8)-int(naturalOrder[i-1]%8), int(place/8)-int(naturalOrder[i-1]/8)
		if dx < -1 || dx > 1 || dy < -1 || dy > 1 {
			t.Errorf("step %d goes from %d to %d", i, naturalOrder[i-1], place)
		}
	}
	if slices.Contains(seen[:], false) {
		t.Error("a place is left out")
	}
}

func TestHasFF(t *testing.T) {
	for _, c := range []struct {
		word uint32
		want bool
	}{
		{0, false}, {0xff, true}, {0xff00, true}, {0xff0000, true}, {0xff000000, true}, {0xffffffff, true},
		{0xfefefefe, false}, {0x7f7f7f7f, false}, {0x80808080, false}, {0x0ff00ff0, false}, {0x00ff00fe, true},
	} {
		if got := hasFF(c.word); got != c.want {
			t.Errorf("hasFF(%08x) = %v, want %v", c.word, got, c.want)
		}
	}
}
