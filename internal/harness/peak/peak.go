// Package peak finds the highest load that keeps a bound: the search itself, a pure function of the loads that were
// tried (peak.go), and the files by which an interrupted search continues (files.go).
package peak

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
)

// A Search looks for the highest load that keeps a bound. The next load follows
// from those that were tried, so that an interrupted search continues.
//
// Short tests widen the load until it no longer keeps the bound, or narrow it until it
// does, and then halve the interval in between. The load at its upper end is tried again
// then: if it failed by chance, because the machine was busy with something else, the search
// goes on above. Full-length tests confirm the highest load that kept the bound. If one fails, the rules of the first rounds
// have a procedure. Else the next load follows from how far the bound was missed (jump), and when a load is confirmed, the
// interval up to the lowest that failed is halved a few times. A load that was refused is not tried again before a lower one
// was kept. If a confirmed load is far from the bound, the next higher one is tried again.
type Search struct {
	First float64       // load to begin with
	Whole bool          // loads are streams, whole numbers
	Bound time.Duration // of the latency; 0: none by which a confirmed load is compared
	// FirstToken and PerToken are the bounds of tokens; 0: none.
	FirstToken, PerToken time.Duration
	// Tests is how many full-length tests in a row have to keep the bound: the Server runs of the rules (5 in v0.5 and v0.7); 0: one.
	Tests int
	// Ladder are loads in ascending order that are tried first, until the queue grows: those of a sweep, which confirms nothing at full
	// length. None: a search.
	Ladder []float64
}

const (
	widenFactor = 1.5
	resolution  = 1.02 // the interval's ends, one by the other, at which the search is over
	lowerBy     = 0.96 // of a load that was not confirmed, at least
	leastJump   = 0.25 // of such a load, at most
	below       = 0.97 // of its capacity a system with a queue keeps no bound
	// mostHalvings is how often the interval between a confirmed load and one that failed at full length is halved.
	mostHalvings = 3
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
	if len(s.Ladder) > 0 {
		return s.sweep(tried)
	}
	confirmed := s.Confirmed(tried)
	if confirmed < 0 {
		return s.search(tried)
	}
	if next, more := s.halve(tried[confirmed].Load, tried); more {
		return next, true
	}
	if s.Bound == 0 || float64(tried[confirmed].LatencyNS) >= headroomShare*float64(s.Bound) {
		return Trial{}, false
	}
	return s.above(tried[confirmed].Load, tried[:confirmed], tried[confirmed+1:])
}

// sweep climbs the ladder, and then narrows the interval between the highest load that kept the bound and the lowest that did not. It
// looks below the ladder once.
func (s Search) sweep(tried []report.PeakStep) (Trial, bool) {
	for _, load := range s.Ladder {
		i := slices.IndexFunc(tried, func(step report.PeakStep) bool { return step.Load == load })
		if i < 0 {
			return Trial{Load: load}, true
		}
		if tried[i].Grew {
			break
		}
	}
	next, more := s.narrow(tried)
	return next, more && !next.Full && next.Load >= s.Ladder[0]/(2*widenFactor)
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
	}
	return Trial{s.jump(last), true}, confirmations < mostConfirmations
}

// jump is the load that follows one that was not confirmed: a little below what the system can do.
func (s Search) jump(failed report.PeakStep) float64 {
	return min(s.capacity(failed)*below, failed.Load*lowerBy)
}

// capacity is what the system can do by a test that missed its bound. A system that can do c of the load l is behind by the share
// 1 - c/l of the time until its last answer, and so is the latency then. The time per further token grows with the load.
func (s Search) capacity(failed report.PeakStep) float64 {
	share := 1.0
	for _, of := range []struct {
		ns    int64
		bound time.Duration
	}{{failed.LatencyNS, s.Bound}, {failed.FirstTokenNS, s.FirstToken}} {
		if missed := time.Duration(of.ns) - of.bound; of.bound > 0 && missed > 0 && failed.Seconds > 0 {
			share = min(share, 1-missed.Seconds()/failed.Seconds)
		}
	}
	if s.PerToken > 0 && failed.PerTokenNS > int64(s.PerToken) {
		share = min(share, float64(s.PerToken)/float64(failed.PerTokenNS))
	}
	return failed.Load * max(share, leastJump)
}

// halve chooses a load between one that was confirmed and what tests at full length that failed say the system can do; false: they are
// close together, or have been halved often, or the rules have another procedure. A load close by that failed once may have failed
// by chance.
func (s Search) halve(confirmed float64, tried []report.PeakStep) (Trial, bool) {
	if s.Procedure() != "" {
		return Trial{}, false
	}
	const near = 1/lowerBy + 1e-9
	lowest, limit, failures, halvings := math.Inf(1), math.Inf(1), map[float64]int{}, -1 // the first confirmation halves nothing
	for _, step := range tried {
		if !step.Full {
			continue
		}
		if !step.Met && step.Load > confirmed {
			failures[step.Load]++
			lowest, limit = min(lowest, step.Load), min(limit, max(s.capacity(step), confirmed))
		}
		if step.Met || halvings >= 0 {
			halvings++
		}
	}
	limit = min(limit, lowest)
	switch {
	case halvings >= mostHalvings, math.IsInf(lowest, 1):
		return Trial{}, false
	case lowest <= confirmed*near/below && failures[lowest] < sureFailures:
		return Trial{lowest, true}, true
	}
	return Trial{math.Sqrt(confirmed * limit), true}, limit > confirmed*near
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
