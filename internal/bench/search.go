package bench

import (
	"math"

	"github.com/mlperf-go/mlperf/internal/report"
)

// A peakSearch looks for the highest load that keeps a bound. What to try next follows
// from what was tried, so that a search that was interrupted goes on where it was.
//
// Short tests widen the load until it no longer keeps the bound, or narrow it until it
// does, and then halve the interval in between. A full-length test confirms the highest
// load that did; if it does not keep the bound over that time, or not with the certainty
// that early stopping asks for, lower ones are tried.
type peakSearch struct {
	first float64 // load to begin with
	whole bool    // loads are whole numbers
}

const (
	widenFactor = 1.5
	resolution  = 1.02 // the interval's ends, one by the other, at which the search is over
	lowerBy     = 0.96 // of a load that was not confirmed

	mostConfirmations = 12
	// The loads that a search gives up at, relative to the first: nothing that could be
	// measured lies beyond.
	leastShare, mostShare = 1e-3, 1e4
)

// A trial is a load to try.
type trial struct {
	load float64
	full bool // in a full-length test
}

// next returns what to try next. It returns false if the search is over.
func (s peakSearch) next(tried []report.PeakStep) (trial, bool) {
	low, high, last, confirmations := 0.0, math.Inf(1), 0.0, 0
	for _, step := range tried {
		switch {
		case step.Full && step.Met:
			return trial{}, false
		case step.Full:
			confirmations++
			last = step.Load
		case step.Met:
			low = max(low, step.Load)
		default:
			high = min(high, step.Load)
		}
	}
	if low >= high {
		low = s.below(high, tried) // chance: what failed counts
	}
	if confirmations > 0 {
		next := s.round(last*lowerBy, -1)
		return trial{next, true}, confirmations < mostConfirmations && next > 0
	}
	return s.narrow(low, high, len(tried))
}

// below returns the highest load below a limit that kept the bound.
func (s peakSearch) below(limit float64, tried []report.PeakStep) float64 {
	low := 0.0
	for _, step := range tried {
		if step.Met && !step.Full && step.Load < limit {
			low = max(low, step.Load)
		}
	}
	return low
}

// narrow chooses a load between the highest that kept the bound and the lowest that did not.
func (s peakSearch) narrow(low, high float64, tried int) (trial, bool) {
	switch {
	case tried == 0:
		return trial{load: s.first}, true
	case low == 0:
		next := s.round(high/widenFactor, -1)
		return trial{load: next}, next > 0 && next >= s.first*leastShare
	case math.IsInf(high, 1):
		if low >= s.first*mostShare {
			return trial{low, true}, true
		}
		return trial{load: s.round(low*widenFactor, 1)}, true
	case high/low <= resolution, s.whole && high-low <= 1:
		return trial{low, true}, true
	}
	return trial{load: s.round(math.Sqrt(low*high), 0)}, true
}

// round makes a load that was computed from others a whole number, if need be: one that
// is at least by 1 further in the direction.
func (s peakSearch) round(load float64, direction int) float64 {
	switch {
	case !s.whole:
		return load
	case direction < 0:
		return math.Ceil(load) - 1
	case direction > 0:
		return math.Floor(load) + 1
	}
	return math.Round(load)
}
