package openai

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A watch cuts requests off that have taken too long. It looks at all of them from time to time,
// which costs less than a timer that each read sets anew.
type watch struct {
	total time.Duration // for a request
	quiet time.Duration // between two reads of an answer that has begun

	began  time.Time
	mu     sync.Mutex
	active map[*watched]struct{}
	stop   chan struct{}
	ended  chan struct{}
}

// A watched is a request under way.
type watched struct {
	cancel   context.CancelCauseFunc
	limit    int64        // ns since the watch began, of the whole request
	deadline atomic.Int64 // of the next read
	begun    atomic.Bool  // the answer has
}

// watchEvery is how often requests are looked at.
const watchEvery = 100 * time.Millisecond

func newWatch(total, quiet time.Duration) *watch {
	w := &watch{total: total, quiet: quiet, began: time.Now(), active: map[*watched]struct{}{}, stop: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	return w
}

func (w *watch) run() {
	defer close(w.ended)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			w.look()
		case <-w.stop:
			return
		}
	}
}

func (w *watch) look() {
	now := w.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for r := range w.active {
		if now > r.deadline.Load() {
			r.cancel(w.why(r, now))
		}
	}
}

// why says what took a request too long.
func (w *watch) why(r *watched, now int64) *failure {
	if r.begun.Load() && now <= r.limit {
		return failf(kindTimeout, "the answer stopped in the middle, nothing came for %v", w.quiet)
	}
	return failf(kindTimeout, "no whole answer within %v", w.total)
}

func (w *watch) now() int64 { return int64(time.Since(w.began)) }

// close ends the watch.
func (w *watch) close() {
	close(w.stop)
	<-w.ended
}

// begin watches a request until it is told that it has ended.
func (w *watch) begin(cancel context.CancelCauseFunc) *watched {
	r := &watched{cancel: cancel, limit: w.now() + int64(w.total)}
	r.deadline.Store(r.limit)
	w.mu.Lock()
	w.active[r] = struct{}{}
	w.mu.Unlock()
	return r
}

func (w *watch) end(r *watched) {
	w.mu.Lock()
	delete(w.active, r)
	w.mu.Unlock()
}

// answering says that the answer has begun: from now on it may not pause for too long.
func (w *watch) answering(r *watched) {
	r.begun.Store(true)
	w.heard(r, time.Now())
}

// heard says that there was a read.
func (w *watch) heard(r *watched, at time.Time) {
	r.deadline.Store(min(r.limit, int64(at.Sub(w.began)+w.quiet)))
}

// leave gives a request that is answered a moment to end its connection in order.
func (w *watch) leave(r *watched) { r.deadline.Store(w.now() + int64(graceAfterEnd)) }

// graceAfterEnd is how long the end of a body is waited for behind the end of the answer.
const graceAfterEnd = 200 * time.Millisecond
