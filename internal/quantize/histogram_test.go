package quantize

import (
	"math"
	"math/rand/v2"
	"testing"
)

// histogramOf counts values between their extremes.
func histogramOf(values ...float32) *histogram {
	h := &histogram{low: values[0], high: values[0]}
	for _, v := range values {
		h.low, h.high = min(h.low, v), max(h.high, v)
	}
	h.add(values)
	return h
}

func TestHistogramCountsEveryValueOnce(t *testing.T) {
	h := histogramOf(-1, 0, 0, 0.5, 1, 3)
	h.add([]float32{2.9, -0.5, 0})
	var counted int64
	for _, c := range h.counts {
		counted += c
	}
	if counted != 6 || h.zeros != 3 || h.total != 9 || h.strange != 0 {
		t.Errorf("%d counted, %d zeros, %d in all, %d strange, want 6, 3, 9, 0", counted, h.zeros, h.total, h.strange)
	}
	if h.counts[0] != 1 || h.counts[bins-1] != 1 {
		t.Errorf("the ends hold %d and %d, want 1 and 1", h.counts[0], h.counts[bins-1])
	}
}

func TestHistogramNoticesValuesItWasNotMadeFor(t *testing.T) {
	h := &histogram{low: 0, high: 1}
	h.add([]float32{0.5, 1.5, -0.1, float32(math.NaN()), float32(math.Inf(1))})
	if h.strange != 4 {
		t.Errorf("%d values are strange, want 4", h.strange)
	}
}

func TestPercentileCutsTheOutermostValues(t *testing.T) {
	values := make([]float32, 10001)
	for i := range values {
		values[i] = float32(i) / 10000 // 0 to 1, evenly
	}
	values = append(values, 100) // an outlier
	both := make([]float32, 0, 2*len(values))
	for _, v := range values {
		both = append(both, v, -v)
	}
	for _, c := range []struct {
		name   string
		of     *histogram
		p      float64
		want   Range
		within float64
	}{
		{"all", histogramOf(values...), 100, Range{0, 100}, 0},
		{"without the outlier", histogramOf(values...), 99.98, Range{0, 1}, 100.0 / bins},
		{"half of both sides", histogramOf(both...), 75, Range{-0.5, 0.5}, 200.0 / bins},
		{"below zero there is nothing to cut", histogramOf(-3, -2, -1), 90, Range{-3, -1}, 0.31},
		{"one value", histogramOf(5), 99, Range{5, 5}, 0},
	} {
		got := c.of.cut(c.p)
		if math.Abs(float64(got.Min-c.want.Min)) > c.within || math.Abs(float64(got.Max-c.want.Max)) > c.within {
			t.Errorf("%s: cut(%v) = %v, want %v", c.name, c.p, got, c.want)
		}
	}
}

// By hand: of ten values, four bins of 4, 2, 0 and 2 are inside and two beyond. Two
// levels spread 6 over two bins and 2 over one: q = 3/8, 3/8, 0, 2/8. With what is
// beyond in the last bin p = .4, .2, 0, .4.
func TestDivergenceOfAHandComputedCase(t *testing.T) {
	want := 0.4*math.Log(0.4/0.375) + 0.2*math.Log(0.2/0.375) + 0.4*math.Log(0.4/0.25)
	if got := divergence([]float64{4, 2, 0, 2, 1, 1}, 4, 2); math.Abs(got-want) > 1e-15 {
		t.Errorf("divergence() = %v, want %v", got, want)
	}
	if math.Abs(want-0.0880952) > 1e-7 {
		t.Errorf("the case is %v, by calculator 0.0880952", want)
	}
}

