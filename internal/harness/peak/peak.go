// Package peak finds the highest load that keeps a bound: the search itself, a pure function of the loads that were
// tried (peak.go), and the files by which an interrupted search continues (files.go).
package peak

import (
	"fmt"
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
// goes on above. Full-length tests confirm the highest load that kept the bound. If one fails, over that time or by
// early stopping, lower loads are tried: under the rules of the first rounds, which have a procedure for it, the next lower
// one at once, else after a second failure. If a confirmed load is far from the bound, the next higher one is tried again.
type Search struct {
	First float64       // load to begin with
	Whole bool          // loads are streams, whole numbers
	Bound time.Duration // 0: none by which a confirmed load is compared
	// Tests is how many full-length tests in a row have to keep the bound: the Server runs of the rules (5 in v0.5 and v0.7); 0: one.
	Tests int
}

const (
	widenFactor = 1.5
	resolution  = 1.02 // the interval's ends, one by the other, at which the search is over
	lowerBy     = 0.96 // of a load that was not confirmed
	// smallDelta is what a QPS that was not confirmed is lowered by where the rules want "a small delta" (inference_policies,
	// inference_rules.adoc of v0.5 §5.1, which has no number); streams are lowered by one.
	smallDelta = 0.01
	// headroomShare is the part of the bound below which a confirmed load is far from it.
	headroomShare = 0.6
	// sureFailures is how often a load has to fail before that counts.
	sureFailures = 2

	mostConfirmations = 12 // that are made, or by the rules' procedure, that fail
	// The loads at which a search gives up, relative to the first.
	leastShare, mostShare = 1e-3, 1e4
)

// A Trial is a load to try.
type Trial struct {
	Load float64
	Full bool // in a full-length test
}

// Procedure says how a load is confirmed where the rules say so; empty: they do not.
func (s Search) Procedure() string {
	switch {
	case s.Whole:
		return "one full-length test; after one that fails, one stream less"
	case s.Tests > 1:
		return fmt.Sprintf("%d full-length tests; after one that fails, %g %% less", s.Tests, 100*smallDelta)
	}
	return ""
}

// Confirmed is the last step that confirmed a load: that of as many full-length tests in a row as it takes; -1: none did.
func (s Search) Confirmed(steps []report.PeakStep) int {
	for last := len(steps) - 1; last >= 0; last-- {
		if inARow(steps[:last+1]) >= max(1, s.Tests) {
			return last
		}
	}
	return -1
}

// inARow is how many of the last steps are full-length tests of one load that kept the bound.
func inARow(steps []report.PeakStep) (n int) {
	for i := len(steps) - 1; i >= 0; i-- {
		if step := steps[i]; !step.Full || !step.Met || step.Load != steps[len(steps)-1].Load {
			break
		}
		n++
	}
	return n
}

// Next returns the load to try next; false: the search is over.
func (s Search) Next(tried []report.PeakStep) (Trial, bool) {
	confirmed := s.Confirmed(tried)
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
	var last report.PeakStep // at full length
	confirmations, failures := 0, 0
	for _, step := range tried {
		if step.Full {
			last = step
			confirmations++
			if !step.Met {
				failures++
			}
		}
	}
	switch {
	case confirmations == 0:
		return s.narrow(tried)
	case last.Met: // there are more tests to come
		return Trial{last.Load, true}, true
	case s.Whole:
		return Trial{last.Load - 1, true}, failures < mostConfirmations && last.Load > 1
	case s.Tests > 1:
		return Trial{last.Load * (1 - smallDelta), true}, failures < mostConfirmations
	case confirmations == 1:
		return Trial{last.Load, true}, true // again: perhaps it failed by chance
	}
	return Trial{last.Load * lowerBy, true}, confirmations < mostConfirmations
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
