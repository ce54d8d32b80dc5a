package figures

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// drawn is a histogram of times of all sizes.
func drawn(random *rand.Rand, n int) *backend.Times {
	h := backend.NewTimes()
	for range n {
		h.Add(time.Duration(math.Exp(random.Float64() * 30)))
	}
	return h
}

// Each value is in one bin of the axis: the shares are all of it, and what is answered within grows to it.
func TestSharesOfADistributionAreAllOfIt(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 50 {
		h := drawn(random, 1+random.IntN(500))
		bound := []float64{0, 1, 1e6, 1e15}[random.IntN(4)]
		f := shares(h, bound, 0.99)
		share, within := f.Series[0].Values, f.Series[1].Values
		sum := 0.0
		for i := range share {
			sum += share[i]
			if math.Abs(within[i]-sum) > 1e-9 || share[i] > f.Y.To {
				t.Fatalf("bin %d: %v %% of up to %v, and within it %v, want %v", i, share[i], f.Y.To, within[i], sum)
			}
			if f.At[i] <= f.X.From || f.At[i] >= f.X.To || i > 0 && f.At[i] <= f.At[i-1] {
				t.Fatalf("bin %d is at %v, behind %v, of an axis from %v to %v", i, f.At[i], f.At[max(0, i-1)], f.X.From, f.X.To)
			}
		}
		if math.Abs(sum-100) > 1e-9 {
			t.Fatalf("all shares are %v %%", sum)
		}
		if least, most := float64(h.Spread().Min), float64(h.Spread().Max); f.X.From >= least || f.X.To <= most || bound > 0 && (f.X.From >= bound || f.X.To <= bound) {
			t.Fatalf("the axis from %v to %v has not all of %v to %v and the bound %v", f.X.From, f.X.To, least, most, bound)
		}
	}
}

// A bin is as wide as its neighbours on the axis, and what falls into it is where the axis says.
func TestABarStandsWhereItsValuesAre(t *testing.T) {
	for _, at := range []int64{1, 50, 12345, 7e6, 3e9, 2e12} {
		h := backend.NewTimes()
		h.Add(1)
		h.Add(time.Duration(at))
		h.Add(time.Duration(at))
		h.Add(4e12)
		f := shares(h, 0, 0)
		best := 0
		for i, v := range f.Series[0].Values {
			if v > f.Series[0].Values[best] {
				best = i
			}
		}
		if ratio := f.At[best] / float64(at); ratio < 0.8 || ratio > 1.25 {
			t.Errorf("most values are %d, and the highest bar is at %v", at, f.At[best])
		}
	}
}

func TestInstantsAreTheMiddlesOfTheirBuckets(t *testing.T) {
	r, c := server()
	x := run{r: r, t: c.Timeline, s: *r.Test}
	for i, want := range []float64{0.5, 1.5, 2.5, 3.5} {
		if got := x.instants()[i]; got != want {
			t.Errorf("bucket %d of a second is at %v s, want %v", i, got, want)
		}
	}
	c.Timeline.BucketNS = 25e7
	if got := x.instants()[3]; got != 0.875 {
		t.Errorf("the fourth bucket of a quarter is at %v s, want 0.875", got)
	}
}
