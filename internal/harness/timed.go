package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// rawSamples are what the data set has of each loaded sample: the bytes of a file, a text. Workers make samples of them inside the
// latency.
type rawSamples struct {
	raw     *workload.Raw
	rowOf   func(index int) []workload.Slot
	content []atomic.Pointer[[]byte] // by index; nil: not loaded
	made    atomic.Int64             // samples that workers made
	spent   atomic.Int64             // nanoseconds of workers
}

// openRaw has workers make samples, if that is wanted.
func (r *run) openRaw() error {
	if !r.cfg.TimedPreprocessing {
		return nil
	}
	w := r.workload
	if w.Raw == nil || r.asksServers() {
		return userinput.Errorf("timed_preprocessing",
			"%s: not possible, its samples are not made one by one of files or texts by the workers of this program", r.cfg.Model.Name)
	}
	r.raw = &rawSamples{raw: w.Raw, rowOf: w.Row, content: make([]atomic.Pointer[[]byte], w.Samples)}
	return nil
}

// load reads a sample into memory.
func (s *rawSamples) load(index int) error {
	if s.content[index].Load() != nil {
		return nil
	}
	data, err := s.raw.Read(index)
	if err != nil {
		return fmt.Errorf("reading sample %d: %w", index, err)
	}
	s.content[index].Store(&data)
	return nil
}

// unload forgets all samples.
func (s *rawSamples) unload() {
	for i := range s.content {
		s.content[i].Store(nil)
	}
}

// timed is a predictor that makes its samples itself, with so many threads.
func (s *rawSamples) timed(p workload.Predictor, batch, threads int) workload.Predictor {
	return &timedPredictor{Predictor: p, samples: s, batch: batch, threads: threads}
}

// A timedPredictor has rows of its own: workers may make the same sample at once.
type timedPredictor struct {
	workload.Predictor
	samples *rawSamples
	batch   int
	threads int
	own     *workload.Store // of the last batch's shapes
	shapes  [][]workload.Slot
	items   []workload.Item
}

// Use implements workload.Predictor: samples come from rows of its own.
func (p *timedPredictor) Use(*workload.Store) error { return nil }

// Predict implements workload.Predictor.
func (p *timedPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	start := clock.Now()
	if err := p.make(ctx, items); err != nil {
		return err
	}
	p.samples.spent.Add(int64(clock.Since(start)))
	p.samples.made.Add(int64(len(items)))
	return p.Predictor.Predict(ctx, p.items, reply)
}

// make makes the samples of a batch.
func (p *timedPredictor) make(ctx context.Context, items []workload.Item) error {
	p.items = append(p.items[:0], items...)
	for k := range p.items {
		p.items[k].Row = k
	}
	if err := p.room(items); err != nil {
		return err
	}
	one := func(_ context.Context, k int) (err error) {
		defer recovered(&err)
		index := items[k].Index
		if err := p.samples.load(index); err != nil { // it is, but before the test
			return err
		}
		if err := p.samples.raw.Make(*p.samples.content[index].Load(), index, p.own.Row(k)); err != nil {
			return fmt.Errorf("sample %d: %w", index, err)
		}
		return nil
	}
	if p.threads > 1 && len(items) > 1 {
		return workerpool.Each(ctx, p.threads, len(items), one)
	}
	for k := range items {
		if err := one(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// room has rows for a batch: those of the batch before, if they have the same shapes.
func (p *timedPredictor) room(items []workload.Item) error {
	same := p.own != nil && len(items) <= len(p.shapes)
	for k := 0; same && k < len(items); k++ {
		same = slices.EqualFunc(p.samples.rowOf(items[k].Index), p.shapes[k], func(a, b workload.Slot) bool {
			return a.Type == b.Type && slices.Equal(a.Shape, b.Shape)
		})
	}
	if same {
		return nil
	}
	p.shapes = p.shapes[:0]
	for k := range max(p.batch, len(items)) {
		p.shapes = append(p.shapes, p.samples.rowOf(items[min(k, len(items)-1)].Index))
	}
	store, err := workload.NewStore(len(p.shapes), func(k int) []workload.Slot { return p.shapes[k] })
	if err != nil {
		return err
	}
	old := p.own
	p.own = store
	if err := p.Predictor.Use(store); err != nil || old == nil {
		return err
	}
	return old.Close()
}

// Close implements workload.Predictor.
func (p *timedPredictor) Close() error {
	err := p.Predictor.Close()
	if p.own != nil {
		err = errors.Join(err, p.own.Close())
	}
	return err
}

// preparation is what making samples took during the traffic; nil: they were made before.
func (s *rawSamples) preparation(busy float64) *report.Preparation {
	if s == nil {
		return nil
	}
	p := &report.Preparation{What: s.raw.What, Seconds: time.Duration(s.spent.Load()).Seconds()}
	if n := s.made.Load(); n > 0 {
		p.SampleNS = s.spent.Load() / n
	}
	if busy > 0 {
		p.Share = min(1, p.Seconds/busy)
	}
	return p
}
