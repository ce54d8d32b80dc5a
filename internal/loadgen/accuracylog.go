package loadgen

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/units"
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
	for range 2 * uint64(skip) { // two raw outputs for each number
		s.draws.uint32()
	}
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

// A responseLog hands responses from the SUT's goroutines to the AccuracyLog. Completing a
// sample only copies its response into a buffer; a goroutine of the log's own writes.
// The buffer is bounded: a response that does not fit is an error, which makes the run INVALID.
type responseLog struct {
	to     AccuracyLog
	limits logLimits

	mu      sync.Mutex
	filling logBatch // for the writer
	spare   logBatch // empty; its memory is used again
	tokens  map[ResponseID][]byte
	closed  bool
	largest int64 // of all responses, in bytes
	writing bool  // the writer has records
	err     error // the first

	waiting atomic.Int64 // bytes that are not written yet
	written atomic.Int64 // records
	// seen is written at the last call of failure that found it changed or nothing to write, and changed the
	// time of that call.
	seen    int64
	changed time.Time

	wake  chan struct{} // something has changed for the writer
	ended chan struct{} // closed when the writer has ended
}

// logLimits bound the memory of a responseLog.
type logLimits struct {
	hold    int64         // bytes that are held back before any is written; performance mode only
	most    int64         // bytes that may wait
	timeout time.Duration // of one record, until the log is given up
}

// A logBatch is a list of records whose data lie side by side.
type logBatch struct {
	records []AccuracyRecord
	data    []byte
}

// recordBytes is about the memory of a record beside its data.
const recordBytes = 80

func newResponseLog(to AccuracyLog, limits logLimits, tokens bool) *responseLog {
	l := &responseLog{to: to, limits: limits, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	if tokens {
		l.tokens = map[ResponseID][]byte{}
	}
	return l
}

// begin starts the writer, which close ends.
func (l *responseLog) begin() { go l.write() }

var errLogFull = errors.New("its buffer is full: the storage is slower than the SUT")

// add keeps a response. It never waits for the writer.
func (l *responseLog) add(s QuerySample, response *QuerySampleResponse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	record := AccuracyRecord{SeqID: uint64(s.ID), QSLIndex: s.Index, NTokens: response.NTokens}
	if l.tokens != nil {
		record.HasTokens, record.TokenData = true, l.tokens[s.ID]
		delete(l.tokens, s.ID)
	}
	size := int64(len(response.Data) + len(record.TokenData) + recordBytes)
	if l.closed || l.err != nil {
		return
	}
	waiting := l.waiting.Load()
	if waiting+size > l.limits.most {
		l.err = fmt.Errorf("%w (%d MiB wait)", errLogFull, waiting>>20)
		return
	}
	l.largest = max(l.largest, size)
	f := &l.filling
	if n := len(response.Data); n > 0 {
		f.data = append(f.data, response.Data...) // may move it; earlier records keep the old place
		record.Data = f.data[len(f.data)-n : len(f.data) : len(f.data)]
	}
	f.records = append(f.records, record)
	if l.waiting.Add(size) > l.limits.hold {
		l.signal()
	}
}

// addToken keeps the bytes of a first token until the sample is complete.
func (l *responseLog) addToken(id ResponseID, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens[id] = append([]byte(nil), data...)
}

func (l *responseLog) signal() {
	select {
	case l.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// write is the goroutine that writes, until the log is closed, an error, or a panic of the AccuracyLog.
func (l *responseLog) write() {
	defer close(l.ended)
	var err error
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.err == nil {
			l.err = err
		}
	}()
	for range l.wake {
		for {
			l.mu.Lock()
			full, last := l.filling, l.closed
			l.filling, l.spare = l.spare, logBatch{full.records[:0], full.data[:0]} // free at the next turn
			l.writing = len(full.records) > 0
			l.mu.Unlock()
			for i := range full.records {
				r := &full.records[i]
				if err = l.to.Append(*r); err != nil {
					return
				}
				l.waiting.Add(-int64(len(r.Data) + len(r.TokenData) + recordBytes))
				l.written.Add(1)
			}
			if last {
				return
			}
			if len(full.records) == 0 {
				break
			}
		}
	}
}

// room reports whether less than half of the buffer is in use, and will be when so many
// more samples are answered.
func (l *responseLog) room(outstanding int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err != nil || l.waiting.Load()+outstanding*l.largest < l.limits.most/2
}

// failure returns the error that ends the log, and whether the writer is stuck: it has records, and has not
// written one for too long. It has to be called now and then to know that.
func (l *responseLog) failure(now time.Time) (err error, stuck bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.written.Load(); n != l.seen || !l.writing || l.changed.IsZero() {
		l.seen, l.changed = n, now
	}
	waited := now.Sub(l.changed)
	if stuck = waited >= l.limits.timeout; stuck && l.err == nil {
		l.err = fmt.Errorf("it has not taken a response for %s", units.Duration(waited.Round(time.Second)))
	}
	return l.err, stuck
}

// close writes the rest, and returns the first error. It gives up a log that takes
// nothing. Responses that come later, from a SUT that was just answering when the test was stopped,
// are dropped.
func (l *responseLog) close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.signal()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-l.ended:
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.err
		case now := <-ticker.C:
			if err, stuck := l.failure(now); stuck {
				return err
			}
		}
	}
}
