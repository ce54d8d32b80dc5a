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

	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Request asks for the fastest way to run a model.
type Request struct {
	// Bench says what is measured. Its workers, threads, batches, files and precision are
	// those of the axes below.
	Bench  run.Request
	Budget time.Duration
	Axes   Axes // without variants
	// ModelFiles are compared, each as FILE or LABEL=FILE; nil: there is one model.
	ModelFiles []string
	// Precisions of the one model are compared.
	Precisions []string
	Output     string // file of the profile; empty: where sessions look for the one of this machine
	Fresh      bool   // forget earlier measurements
}

// A Found way is the outcome of a search, and the profile that it was written to.
type Found struct {
	*Outcome
	Profile *profile.Profile // nil: none was found
	Path    string
}

// A NoneError says that no way to run the model could be measured, or none keeps the bound.
type NoneError struct {
	Reason string
	Bound  time.Duration // that no way keeps; 0: nothing could be measured
}

func (e *NoneError) Error() string { return e.Reason }

// Find searches, and writes the profile of the fastest way when the search is over.
// Interrupted, it returns what there is with the error: the search goes on later.
func Find(ctx context.Context, q Request, o Observer, b run.Observer) (*Found, error) {
	f := &finding{Request: q}
	if err := f.check(); err != nil {
		return nil, err
	}
	resolved, err := run.Resolve(f.Bench)
	if err != nil {
		return nil, err
	}
	prepared, err := resolved.Provide(ctx, b)
	if err != nil {
		return nil, err
	}
	found, err := f.search(ctx, prepared, o)
	return found, errors.Join(err, prepared.Close())
}

// A finding is one call of Find.
type finding struct {
	Request
	files []modelFile
}

// check finds what no search is possible with.
func (f *finding) check() (err error) {
	if f.Budget <= 0 {
		return userinput.Invalid("budget", f.Budget, "a time to search")
	}
	if err := f.Axes.check(); err != nil {
		return err
	}
	if f.files, err = parseModelFiles(f.ModelFiles); err != nil {
		return err
	}
	if len(f.files) > 1 && len(f.Precisions) > 0 {
		return userinput.Errorf("precision", "is compared of one model file, there are %d", len(f.files))
	}
	if len(f.files) > 0 {
		f.Bench.ModelPath = f.files[0].path
	}
	return f.checkAxes()
}

// check finds values that no run could have.
func (a Axes) check() error {
	for _, axis := range []struct {
		field  string
		values []int
	}{{"instances", a.Instances}, {"intra_threads", a.Threads}, {"max_batchsize", a.Batches}} {
		for _, v := range axis.values {
			if v < 1 {
				return userinput.Invalid(axis.field, v, "positive numbers")
			}
		}
	}
	for _, d := range a.Delays {
		if d < 0 {
			return userinput.Errorf("max_batch_delay", "%v is not a time", d)
		}
	}
	return nil
}

// checkAxes has the session look at the largest of each axis.
func (f *finding) checkAxes() error {
	most := func(values []int) int {
		if len(values) == 0 {
			return 0
		}
		return slices.Max(values)
	}
	q := f.Bench
	q.Instances, q.Backend.IntraThreads, q.MaxBatch = most(f.Axes.Instances), most(f.Axes.Threads), most(f.Axes.Batches)
	for _, precision := range append([]string{q.Precision}, f.Precisions...) {
		q.Precision = precision
		if _, err := run.Resolve(q); err != nil {
			return err
		}
	}
	return nil
}

// probeSamples is how many samples are in memory while a point is measured. More would
// only take longer to load.
const probeSamples = 64

