package tune

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Request asks for the fastest way to run a model.
type Request struct {
	// Run is the run to make faster. Its workers, threads, batches, files and precision are
	// those of the axes below.
	Run    run.Request
	Budget time.Duration
	Axes   Axes // without variants
	// ModelFiles are compared, each as FILE or LABEL=FILE; nil: the built-in model.
	ModelFiles []string
	// Precisions of the one model are compared.
	Precisions []string
	Output     string // file of the profile; empty: where runs look for the one of this machine
}

// An Observer follows a search.
type Observer interface {
	// Begin has the objective and the number of points.
	Begin(o Objective, points int)
	// Measured has a measurement, and the rest of the budget.
	Measured(m Measurement, left time.Duration)
}

// An Outcome is a search that is over, or was interrupted.
type Outcome struct {
	Objective Objective
	Points    []Point       // the first is the choice of a run without a profile
	Done      []Measurement // in the order in which they were made
	Bound     time.Duration // latency bound of Server
	Results   []Result      // of the stages, the first stage first
	Found     bool          // a point gave a value
	Winner    Result
	Tied      []Point          // that are as good as the winner within noise, and not as simple
	Load      []string         // what else made this machine slower, or its speed vary
	Finished  bool             // not interrupted
	Profile   *profile.Profile // the winner; nil: none was found
	Path      string           // file of the profile, which is written when the search is over
}

// A NoneError says that no way to run the model could be measured, or none keeps the bound.
type NoneError struct {
	Reason string
	Bound  time.Duration // that no way keeps; 0: nothing could be measured
}

func (e *NoneError) Error() string { return e.Reason }

// Find searches, and writes the profile of the fastest way when the search is over.
// Interrupted, it returns the measurements so far with the error.
func Find(ctx context.Context, q Request, o Observer, b run.Observer) (*Outcome, error) {
	files, err := q.check()
	if err != nil {
		return nil, err
	}
	if len(files) > 0 {
		q.Run.ModelPath = files[0].path
	}
	resolved, err := run.Resolve(q.Run)
	if err != nil {
		return nil, err
	}
	prepared, err := resolved.Provide(ctx, b)
	if err != nil {
		return nil, err
	}
	before := machine.CurrentConditions()
	out, err := q.find(ctx, prepared, files, o)
	if out != nil {
		out.Load = append(before.Settings(), before.During(machine.CurrentConditions())...)
	}
	return out, errors.Join(err, prepared.Close())
}

