package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// open joins the model with its data, loads the model, and makes the QSL.
func (r *run) open(ctx context.Context) error {
	if err := r.phase(ctx, "data", func() error { return errors.Join(r.openWorkload(ctx), r.openRaw()) }); err != nil {
		return err
	}
	for _, note := range r.workload.Notes {
		r.cfg.Observer.Note(note)
	}
	shape := r.shapeInput(runtime.GOMAXPROCS(0)).shape()
	if err := r.checkShape(shape); err != nil {
		return err
	}
	if err := r.phase(ctx, "model", func() error { return r.loadModel(ctx, shape) }); err != nil {
		return err
	}
	performance := r.performanceSamples()
	if performance > r.workload.Samples {
		return userinput.Errorf("performance_sample_count", "%d samples are more than the %d of the data set", performance, r.workload.Samples)
	}
	if loaded := r.cfg.Settings.Effective(uint64(performance), uint64(r.workload.Samples)).PerformanceSampleCount; r.workload.Order != nil &&
		loaded < uint64(r.workload.Samples) {
		return userinput.Errorf("performance_sample_count",
			"%d samples are fewer than the %d of the data set, which follow each other in their own order: all of them must be in memory", loaded,
			r.workload.Samples)
	}
	r.qsl = &qsl{
		name:        r.cfg.Model.Dataset,
		raw:         r.raw,
		workload:    r.workload,
		performance: performance,
		cache:       r.openCache(),
		freeMemory:  r.cfg.FreeMemory,
		use:         r.use,
		idle:        func() bool { return r.sut == nil || r.sut.idle() },
		progress:    r.cfg.Observer.Loading,
		warn:        r.warnings.add,
		blank:       r.leavesBlank(),
	}
	return nil
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
	s := r.cfg.Settings
	scored := s.Mode == loadgen.AccuracyOnly || s.Mode == loadgen.SubmissionRun
	r.workload, err = r.cfg.Model.Open(workload.Setup{
		ModelPath:  r.cfg.Backend.ModelPath,
		DatasetDir: r.cfg.DatasetDir,
		Count:      r.cfg.Count,
		Rules:      r.cfg.Rules, Interactive: r.cfg.Model.Rules.Interactive,
		Ports:   ports,
		Options: r.cfg.Options,
		Scored:  scored,
		Ranked:  s.Mode == loadgen.AccuracyOnly,
		Logged:  scored || s.AccuracyLogProbability > 0 || s.AccuracyLogSamplingTarget > 0, // audits log performance, too

		OutputDir: r.cfg.OutputDir, Engine: r.cfg.ScoreEngine,
	})
	return err
}

// leavesBlank reports whether samples need not be read: those of images, whose memory says nothing of their sizes.
func (r *run) leavesBlank() bool {
	s := r.cfg.Settings
	logged := s.AccuracyLogProbability > 0 || s.AccuracyLogSamplingTarget > 0
	return r.cfg.Blank && s.Mode == loadgen.PerformanceOnly && !logged && r.workload.CacheKey != nil && !differ(r.workload)
}

// performanceSamples is how many samples are kept in memory.
func (r *run) performanceSamples() int {
	if n := r.cfg.PerformanceSampleCount; n != 0 {
		return n
	}
	return min(r.cfg.Model.PerformanceSampleCount, r.workload.Samples)
}

