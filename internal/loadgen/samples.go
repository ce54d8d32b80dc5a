package loadgen

// This file decides which samples are issued, in which order: loadgen/loadgen.cc,
// GenerateLoadableSets, SampleDistribution and GenerateQueries.

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

// Traffic of the SingleStream, MultiStream and Server scenarios is a sequence of
// positions in the loaded set at which the query's samples begin. A picker draws
// the next one.
type picker func() uint32

// newPicker returns the picker of a set for at least minQueries queries. All three
// ways of choosing take their shuffles from the generator whether they are used or
// not: the reference does so, and it decides all later draws.
func newPicker(e EffectiveSettings, accuracy bool, set loadableSet, minQueries uint64) picker {
	g := newMT19937(e.SampleIndexRNGSeed)
	stride := 1
	if e.Scenario == MultiStream {
		stride = int(e.SamplesPerQuery)
	}
	uniform := func() uint32 { return uint32(g.uniformInt(uint64(set.end))) }
	if accuracy {
		uniform = inOrder(permutation(g, set.end, stride))
	}
	unique := inOrder(permutation(g, set.end, stride))
	equal := permutations(g, minQueries, len(set.indices))

	same := uint32(e.PerformanceIssueSameIndex)
	switch {
	case e.PerformanceIssueUnique:
		return unique
	case e.PerformanceIssueSame:
		return func() uint32 { return same }
	case e.SampleConcatenatePermutation && e.Scenario != MultiStream:
		if len(equal) == 0 { // no query is asked for; the reference would divide by zero
			equal = permutations(g, 1, len(set.indices))
		}
		return inOrder(equal)
	}
	return uniform
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

// permutations returns as many random orders of 0…n-1 as cover count.
func permutations(g *mt19937, count uint64, n int) []uint32 {
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	s := make([]uint32, 0, (count+uint64(n)-1)/uint64(n)*uint64(n))
	for done := uint64(0); done < count; done += uint64(n) {
		shuffle(g, order) // shuffles the previous order again, not the identity
		s = append(s, order...)
	}
	return s
}

// inOrder walks through s and begins again at its end.
func inOrder(s []uint32) picker {
	i := 0
	return func() uint32 {
		if i == len(s) {
			i = 0
		}
		i++
		return s[i-1]
	}
}

// offlineSamples returns the samples of the one Offline query: the loaded set as
// often as it fits, and a part of it at the end.
func offlineSamples(e EffectiveSettings, accuracy bool, set loadableSet) []QuerySampleIndex {
	samples := make([]QuerySampleIndex, offlineQuerySize(e, accuracy, set))
	if e.PerformanceIssueSame {
		for i := range samples {
			samples[i] = set.indices[e.PerformanceIssueSameIndex]
		}
		return samples
	}
	var g *mt19937
	if e.SampleConcatenatePermutation {
		g = newMT19937(e.SampleIndexRNGSeed)
		skipShuffles(g, accuracy, set)
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

// offlineQuerySize is the number of samples of the Offline query. Equal issue
// rounds it up to whole permutations.
func offlineQuerySize(e EffectiveSettings, accuracy bool, set loadableSet) uint64 {
	n := e.SamplesPerQuery
	if accuracy {
		n = uint64(set.end)
	}
	if loaded := uint64(len(set.indices)); !accuracy && e.SampleConcatenatePermutation && n%loaded != 0 {
		n += loaded - n%loaded
	}
	return n
}

// skipShuffles takes from g what newPicker takes before the first Offline sample:
// the shuffles of the unused ways of choosing.
func skipShuffles(g *mt19937, accuracy bool, set loadableSet) {
	if accuracy {
		permutation(g, set.end, 1)
	}
	permutation(g, set.end, 1)
	permutations(g, 1, len(set.indices)) // Offline has one query
}
