package server

import (
	"sync"
	"time"
)

// A quiet is what is known of a stream that may be silent: not for ever, as a connection that is idle may not, and not while
// the server is drained. Over is sent why it ends, which it does when nothing of it is under way.
type quiet struct {
	limit   time.Duration
	silence error // that was too long
	over    chan error

	mu       sync.Mutex
	busy     int // requests that were not answered yet
	draining bool
	timer    *time.Timer
}

func newQuiet(limit time.Duration, silence error) *quiet {
	q := &quiet{limit: limit, silence: silence, over: make(chan error, 1)}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.timer = time.AfterFunc(limit, q.silent)
	return q
}

// end ends the stream, for a reason: the first counts.
func (q *quiet) end(reason error) {
	select {
	case q.over <- reason:
	default:
	}
}

// begin says that a request has come.
func (q *quiet) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy++
	q.timer.Stop()
}

// done says that a request was answered.
func (q *quiet) done() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy--
	switch {
	case q.busy > 0:
	case q.draining:
		q.end(errDraining)
	default:
		q.timer.Reset(q.limit)
	}
}

// silent ends a stream whose time is over.
func (q *quiet) silent() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy == 0 {
		q.end(q.silence)
	}
}

// drain ends a stream as soon as its requests were answered.
func (q *quiet) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.draining = true; q.busy == 0 {
		q.end(errDraining)
	}
}
