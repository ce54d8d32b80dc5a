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
	atRate := func(qps float64) EffectiveSettings {
		e := t.e
		e.TargetQPS = qps
		return e
	}
	note := func(perf *Performance) {
		if perf != nil && t.result.Interrupted == nil {
			t.result.Peak = append(t.result.Peak, PeakStep{TargetQPS: perf.Effective.TargetQPS, PerfConstraintsMet: perf.PerfConstraintsMet})
		}
	}
	best, err := t.measure(ctx, t.e)
	note(best)
	if err != nil {
		return err
	}
	defer func() { t.result.Performance = best }()
	if !best.PerfConstraintsMet {
		t.events.fail("the lowest rate, %f queries per second, does not meet the latency bound; lower the target QPS", t.e.TargetQPS)
		return nil
	}

	high := best.Effective.TargetQPS
	for best.Effective.TargetQPS == high { // the last rate meets the bound
		high *= 1 + t.result.Requested.ServerFindPeakQPSBoundaryStepSize
		if err := atRate(high).Validate(uint64(t.result.QSLTotalSampleCount)); err != nil {
			t.events.fail("the search ends: no test at %f queries per second is possible: %v", high, err)
			return errOver
		}
		t.events.message(fmt.Sprintf("widening the bounds to [%f, %f)", best.Effective.TargetQPS, high))
		tried, err := t.measure(ctx, atRate(high))
		note(tried)
		if err != nil {
			return err
		}
		if tried.PerfConstraintsMet {
			best = tried
		}
	}

	// From here on samples are loaded once: they do not depend on the rate.
	set := t.performanceSet(t.e)
	scale := math.Pow(10, float64(t.result.Requested.ServerFindPeakQPSDecimalsOfPrecision))
	err = t.withLoaded(ctx, set, func() error {
		for {
			low := best.Effective.TargetQPS
			if math.Floor(low*scale)+1 >= math.Floor(high*scale) { // both agree up to one unit of the last wanted decimal
				return nil
			}
			middle := low + (high-low)/2
			t.events.message(fmt.Sprintf("trying the middle of [%f, %f): %f", low, high, middle))
			p, err := t.newPhase(ctx, atRate(middle), set, false)
			if err != nil {
				return err
			}
			tried, err := t.measureLoaded(ctx, p)
			note(tried)
			if err != nil {
				return err
			}
			if tried.PerfConstraintsMet {
				best = tried
			} else {
				high = middle
			}
		}
	})
	if err == nil {
		t.events.message(fmt.Sprintf("found the peak rate: %f", best.Effective.TargetQPS))
	}
	return err
}
