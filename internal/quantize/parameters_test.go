package quantize

import (
	"math"
	"testing"
)

func TestParametersOfARange(t *testing.T) {
	for _, c := range []struct {
		name        string
		activations Activations
		of          Range
		want        Parameters
	}{
		{"behind a Relu zero is the first integer", U8, Range{0, 51}, Parameters{0.2, 0}},
		{"both signs share the integers", U8, Range{-1, 4.1}, Parameters{0.02, 50}},
		{"a range above zero is extended to it", U8, Range{2, 51}, Parameters{0.2, 0}},
		{"a range below zero too", U8, Range{-51, -2}, Parameters{0.2, 255}},
		{"both ends and zero are integers", U8, Range{-127.5, 127.5}, Parameters{127.5 / 127, 128}},
		{"where that costs least", U8, Range{-1.4, 253.6}, Parameters{253.6 / 253, 2}},
		{"a little below zero", U8, Range{-0.1, 254.9}, Parameters{254.9 / 254, 1}},
		{"a little above zero", U8, Range{-254.9, 0.1}, Parameters{254.9 / 254, 254}},
		{"nothing but zero", U8, Range{0, 0}, Parameters{1, 0}},
		{"signed integers are symmetric", S8, Range{-1, 2.54}, Parameters{0.02, 0}},
		{"the larger magnitude counts", S8, Range{-2.54, 1}, Parameters{0.02, 0}},
		{"signed, nothing but zero", S8, Range{0, 0}, Parameters{1, 0}},
		{"tiny values get a scale to divide by", U8, Range{0, 1e-30}, Parameters{smallestScale, 0}},
	} {
		got := c.activations.of(c.of)
		if math.Abs(float64(got.Scale-c.want.Scale)) > 2e-7*float64(c.want.Scale) || got.ZeroPoint != c.want.ZeroPoint {
			t.Errorf("%s: %s.of(%v) = %v, want %v", c.name, c.activations, c.of, got, c.want)
		}
	}
}

func TestNoIntegerStandsForMoreThanTheLimitOfARange(t *testing.T) {
	for limit := float32(0.1); limit < 20; limit *= 1.01 {
		if p := U8.of(Range{0, limit}); 255*p.Scale > limit || 255*p.Scale < limit*(1-1e-6) {
			t.Errorf("the largest integer of [0, %v] is %v", limit, 255*p.Scale)
		}
	}
}

func TestExtremeRangesGiveUsableScales(t *testing.T) {
	for _, r := range []Range{{0, math.MaxFloat32}, {-math.MaxFloat32, math.MaxFloat32}, {0, math.SmallestNonzeroFloat32}} {
		for _, a := range []Activations{U8, S8} {
			p := a.of(r)
			if !(p.Scale > 0) || math.IsInf(float64(p.Scale)*255, 0) || p.ZeroPoint < 0 || p.ZeroPoint > 255 {
				t.Errorf("%s.of(%v) = %v", a, r, p)
			}
		}
	}
}

func TestMagnitudesHaveAsManyIntegersAsTheSignLeaves(t *testing.T) {
	for _, c := range []struct {
		activations Activations
		low, high   float32
		want        int
	}{{U8, 0, 6, 256}, {U8, -3, 0, 256}, {U8, -1, 6, 128}, {S8, 0, 6, 128}, {S8, -1, 6, 128}} {
		if got := c.activations.magnitudes(c.low, c.high); got != c.want {
			t.Errorf("%s.magnitudes(%v, %v) = %d, want %d", c.activations, c.low, c.high, got, c.want)
		}
	}
}

func TestTheGridHoldsBothEndsOfARange(t *testing.T) {
	for low := float32(-3); low <= 0; low += 0.013 {
		for _, high := range []float32{0, 0.001, 0.7, 1, 100} {
			p := U8.of(Range{low, high})
			first, last := float64(-p.ZeroPoint)*float64(p.Scale), float64(255-p.ZeroPoint)*float64(p.Scale)
			if first > float64(low)*(1-1e-6) || last < float64(high)*(1-1e-6) {
				t.Errorf("the integers for [%v, %v] stand for [%v, %v]", low, high, first, last)
			}
			if limit := float64(high-low) / 254; limit > 0 && float64(p.Scale) > limit*1.0001 {
				t.Errorf("the scale for [%v, %v] is %v, want at most %v", low, high, p.Scale, limit)
			}
		}
	}
}

func TestASigmoidNeedsNoMoreThanItTellsApart(t *testing.T) {
	for _, c := range []struct{ of, want Range }{
		{Range{-100, 3}, Range{-16, 3}}, {Range{-2, 40}, Range{-2, 16}}, {Range{-100, -20}, Range{-16, -16}},
	} {
		if got := c.of.reaching(); got != c.want {
			t.Errorf("of %v it tells apart %v, want %v", c.of, got, c.want)
		}
	}
}
