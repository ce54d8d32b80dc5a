package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models"
)

// open brings everything together that a test needs.
func (r *run) open(ctx context.Context) error {
	var inputs, outputs []backend.Port
	err := r.phase(ctx, "data", func() (err error) {
		if inputs, outputs, err = r.cfg.Engine.Ports(ctx, r.cfg.Backend); err != nil {
			return err
		}
		r.workload, err = r.cfg.Model.Open(models.Setup{
			DatasetDir: r.cfg.DatasetDir,
			Count:      r.cfg.Count,
			Inputs:     inputs,
			Outputs:    outputs,
			Binding:    r.cfg.Binding,
		})
		return err
	})
	if err != nil {
		return err
	}
	for _, note := range r.workload.Notes() {
		r.cfg.Observer.Note(note)
	}
	if err := r.phase(ctx, "model", func() error { return r.loadModel(ctx, r.chooseShape(runtime.GOMAXPROCS(0))) }); err != nil {
		return err
	}
	return r.openData()
}

func (r *run) openData() error {
	performance := r.cfg.PerformanceSampleCount
	if performance == 0 {
		performance = min(r.cfg.Model.PerformanceSampleCount, r.workload.Len())
	}
	if performance > r.workload.Len() {
		return fmt.Errorf("--performance-sample-count is %d, the data set has %d samples", performance, r.workload.Len())
	}
	r.qsl = &qsl{
		name:        r.cfg.Model.Dataset,
		workload:    r.workload,
		performance: performance,
		cache:       r.openCache(),
		freeMemory:  r.cfg.FreeMemory,
		use:         r.use,
		idle:        func() bool { return r.sut == nil || r.sut.idle() },
		progress:    r.cfg.Observer.Loading,
		warn:        r.warnings.add,
	}
	return nil
}

// openCache opens the cache of pre-processed samples. A run is possible without it.
func (r *run) openCache() *dataset.SampleCache {
	row := r.workload.Row()
	key := r.workload.CacheKey()
	if r.cfg.CacheDir == "" || len(row) != 1 || key == "" {
		return nil
	}
	cache, err := dataset.OpenSampleCache(r.cfg.CacheDir, key, row[0].Bytes())
	if err != nil {
		r.warnings.add(fmt.Errorf("pre-processed samples are not kept: %w", err))
		return nil
	}
	if err := r.checkDisk(cache); err != nil {
		r.warnings.add(fmt.Errorf("pre-processed samples are not kept: %w", errors.Join(err, cache.Close())))
		return nil
	}
	return cache
}

// checkDisk sees to it that a cache takes no more than half of the disk that is free: all
// of COCO for SSD-ResNet34 has 86 GB.
func (r *run) checkDisk(cache *dataset.SampleCache) error {
	if r.cfg.FreeDisk == nil {
		return nil
	}
	need := uint64(0)
	for i := range r.workload.Len() {
		need += sampleBytes(r.workload, r.workload.Row(), i)
	}
	there, free := cache.Bytes(), r.cfg.FreeDisk(r.cfg.CacheDir)
	if free != 0 && need > there && need-there > free/2 {
		return fmt.Errorf("%d samples need %d MiB of disk in %s, %d MiB are free; that is too little to fill half of it",
			r.workload.Len(), need>>20, r.cfg.CacheDir, free>>20)
	}
	return nil
}

// use hands loaded samples to the predictors, all of which are idle then.
func (r *run) use(store *models.Store) error {
	if r.sut != nil {
		r.sut.alone(store != nil)
	}
	for _, p := range r.model.predictors {
		if err := p.Use(store); err != nil {
			return err
		}
	}
	return nil
}

// warnings are gathered from several goroutines; each is kept once.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) add(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text := err.Error(); !slices.Contains(w.list, text) {
		w.list = append(w.list, text)
	}
}
