package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A loadedModel is a model file, loaded for a shape.
type loadedModel struct {
	shape      shape
	sessions   []workload.Sessions // of one worker each, or of all together
	predictors []predictor
	infos      []backend.Info // of the files, in their order
	stats      []os.FileInfo  // of the files as they were opened; nil where there is none
}

// A predictor answers the samples of a worker: closed batches, unless one of the fields is set.
type predictor struct {
	workload.Predictor
	decoder workload.Decoder          // it admits samples itself
	prompts *workload.PromptPredictor // it answers any number at once
}

// newPredictor opens a predictor of the workload.
func (r *run) newPredictor(sessions workload.Sessions, batch int) (p predictor, err error) {
	switch {
	case r.workload.NewDecoder != nil:
		p.decoder, err = r.workload.NewDecoder(sessions, batch)
		p.Predictor = p.decoder
	case r.workload.Prompts != nil:
		p.prompts, err = workload.NewPromptPredictor(sessions, r.workload.Prompts)
		p.Predictor = p.prompts
	default:
		p.Predictor, err = r.workload.NewPredictor(sessions, batch)
	}
	return p, err
}

// loadModel loads the model. Workers with one thread share their sessions: these have no
// threads of their own then. Others have their own, because a session's threads serve one
// run at a time.
func (r *run) loadModel(ctx context.Context, s shape) error {
	r.model = loadedModel{shape: s}
	for _, f := range r.files {
		info, _ := os.Stat(f.Path) // the engine says it better if there is none
		r.model.stats = append(r.model.stats, info)
	}
	for i := range s.workers {
		if i == 0 || s.threads > 1 {
			if err := r.openSessions(ctx, i); err != nil {
				return err
			}
		}
		p, err := r.newPredictor(r.model.sessions[len(r.model.sessions)-1], s.batch)
		if err != nil {
			return err
		}
		r.model.predictors = append(r.model.predictors, pinned(p, r.cfg.cores(s, i)))
	}
	r.warnOfModel()
	return nil
}

// warnOfModel repeats what the engine said of the files.
func (r *run) warnOfModel() {
	for _, info := range r.model.infos {
		for _, w := range info.Warnings {
			r.warnings.add(errors.New(w))
		}
	}
}

// openSessions opens a session for each file of the model, for a worker, or if that has only one
// thread, its own, for all.
func (r *run) openSessions(ctx context.Context, worker int) error {
	first := len(r.model.sessions) == 0
	sessions := workload.Sessions{}
	r.model.sessions = append(r.model.sessions, sessions)
	for _, f := range r.files {
		opts := r.sessionOptions(f, worker)
		opts.CountDeviceNode = first && opts.Device != "" && opts.Device != "cpu" // it loads the model twice
		session, err := r.cfg.Engine.Open(ctx, opts)
		if err != nil {
			return r.inRole(f, err)
		}
		sessions[f.Role] = session
		if first {
			r.model.infos = append(r.model.infos, session.Info())
		}
	}
	return nil
}

// inRole says which of several files an error is about.
func (r *run) inRole(f workload.File, err error) error {
	if err == nil || len(r.files) == 1 {
		return err
	}
	return fmt.Errorf("the model's %s: %w", f.Role, err)
}

// info describes the model as the engine sees it: what its files have in common, and the
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

// changed reports whether a file is another one than was opened.
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
	narrow, took := r.model.shape, r.warm.latency
	wide, worth := r.wish(cores).widened(took, r.settings.ServerTargetLatency)
	if !worth || r.settings.UseTokenLatencies {
		return nil
	}
	if err := r.reopen(ctx, wide); err != nil || r.withinBound() {
		if err == nil {
			r.cfg.Observer.Note(fmt.Sprintf("a sample takes %v with one thread and %v with %d, the latency bound is %v: one worker has all cores",
				took.Round(10*time.Microsecond), r.warm.latency.Round(10*time.Microsecond), wide.threads, r.settings.ServerTargetLatency))
		}
		return err
	}
	return r.reopen(ctx, narrow)
}

// roomForThreads is how many times the latency of a worker with several threads a bound has to
// be that is not raised: after a pause they are asleep, and MobileNet's median is half as
// long again.
const roomForThreads = 3

// withinBound says whether a sample is answered within the Server bound, with room if the
// bound may be raised otherwise.
func (r *run) withinBound() bool {
	latency := r.warm.latency
	if r.cfg.AutoLatency {
		latency *= roomForThreads
	}
	return latency <= r.settings.ServerTargetLatency
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

// sessionOptions are those of the engine for a file of the model, for a worker.
func (r *run) sessionOptions(f workload.File, worker int) backend.Options {
	opts := r.cfg.Backend
	opts.ModelPath, opts.Outputs = f.Path, r.workload.OutputsOf(f.Role)
	opts.IntraThreads = r.model.shape.threads
	if r.model.shape.threads > 1 {
		opts.Cores = r.cfg.cores(r.model.shape, worker)
	}
	opts.ProfileShapes = [2]int{1, r.model.shape.batch}
	opts.Note = r.cfg.Observer.Note
	if r.workload.Prompts != nil {
		opts.Texts = r.workload.Prompts.Texts()
	}
	if opts.OptimizedModel != "" && len(r.files) > 1 {
		opts.OptimizedModel += "." + f.Role
	}
	return opts
}
