package loadgen

import (
	"errors"
	"time"
)

// This file decides when queries are issued and how many of them are prepared:
// loadgen/loadgen.cc, ScheduleDistribution and GenerateQueries.

// A traffic draws the queries of one loaded set, one after another. The draws never
// depend on a clock: the same settings give the same traffic.
type traffic struct {
	set      loadableSet
	perQuery int                // samples of each query
	whole    []QuerySampleIndex // all samples of the only query, in Offline
	pick     picker             // position of a query's first sample, otherwise
	gap      func() int64       // nanoseconds from one query to the next

	// The reference prepares queries while wanted; whether there are any after that
	// is said by endless.
	minQueries uint64
	duration   int64
	equalIssue bool
	endless    bool

	// What the reference would have prepared, known once it is no longer wanted.
	count  uint64
	length time.Duration // sum of the gaps

	drawn   uint64 // queries so far
	last    int64  // scheduled offset of the last of them, ns
	arrival int64  // scheduled offset of the next, ns
}

var errNoQueries = errors.New("the settings ask for no query at all: min_query_count and min_duration are both 0, " +
	"or the data set has fewer samples than one query")

// newTraffic prepares to draw the traffic of one loaded set.
func newTraffic(e EffectiveSettings, accuracy bool, set loadableSet) (*traffic, error) {
	t := &traffic{
		set:        set,
		perQuery:   int(e.SamplesPerQuery),
		gap:        newGap(e),
		minQueries: e.MinQueryCount,
		duration:   int64(2 * e.TargetDuration), // the SUT may be faster than expected
		equalIssue: e.SampleConcatenatePermutation && e.Scenario != Offline,
		endless:    e.Scenario == SingleStream || e.Scenario == MultiStream,
	}
	t.bound(e, accuracy)
	if e.Scenario == Offline {
		t.whole = offlineSamples(e, accuracy, set)
		t.perQuery = len(t.whole)
	} else {
		t.pick = newPicker(e, accuracy, set, t.minQueries)
	}
	if loaded := uint64(len(set.indices)); t.equalIssue && !accuracy && t.minQueries%loaded != 0 {
		t.minQueries += loaded - t.minQueries%loaded
	}
	if !t.wanted() {
		return nil, errNoQueries
	}
	return t, nil
}

// bound says how much traffic there is where that is not what the settings ask for: the whole
// set in accuracy mode and with unique samples, no slack in Server.
func (t *traffic) bound(e EffectiveSettings, accuracy bool) {
	if e.Scenario == Server {
		t.duration = int64(e.TargetDuration) // the schedule alone decides
	}
	if accuracy && e.Scenario == Offline {
		t.perQuery = t.set.end
	}
	if accuracy || e.PerformanceIssueUnique {
		t.duration = 0
		t.minQueries = uint64(len(t.set.indices)) / uint64(t.perQuery)
		t.endless = false
	}
}

// wanted reports whether the reference would prepare another query.
func (t *traffic) wanted() bool { return t.last < t.duration || t.drawn < t.minQueries }

// next draws a query: the position of its first sample in the loaded set, and its
// scheduled offset from the start of the test in nanoseconds.
func (t *traffic) next() (first uint32, at int64) {
	if t.pick != nil {
		first = t.pick()
	}
	at = t.arrival
	t.drawn++
	t.last = at
	t.arrival += t.gap()
	if t.equalIssue && t.drawn >= t.minQueries && t.last < t.duration {
		t.minQueries += uint64(len(t.set.indices)) // whole permutations only
	}
	if t.count == 0 && !t.wanted() {
		t.count, t.length = t.drawn, time.Duration(t.arrival)
	}
	return first, at
}

// samples returns the sample indices of the query that begins at first. The slice
// belongs to the traffic.
func (t *traffic) samples(first uint32) []QuerySampleIndex {
	if t.whole != nil {
		return t.whole
	}
	return t.set.indices[first : int(first)+t.perQuery]
}

// newGap returns the source of the times between queries: exponentially distributed
// in Server, so that arrivals are a Poisson process, and constant otherwise.
func newGap(e EffectiveSettings) func() int64 {
	if e.Scenario == Server {
		g := newMT19937(e.ScheduleRNGSeed)
		return func() int64 { return nanoseconds(g.exponential(e.TargetQPS)) }
	}
	period := nanoseconds(1 / e.TargetQPS)
	return func() int64 { return period }
}

// nanoseconds truncates, as std::chrono::duration_cast does.
func nanoseconds(seconds float64) int64 { return int64(seconds * 1e9) }

// A Trace is the traffic that a test issues to a SUT that answers at once, in the
// order of issue, over all loaded sets.
type Trace struct {
	Queries    uint64               `json:"queries"`
	Loads      [][]QuerySampleIndex `json:"loads"`       // sets given to LoadSamplesToRAM
	QuerySizes []int                `json:"query_sizes"` // samples of each query
	Samples    []QuerySampleIndex   `json:"samples"`     // of all queries
	// ScheduledNS are the arrivals of as many queries in Server, empty otherwise. In
	// accuracy mode a run begins them anew with each loaded set; here they go on.
	ScheduledNS []int64 `json:"scheduled_ns"`
}

// NewTrace draws the traffic of a test without running it. SingleStream and
// MultiStream have as many queries as min_query_count and the expected latency over
// min_duration ask for.
func NewTrace(settings TestSettings, qslPerformanceSampleCount, qslTotalSampleCount uint64) (*Trace, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	e := settings.resolved().Effective(qslPerformanceSampleCount, qslTotalSampleCount)
	if err := e.Validate(qslTotalSampleCount); err != nil {
		return nil, err
	}
	trace := &Trace{ScheduledNS: []int64{}}
	if e.Mode == AccuracyOnly || e.Mode == SubmissionRun {
		for _, set := range loadableSets(e, qslTotalSampleCount, e.AccuracySampleCount) {
			if err := trace.add(e, true, set); err != nil {
				return nil, err
			}
		}
	}
	if e.Mode != AccuracyOnly {
		sets := loadableSets(e, qslTotalSampleCount, e.PerformanceSampleCount)
		if err := trace.add(e, false, sets[0]); err != nil {
			return nil, err
		}
	}
	if e.Scenario == Server {
		trace.ScheduledNS = arrivals(e, trace.Queries)
	}
	return trace, nil
}

// arrivals returns the scheduled offsets of the first n queries.
func arrivals(e EffectiveSettings, n uint64) []int64 {
	gap := newGap(e)
	at := make([]int64, n)
	for i := uint64(1); i < n; i++ {
		at[i] = at[i-1] + gap()
	}
	return at
}

func (tr *Trace) add(e EffectiveSettings, accuracy bool, set loadableSet) error {
	t, err := newTraffic(e, accuracy, set)
	if err != nil {
		return err
	}
	if t.endless { // it ends with enough queries, however many whole permutations are prepared
		t.minQueries, t.duration, t.equalIssue = e.MinQueryCount, int64(e.TargetDuration), false
	}
	tr.Loads = append(tr.Loads, set.indices)
	for t.wanted() {
		if e.MaxQueryCount > 0 && !accuracy && t.drawn == e.MaxQueryCount {
			break
		}
		first, _ := t.next()
		tr.Queries++
		tr.QuerySizes = append(tr.QuerySizes, t.perQuery)
		tr.Samples = append(tr.Samples, t.samples(first)...)
	}
	return nil
}