// openCache opens the cache of pre-processed samples; nil: the run does without. It takes no more than half of the free
// disk: all of COCO for SSD-ResNet34 has 86 GB.
func (r *run) openCache() *dataset.SampleCache {
	if r.cfg.CacheDir == "" || r.workload.CacheKey == nil {
		return nil
	}
	key := r.workload.CacheKey()
	if key == "" {
		return nil
	}
	starts := make([]int64, r.workload.Samples+1) // of the row of each sample, in a file that has them all; the last is its size
	for i := range r.workload.Samples {
		starts[i+1] = starts[i] + r.workload.RowBytes(i)
	}
	cache, err := dataset.OpenSampleCache(r.cfg.CacheDir, key, func(i int) int64 { return starts[i] })
	if err == nil && r.cfg.FreeDisk != nil {
		need, there, free := uint64(starts[r.workload.Samples]), cache.Bytes(), r.cfg.FreeDisk(r.cfg.CacheDir)
		if free != 0 && need > there && need-there > free/2 {
			err = errors.Join(fmt.Errorf("%d samples need %d MiB of disk in %s, more than half of the %d MiB that are free",
				r.workload.Samples, need>>20, r.cfg.CacheDir, free>>20), cache.Close())
		}
	}
	if err != nil {
		r.warnings.add(fmt.Errorf("pre-processed samples are not kept: %w", err))
		return nil
	}
	return cache
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
	if text := strings.Join(userinput.ErrorLines(err), "; "); !slices.Contains(w.list, text) {
		w.list = append(w.list, text)
	}
}

// A loadedModel has the sessions and predictors of a shape.
type loadedModel struct {
	shape      shape
	sessions   []workload.Sessions // of one worker each, or of all together
	predictors []predictor
	infos      []backend.Info // of the files, in their order
	stats      []os.FileInfo  // of the files when they were opened; nil: no file
}

// A predictor answers the samples of a worker: closed batches, unless one of the fields is set.
type predictor struct {
	workload.Predictor
	decoder workload.Decoder          // it admits samples itself
	prompts *workload.PromptPredictor // it answers any number at once
}

// loadModel loads the model. Workers with one thread share their sessions: these have no
// threads of their own then. Others have their own, because a session's threads serve one
// run at a time.
func (r *run) loadModel(ctx context.Context, s shape) error {
	r.model = loadedModel{shape: s}
	for _, f := range r.files {
		info, _ := os.Stat(f.Path) // if the file is missing the engine says it better
		r.model.stats = append(r.model.stats, info)
	}
	for i := range s.workers {
		if i == 0 || s.threads > 1 {
			if err := r.openSessions(ctx, i); err != nil {
				return err
			}
		}
		var p predictor
		var err error
		switch sessions, w := r.model.sessions[len(r.model.sessions)-1], r.workload; {
		case w.NewDecoder != nil:
			p.decoder, err = w.NewDecoder(sessions, s.batch)
			p.Predictor = p.decoder
		case w.Prompts != nil:
			p.prompts, err = workload.NewPromptPredictor(sessions, w.Prompts)
			p.Predictor = p.prompts
		default:
			if p.Predictor, err = w.NewPredictor(sessions, s.batch); err == nil && r.raw != nil {
				p.Predictor = r.raw.timed(p.Predictor, s.batch, s.threads)
			}
		}
		if err != nil {
			return err
		}
		r.model.predictors = append(r.model.predictors, pinned(p, r.cfg.cores(s, i)))
	}
	for _, info := range r.model.infos {
		for _, w := range info.Warnings {
			r.warnings.add(errors.New(w))
		}
	}
	return nil
}

// openSessions opens a session for each file of the model: for a worker, or if that has only one
// thread, its own, for all.
func (r *run) openSessions(ctx context.Context, worker int) error {
	first, shape := len(r.model.sessions) == 0, r.model.shape
	sessions := workload.Sessions{}
	r.model.sessions = append(r.model.sessions, sessions)
	for _, f := range r.files {
		opts := r.cfg.Backend
		opts.ModelPath, opts.Outputs = f.Path, r.workload.OutputsOf(f.Role)
		opts.IntraThreads = shape.threads
		if shape.threads > 1 {
			opts.Cores = r.cfg.cores(shape, worker)
		}
		opts.ProfileShapes = [2]int{1, shape.batch}
		opts.Note = r.cfg.Observer.Note
		if r.workload.Prompts != nil {
			opts.Texts = r.workload.Prompts.Texts()
		}
		if opts.OptimizedModel != "" && len(r.files) > 1 {
			opts.OptimizedModel += "." + f.Role
		}
		opts.CountDeviceNode = first && opts.Device != "" && opts.Device != "cpu" // it loads the model twice
		session, err := r.cfg.Engine.Open(ctx, opts)
		switch {
		case err != nil && len(r.files) > 1:
			return fmt.Errorf("the model's %s: %w", f.Role, err)
		case err != nil:
			return err
		}
		sessions[f.Role] = session
		if first {
			r.model.infos = append(r.model.infos, session.Info())
		}
	}
	return nil
}

