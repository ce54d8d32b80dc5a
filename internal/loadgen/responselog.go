package loadgen

import (
	"errors"
	"fmt"
	"sync"
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
	waiting int64 // bytes that are not written yet
	largest int64 // of all responses, in bytes
	err     error // the first
	// since is when the record was begun that is being written; zero: none is.
	since time.Time

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
	if l.waiting+size > l.limits.most {
		l.err = fmt.Errorf("%w (%d MiB wait)", errLogFull, l.waiting>>20)
		return
	}
	l.largest = max(l.largest, size)
	record.Data = l.filling.copy(response.Data)
	l.filling.records = append(l.filling.records, record)
	if l.waiting += size; l.waiting > l.limits.hold {
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
			for _, r := range records {
				l.append(r)
			}
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
	return full.records, l.closed
}

func (l *responseLog) append(r AccuracyRecord) {
	l.mu.Lock()
	l.since = time.Now()
	failed := l.err != nil && !errors.Is(l.err, errLogFull)
	l.mu.Unlock()
	var err error
	if !failed {
		err = guardAppend(l.to, r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = time.Time{}
	l.waiting -= int64(len(r.Data) + len(r.TokenData) + recordBytes)
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
	return l.err != nil || l.waiting+outstanding*l.largest < l.limits.most/2
}

// failure is why the log is not worth going on with: an error, or a record that is being
// written for too long.
func (l *responseLog) failure(now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil && !l.since.IsZero() && now.Sub(l.since) >= l.limits.timeout {
		l.err = fmt.Errorf("it has not taken a response for %v", now.Sub(l.since).Round(time.Second))
	}
	return l.err
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
			return l.failure(time.Time{})
		case now := <-ticker.C:
			if err := l.failure(now); err != nil && l.stuck(now) {
				return err
			}
		}
	}
}

// stuck reports whether a record is being written for too long.
func (l *responseLog) stuck(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.since.IsZero() && now.Sub(l.since) >= l.limits.timeout
}
