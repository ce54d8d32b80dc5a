package loadgen

// An AccuracyRecord is the logged response of one sample.
type AccuracyRecord struct {
	SeqID     uint64 // position of the sample in the traffic
	QSLIndex  QuerySampleIndex
	Data      []byte
	TokenData []byte // of the first token; nil without token latencies
	NTokens   int32
	HasTokens bool // the test measures token latencies
}

// An AccuracyLog receives the responses that a test keeps: all in accuracy mode, as
// they arrive, and the sampled ones in performance mode, after the run or when they have become
// many. Append may take its time: the SUT does not wait for it. It must not keep the record's
// slices, and is never called twice at the same time. A log that takes nothing for LogTimeout
// is given up; then Append may still be running when the test ends.
type AccuracyLog interface {
	Append(AccuracyRecord) error
}

// A sampler decides which responses are logged in performance mode. Each sample of a
// test has a random number u, drawn in the order of the traffic; it is logged if
// u shifted by an offset, which alone depends on accuracy_log_rng_seed, is not
// above the probability (loadgen/loadgen.cc, ResponseDelegateDetailed).
type sampler struct {
	// The reference never seeds this engine, so every test draws the same numbers.
	draws       *mt19937
	offset      float64
	probability float64
}

// newSampler returns the sampler of a phase whose first sample has the id skip.
func newSampler(e EffectiveSettings, skip ResponseID) *sampler {
	s := &sampler{
		draws:       newMT19937(mtDefaultSeed),
		offset:      newMT19937(e.AccuracyLogRNGSeed).uniformReal(),
		probability: accuracyLogProbability(e),
	}
	s.draws.discard(2 * uint64(skip)) // two raw outputs for each number
	return s
}

func (s *sampler) keep() bool {
	u := s.draws.uniformReal() + s.offset
	if u >= 1 {
		u--
	}
	return u <= s.probability
}

// accuracyLogProbability turns the target number of logged samples into a
// probability (loadgen/loadgen.cc, IssueQueries).
func accuracyLogProbability(e EffectiveSettings) float64 {
	if e.AccuracyLogSamplingTarget == 0 {
		return e.AccuracyLogProbability
	}
	expected := uint64(e.TargetQPS * float64(e.MinDuration.Milliseconds()) / 1000)
	least := e.MinSampleCount
	if e.Scenario != Offline {
		expected *= e.SamplesPerQuery
		least = e.MinQueryCount * e.SamplesPerQuery
	}
	return float64(e.AccuracyLogSamplingTarget) / float64(max(expected, least))
}