// check finds wrong values, and parses the model files.
func (q Request) check() ([]modelFile, error) {
	if q.Budget <= 0 {
		return nil, userinput.Invalid("budget", q.Budget, "a time to search")
	}
	request := q.Run // with the largest value of each axis, which a run checks
	for _, axis := range []struct {
		field   string
		values  []int
		largest *int
	}{
		{"instances", q.Axes.Instances, &request.Instances}, {"intra_threads", q.Axes.Threads, &request.Backend.IntraThreads},
		{"max_batchsize", q.Axes.Batches, &request.MaxBatch},
	} {
		*axis.largest = 0
		for _, v := range axis.values {
			if v < 1 {
				return nil, userinput.Invalid(axis.field, v, "positive numbers")
			}
			*axis.largest = max(*axis.largest, v)
		}
	}
	for _, d := range q.Axes.Delays {
		if d < 0 {
			return nil, userinput.Errorf("max_batch_delay", "%v is not a time", d)
		}
	}
	files, err := parseModelFiles(q.ModelFiles)
	if err != nil {
		return nil, err
	}
	if len(files) > 1 && len(q.Precisions) > 0 {
		return nil, userinput.Errorf("precision", "precisions of one model file can be compared, not of %d", len(files))
	}
	if len(files) > 0 {
		request.ModelPath = files[0].path
	}
	for _, precision := range append([]string{request.Precision}, q.Precisions...) {
		request.Precision = precision
		if _, err := run.Resolve(request); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// A modelFile is a file of the model, in a precision. The labels of several files are the variants of points.
type modelFile struct {
	label, path string
	options     backend.Options // that run it
}

// parseModelFiles reads FILE or LABEL=FILE of each. A single file has no label.
func parseModelFiles(list []string) ([]modelFile, error) {
	var files []modelFile
	for _, text := range list {
		label, path, ok := strings.Cut(text, "=")
		if !ok {
			label, path = strings.TrimSuffix(filepath.Base(text), filepath.Ext(text)), text
		}
		if label == "" || path == "" {
			return nil, userinput.Errorf("model_path", "%s: must be a file, or label=file", text)
		}
		if slices.ContainsFunc(files, func(f modelFile) bool { return f.label == label }) {
			return nil, userinput.Errorf("model_path", "%s: another file is called %s, too; give them labels, as in fp32=a.onnx", text, label)
		}
		files = append(files, modelFile{label: label, path: path})
	}
	if len(files) == 1 {
		files[0].label = ""
	}
	return files, nil
}

// probeSamples is how many samples are in memory while a point is measured. More would
// only take longer to load.
const probeSamples = 64

// find searches with a model and data that exist.
func (q Request) find(ctx context.Context, p *run.Prepared, files []modelFile, o Observer) (out *Outcome, err error) {
	path, subject := q.Output, p.Subject()
	if path == "" {
		if path, err = run.ProfilePath(subject); err != nil {
			return nil, err
		}
	}
	variants := files
	if len(files) == 0 {
		variants = []modelFile{{path: p.ModelPath()}}
	}
	for i, f := range variants {
		if variants[i].options, err = p.WithModel(ctx, f.path); err != nil {
			return nil, err
		}
	}
	if len(q.Precisions) > 0 {
		variants = nil
		for _, precision := range q.Precisions {
			options, err := p.InPrecision(ctx, precision)
			if err != nil {
				return nil, err
			}
			variants = append(variants, modelFile{precision, options.ModelPath, options})
		}
	}
	for _, v := range variants {
		if v.label != "" {
			q.Axes.Variants = append(q.Axes.Variants, v.label)
		}
	}
	s := searcher{
		settings: p.Settings, budget: q.Budget, axes: q.Axes, observer: o,
		cores: p.Cores(runtime.GOMAXPROCS(0)), accelerator: ort.Accelerates(p.Request.Backend.Device),
		open: func(ctx context.Context, point Point) (model, error) {
			way := run.Way{Instances: point.Instances, Threads: point.Threads, MaxBatch: point.MaxBatch, MaxDelay: point.MaxDelay, Samples: probeSamples}
			for _, v := range variants {
				if v.label == point.Variant {
					way.Backend = &v.options
				}
			}
			probe, err := p.Open(ctx, way)
			if err != nil {
				return nil, err // not probe, which would be an interface that is not nil
			}
			return probe, nil
		},
	}
	if n := s.settings.PerformanceSampleCountOverride; n == 0 || n > probeSamples {
		s.settings.PerformanceSampleCountOverride = probeSamples
	}
	out, err = s.search(ctx)
	if out == nil {
		return nil, err
	}
	out.Path = path
	if !out.Found {
		if out.Finished {
			err = errors.Join(err, out.none())
		}
		return out, err
	}
	out.Profile = out.profile(subject)
	out.Profile.Program, out.Profile.Created = q.Run.Program, clock.Now().UTC().Truncate(time.Second)
	if len(q.Precisions) > 0 {
		out.Profile.Precision = out.Winner.Variant
	}
	for _, f := range files {
		if f.label == out.Winner.Variant || len(files) == 1 {
			absolute, abs := filepath.Abs(f.path)
			out.Profile.ModelPath, err = absolute, errors.Join(err, abs)
		}
	}
	if out.Finished && err == nil {
		err = out.Profile.Write(path)
	}
	return out, err
}

// none is the error of a search without a winner.
func (o *Outcome) none() error {
	for _, m := range o.Done {
		if m.Err != "" {
			return &NoneError{Reason: fmt.Sprintf("nothing could be measured; %v: %s", m.Point, m.Err)}
		}
	}
	return &NoneError{
		Reason: fmt.Sprintf("no way to run the model that was tried keeps the latency bound of %s at any rate", units.Duration(o.Bound)),
		Bound:  o.Bound,
	}
}

// profile is the winner as a profile of a model, without its file.
func (o *Outcome) profile(subject profile.Subject) *profile.Profile {
	w := o.Winner
	p := &profile.Profile{
		Schema: profile.Schema, Subject: subject,
		Instances: w.Instances, Threads: w.Threads, MaxBatch: w.MaxBatch, MaxDelay: w.MaxDelay.String(),
		Objective: profile.Objective(o.Objective), Value: w.Value,
	}
	for _, r := range o.Results {
		if r.Stage == 0 {
			p.Points++
		}
		if r.Stage == w.Stage && r.Point == o.Points[0] {
			p.Default = r.Value
		}
	}
	return p
}

// A searcher opens models, and measures them.
type searcher struct {
	settings    loadgen.TestSettings
	budget      time.Duration
	axes        Axes
	cores       int
	accelerator bool
	// open opens the model in the way of a point. Zero fields are chosen as a run does; the
	// variant is always one of the axes.
	open     func(context.Context, Point) (model, error)
	observer Observer
}

// search measures until the search is over or ctx ends. It returns the measurements even then,
// with the error that ended it.
func (s searcher) search(ctx context.Context) (*Outcome, error) {
	begin := clock.Now()
	base, facts, err := s.base(ctx)
	if err != nil {
		return nil, err
	}
	s.settings.ServerTargetLatency = facts.bound
	plan := search{
		scenario: facts.scenario, points: s.axes.points(base, facts), objective: objectiveOf(s.settings), budget: s.budget, setup: clock.Since(begin),
	}
	out := &Outcome{Objective: plan.objective, Points: plan.points, Bound: facts.bound}
	s.observer.Begin(plan.objective, len(plan.points))
	for err == nil {
		trial, more := plan.next()
		if !more {
			out.Finished = true
			break
		}
		var m Measurement
		if m, err = s.measure(ctx, trial); err == nil {
			plan.done = append(plan.done, m)
			spent, _ := plan.spent()
			s.observer.Measured(m, max(plan.budget-spent, 0))
		}
	}
	out.Done = plan.done
	for i := range stageCount {
		out.Results = append(out.Results, plan.results(i)...)
	}
	out.Winner, out.Tied, out.Found = plan.best()
	return out, err
}

// base opens the model as a run without a profile would, where the axes leave the choice open. It returns
// this way to run the model, and the facts that the other points follow from.
func (s searcher) base(ctx context.Context) (base Point, f facts, err error) {
	only := func(axis []int) int { // 0 if the value is open
		if len(axis) == 1 {
			return axis[0]
		}
		return 0
	}
	a := s.axes
	if len(a.Variants) > 0 {
		base.Variant = a.Variants[0]
	}
	base.Instances, base.Threads, base.MaxBatch = only(a.Instances), only(a.Threads), only(a.Batches)
	m, err := s.open(ctx, base)
	if err != nil {
		return base, f, err
	}
	onAxis := func(axis []int, value int) int {
		if len(axis) == 0 || slices.Contains(axis, value) {
			return value
		}
		return axis[0]
	}
	instances, threads, batch := m.Shape()
	base.Instances, base.Threads, base.MaxBatch = onAxis(a.Instances, instances), onAxis(a.Threads, threads), onAxis(a.Batches, batch)
	f = facts{scenario: s.settings.Scenario, cores: s.cores, accelerator: s.accelerator, fixedBatch: m.FixedBatch(),
		samplesPerQuery: int(s.settings.MultiStreamSamplesPerQuery)}
	if f.scenario == loadgen.Server {
		f.bound = m.LatencyBound()
	}
	return base, f, m.Close()
}

// measure measures a point. A point that cannot be measured is an outcome too, unless ctx has ended.
func (s searcher) measure(ctx context.Context, t trial) (Measurement, error) {
	result := Measurement{Point: t.Point, Stage: t.stage, Round: t.round, Length: t.length}
	begin := clock.Now()
	m, err := s.open(ctx, t.Point)
	if err == nil {
		result.Values, err = meter{m, t.Point, s.settings}.measure(ctx, t.stage, t.length)
		err = errors.Join(err, m.Close())
	}
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	if err != nil {
		result.Err, result.Values = err.Error(), nil
	}
	result.Took = clock.Since(begin)
	return result, nil
}
