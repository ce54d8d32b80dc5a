package loadgen

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Arrivals is the process by which queries of Server arrive. The zero value is that of the rules: a Poisson process.
// Any other is beyond the rules: bursts and pauses take turns, each of exponentially distributed length, and queries arrive
// as a Poisson process in the bursts and not at all in the pauses (an interrupted Poisson process). The mean rate is the target QPS.
type Arrivals struct {
	Factor float64       // the rate in a burst, as a multiple of the target QPS
	Burst  time.Duration // mean length of a burst; pauses are Factor-1 times as long
}

const (
	poisson        = "poisson"
	burstPrefix    = "burst:"
	maxBurstFactor = 1000
	maxBurst       = time.Hour
)

// ParseArrivals reads poisson, or burst:4x500ms: bursts of 500 ms with four times the target QPS.
func ParseArrivals(text string) (Arrivals, error) {
	if text == poisson {
		return Arrivals{}, nil
	}
	list, isBurst := strings.CutPrefix(text, burstPrefix)
	factor, length, _ := strings.Cut(list, "x")
	f, errFactor := strconv.ParseFloat(factor, 64)
	d, errLength := time.ParseDuration(length)
	if !isBurst || errFactor != nil || errLength != nil {
		return Arrivals{}, fmt.Errorf("%q are unknown arrivals: must be poisson, or burst:FACTORxLENGTH as burst:4x500ms", text)
	}
	a := Arrivals{f, d}
	if a == (Arrivals{}) {
		return a, fmt.Errorf("arrivals %s: expected a factor above 1 and a length", text)
	}
	return a, a.validate()
}

func (a Arrivals) validate() error {
	switch {
	case a == Arrivals{}:
		return nil
	case !(a.Factor > 1 && a.Factor <= maxBurstFactor): // also NaN
		return fmt.Errorf("the rate of bursts must be above 1 and at most %d times the target QPS, is %g times", maxBurstFactor, a.Factor)
	case a.Burst < time.Microsecond || a.Burst > maxBurst:
		return fmt.Errorf("bursts must last between %v and %v, are %v", time.Microsecond, maxBurst, a.Burst)
	}
	return nil
}

// String returns the text that ParseArrivals reads.
func (a Arrivals) String() string {
	if a == (Arrivals{}) {
		return poisson
	}
	return fmt.Sprintf("%s%gx%v", burstPrefix, a.Factor, a.Burst)
}

// MarshalText writes the text that ParseArrivals reads.
func (a Arrivals) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads it.
func (a *Arrivals) UnmarshalText(text []byte) (err error) {
	*a, err = ParseArrivals(string(text))
	return err
}

// gap returns the source of the times between queries. All draws come from one generator: the same seed gives the same schedule.
func (a Arrivals) gap(g *mt19937, qps float64) func() int64 {
	if a == (Arrivals{}) {
		return func() int64 { return nanoseconds(g.exponential(qps)) }
	}
	burst, pause := 1/a.Burst.Seconds(), 1/(a.Burst.Seconds()*(a.Factor-1))
	left := g.exponential(burst) // seconds until the pause: a test begins with a burst
	return func() int64 {
		d, paused := g.exponential(a.Factor*qps), 0.0
		for left < d { // a rate in time without the pauses, which are put in
			paused += g.exponential(pause)
			left += g.exponential(burst)
		}
		left -= d
		return nanoseconds(math.Min(d+paused, math.MaxInt64/4e9))
	}
}
