package harness

import (
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
)

// A peakSearch looks for the highest load that keeps a bound. What to try next follows
// from what was tried, so that a search that was interrupted goes on where it was.
//
// Short tests widen the load until it no longer keeps the bound, or narrow it until it
// does, and then halve the interval in between. The load at its upper end is tried again
// then: if it failed by chance, because the machine was busy with something else, the search
// goes on above. A full-length test confirms the highest load that kept the bound; if it does
// not keep it over that time, or not with the certainty that early stopping asks for, not
// even a second time, lower ones are tried. If a confirmed load is far from the bound, the
// next higher one is tried once more.
type peakSearch struct {
	first float64 // load to begin with
	whole bool    // loads are whole numbers
	bound time.Duration
}

const (
	widenFactor = 1.5
	resolution  = 1.02 // the interval's ends, one by the other, at which the search is over
	lowerBy     = 0.96 // of a load that was not confirmed
	// headroomShare is the part of the bound below which a confirmed load is far from it.
	headroomShare = 0.6
	// sureFailures is how often a load has to fail before that counts.
	sureFailures = 2

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
	confirmed := lastConfirmed(tried)
	switch {
	case confirmed < 0:
		return s.search(tried)
	case s.bound == 0 || float64(tried[confirmed].LatencyNS) >= headroomShare*float64(s.bound):
		return trial{}, false
	}
	return s.above(tried[confirmed].Load, tried[:confirmed], tried[confirmed+1:])
}

// search looks for a load to confirm, and lowers one that is not.
func (s peakSearch) search(tried []report.PeakStep) (trial, bool) {
	confirmations, last := 0, 0.0
	for _, step := range tried {
		if step.Full {
			confirmations++
			last = step.Load
		}
	}
	switch confirmations {
	case 0:
		return s.narrow(tried)
	case 1:
		return trial{last, true}, true // once more: that was perhaps chance
	}
	next := s.round(last*lowerBy, -1)
	return trial{next, true}, confirmations < mostConfirmations && next > 0
}

// above looks for a higher load than one that was confirmed with room to spare. It ends with
// the first that does not keep the bound.
func (s peakSearch) above(best float64, before, after []report.PeakStep) (trial, bool) {
	if len(after) == 0 {
		next := s.round(best*widenFactor, 1)
		for _, step := range before {
			if !step.Met && step.Load > best {
				next = min(next, step.Load)
			}
		}
		return trial{load: next}, true
	}
	for i, step := range after {
		if !step.Met && (step.Full || i == 0) {
			return trial{}, false
		}
	}
	return s.narrow(append([]report.PeakStep{{Load: best, Met: true}}, after...))
}

// An interval is what short tests say: low kept the bound, high did not, as often as
// failures says.
type interval struct {
	low, high float64
	failures  int
}

// between returns the highest load that kept the bound and the lowest above it that did not.
// Loads that have failed once do not count below one that kept it; loads that have failed
// more often do.
func between(tried []report.PeakStep) interval {
	failures, met := map[float64]int{}, map[float64]bool{}
	for _, step := range tried {
		if step.Met {
			met[step.Load] = true
		} else {
			failures[step.Load]++
		}
	}
	sure := math.Inf(1)
	for load, n := range failures {
		if n >= sureFailures && !met[load] {
			sure = min(sure, load)
		}
	}
	i := interval{high: sure}
	for load := range met {
		if load < sure {
			i.low = max(i.low, load)
		}
	}
	for load := range failures {
		if load > i.low && !met[load] {
			i.high = min(i.high, load)
		}
	}
	i.failures = failures[i.high]
	return i
}

// narrow chooses a load between the highest that kept the bound and the lowest that did not.
func (s peakSearch) narrow(tried []report.PeakStep) (trial, bool) {
	i := between(tried)
	low, high := i.low, i.high
	switch {
	case len(tried) == 0:
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
		if i.failures < sureFailures {
			return trial{load: high}, true
		}
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
