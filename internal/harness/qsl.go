package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A qsl is the query sample library of a workload: it brings the samples that a test
// asks for into a store, from the cache of pre-processed samples if they are there.
type qsl struct {
	name        string
	workload    *workload.Workload
	performance int
	cache       *dataset.SampleCache // nil: every load pre-processes
	freeMemory  func() uint64        // bytes; 0 if unknown
	// use hands a loaded store to the predictors.
	use func(*workload.Store) error
	// idle waits until no prediction uses a store any more. It returns false if one
	// does not end; then the store is left alone.
	idle func() bool
	// progress receives the number of loaded samples, from one goroutine at a time. It may
	// be nil.
	progress func(done, of int)
	// warn receives errors in spite of which the samples are loaded.
	warn func(error)

	// blank leaves rows as they are: what the engine answers does not count.
	blank bool

	// keep leaves samples in memory when they are unloaded: each test of a search loads the same ones.
	keep bool

	took time.Duration // of all loads

	rows  rows
	store *workload.Store // of the loaded samples
	raw   *rawSamples     // what they are made of; nil: workers do not make any

	contents contents // of all samples that were loaded
}

// Name implements loadgen.QSL.
func (q *qsl) Name() string { return q.name }

// TotalSampleCount implements loadgen.QSL.
func (q *qsl) TotalSampleCount() int { return q.workload.Samples }

// PerformanceSampleCount implements loadgen.QSL.
func (q *qsl) PerformanceSampleCount() int { return q.performance }

// LoadSamplesToRAM implements loadgen.QSL.
func (q *qsl) LoadSamplesToRAM(ctx context.Context, indices []loadgen.QuerySampleIndex) error {
	begin := clock.Now()
	defer func() { q.took += clock.Since(begin) }()
	if q.store != nil && q.keep {
		if slices.Equal(indices, q.rows.order) {
			return nil
		}
		if err := q.swap(nil); err != nil { // there may be no room for both
			return err
		}
	}
	need := uint64(0)
	for _, i := range indices {
		need += uint64(q.workload.RowBytes(int(i)))
	}
	if free := q.freeMemory(); free != 0 && need > free {
		return fmt.Errorf("%d samples need %d MiB of memory, %d MiB are free: lower performance_sample_count",
			len(indices), need>>20, free>>20)
	}
	q.contents.grow(q.workload.Samples)
	samples := make([]int, len(indices))
	for i, index := range indices {
		samples[i] = int(index)
	}
	store, err := q.newStore(samples)
	if err != nil {
		return err
	}
	loaded := workerpool.Counter(len(indices), q.progress)
	err = workerpool.Each(ctx, 0, len(indices), func(_ context.Context, i int) error {
		err := q.load(store, i, int(indices[i]))
		if err == nil && q.raw != nil {
			err = q.raw.load(int(indices[i]))
		}
		if err == nil && !q.blank {
			q.contents.add(int(indices[i]), q.workload, store, i)
		}
		if err == nil {
			loaded(1)
		}
		return err
	})
	if err != nil {
		err = errors.Join(err, store.Close())
		if errors.Is(err, errPanic) {
			panic(err) // LoadGen ends the test with a result that says so
		}
		return err
	}
	q.rows.reset(indices, q.workload.Samples)
	return q.swap(store)
}

// newStore makes room for samples.
func (q *qsl) newStore(samples []int) (*workload.Store, error) {
	if q.workload.Row == nil {
		return workload.NewStore(len(samples), func(int) []workload.Slot { return nil })
	}
	return workload.NewStore(len(samples), func(i int) []workload.Slot { return q.workload.Row(samples[i]) })
}

// UnloadSamplesFromRAM implements loadgen.QSL.
func (q *qsl) UnloadSamplesFromRAM([]loadgen.QuerySampleIndex) error {
	if q.keep {
		return nil
	}
	if q.raw != nil {
		q.raw.unload()
	}
	return q.swap(nil)
}

// swap replaces the store that the predictors use, and frees the one before.
func (q *qsl) swap(store *workload.Store) error {
	if !q.idle() {
		return nil // a prediction goes on after the end: the store goes with the process
	}
	old := q.store
	q.store = store
	if err := q.use(store); err != nil || old == nil {
		return err
	}
	return old.Close()
}

// Close frees the loaded samples, which no prediction may use any more, and closes the cache.
func (q *qsl) Close() error {
	var errs []error
	if q.store != nil {
		errs = append(errs, q.store.Close())
	}
	if q.cache != nil {
		errs = append(errs, q.cache.Close())
	}
	return errors.Join(errs...)
}

// load fills one row of a store with a sample.
func (q *qsl) load(store *workload.Store, i, index int) error {
	if q.workload.Row == nil || q.blank {
		return nil
	}
	row := store.Row(i)
	if q.cache == nil {
		return q.prepare(index, row)
	}
	mem, several := row[0].Bytes(), len(row) > 1
	if several {
		mem = make([]byte, q.workload.RowBytes(index))
	}
	if q.cache.Read(index, mem) {
		for _, t := range row {
			if several {
				mem = mem[copy(t.Bytes(), mem):]
			}
		}
		return nil
	}
	if err := q.prepare(index, row); err != nil {
		return err
	}
	if several {
		rest := mem
		for _, t := range row {
			rest = rest[copy(rest, t.Bytes()):]
		}
	}
	if err := q.cache.Write(index, mem); err != nil {
		q.warn(fmt.Errorf("pre-processed samples are not kept: %w", err))
	}
	return nil
}

// errPanic is the error of a panic in the code of a model family.
var errPanic = errors.New("panic in the model's code")

// recovered makes an error of a panic.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%w: %v", errPanic, v)
	}
}

// prepare has the workload fill a row.
func (q *qsl) prepare(index int, row []tensor.Tensor) (err error) {
	defer recovered(&err)
	return q.workload.Prepare(index, row)
}

// rows knows in which row of the store each loaded sample is.
type rows struct {
	order []loadgen.QuerySampleIndex // by row; MultiStream loads some samples twice
	row   []int32                    // by sample; -1: not loaded
}

func (r *rows) reset(order []loadgen.QuerySampleIndex, total int) {
	r.order = order
	r.row = make([]int32, total)
	for i := range r.row {
		r.row[i] = -1
	}
	for i := len(order) - 1; i >= 0; i-- {
		r.row[order[i]] = int32(i)
	}
}

var errNotLoaded = errors.New("the sample is not loaded")

// after returns the row of a sample: the one after prev if that holds it, so that
// samples that were loaded side by side stay side by side.
func (r *rows) after(prev int, index loadgen.QuerySampleIndex) (int, error) {
	if prev+1 < len(r.order) && r.order[prev+1] == index {
		return prev + 1, nil
	}
	if int(index) >= len(r.row) || r.row[index] < 0 {
		return 0, fmt.Errorf("data index %d: %w", index, errNotLoaded)
	}
	return int(r.row[index]), nil
}
