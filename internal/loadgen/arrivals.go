package loadgen

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Arrivals is the process by which queries of Server arrive. The zero value is that of the rules: a Poisson process.
// Any other is beyond the rules: bursts and pauses take turns, each of exponentially distributed length, and queries arrive
// as a Poisson process in the bursts and not at all in the pauses (an interrupted Poisson process). The mean rate is the target QPS.
// Or the rate rises evenly from nothing to the target QPS, where it stays. Or they arrive at the times that a file has: those are in
// TestSettings.ServerReplay.
type Arrivals struct {
	Factor float64       // the rate in a burst, as a multiple of the target QPS; of a file: how much faster than recorded
	Burst  time.Duration // mean length of a burst; pauses are Factor-1 times as long
	Ramp   time.Duration // how long the rate rises
	Replay string        // the name of the file; empty: there is none
}

const (
	poisson        = "poisson"
	burstPrefix    = "burst:"
	rampPrefix     = "ramp:"
	replayPrefix   = "replay:"
	maxSpeed       = 1e6
	maxBurstFactor = 1000
	maxBurst       = time.Hour // and of a ramp
)

// speed is in front of the name of a file.
var speed = regexp.MustCompile(`^([0-9.]+)x:`)

// ParseArrivals reads poisson, burst:4x500ms: bursts of 500 ms with four times the target QPS, ramp:30s: 30 s until the target QPS,
// replay:FILE, or replay:2x:FILE: twice as fast as recorded.
func ParseArrivals(text string) (Arrivals, error) {
	if text == poisson {
		return Arrivals{}, nil
	}
	if file, ok := strings.CutPrefix(text, replayPrefix); ok {
		a := Arrivals{Factor: 1, Replay: file}
		if match := speed.FindStringSubmatch(file); match != nil {
			a.Replay = file[len(match[0]):]
			var err error
			if a.Factor, err = strconv.ParseFloat(match[1], 64); err != nil {
				return Arrivals{}, fmt.Errorf("%s is not a speed: must be a number and x, as 2x", match[0])
			}
		}
		if a.Replay == "" {
			return Arrivals{}, fmt.Errorf("%q has no file: must be replay:FILE, or replay:2x:FILE", text)
		}
		return a, a.validate()
	}
	if length, ok := strings.CutPrefix(text, rampPrefix); ok {
		d, err := time.ParseDuration(length)
		if err != nil || d <= 0 {
			return Arrivals{}, fmt.Errorf("%q has no length: must be ramp:LENGTH, as ramp:30s", text)
		}
		a := Arrivals{Ramp: d}
		return a, a.validate()
	}
	list, isBurst := strings.CutPrefix(text, burstPrefix)
	factor, length, _ := strings.Cut(list, "x")
	f, errFactor := strconv.ParseFloat(factor, 64)
	d, errLength := time.ParseDuration(length)
	if !isBurst || errFactor != nil || errLength != nil {
		return Arrivals{}, fmt.Errorf("%q are unknown arrivals: "+
			"must be poisson, burst:FACTORxLENGTH as burst:4x500ms, ramp:LENGTH as ramp:30s, or replay:FILE", text)
	}
	a := Arrivals{Factor: f, Burst: d}
	if a == (Arrivals{}) {
		return a, fmt.Errorf("arrivals %s: expected a factor above 1 and a length", text)
	}
	return a, a.validate()
}

func (a Arrivals) validate() error {
	switch {
	case a == Arrivals{}:
		return nil
	case a.Replay != "" && !(a.Factor > 0 && a.Factor <= maxSpeed): // also NaN
		return fmt.Errorf("the speed of a replay must be above 0 and at most %g times that of the file, is %g times", maxSpeed, a.Factor)
	case strings.ContainsFunc(a.Replay, unicode.IsControl):
		return fmt.Errorf("the name of the file %q has characters that cannot be printed", a.Replay)
	case a.Replay != "":
		return nil
	case a.Ramp > 0 && a == Arrivals{Ramp: a.Ramp}:
		if a.Ramp < time.Microsecond || a.Ramp > maxBurst {
			return fmt.Errorf("a ramp must last between %v and %v, is %v", time.Microsecond, maxBurst, a.Ramp)
		}
		return nil
	case a.Ramp != 0:
		return fmt.Errorf("a ramp of %v has no bursts and no file", a.Ramp)
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
	if a.Replay != "" {
		if a.Factor == 1 && !speed.MatchString(a.Replay) {
			return replayPrefix + a.Replay
		}
		return fmt.Sprintf("%s%sx:%s", replayPrefix, strconv.FormatFloat(a.Factor, 'f', -1, 64), a.Replay)
	}
	if a.Ramp > 0 {
		return rampPrefix + a.Ramp.String()
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
	if a.Ramp > 0 {
		return a.ramp(g, qps)
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

// ramp returns the times of a Poisson process whose rate rises: the n-th arrival is where the expected number of arrivals, the square of the
// time and then a line, is that of a process of one a second.
func (a Arrivals) ramp(g *mt19937, qps float64) func() int64 {
	length := a.Ramp.Seconds()
	until, expected, last := length*qps/2, 0.0, int64(0)
	return func() int64 {
		expected += g.exponential(1)
		at := length + (expected-until)/qps
		if expected < until {
			at = math.Sqrt(2 * length * expected / qps)
		}
		now := nanoseconds(math.Min(at, math.MaxInt64/4e9))
		gap := now - last
		last = now
		return gap
	}
}
