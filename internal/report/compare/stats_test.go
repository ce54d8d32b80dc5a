package compare

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// near reports whether two numbers agree to a few digits.
func near(a, b, relative float64) bool { return math.Abs(a-b) <= relative*max(1, math.Abs(b)) }

// TestPaired: {0.1, 0.2, 0.3} has mean 0.2, deviation 0.1, and 4.303·0.1/√3 = 0.2484.
func TestPaired(t *testing.T) {
	mean, i, deviation := paired([]float64{1, 5, 9}, []float64{1.1, 5.2, 9.3})
	if !near(mean, 0.2, 1e-12) || !near(deviation, 0.1, 1e-12) || !near(i.Lower, 0.2-0.2484, 1e-3) || !near(i.Upper, 0.2+0.2484, 1e-3) {
		t.Errorf("mean %g, %+v, deviation %g", mean, i, deviation)
	}
	// What never varies is known to 2e-5 and no better.
	_, i, deviation = paired([]float64{1, 2, 3}, []float64{1, 2, 3})
	if deviation != 0 || !near(i.Upper, 4.303*2e-5, 1e-6) || i.Lower != -i.Upper {
		t.Errorf("equal pairs: %+v, deviation %g", i, deviation)
	}
}

// TestWelch: degrees of freedom are those of Satterthwaite, here computed a second time.
func TestWelch(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for range 50 {
		a, b := make([]float64, 2+random.IntN(8)), make([]float64, 2+random.IntN(8))
		for i := range a {
			a[i] = random.NormFloat64()
		}
		for i := range b {
			b[i] = 1 + 3*random.NormFloat64()
		}
		ma, sa := meanAndSquare(a)
		mb, sb := meanAndSquare(b)
		na, nb := float64(len(a)), float64(len(b))
		degrees := math.Pow(sa/na+sb/nb, 2) / (math.Pow(sa/na, 2)/(na-1) + math.Pow(sb/nb, 2)/(nb-1))
		half := quantileT(max(degrees, 1)) * math.Sqrt(sa/na+sb/nb)
		mean, i, deviation := welch(a, b)
		if !near(mean, mb-ma, 1e-12) || !near(i.Lower, mb-ma-half, 1e-9) || !near(i.Upper, mb-ma+half, 1e-9) || !near(deviation, math.Sqrt(sa+sb), 1e-12) {
			t.Fatalf("welch(%v, %v) = %g, %+v, %g", a, b, mean, i, deviation)
		}
	}
	if _, i, _ := welch([]float64{1, 1, 1}, []float64{2, 2, 2, 2}); !near(i.Upper-1, 4.303*2e-5, 1e-6) {
		t.Errorf("what never varies: %+v, want the least of two degrees of freedom", i)
	}
}

func meanAndSquare(values []float64) (mean, variance float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		variance += (v - mean) * (v - mean) / float64(len(values)-1)
	}
	return mean, variance
}

// TestMover: of equal sizes the result is √2 as wide, and a side without any
// adds nothing.
func TestMover(t *testing.T) {
	for _, c := range []struct {
		name          string
		base, new     float64
		ofBase, ofNew Interval
		want          Interval
	}{
		{"both alike", 1, 3, Interval{0.5, 1.5}, Interval{2.5, 3.5}, Interval{2 - math.Sqrt(0.5), 2 + math.Sqrt(0.5)}},
		{"a base that is known", 1, 3, Interval{1, 1}, Interval{2.9, 3.4}, Interval{1.9, 2.4}},
		{"a new side that is known", 1, 3, Interval{0.9, 1.4}, Interval{3, 3}, Interval{1.6, 2.1}},
		{"three and four", 1, 3, Interval{1 - 4, 1 + 3}, Interval{3 - 4, 3 + 3}, Interval{2 - 5, 2 + 5}},
	} {
		d, i := mover(c.base, c.new, c.ofBase, c.ofNew)
		if d != 2 || !near(i.Lower, c.want.Lower, 1e-12) || !near(i.Upper, c.want.Upper, 1e-12) {
			t.Errorf("%s: %g, %+v, want 2, %+v", c.name, d, i, c.want)
		}
	}
}

// TestNeeded: the number is the smallest whose interval leaves out nothing.
func TestNeeded(t *testing.T) {
	half := func(n int, deviation float64) float64 {
		return quantileT(float64(n-1)) * deviation / math.Sqrt(float64(n))
	}
	for _, difference := range []float64{0.3, -0.03, 0.007} {
		n := needed(difference, 0.02)
		if n < 2 || half(n, 0.02) >= math.Abs(difference) || n > 2 && half(n-1, 0.02) < math.Abs(difference) {
			t.Errorf("needed(%g, 0.02) = %d", difference, n)
		}
	}
	if n := needed(0.01, math.NaN()); n != 0 {
		t.Errorf("without a deviation: %d, want 0", n)
	}
	if n := needed(-0.5, 0); n != 2 {
		t.Errorf("what never varies: %d, want 2", n)
	}
}

func TestCorrelation(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	white, slow := make([]float64, 4000), make([]float64, 4000)
	for i := range white {
		white[i] = random.NormFloat64()
		slow[i] = random.NormFloat64()
		if i > 0 {
			slow[i] += 0.8 * slow[i-1]
		}
	}
	if c := correlation(white); c < 1 || c > 1.3 {
		t.Errorf("of white noise %g, want about 1", c)
	}
	if c := correlation(slow); c < 6 || c > 12 { // (1+0.8)/(1-0.8) = 9
		t.Errorf("of one that remembers 0.8 of the last %g, want about 9", c)
	}
	alternating := []float64{1, -1, 1, -1, 1, -1, 1, -1}
	for name, values := range map[string][]float64{"constant": {5, 5, 5, 5, 5, 5, 5, 5}, "alternating": alternating, "one": {1}, "none": nil} {
		if c := correlation(values); c != 1 {
			t.Errorf("%s: %g, want 1", name, c)
		}
	}
}

// McNemar's test by its definition: all splits that are as uneven, added up one by one.
func TestMidP(t *testing.T) {
	for n := range 40 {
		d := distuv.Binomial{N: float64(n), P: 0.5}
		for lost := 0; lost <= n; lost++ {
			sum := 0.0
			for k := range n + 1 {
				switch far := math.Abs(float64(k)-float64(n)/2) - math.Abs(float64(lost)-float64(n)/2); {
				case far > 1e-9:
					sum += d.Prob(float64(k))
				case far > -1e-9:
					sum += d.Prob(float64(k)) / 2
				}
			}
			want := min(1, sum)
			if 2*lost == n {
				want = 1 // the most even split of all
			}
			if got := midP(lost, n-lost); math.Abs(got-want) > 1e-9 {
				t.Errorf("midP(%d, %d) = %v, want %v", lost, n-lost, got, want)
			}
			if midP(lost, n-lost) != midP(n-lost, lost) {
				t.Errorf("midP(%d, %d) is another the other way round", lost, n-lost)
			}
		}
	}
}
