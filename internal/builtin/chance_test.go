package builtin

import (
	"math"
	"testing"
)

// The mean of a number that is drawn again and again, and its deviation.
func moments(n int, draw func() float64) (mean, deviation float64) {
	sum, squares := 0.0, 0.0
	for range n {
		v := draw()
		sum, squares = sum+v, squares+v*v
	}
	mean = sum / float64(n)
	return mean, math.Sqrt(squares/float64(n) - mean*mean)
}

func TestChancesAreWhatTheySay(t *testing.T) {
	const n = 20000
	c := newChance("test", 1)
	if mean, deviation := moments(n, c.uniform); math.Abs(mean-0.5) > 0.01 || math.Abs(deviation-1/math.Sqrt(12)) > 0.01 {
		t.Errorf("uniform numbers have the mean %v and the deviation %v", mean, deviation)
	}
	if mean, deviation := moments(n, c.bell); math.Abs(mean) > 0.03 || math.Abs(deviation-1) > 0.03 {
		t.Errorf("bell-shaped numbers have the mean %v and the deviation %v", mean, deviation)
	}
	for _, p := range []float64{0, 0.15, 0.5, 1} {
		yes := 0
		for range n {
			if c.happens(p) {
				yes++
			}
		}
		if share := float64(yes) / n; math.Abs(share-p) > 0.012 || p == 0 && yes > 0 || p == 1 && yes < n {
			t.Errorf("with a probability of %v it happens %d times of %d", p, yes, n)
		}
	}
	counts := make([]int, 7)
	for range n {
		counts[c.below(7)]++
	}
	for i, count := range counts {
		if math.Abs(float64(count)-n/7.0) > 300 {
			t.Errorf("%d comes %d times of %d", i, count, n)
		}
	}
	if c.below(1) != 0 {
		t.Error("of one number another one was drawn")
	}
}

func TestNumbersAreInTheirRange(t *testing.T) {
	c := newChance("test", 2)
	for range 20000 {
		if u := c.uniform(); u < 0 || u >= 1 {
			t.Fatalf("a uniform number is %v", u)
		}
		if b := c.bell(); b < -6 || b > 6 {
			t.Fatalf("a bell-shaped number is %v", b)
		}
	}
}

// Data sets are kept by their seeds: what is drawn may not change.
func TestWhatIsDrawnFollowsFromItsPurpose(t *testing.T) {
	same, again := newChance("clicks", 1), newChance("clicks", 1)
	for range 10 {
		if a, b := same.uniform(), again.uniform(); a != b {
			t.Fatalf("the same purpose draws %v and %v", a, b)
		}
	}
	first := func(purpose string, numbers ...uint64) float64 { return newChance(purpose, numbers...).uniform() }
	seen := map[float64]string{}
	for name, v := range map[string]float64{
		"clicks 1": first("clicks", 1), "clicks 2": first("clicks", 2), "clicks 1 1": first("clicks", 1, 1), "clicks": first("clicks"), "other 1": first("other", 1),
	} {
		if other, ok := seen[v]; ok {
			t.Errorf("%s and %s draw the same", name, other)
		}
		seen[v] = name
	}
	if got := newChance("clicks", 1).below(1000000); got != 121455 {
		t.Errorf("the first number is %d: data sets that were kept are of another", got)
	}
}
