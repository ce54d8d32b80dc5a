package harness

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A crowd answers the samples of a sut with a predictor that answers any number at once: each
// sample has a goroutine, and if there is a limit those beyond it wait in the queue.
type dispatcher struct {
	sut       *sut
	predictor *workload.PromptPredictor
	limit     int64 // 0: none
	underway  atomic.Int64
	inARow    atomic.Int64   // failures since the last answer
	handover  *backend.Times // from IssueQuery to the predictor, of samples that did not wait for others
}

func newDispatcher(s *sut, p *workload.PromptPredictor) *dispatcher {
	p.Reset()
	return &dispatcher{sut: s, predictor: p, limit: int64(p.Limit()), handover: backend.NewTimes()}
}

// grow has up to n samples that wait answered, as far as the limit allows. It returns at once.
func (c *dispatcher) grow(n int) {
	issued := time.Now()
	for range n {
		if !c.enter() {
			return
		}
		c.sut.running.Go(func() { c.run(issued) })
	}
}

// enter takes a place among those under way; false: there is none. Subtle: a place must not be
// taken and given back. Whoever leaves looks at the queue afterwards, and would meet a limit that
// is not there, while the sample that found no place waits for nobody.
func (c *dispatcher) enter() bool {
	for {
		n := c.underway.Load()
		if c.limit > 0 && n >= c.limit {
			return false
		}
		if c.underway.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// run answers samples until none waits.
func (c *dispatcher) run(issued time.Time) {
	var room [1]task
	for first := true; ; first = false {
		batch, _ := c.sut.queue.admit(room[:0], 1, true, false)
		if len(batch) == 0 {
			break
		}
		if first {
			c.handover.Add(time.Since(issued))
		}
		c.answer(batch[0])
		c.sut.queue.done()
	}
	c.underway.Add(-1)
	if c.sut.queue.waiting() {
		c.grow(1) // it came just now, and met the limit
	}
}

// mostFailures is how many samples may fail one after the other before the test ends: the
// servers are gone.
const mostFailures = 100

// answer answers a sample, or says why it has no answer. Unlike an error of an engine here, one
// of a server fails its sample only.
func (c *dispatcher) answer(t task) {
	a := &promptReply{dispatcher: c, task: t}
	err := c.ask(a)
	if err == nil && !a.done {
		err = errors.New("the model gave no answer")
	}
	if err == nil {
		c.inARow.Store(0)
		c.sut.workers[0].samples.Add(1)
		return
	}
	if !a.done {
		t.query.Fail(t.sample.ID, err)
	}
	if c.inARow.Add(1) == mostFailures {
		c.sut.fail(err)
	}
}

// ask calls the predictor. A panic of a model's code on the way to the server is an error.
func (c *dispatcher) ask(a *promptReply) (err error) {
	defer recovered(&err)
	row, err := c.sut.rows.after(-1, a.task.sample.Index)
	if err != nil {
		return err
	}
	return c.predictor.Answer(c.sut.ctx, workload.Item{Row: row, Index: int(a.task.sample.Index)}, a)
}

// An promptReply is the reply to a sample.
type promptReply struct {
	dispatcher *dispatcher
	task       task
	done       bool
	response   [1]loadgen.QuerySampleResponse
}

// FirstToken implements workload.Reply.
func (a *promptReply) FirstToken(_ int, token []byte) {
	if a.dispatcher.sut.tokens {
		a.response[0] = loadgen.QuerySampleResponse{ID: a.task.sample.ID, Data: token}
		a.task.query.FirstToken(a.response[:])
	}
}

// Done implements workload.Reply.
func (a *promptReply) Done(_ int, response []byte, tokens int) {
	a.done = true
	a.response[0] = loadgen.QuerySampleResponse{ID: a.task.sample.ID, Data: response, NTokens: int32(tokens)}
	a.task.query.Complete(a.response[:])
	a.response[0] = loadgen.QuerySampleResponse{}
}
