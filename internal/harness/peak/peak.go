// Package peak finds the highest load that keeps a bound: the search itself, a pure function of the loads that were
// tried (peak.go), and the files by which an interrupted search continues (files.go).
package peak

import (
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
)

// A Search looks for the highest load that keeps a bound. The next load follows
// from those that were tried, so that an interrupted search continues.
//
// Short tests widen the load until it no longer keeps the bound, or narrow it until it
// does, and then halve the interval in between. The load at its upper end is tried again
// then: if it failed by chance, because the machine was busy with something else, the search
// goes on above. A full-length test confirms the highest load that kept the bound; if it
// fails twice, over that time or by early stopping, lower loads are tried. If a confirmed
// load is far from the bound, the next higher one is tried again.
type Search struct {
	First float64       // load to begin with
	Whole bool          // loads are whole numbers
	Bound time.Duration // 0: none by which a confirmed load is compared
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
	// The loads at which a search gives up, relative to the first.
	leastShare, mostShare = 1e-3, 1e4
)

// A Trial is a load to try.
type Trial struct {
	Load float64
	Full bool // in a full-length test
}

// LastConfirmed is the last step that confirmed a load; -1: none did.
func LastConfirmed(steps []report.PeakStep) int {
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Full && steps[i].Met {
			return i
		}
	}
	return -1
}

// Next returns the load to try next; false: the search is over.
func (s Search) Next(tried []report.PeakStep) (Trial, bool) {
	confirmed := LastConfirmed(tried)
	switch {
	case confirmed < 0:
		return s.search(tried)
	case s.Bound == 0 || float64(tried[confirmed].LatencyNS) >= headroomShare*float64(s.Bound):
		return Trial{}, false
	}
	return s.above(tried[confirmed].Load, tried[:confirmed], tried[confirmed+1:])
}

// search looks for a load to confirm, and lowers one that is not.
func (s Search) search(tried []report.PeakStep) (Trial, bool) {
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
		return Trial{last, true}, true // again: perhaps it failed by chance
	}
	next := s.round(last*lowerBy, -1)
	return Trial{next, true}, confirmations < mostConfirmations && next > 0
}

// above looks for a higher load than one that was confirmed with room to spare. It ends with
// the first that does not keep the bound.
func (s Search) above(best float64, before, after []report.PeakStep) (Trial, bool) {
	if len(after) == 0 {
		next := s.round(best*widenFactor, 1)
		for _, step := range before {
			if !step.Met && step.Load > best {
				next = min(next, step.Load)
			}
		}
		return Trial{Load: next}, true
	}
	for i, step := range after {
		if !step.Met && (step.Full || i == 0) {
			return Trial{}, false
		}
	}
	return s.narrow(append([]report.PeakStep{{Load: best, Met: true}}, after...))
}

// An interval is the outcome of short tests: low kept the bound, high failed so many times.
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
func (s Search) narrow(tried []report.PeakStep) (Trial, bool) {
	i := between(tried)
	low, high := i.low, i.high
	switch {
	case len(tried) == 0:
		return Trial{Load: s.First}, true
	case low == 0:
		next := s.round(high/widenFactor, -1)
		return Trial{Load: next}, next > 0 && next >= s.First*leastShare
	case math.IsInf(high, 1):
		if low >= s.First*mostShare {
			return Trial{low, true}, true
		}
		return Trial{Load: s.round(low*widenFactor, 1)}, true
	case high/low <= resolution, s.Whole && high-low <= 1:
		if i.failures < sureFailures {
			return Trial{Load: high}, true
		}
		return Trial{low, true}, true
	}
	return Trial{Load: s.round(math.Sqrt(low*high), 0)}, true
}

// round makes a computed load a whole number, if need be: in a direction, by at least 1.
func (s Search) round(load float64, direction int) float64 {
	switch {
	case !s.Whole:
		return load
	case direction < 0:
		return math.Ceil(load) - 1
	case direction > 0:
		return math.Floor(load) + 1
	}
	return math.Round(load)
}
