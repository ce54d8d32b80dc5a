package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A source gives a decoder the samples of a worker.
type source struct {
	w       *worker
	tasks   []task // by ticket
	taken   []bool // the ticket is in use
	tokens  []int  // that were streamed, by ticket
	free    []int  // tickets
	batch   []task
	prevRow int
}

func newSource(w *worker) *source {
	n := cap(w.batch)
	s := &source{w: w, tasks: make([]task, n), taken: make([]bool, n), tokens: make([]int, n), batch: make([]task, 0, n), prevRow: -1}
	for ticket := n - 1; ticket >= 0; ticket-- {
		s.free = append(s.free, ticket)
	}
	return s
}

// admitted is how many samples have no answer yet.
func (s *source) admitted() int { return len(s.tasks) - len(s.free) }

// Admit implements workload.Source.
func (s *source) Admit(items []workload.Item, n int, wait bool) ([]workload.Item, bool) {
	for {
		idle := s.admitted() == 0
		room := min(n, len(s.free))
		if room <= 0 {
			return items, true
		}
		var open bool
		s.batch, open = s.w.sut.queue.admit(s.batch, room, idle, wait && idle)
		if len(s.batch) == 0 {
			return items, open
		}
		s.w.batches.Add(1)
		before := len(items)
		for _, t := range s.batch {
			items = s.hand(items, t)
		}
		if len(items) > before {
			return items, true
		}
	}
}

// hand gives a sample a ticket. One that is not loaded is answered at once.
func (s *source) hand(items []workload.Item, t task) []workload.Item {
	ticket := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	s.tasks[ticket], s.taken[ticket], s.tokens[ticket] = t, true, 0
	if s.admitted() == 1 {
		s.w.since.Store(clock.Now().UnixNano())
	}
	row, err := s.w.sut.rows.after(s.prevRow, t.sample.Index)
	if err != nil {
		s.w.sut.fail(err)
		s.complete(ticket, loadgen.QuerySampleResponse{}, err)
		return items
	}
	s.prevRow = row
	item := workload.Item{Row: row, Index: int(t.sample.Index), Ticket: ticket}
	if bound := s.w.sut.queue.bound; bound > 0 {
		item.Due = t.added.Add(bound)
	}
	return append(items, item)
}

// Worked implements workload.Source. The model runs with the samples that are admitted.
func (s *source) Worked() {
	s.w.sut.worked.Add(1)
	n := s.admitted()
	s.w.sizes[min(n, len(s.w.sizes)-1)].Add(1)
	s.w.slots.use(n)
}

// FirstToken implements workload.Reply.
func (s *source) FirstToken(ticket int, token []byte) {
	if s.known(ticket) {
		s.w.firstToken(s.tasks[ticket], token)
	}
}

// Token implements workload.Source.
func (s *source) Token(ticket int, token []byte) {
	if !s.known(ticket) {
		return
	}
	s.tokens[ticket]++
	s.w.tokens.Add(1)
	s.w.sut.to.token(s.tasks[ticket], token)
}

// Done implements workload.Reply.
func (s *source) Done(ticket int, response []byte, tokens int) {
	if s.known(ticket) {
		s.w.tokens.Add(int64(max(tokens-s.tokens[ticket], 0))) // a search of beams streams none
		s.complete(ticket, loadgen.QuerySampleResponse{Data: response, NTokens: int32(tokens)}, nil)
	}
}

// known reports whether a ticket is that of a sample without an answer. Any other would
// answer another sample.
func (s *source) known(ticket int) bool {
	ok := ticket >= 0 && ticket < len(s.taken) && s.taken[ticket]
	if !ok {
		s.w.sut.fail(fmt.Errorf("the model answered the ticket %d, which no sample has", ticket))
	}
	return ok
}

// complete answers a sample, if need be with an error.
func (s *source) complete(ticket int, r loadgen.QuerySampleResponse, failure error) {
	t := s.tasks[ticket]
	s.tasks[ticket], s.taken[ticket] = task{}, false
	s.free = append(s.free, ticket)
	if failure != nil {
		s.w.sut.to.fail(t, failure)
	} else {
		s.w.reply(t, r)
	}
	s.w.samples.Add(1)
	if s.admitted() == 0 {
		s.w.busy.Add(clock.Now().UnixNano() - s.w.since.Swap(0))
		s.w.slots.use(0)
		s.w.sut.queue.done()
	}
}

// refuse answers all samples that have no answer with an error.
func (s *source) refuse(err error) {
	for ticket, taken := range s.taken {
		if taken {
			s.complete(ticket, loadgen.QuerySampleResponse{}, err)
		}
	}
}

// slots are the places of a worker for samples that are answered token by token, over time.
type slots struct {
	mu    sync.Mutex
	used  int
	since time.Time
	spent time.Duration // time of all slots
}

// use says how many are in use from now on.
func (s *slots) use(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := clock.Now()
	s.spent += time.Duration(s.used) * now.Sub(s.since)
	s.used, s.since = n, now
}

// total is the time for which slots were in use, of all slots together.
func (s *slots) total() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.spent + time.Duration(s.used)*clock.Since(s.since)
}

// serve has a decoder answer samples until the queue is closed. If it gives up with an error, that
// error answers all further samples.
func (w *worker) serve(ctx context.Context, p workload.Decoder) {
	s := newSource(w)
	err := serving(ctx, p, s)
	if err == nil && s.admitted() > 0 {
		err = workload.ErrNoAnswer
	}
	if err == nil && !w.sut.queue.isClosed() {
		err = errors.New("the model's code stopped before the test did")
	}
	if err != nil {
		w.sut.fail(err)
		s.refuse(err)
	}
	for open := true; open; s.refuse(err) {
		_, open = s.Admit(nil, len(s.tasks), true)
	}
}

// serving calls Serve. A panic of a model's code on the way to the engine is an error.
func serving(ctx context.Context, p workload.Decoder, s workload.Source) (err error) {
	defer recovered(&err)
	return p.Serve(ctx, s)
}
