package harness

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A dispatcher answers the samples of a sut with a predictor that answers any number at once: each
// sample has a goroutine, and if the predictor has a limit, those beyond it wait in the queue.
type dispatcher struct {
	sut       *sut
	predictor *workload.PromptPredictor
	limit     int64 // 0: none
	underway  atomic.Int64
	inARow    atomic.Int64   // failures since the last answer
	failing   atomic.Int64   // when the first of them was, in Unix ns; 0: there is none
	traces    *traces        // nil: none are kept
	handover  *backend.Times // from IssueQuery to the predictor, of samples that did not wait for others
}

func (d *dispatcher) start() {}

// issued answers samples, as far as the limit allows.
func (d *dispatcher) issued(samples int) { d.dispatch(samples) }

// dispatch starts answering up to n of the samples that wait, as far as the limit allows. It returns at once.
func (d *dispatcher) dispatch(n int) {
	issued := clock.Now()
	for range n {
		if !d.enter() {
			return
		}
		d.sut.running.Go(func() { d.run(issued) })
	}
}

// enter takes one of the places for samples under way; false: all are taken. Subtle: a place must not be
// taken and given back. A goroutine that leaves looks at the queue afterwards, and would meet a limit that
// does not hold any more, while no goroutine is left for the sample that found no place.
func (d *dispatcher) enter() bool {
	for {
		n := d.underway.Load()
		if d.limit > 0 && n >= d.limit {
			return false
		}
		if d.underway.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// run answers samples until none waits.
func (d *dispatcher) run(issued time.Time) {
	var room [1]task
	for first := true; ; first = false {
		batch, _ := d.sut.queue.admit(room[:0], 1, true, false)
		if len(batch) == 0 {
			break
		}
		if first {
			d.handover.Add(clock.Since(issued))
		}
		d.answer(batch[0])
		d.sut.queue.done()
	}
	d.underway.Add(-1)
	if d.sut.queue.waiting() {
		d.dispatch(1) // it came just now, and met the limit
	}
}

// dispatcher is the one that answers; false: workers do.
func (s *sut) dispatcher() (*dispatcher, bool) {
	d, ok := s.how.(*dispatcher)
	return d, ok
}

// The servers are gone, and the test ends, after mostFailures samples that failed one after the other, or if samples have failed for
// mostAbsence without an answer and no server can be reached: at low rates, or with a long wait for each connection, so many failures
// take minutes.
const (
	mostFailures = 100
	mostAbsence  = 10 * time.Second
)

// answer answers a sample, if need be with an error. Unlike an error of an engine on this machine, one
// of a server fails its sample only.
func (d *dispatcher) answer(t task) {
	a := &promptReply{dispatcher: d, task: t}
	err := d.ask(a)
	d.traces.ended(t.sample.ID)
	if err == nil && !a.done {
		err = workload.ErrNoAnswer
	}
	if err == nil {
		d.inARow.Store(0)
		d.failing.Store(0)
		d.sut.workers[0].samples.Add(1)
		return
	}
	if !a.done {
		d.sut.to.fail(t, err)
	}
	failures, now := d.inARow.Add(1), clock.Now().UnixNano()
	d.failing.CompareAndSwap(0, now)
	first := d.failing.Load()
	if failures == mostFailures || errors.Is(err, backend.ErrUnreachable) && first > 0 && now-first >= int64(mostAbsence) {
		d.sut.fail(fmt.Errorf("the servers have not answered the last %d requests: %w", failures, err))
	}
}

// ask calls the predictor. A panic of a model's code on the way to the server is an error.
func (d *dispatcher) ask(a *promptReply) (err error) {
	defer recovered(&err)
	row, err := d.sut.rows.after(-1, a.task.sample.Index)
	if err != nil {
		return err
	}
	return d.predictor.Answer(d.sut.ctx, workload.Item{Row: row, Index: int(a.task.sample.Index)}, a)
}

// A promptReply is the reply to a sample.
type promptReply struct {
	dispatcher *dispatcher
	task       task
	done       bool
	paused     time.Duration
	response   [1]loadgen.QuerySampleResponse
}

// FirstToken implements workload.Reply.
func (a *promptReply) FirstToken(_ int, token []byte) {
	if a.dispatcher.sut.tokens {
		a.response[0] = loadgen.QuerySampleResponse{ID: a.task.sample.ID, Data: token}
		a.task.query.FirstToken(a.response[:])
	}
}

// Trace implements workload.TracedReply.
func (a *promptReply) Trace(int) *backend.Trace { return a.dispatcher.traces.begin(a.task.sample.ID) }

// Paused implements workload.PausedReply.
func (a *promptReply) Paused(_ int, d time.Duration) { a.paused = d }

// Done implements workload.Reply.
func (a *promptReply) Done(_ int, response []byte, tokens int) {
	a.done = true
	a.response[0] = loadgen.QuerySampleResponse{ID: a.task.sample.ID, Data: response, NTokens: int32(tokens), Paused: a.paused}
	a.dispatcher.sut.to.done(a.task, a.response[:])
	a.response[0] = loadgen.QuerySampleResponse{}
}
