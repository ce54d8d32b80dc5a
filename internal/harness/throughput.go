package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

const (
	// leastBatches is how many batches each worker is measured with at least, if that takes no
	// longer than probeMost.
	leastBatches = 4
	// enoughAnswers of servers say their rate without more batches: each prompt is answered on its own, and even where lengths differ by as
	// much as their mean, that of 64 is off by an eighth, which is less than offlineMargin.
	enoughAnswers = 64
	probeMost     = 10 * time.Second
	probeTime     = time.Second // of all workers together
)

// throughput measures the samples per second of all workers together, each with samples of
// its own where they differ. A worker is measured until its own last batch is done, so that
// its wait for the others does not count. Where there is no time for that, a worker takes as long for each sample as for one.
func (r *run) throughput(ctx context.Context, batch int) (float64, error) {
	if !r.fits(2 * r.warm.latency) {
		return float64(len(r.model.predictors)) / r.warm.latency.Seconds(), nil
	}
	if !r.fits(r.warm.latency * time.Duration(batch)) {
		batch = 1
	}
	workers, rows := len(r.model.predictors), batch
	if differ(r.workload) {
		rows = max(batch, min(batch*workers*leastBatches, r.qsl.performance))
	}
	items, err := r.sampleRows(ctx, rows)
	if err != nil {
		return 0, err
	}
	rates, errs := make([]float64, workers), make([]error, workers)
	var wg sync.WaitGroup
	var ready atomic.Int64 // workers that were measured for long enough
	for i, p := range r.model.predictors {
		wg.Go(func() {
			stop := func() bool { return ready.Load() >= int64(workers) }
			m := speedTest{items: rotated(items, i*batch), batch: batch, least: leastBatches * batch, most: r.cfg.Longest, enough: func() { ready.Add(1) }, stop: stop}
			if p.prompts != nil {
				m.least = min(m.least, enoughAnswers)
			}
			rates[i], errs[i] = m.throughput(ctx, p)
			if errs[i] != nil {
				ready.Store(int64(workers))
			}
		})
	}
	wg.Wait()
	rate := 0.0
	for _, each := range rates {
		rate += each
	}
	return rate, errors.Join(errs...)
}

// A speedTest measures the speed of a predictor.
type speedTest struct {
	items  []workload.Item
	batch  int           // samples at once
	least  int           // samples
	most   time.Duration // of this test; 0: probeMost
	enough func()        // is called once, when it was measured for long enough
	stop   func() bool   // reports whether to stop
	began  time.Time
	ready  bool
}

// throughput measures the samples per second of a predictor.
func (m *speedTest) throughput(ctx context.Context, p predictor) (float64, error) {
	m.began = clock.Now()
	if p.decoder != nil {
		return m.pull(ctx, p.decoder)
	}
	n, took := 0, time.Duration(0)
	for !m.over(n) {
		if err := tryOut(ctx, p, rotated(m.items, n)[:m.batch]); err != nil {
			return 0, err
		}
		n += m.batch
		took = clock.Since(m.began)
	}
	return float64(n) / max(took, 1).Seconds(), nil
}

// over reports whether n samples are enough, of this predictor and of all others.
func (m *speedTest) over(n int) bool {
	took := clock.Since(m.began)
	if !m.ready && n >= m.least && took >= probeTime {
		m.ready = true
		m.enough()
	}
	return m.stop() || took >= cmp.Or(m.most, probeMost)
}

// pull measures the samples per second of a decoder that answers samples without end, as in a test under load: until the last
// admission, because it is less and less busy then.
//
// Answers that have ended by then are the short ones, and their number says too much: a decoder that streams tokens is measured by
// these, and a sample counts as the mean of all answers that were begun, each at its full length. (By Wald's equation it makes no
// difference to this mean that the last admission depends on the lengths.)
func (m *speedTest) pull(ctx context.Context, p workload.Decoder) (float64, error) {
	stop := m.stop
	m.stop = func() bool { return ctx.Err() != nil || stop() }
	s := &endlessSource{speedTest: m}
	for ticket := range m.batch {
		s.free = append(s.free, ticket)
	}
	if err := cmp.Or(serving(ctx, p, s), context.Cause(ctx)); err != nil {
		return 0, err
	}
	if under := m.batch - len(s.free); under != 0 || s.admitted == 0 {
		return 0, fmt.Errorf("the model answered %d of %d samples", s.admitted-under, s.admitted)
	}
	seconds := max(s.took, 1).Seconds()
	if s.streamed > 0 {
		return float64(s.streamed) / seconds * float64(s.admitted) / float64(s.tokens), nil
	}
	return float64(s.answered) / seconds, nil
}

// An endlessSource is a source with samples for as long as a decoder is measured.
type endlessSource struct {
	*speedTest
	free     []int // tickets
	admitted int
	tokens   int // that were streamed of all of them
	closed   bool
	// Until it was closed:
	answered, streamed int
	took               time.Duration // to the last answer or token
}

// Admit implements workload.Source.
func (s *endlessSource) Admit(items []workload.Item, n int, _ bool) ([]workload.Item, bool) {
	if s.closed = s.closed || s.over(s.answered); s.closed {
		return items, false
	}
	for n = min(n, len(s.free)); n > 0; n-- {
		item := s.items[s.admitted%len(s.items)]
		item.Ticket = s.free[len(s.free)-1]
		s.free = s.free[:len(s.free)-1]
		items = append(items, item)
		s.admitted++
	}
	return items, true
}

// FirstToken implements workload.Source.
func (*endlessSource) FirstToken(int, []byte) {}

// Token implements workload.Source.
func (s *endlessSource) Token(int, []byte) {
	s.tokens++
	if !s.closed {
		s.streamed++
		s.took = clock.Since(s.began)
	}
}

// Worked implements workload.Source.
func (*endlessSource) Worked() {}

// Done implements workload.Reply.
func (s *endlessSource) Done(ticket int, _ []byte, _ int) {
	s.free = append(s.free, ticket)
	if !s.closed {
		s.answered++
		s.took = clock.Since(s.began)
	}
}

// rotated are the items from one on, then those before it, each with its place as its ticket.
func rotated(items []workload.Item, from int) []workload.Item {
	from %= len(items)
	all := slices.Concat(items[from:], items[:from])
	for i := range all {
		all[i].Ticket = i
	}
	return all
}
