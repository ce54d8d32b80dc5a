package loadgen

import (
	"context"
	"fmt"
	"math"
)

// A PeakStep is one rate that FindPeakPerformance tried.
type PeakStep struct {
	TargetQPS          float64
	PerfConstraintsMet bool
}

// findPeak searches the highest Server rate that meets the latency bound, as
// the reference does (loadgen/loadgen.cc, FindPeakPerformanceMode): the target QPS of
// the settings must meet it; the rate is raised by a fixed factor until it does not;
// and the interval is halved until its ends agree to the wanted decimals.
func (t *test) findPeak(ctx context.Context) error {
	t.events.message("find-peak-performance mode begins")
	low, err := t.tryRate(ctx, t.e.TargetQPS)
	if err != nil {
		return err
	}
	if !low.PerfConstraintsMet {
		t.result.Performance = low
		t.events.fail("error_runtime", "the lowest rate, %f queries per second, does not meet the latency bound; lower the target QPS", t.e.TargetQPS)
		return nil
	}
	low, high, err := t.bracketPeak(ctx, low)
	if err == nil {
		low, err = t.bisectPeak(ctx, low, high)
	}
	t.result.Performance = low
	if err == nil {
		t.events.message(fmt.Sprintf("found the peak rate: %f", low.Effective.TargetQPS))
	}
	return err
}

// bisectPeak halves the interval from a rate that meets the bound to one that does not. Samples are loaded
// once: they do not depend on the rate.
func (t *test) bisectPeak(ctx context.Context, low *Performance, high float64) (*Performance, error) {
	set := t.performanceSet(t.e)
	err := t.withLoaded(ctx, set, func() error {
		for !peakFound(t.result.Requested, low.Effective.TargetQPS, high) {
			middle := low.Effective.TargetQPS + (high-low.Effective.TargetQPS)/2
			t.events.message(fmt.Sprintf("trying the middle of [%f, %f): %f", low.Effective.TargetQPS, high, middle))
			p, err := t.newPhase(t.atRate(middle), set, false)
			if err != nil {
				return err
			}
			tried, err := t.measureLoaded(ctx, p)
			if t.noteRate(tried, middle); err != nil {
				return err
			}
			if tried.PerfConstraintsMet {
				low = tried
			} else {
				high = middle
			}
		}
		return nil
	})
	return low, err
}

// bracketPeak widens the rate until it no longer meets the bound.
func (t *test) bracketPeak(ctx context.Context, low *Performance) (*Performance, float64, error) {
	for {
		high := low.Effective.TargetQPS * (1 + t.result.Requested.ServerFindPeakQPSBoundaryStepSize)
		if err := t.possible(high); err != nil {
			t.events.fail("error_runtime", "the search ends: no test at %f queries per second is possible: %v", high, err)
			return low, high, errOver
		}
		t.events.message(fmt.Sprintf("widening the bounds to [%f, %f)", low.Effective.TargetQPS, high))
		tried, err := t.tryRate(ctx, high)
		if err != nil || !tried.PerfConstraintsMet {
			return low, high, err
		}
		low = tried
	}
}

// peakFound reports whether both bounds agree up to one unit of the last wanted decimal.
func peakFound(s TestSettings, low, high float64) bool {
	scale := math.Pow(10, float64(s.ServerFindPeakQPSDecimalsOfPrecision))
	return math.Floor(low*scale)+1 >= math.Floor(high*scale)
}

// tryRate runs a performance phase at a rate.
func (t *test) tryRate(ctx context.Context, qps float64) (*Performance, error) {
	perf, err := t.measure(ctx, t.atRate(qps))
	t.noteRate(perf, qps)
	return perf, err
}

// noteRate adds a rate to those that were tried, unless its phase was interrupted.
func (t *test) noteRate(perf *Performance, qps float64) {
	if perf != nil && t.result.Interrupted == nil {
		t.result.Peak = append(t.result.Peak, PeakStep{TargetQPS: qps, PerfConstraintsMet: perf.PerfConstraintsMet})
	}
}

// atRate are the settings of the test at another rate.
func (t *test) atRate(qps float64) EffectiveSettings {
	e := t.e
	e.TargetQPS = qps
	return e
}

// possible reports whether a test at a rate fits into the bounds of the program.
func (t *test) possible(qps float64) error {
	return t.atRate(qps).Validate(uint64(t.result.QSLTotalSampleCount))
}
