package loadgen

import (
	"slices"
	"sync"
)

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
// they arrive, and the sampled ones in performance mode, after the run. Append
// must not keep the record's slices. It is never called twice at the same time.
type AccuracyLog interface {
	Append(AccuracyRecord) error
}

// A responseLog hands responses to the AccuracyLog, at once or when flushed.
type responseLog struct {
	mu     sync.Mutex
	to     AccuracyLog
	defers bool // performance mode: nothing is written while the clock runs
	held   []AccuracyRecord
	tokens map[ResponseID][]byte // nil without token latencies
	closed bool
	err    error
}

func newResponseLog(to AccuracyLog, defers, tokens bool) *responseLog {
	l := &responseLog{to: to, defers: defers}
	if tokens {
		l.tokens = map[ResponseID][]byte{}
	}
	return l
}

func (l *responseLog) add(s QuerySample, response *QuerySampleResponse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	record := AccuracyRecord{SeqID: uint64(s.ID), QSLIndex: s.Index, Data: response.Data, NTokens: response.NTokens}
	if l.tokens != nil {
		record.HasTokens = true
		record.TokenData = l.tokens[s.ID]
		delete(l.tokens, s.ID)
	}
	if l.defers {
		record.Data = slices.Clone(record.Data)
		l.held = append(l.held, record)
		return
	}
	l.append(record)
}

func (l *responseLog) addToken(id ResponseID, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens[id] = slices.Clone(data)
}

// close writes what was held back, and returns the first error of any Append. What comes
// later, from a SUT that was just answering when the test was stopped, is dropped.
func (l *responseLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, record := range l.held {
		l.append(record)
	}
	l.held, l.closed = nil, true
	return l.err
}

func (l *responseLog) append(record AccuracyRecord) {
	if l.err == nil {
		l.err = l.to.Append(record)
	}
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
