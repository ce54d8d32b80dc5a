package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
)

// open brings everything together that a test needs.
func (r *run) open(ctx context.Context) error {
	var inputs, outputs []backend.Port
	err := r.phase(ctx, "data", func() (err error) {
		if inputs, outputs, err = r.ports(ctx); err != nil {
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
	if err := r.phase(ctx, "model", func() error { return r.openModel(ctx) }); err != nil {
		return err
	}
	return r.openData()
}

// ports finds out what the model takes and gives, if possible without loading it.
func (r *run) ports(ctx context.Context) (inputs, outputs []backend.Port, err error) {
	if filepath.Ext(r.cfg.Backend.ModelPath) == ".onnx" || r.cfg.Engine.Name() == "onnxruntime" {
		return models.Ports(r.cfg.Backend.ModelPath)
	}
	session, err := r.cfg.Engine.Open(ctx, r.cfg.Backend)
	if err != nil {
		return nil, nil, err
	}
	info := session.Info()
	return info.Inputs, info.Outputs, session.Close()
}

// shape chooses how many workers there are, how many threads each run of the model may
// use, and how large batches get, where the caller left it open. The choices were the
// best of a sweep on processors (docs/how-a-run-works.md): one worker with all cores
// where one query runs at a time, one worker per core otherwise, because cores
// that compute different samples need not wait for each other.
func (r *run) shape(cores int) (workers, threads, batch int) {
	workers, threads, batch = r.cfg.Instances, r.cfg.Backend.IntraThreads, r.cfg.MaxBatch
	alone := r.settings.Scenario == loadgen.SingleStream || r.settings.Scenario == loadgen.MultiStream
	if workers == 0 {
		if workers = cores; alone {
			workers = 1
		}
		if threads > 0 && !alone {
			workers = max(1, cores/threads)
		}
	}
	if threads == 0 {
		threads = max(1, cores/workers)
	}
	if batch == 0 {
		switch r.settings.Scenario {
		case loadgen.MultiStream:
			batch = int(r.settings.MultiStreamSamplesPerQuery)
		case loadgen.Offline:
			batch = 8
		default:
			batch = 1
		}
		if fixed := r.workload.Batch(); fixed > 0 {
			batch = min(batch, fixed)
		}
	}
	return workers, threads, batch
}

func (r *run) openModel(ctx context.Context) error {
	workers, threads, batch := r.shape(runtime.GOMAXPROCS(0))
	opts := r.cfg.Backend
	opts.IntraThreads = threads
	opts.Outputs = r.workload.Outputs()
	opts.CountDeviceNode = true
	var err error
	if r.session, err = r.cfg.Engine.Open(ctx, opts); err != nil {
		return err
	}
	for _, w := range r.session.Info().Warnings {
		r.warnings.add(errors.New(w))
	}
	for range workers {
		p, err := r.workload.NewPredictor(r.session, batch)
		if err != nil {
			return err
		}
		r.predictors = append(r.predictors, p)
	}
	r.batching = batching{maxBatch: batch, maxDelay: r.cfg.MaxDelay}
	return nil
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
	if r.cfg.CacheDir == "" || len(row) != 1 {
		return nil
	}
	cache, err := dataset.OpenSampleCache(r.cfg.CacheDir, r.workload.CacheKey(), row[0].Bytes())
	if err != nil {
		r.warnings.add(fmt.Errorf("pre-processed samples are not kept: %w", err))
		return nil
	}
	return cache
}

// use hands loaded samples to the predictors, all of which are idle then.
func (r *run) use(store *models.Store) error {
	for _, p := range r.predictors {
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