func (f *finding) search(ctx context.Context, p *run.Prepared, o Observer) (*Found, error) {
	if err := f.variants(ctx, p); err != nil {
		return nil, err
	}
	found := &Found{Path: f.Output}
	subject := p.Subject()
	if found.Path == "" {
		var err error
		if found.Path, err = run.ProfilePath(subject); err != nil {
			return nil, err
		}
	}
	cfg := Config{
		Settings: p.Settings, Budget: f.Budget, Axes: f.Axes, Fresh: f.Fresh, Observer: o,
		Facts:   Facts{Cores: p.Cores(runtime.GOMAXPROCS(0)), Accelerator: accelerates(p.Request.Backend.Device)},
		Header:  f.header(subject, p),
		Journal: strings.TrimSuffix(found.Path, filepath.Ext(found.Path)) + ".tune.jsonl",
		Open:    func(ctx context.Context, point Point) (Opened, error) { return f.open(ctx, p, point) },
	}
	cfg.Axes.Variants = labels(f.files)
	if n := cfg.Settings.PerformanceSampleCountOverride; n == 0 || n > probeSamples {
		cfg.Settings.PerformanceSampleCountOverride = probeSamples
	}
	out, err := Run(ctx, cfg)
	if out == nil {
		return nil, err
	}
	found.Outcome = out
	return found, errors.Join(err, f.conclude(found, subject))
}

// conclude writes the profile. Interrupted, there is none: the search goes on later.
func (f *finding) conclude(found *Found, subject profile.Subject) error {
	if !found.Outcome.Found {
		if found.Finished {
			return noneOf(found.Outcome)
		}
		return nil
	}
	p := found.Outcome.Profile(subject)
	p.Program, p.Created = f.Bench.Program, time.Now().UTC().Truncate(time.Second)
	f.complete(p, found.Winner.Variant)
	found.Profile = p
	if !found.Finished {
		return nil
	}
	return p.Write(found.Path)
}

func noneOf(out *Outcome) error {
	for _, m := range out.Done {
		if m.Err != "" {
			return &NoneError{Reason: fmt.Sprintf("nothing could be measured; %v: %s", m.Point, m.Err)}
		}
	}
	return &NoneError{
		Reason: fmt.Sprintf("no way to run the model that was tried keeps the latency bound of %v at any rate", out.Bound),
		Bound:  out.Bound,
	}
}

// open opens the model in the way of a point.
func (f *finding) open(ctx context.Context, p *run.Prepared, point Point) (Opened, error) {
	way := run.Way{Instances: point.Instances, Threads: point.Threads, MaxBatch: point.MaxBatch, MaxDelay: point.MaxDelay, Samples: probeSamples}
	for _, file := range f.files {
		if file.label == point.Variant {
			way.Backend = &file.options
		}
	}
	probe, err := p.Open(ctx, way)
	if err != nil {
		return nil, err // not probe, which would be an interface that is not nil
	}
	return probe, nil
}

// accelerates reports whether a device has its own processors.
func accelerates(device string) bool {
	first, _, _ := strings.Cut(strings.ToLower(device), ",")
	return !slices.Contains([]string{"", "cpu", "xnnpack", "dnnl", "acl"}, first)
}

// header names everything that decides what a point measures.
func (f *finding) header(subject profile.Subject, p *run.Prepared) Header {
	h := Header{Subject: subject, Dataset: p.DatasetDir(), Fingerprint: p.Fingerprint.String()}
	for _, file := range f.files {
		h.ModelFiles = append(h.ModelFiles, file.String())
	}
	switch s := p.Settings; s.Scenario {
	case loadgen.Server:
		h.Percentile, h.BoundAsked = s.ServerTargetLatencyPercentile, s.ServerTargetLatency.String()
		if p.Request.AutoLatency {
			h.BoundAsked = run.Auto
		}
	case loadgen.SingleStream:
		h.Percentile = s.SingleStreamTargetLatencyPercentile
	case loadgen.MultiStream:
		h.Percentile, h.SamplesPerQuery = s.MultiStreamTargetLatencyPercentile, int(s.MultiStreamSamplesPerQuery)
	}
	return h
}
