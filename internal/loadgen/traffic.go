package loadgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// This file decides which samples are issued when (loadgen/loadgen.cc, GenerateLoadableSets, SampleDistribution,
// ScheduleDistribution and GenerateQueries). No draw depends on a clock: the same settings give the same traffic.

// A loadableSet is a set of samples that are in memory together.
type loadableSet struct {
	// indices are the samples in the order in which the QSL loads them. MultiStream
	// repeats the first samples at the end, so that a query may begin anywhere.
	indices []QuerySampleIndex
	// end is the number of samples without that padding.
	end int
}

// loadableSets shuffles the first count samples of the QSL and cuts them into sets
// of the performance sample count.
func loadableSets(e EffectiveSettings, qslTotalSampleCount, count uint64) []loadableSet {
	count = min(count, qslTotalSampleCount)
	all := make([]QuerySampleIndex, count)
	for i := range all {
		all[i] = QuerySampleIndex(i)
	}
	shuffle(newMT19937(e.QSLRNGSeed), all)

	padding := uint64(0)
	if e.Scenario == MultiStream {
		padding = e.SamplesPerQuery - 1
	}
	var sets []loadableSet
	for len(all) > 0 {
		n := min(e.PerformanceSampleCount, uint64(len(all)))
		set := make([]QuerySampleIndex, 0, n+padding)
		set = append(set, all[:n]...)
		for i := range padding {
			set = append(set, set[i]) // may repeat a small set more than once
		}
		sets = append(sets, loadableSet{indices: set, end: int(n)})
		all = all[n:]
	}
	return sets
}

// A sampleDistribution draws the position in the loaded set at which the samples of the next query of SingleStream,
// MultiStream or Server begin.
type sampleDistribution func() uint32

// newSampleDistribution draws from a set for at least minQueries queries. All three
// ways of choosing take their shuffles from the generator whether they are used or
// not: the reference does so, and it decides all later draws. The error is that of ctx: a billion queries take seconds.
func newSampleDistribution(ctx context.Context, e EffectiveSettings, accuracy bool, set loadableSet, minQueries uint64) (sampleDistribution, error) {
	g := newMT19937(e.SampleIndexRNGSeed)
	stride := 1
	if e.Scenario == MultiStream {
		stride = int(e.SamplesPerQuery)
	}
	random := func() uint32 { return uint32(g.uniformInt(uint64(set.end))) }
	if accuracy {
		random = inOrder(permutation(g, set.end, stride))
	}
	unique := inOrder(permutation(g, set.end, stride))
	concatenated := e.SampleConcatenatePermutation && e.Scenario != MultiStream && !e.PerformanceIssueUnique && !e.PerformanceIssueSame
	equal, err := permutations(ctx, g, minQueries, len(set.indices), concatenated)
	if err != nil {
		return nil, err
	}

	same := uint32(e.PerformanceIssueSameIndex)
	switch {
	case e.PerformanceIssueUnique:
		return unique, nil
	case e.PerformanceIssueSame:
		return func() uint32 { return same }, nil
	case concatenated:
		if len(equal) == 0 { // the settings ask for no query; the reference would divide by zero
			equal = permutation(g, len(set.indices), 1)
		}
		return inOrder(equal), nil
	}
	return random, nil
}

// permutation returns 0, stride, 2·stride, … below n in random order.
func permutation(g *mt19937, n, stride int) []uint32 {
	s := make([]uint32, 0, (n+stride-1)/stride)
	for i := 0; i < n; i += stride {
		s = append(s, uint32(i))
	}
	shuffle(g, s)
	return s
}

// permutations returns as many random orders of 0…n-1 as cover count; without keep it only takes their draws from the generator.
func permutations(ctx context.Context, g *mt19937, count uint64, n int, keep bool) ([]uint32, error) {
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	var s []uint32
	if keep {
		s = make([]uint32, 0, (count+uint64(n)-1)/uint64(n)*uint64(n))
	}
	for done := uint64(0); done < count; done += uint64(n) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		shuffle(g, order) // shuffles the previous order again, not the identity
		if keep {
			s = append(s, order...)
		}
	}
	return s, nil
}

// inOrder walks through s and begins again at its end.
func inOrder(s []uint32) sampleDistribution {
	i := 0
	return func() uint32 {
		if i == len(s) {
			i = 0
		}
		i++
		return s[i-1]
	}
}

