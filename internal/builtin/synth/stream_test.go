package synth

import (
	"image"
	"math"
	"slices"
	"testing"
)

// The first numbers are those of PCG-DXSM seeded from SHA-256. If they change, so does
// every file, and FormatVersion has to be raised.
func TestStreamsDoNotChange(t *testing.T) {
	s := newStream("test", 1, 2)
	got := [2]uint64{s.pcg.Uint64(), s.pcg.Uint64()}
	if want := [2]uint64{0x9c0746c38d4dc647, 0x8bab27ad548b3d8d}; got != want {
		t.Errorf("the first numbers are %#x, want %#x", got, want)
	}
}

func TestStreamsDifferByPurposeAndNumbers(t *testing.T) {
	seeds := []uint64{
		deriveSeed("a"), deriveSeed("b"), deriveSeed("a", 0), deriveSeed("a", 1), deriveSeed("a", 0, 0),
		deriveSeed("a", 1<<63), deriveSeed("a\x00"),
	}
	slices.Sort(seeds)
	if n := len(slices.Compact(seeds)); n != 7 {
		t.Errorf("7 streams begin with %d different numbers", n)
	}
}

func TestNeighbouringSeedsAreIndependent(t *testing.T) {
	const n = 20000
	var product float64
	for seed := range uint64(n) {
		product += newStream("test", seed).normal() * newStream("test", seed+1).normal()
	}
	if r := product / n; math.Abs(r) > 4/math.Sqrt(n) {
		t.Errorf("the correlation of neighbours is %.3f, want about 0", r)
	}
}

func TestUniformFillsTheUnitInterval(t *testing.T) {
	s := newStream("test")
	var tenths [10]int
	for range 10000 {
		tenths[int(10*s.uniform())]++
	}
	for i, n := range tenths {
		if n < 880 || n > 1120 {
			t.Errorf("%d of 10000 numbers are in tenth %d, want about 1000", n, i)
		}
	}
}

func TestNormalHasMeanZeroAndVarianceOne(t *testing.T) {
	s := newStream("test")
	const n = 100000
	var sum, squares, fourth float64
	for range n {
		v := s.normal()
		sum += v
		squares += v * v
		fourth += v * v * v * v
	}
	if mean := sum / n; math.Abs(mean) > 0.02 {
		t.Errorf("mean = %.4f, want 0", mean)
	}
	if variance := squares / n; math.Abs(variance-1) > 0.02 {
		t.Errorf("variance = %.4f, want 1", variance)
	}
	// 3 for a normal distribution, 2.7 for the sum of four uniform numbers, 1.8 for one.
	if k := fourth / n; math.Abs(k-2.7) > 0.1 {
		t.Errorf("kurtosis = %.3f, want 2.7", k)
	}
}

func TestPickFollowsTheWeights(t *testing.T) {
	s := newStream("test")
	var count [4]int
	for range 10000 {
		count[s.pick([]int{1, 0, 7, 2})]++
	}
	for i, want := range []int{1000, 0, 7000, 2000} {
		if d := count[i] - want; d < -200 || d > 200 || want == 0 && count[i] != 0 {
			t.Errorf("index %d was picked %d times of 10000, want about %d", i, count[i], want)
		}
	}
}

func TestShuffleKeepsTheNumbers(t *testing.T) {
	v := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	newStream("test").shuffle(v)
	if slices.IsSorted(v) {
		t.Errorf("shuffle left everything in its place: %v", v)
	}
	slices.Sort(v)
	if !slices.Equal(v, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("shuffle changed the numbers to %v", v)
	}
}

func TestBetweenReachesBothEnds(t *testing.T) {
	s := newStream("test")
	low, high := 9, 0
	for range 1000 {
		v := s.between(3, 6)
		low, high = min(low, v), max(high, v)
	}
	if low != 3 || high != 6 {
		t.Errorf("between(3, 6) gave numbers from %d to %d", low, high)
	}
}

func TestSineIsTheSine(t *testing.T) {
	for turns := -2.5; turns < 2.5; turns += 0.000137 {
		if d := sine(turns) - math.Sin(2*math.Pi*turns); math.Abs(d) > 1e-10 {
			t.Fatalf("sine(%v) is off by %.2g", turns, d)
		}
	}
	for _, c := range []struct{ turns, want float64 }{{0, 0}, {0.25, 1}, {0.75, -1}} {
		if got := sine(c.turns); math.Abs(got-c.want) > 1e-10 {
			t.Errorf("sine(%v) = %v, want %v", c.turns, got, c.want)
		}
	}
}

func TestStoredPixelsTurnedAsExifSaysAreThePicture(t *testing.T) {
	img := NewScene(9).Render(31, 20)
	for _, orientation := range []byte{0, 1, rotate180, rotate90, rotate270} {
		got := turned(storedFor(img, orientation), orientation)
		if d := distance(t, got, img); d != 0 {
			t.Errorf("orientation %d: the picture differs by %.1f levels", orientation, d)
		}
	}
}

// turned does what a reader does: it rotates clockwise, by a quarter turn at a time.
func turned(m *image.RGBA, orientation byte) *image.RGBA {
	for range map[byte]int{rotate90: 1, rotate180: 2, rotate270: 3}[orientation] {
		height := m.Rect.Dy()
		out := image.NewRGBA(image.Rect(0, 0, height, m.Rect.Dx()))
		for y := range height {
			for x := range m.Rect.Dx() {
				out.SetRGBA(height-1-y, x, m.RGBAAt(x, y))
			}
		}
		m = out
	}
	return m
}
