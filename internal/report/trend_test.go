package report

import (
	"math"
	"testing"
)

// What gets slower by a few percent is no queue that grows.
func TestSmallRises(t *testing.T) {
	for _, c := range []struct {
		mean, rise, t float64
		want          Trend
	}{
		{105, 10, math.Inf(1), Trend{FromNS: 100, ToNS: 110}},
		{200, 200, 3, Trend{FromNS: 100, ToNS: 300}},
		{200, 200, 9, Trend{FromNS: 100, ToNS: 300, Grew: true}},
		{200, 600, 9, Trend{FromNS: 0, ToNS: 500, Grew: true}},
	} {
		if got := newTrend(c.mean, c.rise, c.t); *got != c.want {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}