// offlineSamples returns the samples of the one Offline query: the loaded set as often as it fits, and a part of it at
// the end. Equal issue rounds up to whole permutations.
func offlineSamples(e EffectiveSettings, accuracy bool, set loadableSet) []QuerySampleIndex {
	n, loaded := e.SamplesPerQuery, uint64(len(set.indices))
	if accuracy {
		n = uint64(set.end)
	} else if e.SampleConcatenatePermutation && n%loaded != 0 {
		n += loaded - n%loaded
	}
	samples := make([]QuerySampleIndex, n)
	if e.PerformanceIssueSame {
		for i := range samples {
			samples[i] = set.indices[e.PerformanceIssueSameIndex]
		}
		return samples
	}
	var g *mt19937
	if e.SampleConcatenatePermutation {
		g = newMT19937(e.SampleIndexRNGSeed)
		// As in newSampleDistribution: the shuffles of the other ways of choosing come first.
		if accuracy {
			permutation(g, set.end, 1)
		}
		permutation(g, set.end, 1)
		permutation(g, len(set.indices), 1) // Offline has one query
	}
	for rest := samples; len(rest) > 0; {
		n := copy(rest, set.indices)
		if g != nil && n == len(set.indices) {
			shuffle(g, rest[:n])
		}
		rest = rest[n:]
	}
	return samples
}

// A traffic draws the queries of one loaded set, one after another.
type traffic struct {
	set      loadableSet
	perQuery int                // samples of each query
	offline  []QuerySampleIndex // all samples of the only query, in Offline
	first    sampleDistribution // otherwise
	gap      func() int64       // nanoseconds from one query to the next

	// The reference prepares queries while wanted. SingleStream and MultiStream are endless: they go on after that.
	minQueries uint64
	duration   int64
	equalIssue bool
	endless    bool

	// The queries that the reference would have prepared, known once wanted is false.
	count  uint64
	length time.Duration // sum of the gaps

	drawn   uint64 // queries so far
	last    int64  // scheduled offset of the last of them, ns
	arrival int64  // scheduled offset of the next, ns
}

var errNoQueries = errors.New("the settings ask for no query at all: min_query_count and min_duration are both 0")

// A FewSamplesError says that the samples of a loaded set do not fill one query, and the test issues each of them once.
type FewSamplesError struct{ Loaded, PerQuery int }

func (e *FewSamplesError) Error() string {
	return fmt.Sprintf("each sample is to be issued once, in queries of %d, and only %d are loaded: the test needs a larger data set or a "+
		"smaller performance_sample_count_override", e.PerQuery, e.Loaded)
}

// newTraffic prepares to draw the traffic of one loaded set.
func newTraffic(ctx context.Context, e EffectiveSettings, accuracy bool, set loadableSet) (*traffic, error) {
	t := &traffic{
		set:        set,
		perQuery:   int(e.SamplesPerQuery),
		gap:        newGap(e),
		minQueries: e.MinQueryCount,
		duration:   int64(2 * e.TargetDuration), // the SUT may be faster than expected
		equalIssue: e.SampleConcatenatePermutation && e.Scenario != Offline,
		endless:    e.Scenario == SingleStream || e.Scenario == MultiStream,
	}
	if e.Scenario == Server {
		t.duration = int64(e.TargetDuration) // the schedule alone decides
	}
	if accuracy && e.Scenario == Offline {
		t.perQuery = set.end
	}
	if accuracy || e.PerformanceIssueUnique { // the whole set, once
		t.duration = 0
		t.minQueries = uint64(len(set.indices)) / uint64(t.perQuery)
		t.endless = false
	}
	if e.Scenario == Offline {
		t.offline = offlineSamples(e, accuracy, set)
		t.perQuery = len(t.offline)
	} else {
		var err error
		if t.first, err = newSampleDistribution(ctx, e, accuracy, set, t.minQueries); err != nil {
			return nil, err
		}
	}
	if n := len(e.ServerReplay); n > 0 {
		t.first, t.minQueries, t.duration, t.equalIssue = inOrder(inOrderOfData(set)), uint64(n), 0, false
	}
	if loaded := uint64(len(set.indices)); t.equalIssue && !accuracy && t.minQueries%loaded != 0 {
		t.minQueries += loaded - t.minQueries%loaded
	}
	switch {
	case t.wanted():
		return t, nil
	case accuracy || e.PerformanceIssueUnique:
		return nil, &FewSamplesError{len(set.indices), t.perQuery}
	}
	return nil, errNoQueries
}

