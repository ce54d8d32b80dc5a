package loadgen

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// A responseLog hands responses from the SUT's goroutines to the AccuracyLog. Completing a
// sample only copies its response into a buffer; a goroutine of the log's own writes.
// The buffer is bounded: what does not fit is an error, which makes the run INVALID.
type responseLog struct {
	to     AccuracyLog
	limits logLimits

	mu      sync.Mutex
	filling batch // what the writer has not taken yet
	spare   batch // empty; its memory is used again
	tokens  map[ResponseID][]byte
	closed  bool
	largest int64 // of all responses, in bytes
	writing bool  // the writer has records
	err     error // the first

	waiting atomic.Int64 // bytes that are not written yet
	written atomic.Int64 // records
	// seen is how many were written when somebody looked, and changed when that was last more
	// than before, or nothing was being written.
	seen    int64
	changed time.Time

	wake  chan struct{} // there is something for the writer to look at
	ended chan struct{} // the writer has ended; nil: it has not begun
}

// logLimits bound what a responseLog holds.
type logLimits struct {
	hold    int64         // bytes that are held back before any is written; performance mode only
	most    int64         // bytes that may wait
	timeout time.Duration // of one record, until the log is given up
}

// A batch is a list of records whose data lie side by side.
type batch struct {
	records []AccuracyRecord
	data    []byte
}

// recordBytes is about what a record takes beside its data.
const recordBytes = 80

func newResponseLog(to AccuracyLog, limits logLimits, tokens bool) *responseLog {
	l := &responseLog{to: to, limits: limits, wake: make(chan struct{}, 1)}
	if tokens {
		l.tokens = map[ResponseID][]byte{}
	}
	return l
}

// begin starts the writer, which close ends.
func (l *responseLog) begin() {
	l.ended = make(chan struct{})
	go l.write()
}

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
	record.Data = l.filling.copy(response.Data)
	l.filling.records = append(l.filling.records, record)
	if l.waiting.Add(size) > l.limits.hold {
		l.signal()
	}
}

// copy copies data to the end of a batch.
func (b *batch) copy(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	b.data = append(b.data, data...) // may move it; earlier records keep the old place
	return b.data[len(b.data)-len(data) : len(b.data) : len(b.data)]
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

// write is the goroutine that writes.
func (l *responseLog) write() {
	defer close(l.ended)
	for range l.wake {
		for {
			records, last := l.take()
			l.append(records)
			if last {
				return
			}
			if len(records) == 0 {
				break
			}
		}
	}
}

// take returns what there is to write; last says that nothing follows.
func (l *responseLog) take() (records []AccuracyRecord, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.filling
	l.filling, l.spare = l.spare, batch{full.records[:0], full.data[:0]} // free when this is called again
	l.writing = len(full.records) > 0
	return full.records, l.closed
}

// append writes records until one fails.
func (l *responseLog) append(records []AccuracyRecord) {
	for i := range records {
		r := &records[i]
		if err := guardAppend(l.to, *r); err != nil {
			l.fail(err)
			return
		}
		l.waiting.Add(-int64(len(r.Data) + len(r.TokenData) + recordBytes))
		l.written.Add(1)
	}
}

func (l *responseLog) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

// guardAppend makes an error of a panic.
func guardAppend(to AccuracyLog, r AccuracyRecord) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return to.Append(r)
}

// room reports whether less than half of the buffer is in use, and will be when so many
// more samples are answered.
func (l *responseLog) room(outstanding int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err != nil || l.waiting.Load()+outstanding*l.largest < l.limits.most/2
}

// failure is why the log is not worth going on with: an error, or that it takes nothing.
func (l *responseLog) failure(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stuck(now) && l.err == nil {
		l.err = fmt.Errorf("it has not taken a response for %v", now.Sub(l.changed).Round(time.Second))
	}
	return l.err
}

// stuck reports whether no record was written for too long although there are some. It has
// to be asked now and then to know that.
func (l *responseLog) stuck(now time.Time) bool {
	if n := l.written.Load(); n != l.seen || !l.writing || l.changed.IsZero() {
		l.seen, l.changed = n, now
	}
	return now.Sub(l.changed) >= l.limits.timeout
}

// stuckEvery is how often close looks whether the log still takes responses.
const stuckEvery = 100 * time.Millisecond

// close has what is left written, and returns the first error. It gives up a log that takes
// nothing. What comes later, from a SUT that was just answering when the test was stopped,
// is dropped.
func (l *responseLog) close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.signal()
	ticker := time.NewTicker(stuckEvery)
	defer ticker.Stop()
	for {
		select {
		case <-l.ended:
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.err
		case now := <-ticker.C:
			if err, stuck := l.look(now); stuck {
				return err
			}
		}
	}
}

// look is failure, and whether the writer is stuck in a record.
func (l *responseLog) look(now time.Time) (err error, stuck bool) {
	err = l.failure(now)
	l.mu.Lock()
	defer l.mu.Unlock()
	return err, l.stuck(now)
}