func TestDivergence(t *testing.T) {
	for _, c := range []struct {
		name   string
		counts []float64
		t      int
		levels int
		want   float64
	}{
		{"a level for each bin loses nothing", []float64{5, 1, 3, 7}, 4, 4, 0},
		{"equal bins in a level lose nothing", []float64{5, 5, 2, 2}, 4, 2, 0},
		{"empty bins stay empty", []float64{5, 0, 0, 2}, 4, 2, 0},
		{"nothing inside", []float64{0, 0, 3}, 2, 2, math.Inf(1)},
		{"an empty last bin takes what is beyond, at a price", []float64{4, 0, 3}, 2, 2,
			4.0/7*math.Log(4.0/7) + 3.0/7*math.Log(3.0/7/(leastCount/4))},
	} {
		if got := divergence(c.counts, c.t, c.levels); got != c.want && math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%s: divergence() = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestEntropyCutsALongTailAndKeepsAFlatRange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tail, flat := make([]float32, 200000), make([]float32, 200000)
	for i := range tail {
		tail[i] = float32(math.Abs(rng.NormFloat64()))
		flat[i] = rng.Float32()
	}
	tail[0] = 40 // far beyond all others
	if r := histogramOf(tail...).minimiseDivergence(256); r.Max < 2.5 || r.Max > 10 || r.Min < 0 {
		t.Errorf("with a tail to 40 the range is %v, want an end between 2.5 and 10", r)
	}
	if r := histogramOf(flat...).minimiseDivergence(256); r.Max < 0.95 {
		t.Errorf("for values spread evenly from 0 to 1 the range is %v, want nearly all", r)
	}
}

func TestEntropyTreatsBothSignsAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	values := make([]float32, 100000)
	for i := range values {
		values[i] = float32(rng.NormFloat64())
	}
	values[0], values[1] = -50, 50
	r := histogramOf(values...).minimiseDivergence(128)
	if r.Min != -r.Max || r.Max > 20 {
		t.Errorf("the range is %v, want a symmetric one far inside ±50", r)
	}
}

func BenchmarkHistogram(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	values := make([]float32, 1<<18)
	for i := range values {
		values[i] = rng.Float32()
	}
	h := &histogram{low: 0, high: 1}
	b.SetBytes(int64(4 * len(values)))
	b.ReportAllocs()
	for b.Loop() {
		h.add(values)
	}
}

// The largest and the smallest numbers that there are have their bins too.
func TestHistogramsOfExtremeNumbers(t *testing.T) {
	const tiny, huge = math.SmallestNonzeroFloat32, math.MaxFloat32
	for _, c := range []struct {
		low, high float32
		values    []float32
		bins      []int
	}{
		{0, 1e-36, []float32{1e-36, 5e-37}, []int{bins - 1, bins / 2}},
		{-huge, huge, []float32{-huge, huge, 1}, []int{0, bins - 1, bins / 2}},
		{0, huge, []float32{huge, huge / 2}, []int{bins - 1, bins / 2}},
		{-1, 1 + 1e-6, []float32{-1, 1}, []int{0, bins - 1}},
		{tiny, 4 * tiny, []float32{tiny, 2 * tiny, 4 * tiny}, []int{0, bins / 3, bins - 1}},
	} {
		h := &histogram{low: c.low, high: c.high}
		h.add(c.values)
		for i, bin := range c.bins {
			if h.counts[bin] != 1 {
				t.Errorf("from %g to %g: %g is not in bin %d", c.low, c.high, c.values[i], bin)
			}
		}
		if h.total != int64(len(c.values)) || h.strange != 0 {
			t.Errorf("from %g to %g: %d values, %d of them strange", c.low, c.high, h.total, h.strange)
		}
		if r := h.minimiseDivergence(128); !(r.Min <= r.Max) || r.Min < c.low || r.Max > c.high {
			t.Errorf("from %g to %g: the range by entropy is %v", c.low, c.high, r)
		}
	}
}

// What lies on one side of zero only is not cut on the other.
func TestPercentilesKeepTheEndThatIsZero(t *testing.T) {
	for _, c := range []struct{ low, high float32 }{{0, 100}, {5, 100}, {-100, 0}, {-100, -5}, {-50, 50}} {
		h := &histogram{low: c.low, high: c.high}
		values := make([]float32, 2000)
		for i := range values {
			values[i] = c.low + (c.high-c.low)*float32(i)/float32(len(values)-1)
		}
		h.add(values)
		r := h.cut(90)
		tenth := (c.high - c.low) / 10
		want := Range{c.low + tenth, c.high - tenth}
		if c.low >= 0 {
			want.Min = c.low
		}
		if c.high <= 0 {
			want.Max = c.high
		}
		if math.Abs(float64(r.Min-want.Min)) > 0.2 || math.Abs(float64(r.Max-want.Max)) > 0.2 {
			t.Errorf("%g to %g between the percentiles 10 and 90 is %v, want %v", c.low, c.high, r, want)
		}
	}
}