// wanted reports whether the reference would prepare another query.
func (t *traffic) wanted() bool { return t.last < t.duration || t.drawn < t.minQueries }

// next draws a query: its samples, which belong to the traffic, and its scheduled offset from the start of the
// test in nanoseconds.
func (t *traffic) next() (samples []QuerySampleIndex, at int64) {
	samples, at = t.offline, t.arrival
	if t.first != nil {
		first := int(t.first())
		samples = t.set.indices[first : first+t.perQuery]
	}
	t.drawn++
	t.last = at
	t.arrival += t.gap()
	if t.equalIssue && t.drawn >= t.minQueries && t.last < t.duration {
		t.minQueries += uint64(len(t.set.indices)) // whole permutations only
	}
	if t.count == 0 && !t.wanted() {
		t.count, t.length = t.drawn, time.Duration(t.arrival)
	}
	return samples, at
}

// inOrderOfData has the places of samples in a set, by their indices.
func inOrderOfData(set loadableSet) []uint32 {
	places := make([]uint32, set.end)
	for i := range places {
		places[i] = uint32(i)
	}
	slices.SortFunc(places, func(a, b uint32) int { return cmp.Compare(set.indices[a], set.indices[b]) })
	return places
}

// newGap returns the source of the times between queries: those of the arrivals in Server, and constant otherwise.
func newGap(e EffectiveSettings) func() int64 {
	if n := len(e.ServerReplay); e.Scenario == Server && n > 0 {
		i := 0
		return func() int64 {
			if i++; i >= n { // behind the last
				return 0
			}
			return int64(e.ServerReplay[i] - e.ServerReplay[i-1])
		}
	}
	if e.Scenario == Server {
		return e.ServerArrivals.gap(newMT19937(e.ScheduleRNGSeed), e.TargetQPS)
	}
	period := nanoseconds(1 / e.TargetQPS)
	return func() int64 { return period }
}

// nanoseconds truncates, as std::chrono::duration_cast does.
func nanoseconds(seconds float64) int64 { return int64(seconds * 1e9) }

// A Trace is the traffic that a test issues to a SUT that answers at once, in the
// order of issue, over all loaded sets.
type Trace struct {
	Arrivals   string               `json:"arrivals,omitempty"` // of Server, where they are not of the rules
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
func NewTrace(ctx context.Context, settings TestSettings, qslPerformanceSampleCount, qslTotalSampleCount uint64) (*Trace, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	e := settings.resolved().Effective(qslPerformanceSampleCount, qslTotalSampleCount)
	if err := e.Validate(qslTotalSampleCount); err != nil {
		return nil, err
	}
	trace := &Trace{ScheduledNS: []int64{}}
	if e.ServerArrivals != (Arrivals{}) {
		trace.Arrivals = e.ServerArrivals.String()
	}
	add := func(accuracy bool, set loadableSet) error {
		t, err := newTraffic(ctx, e, accuracy, set)
		if err != nil {
			return err
		}
		trace.Loads = append(trace.Loads, set.indices)
		for t.endless || t.wanted() {
			stream := e.Scenario == SingleStream || e.Scenario == MultiStream // ends with enough queries and time
			if !accuracy && (stream && t.drawn >= e.MinQueryCount && t.last >= int64(e.TargetDuration) || e.MaxQueryCount > 0 && t.drawn == e.MaxQueryCount) {
				break
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			samples, _ := t.next()
			trace.Queries++
			trace.QuerySizes = append(trace.QuerySizes, len(samples))
			trace.Samples = append(trace.Samples, samples...)
		}
		return nil
	}
	if e.Mode == AccuracyOnly || e.Mode == SubmissionRun {
		for _, set := range loadableSets(e, qslTotalSampleCount, e.AccuracySampleCount) {
			if err := add(true, set); err != nil {
				return nil, err
			}
		}
	}
	if e.Mode != AccuracyOnly {
		if err := add(false, loadableSets(e, qslTotalSampleCount, e.PerformanceSampleCount)[0]); err != nil {
			return nil, err
		}
	}
	if e.Scenario == Server {
		trace.ScheduledNS = make([]int64, trace.Queries)
		gap := newGap(e)
		for i := uint64(1); i < trace.Queries; i++ {
			trace.ScheduledNS[i] = trace.ScheduledNS[i-1] + gap()
		}
	}
	return trace, nil
}
