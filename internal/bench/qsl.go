package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
)

// A qsl is the query sample library of a workload: it brings the samples that a test
// asks for into a store, from the cache of pre-processed samples if they are there.
type qsl struct {
	name        string
	workload    models.Workload
	performance int
	cache       *dataset.SampleCache // nil: every load pre-processes
	freeMemory  func() uint64        // bytes; 0 if unknown
	// use hands a loaded store to those who predict with it.
	use func(*models.Store) error
	// idle waits until nobody predicts with a store any more. It returns false if that
	// does not happen; then the store is left alone.
	idle func() bool
	// progress is told how many of the samples to load are there, by one goroutine at a
	// time. It may be nil.
	progress func(done, of int)
	// warn is told what does not keep the samples from being loaded.
	warn func(error)

	rows  rows
	store *models.Store // of the loaded samples
}

// Name implements loadgen.QSL.
func (q *qsl) Name() string { return q.name }

// TotalSampleCount implements loadgen.QSL.
func (q *qsl) TotalSampleCount() int { return q.workload.Len() }

// PerformanceSampleCount implements loadgen.QSL.
func (q *qsl) PerformanceSampleCount() int { return q.performance }

// LoadSamplesToRAM implements loadgen.QSL.
func (q *qsl) LoadSamplesToRAM(ctx context.Context, indices []loadgen.QuerySampleIndex) error {
	row := q.workload.Row()
	need := uint64(0)
	for _, i := range indices {
		need += sampleBytes(q.workload, row, int(i))
	}
	if free := q.freeMemory(); free != 0 && need > free {
		return fmt.Errorf("%d samples need %d MiB of memory, %d MiB are free: lower --performance-sample-count",
			len(indices), need>>20, free>>20)
	}
	store, err := models.NewStore(row, len(indices))
	if err != nil {
		return err
	}
	if err := q.fill(ctx, store, indices); err != nil {
		return errors.Join(err, store.Close())
	}
	q.rows.reset(indices, q.workload.Len())
	return q.swap(store)
}

// sampleBytes is the memory that a sample takes. Of a row that it does not fill, the rest
// is never touched.
func sampleBytes(w models.Workload, row []models.Slot, index int) uint64 {
	if s, ok := w.(models.Sizer); ok {
		return uint64(s.SampleBytes(index))
	}
	return uint64(models.Bytes(row, 1))
}

// UnloadSamplesFromRAM implements loadgen.QSL.
func (q *qsl) UnloadSamplesFromRAM([]loadgen.QuerySampleIndex) error { return q.swap(nil) }

// swap replaces the store that the predictors use, and frees the one before.
func (q *qsl) swap(store *models.Store) error {
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

// Close frees the loaded samples, which nobody may use any more, and closes the cache.
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

// fill prepares all rows of a store, in parallel.
func (q *qsl) fill(ctx context.Context, store *models.Store, indices []loadgen.QuerySampleIndex) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	loaded := q.counter(len(indices))
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(indices) {
					return
				}
				if err := q.load(store, i, int(indices[i])); err != nil {
					stop(err)
					return
				}
				loaded()
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// counter returns what to call for each sample that is loaded.
func (q *qsl) counter(of int) func() {
	var mu sync.Mutex
	done := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		if q.progress != nil {
			q.progress(done, of)
		}
	}
}

// load fills one row of a store with a sample.
func (q *qsl) load(store *models.Store, i, index int) error {
	row := store.Row(i)
	if q.cache == nil || len(row) != 1 {
		return q.workload.Prepare(index, row)
	}
	mem := row[0].Bytes()
	if s, ok := q.workload.(models.Sizer); ok {
		mem = mem[:s.SampleBytes(index)]
	}
	if q.cache.Read(index, mem) {
		return nil
	}
	if err := q.workload.Prepare(index, row); err != nil {
		return err
	}
	if err := q.cache.Write(index, mem); err != nil {
		q.warn(fmt.Errorf("pre-processed samples are not kept: %w", err))
	}
	return nil
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
