package harness

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// open brings everything together that a test needs.
func (r *run) open(ctx context.Context) error {
	if err := r.phase(ctx, "data", func() error { return r.openWorkload(ctx) }); err != nil {
		return err
	}
	for _, note := range r.workload.Notes {
		r.cfg.Observer.Note(note)
	}
	shape := r.wish(runtime.GOMAXPROCS(0)).shape()
	if err := r.checkShape(shape); err != nil {
		return err
	}
	if err := r.phase(ctx, "model", func() error { return r.loadModel(ctx, shape) }); err != nil {
		return err
	}
	return r.openData()
}

// openWorkload joins the model with its data.
func (r *run) openWorkload(ctx context.Context) (err error) {
	if r.files, err = r.cfg.Model.FilesOf(r.cfg.Backend.ModelPath); err != nil {
		return err
	}
	ports, err := workload.PortsOf(ctx, r.cfg.Engine, r.files, r.cfg.Backend)
	if err != nil {
		return err
	}
	r.workload, err = r.cfg.Model.Open(workload.Setup{
		ModelPath:  r.cfg.Backend.ModelPath,
		DatasetDir: r.cfg.DatasetDir,
		Count:      r.cfg.Count,
		Ports:      ports,
		Options:    r.cfg.Options,
		Scored:     r.scored(), Logged: r.logged(),
	})
	return err
}

// scored reports whether the test is one of accuracy.
func (r *run) scored() bool {
	return r.settings.Mode == loadgen.AccuracyOnly || r.settings.Mode == loadgen.SubmissionRun
}

// logged reports whether responses are kept: of a test of performance if an audit wants some.
func (r *run) logged() bool {
	return r.scored() || r.settings.AccuracyLogProbability > 0 || r.settings.AccuracyLogSamplingTarget > 0
}

// performanceSamples is how many samples are kept in memory.
func (r *run) performanceSamples() int {
	if n := r.cfg.PerformanceSampleCount; n != 0 {
		return n
	}
	return min(r.cfg.Model.PerformanceSampleCount, r.workload.Samples)
}

// loaded is how many samples a test of performance has to choose from. LoadGen takes an override for what it
// says, also where the data set has fewer.
func (r *run) loaded() int {
	if n := r.settings.PerformanceSampleCountOverride; n > 0 {
		return int(min(n, uint64(r.workload.Samples)))
	}
	return r.performanceSamples()
}

func (r *run) openData() error {
	performance := r.performanceSamples()
	if performance > r.workload.Samples {
		return userinput.Errorf("performance_sample_count", "%d samples are more than the %d of the data set", performance, r.workload.Samples)
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
	if r.cfg.CacheDir == "" || r.workload.CacheKey == nil {
		return nil
	}
	key := r.workload.CacheKey()
	if key == "" {
		return nil
	}
	starts := rowStarts(r.workload)
	cache, err := dataset.OpenSampleCache(r.cfg.CacheDir, key, starts)
	if err != nil {
		r.warnings.add(fmt.Errorf("pre-processed samples are not kept: %w", err))
		return nil
	}
	if err := r.checkDisk(cache, uint64(starts(r.workload.Samples))); err != nil {
		r.warnings.add(fmt.Errorf("pre-processed samples are not kept: %w", errors.Join(err, cache.Close())))
		return nil
	}
	return cache
}

// rowStarts says where the row of each sample begins in a file that has them all, one after
// the other; that after the last is the size of the file.
func rowStarts(w *workload.Workload) func(i int) int64 {
	n := w.Samples
	starts := make([]int64, n+1)
	for i := range n {
		starts[i+1] = starts[i] + w.RowBytes(i)
	}
	return func(i int) int64 { return starts[i] }
}

// checkDisk sees to it that a cache takes no more than half of the disk that is free: all
// of COCO for SSD-ResNet34 has 86 GB.
func (r *run) checkDisk(cache *dataset.SampleCache, need uint64) error {
	if r.cfg.FreeDisk == nil {
		return nil
	}
	there, free := cache.Bytes(), r.cfg.FreeDisk(r.cfg.CacheDir)
	if free != 0 && need > there && need-there > free/2 {
		return fmt.Errorf("%d samples need %d MiB of disk in %s, %d MiB are free; that is too little to fill half of it",
			r.workload.Samples, need>>20, r.cfg.CacheDir, free>>20)
	}
	return nil
}

// use hands loaded samples to the predictors, all of which are idle then.
func (r *run) use(store *workload.Store) error {
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
