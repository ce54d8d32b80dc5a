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
	for err == nil && !peakFound(t.result.Requested, low.Effective.TargetQPS, high) {
		middle := low.Effective.TargetQPS + (high-low.Effective.TargetQPS)/2
		t.events.message(fmt.Sprintf("trying the middle of [%f, %f): %f", low.Effective.TargetQPS, high, middle))
		var tried *Performance
		if tried, err = t.tryRate(ctx, middle); err == nil {
			if tried.PerfConstraintsMet {
				low = tried
			} else {
				high = middle
			}
		}
	}
	t.result.Performance = low
	if err == nil {
		t.events.message(fmt.Sprintf("found the peak rate: %f", low.Effective.TargetQPS))
	}
	return err
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
	e := t.e
	e.TargetQPS = qps
	perf, err := t.measure(ctx, e)
	if perf != nil && t.result.Interrupted == nil {
		t.result.Peak = append(t.result.Peak, PeakStep{TargetQPS: qps, PerfConstraintsMet: perf.PerfConstraintsMet})
	}
	return perf, err
}

// possible reports whether a test at a rate fits into the bounds of the program.
func (t *test) possible(qps float64) error {
	e := t.e
	e.TargetQPS = qps
	return e.Validate(uint64(t.result.QSLTotalSampleCount))
}