// info describes the model as the engine sees it: the facts of its files, and the
// nodes of all together.
func (m *loadedModel) info() backend.Info {
	all := m.infos[0]
	if len(m.infos) == 1 {
		return all
	}
	all.Devices, all.Facts = nil, maps.Clone(all.Facts)
	for _, info := range m.infos {
		for _, d := range info.Devices {
			i := slices.IndexFunc(all.Devices, func(u backend.DeviceUse) bool { return u.Device == d.Device })
			if i < 0 {
				all.Devices = append(all.Devices, d)
			} else {
				all.Devices[i].Nodes += d.Nodes
			}
		}
		maps.Copy(all.Facts, info.Facts)
	}
	return all
}

// prompts is the predictor that answers any number of samples at once; nil: the model has none.
func (m *loadedModel) prompts() *workload.PromptPredictor {
	if len(m.predictors) != 1 {
		return nil
	}
	return m.predictors[0].prompts
}

// changed reports whether a file is not the one that was opened.
func (m *loadedModel) changed(files []workload.File) bool {
	for i, f := range files {
		was := m.stats[i]
		if was == nil {
			continue
		}
		now, err := os.Stat(f.Path)
		if err != nil || !os.SameFile(was, now) || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime()) {
			return true
		}
	}
	return false
}

func (m *loadedModel) close() error {
	var errs []error
	for _, p := range m.predictors {
		errs = append(errs, p.Close())
	}
	for _, set := range m.sessions {
		for _, s := range set {
			errs = append(errs, s.Close())
		}
	}
	m.predictors, m.sessions = nil, nil
	return errors.Join(errs...)
}

// widen gives one worker all cores if one thread is too slow for the Server bound, and all
// cores are fast enough.
func (r *run) widen(ctx context.Context, cores int) error {
	narrow, took, bound, in := r.model.shape, r.warm.latency, r.cfg.Settings.ServerTargetLatency, r.shapeInput(cores)
	open := in.asked.workers == 0 && in.asked.threads == 0 && in.scenario == loadgen.Server && !r.cfg.Settings.UseTokenLatencies
	roomForTwo, inReach := 2*took <= bound, took/time.Duration(in.cores) <= bound
	if !open || in.accelerator || in.cores == 1 || roomForTwo || !inReach {
		return nil
	}
	wide := shape{1, in.cores, in.asked.batch}
	if wide.batch == 0 {
		wide.batch = in.batch(in.cores)
	}
	if err := r.reopen(ctx, wide); err != nil {
		return err
	}
	latency := r.warm.latency
	if r.cfg.AutoLatency { // the bound is raised otherwise
		latency *= 3 // threads that sleep after a pause make the median of MobileNet half as long again
	}
	if latency > bound {
		return r.reopen(ctx, narrow)
	}
	r.cfg.Observer.Note(fmt.Sprintf("one sample takes %s with one thread, %s with %d; the latency bound is %s: one worker has all cores",
		units.Duration(took), units.Duration(r.warm.latency), wide.threads, units.Duration(bound)))
	return nil
}

func (r *run) reopen(ctx context.Context, s shape) error {
	if err := r.model.close(); err != nil {
		return err
	}
	if err := r.loadModel(ctx, s); err != nil {
		return err
	}
	return r.tryModel(ctx)
}
