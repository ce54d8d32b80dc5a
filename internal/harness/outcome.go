package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
)

// results gathers everything that is known of the run.
func (r *run) results(test *loadgen.Result) *report.Results {
	input := r.input() // may warn
	out := &report.Results{
		Schema:      report.Schema,
		Program:     r.cfg.Program,
		Created:     test.StartTime.UTC().Truncate(time.Second),
		Model:       r.cfg.Model.Name,
		Rules:       r.cfg.Rules,
		Interactive: r.cfg.Interactive,
		Caveats:     append([]string{}, r.cfg.Caveats...),
		Fingerprint: r.cfg.Fingerprint,
		Problems:    []string{},
		Warnings:    append(append([]string{}, r.cfg.Warnings...), r.warnings.list...),
		Calibration: r.calibration,
		Settings:    r.made,
		Phases:      r.phases,
		System:      r.cfg.System,
		Host:        r.cfg.Host,
		Command:     r.cfg.Command,
		Backend:     r.backend(),
		Input:       input,
	}
	out.Fill(test, r.origin)
	if r.failure.Load() != nil {
		out.Result = report.Invalid // the test was stopped, but not from outside
	}
	if r.settings.Mode != loadgen.PerformanceOnly {
		out.AccuracyLogSHA256 = r.answersSum
	}
	out.Queue = r.queueStats(test)
	out.Generation = r.endpoint(test)
	out.Warnings = append(out.Warnings, out.Generation.Warnings()...)
	out.Problems = append(out.Problems, overload(out)...)
	for _, w := range r.sut.workers {
		out.Workers = append(out.Workers, report.WorkerStats{
			Batches: w.batches.Load(),
			Samples: w.samples.Load(),
			Busy:    time.Duration(w.busy.Load()).Seconds(),
		})
	}
	r.evidence.apply(out)
	r.addCaveats(out)
	return out
}

// queueStats say how the queue of the last test grew.
func (r *run) queueStats(test *loadgen.Result) *report.QueueStats {
	n, when := r.sut.queue.longest()
	if n == 0 {
		return nil
	}
	began := test.StartTime
	if p := test.Performance; p != nil && test.Effective.Mode != loadgen.SubmissionRun {
		began = began.Add(p.Started) // after loading
	}
	stats := &report.QueueStats{Peak: n, PeakSeconds: when.Sub(began).Seconds()}
	left := r.sut.queue.left()
	if test.Effective.Scenario == loadgen.Server && left.samples > len(r.sut.workers)*r.model.shape.batch {
		stats.Backlog = left.samples
		if !left.since.IsZero() {
			stats.GrewSeconds = left.since.Sub(began).Seconds()
		}
	}
	return stats
}

// overload names the reason of a Server test that is not valid because the system could
// not keep up.
func overload(r *report.Results) []string {
	if r.Result != report.Invalid || r.Queue == nil || r.Queue.Backlog == 0 {
		return nil
	}
	return []string{fmt.Sprintf("overload: from %.3f s on samples waited without a break, %d when the last query was issued; "+
		"the target is more than the system can do", r.Queue.GrewSeconds, r.Queue.Backlog)}
}

// addCaveats says what speaks against the results: settings that are easier than the
// rules', and models and data that are not the official ones.
func (r *run) addCaveats(out *report.Results) {
	if r.cfg.Judge != nil {
		caveats, notes := r.cfg.Judge(r.settings, r.origin)
		out.Caveats, out.Notes = append(out.Caveats, caveats...), append(out.Notes, notes...)
	}
	if r.cfg.JudgeData != nil && !r.cfg.BuiltInData && r.cfg.Count == 0 {
		out.Caveats = append(out.Caveats, r.cfg.JudgeData(r.loaded(), r.workload.Samples)...)
	}
	out.Caveats = append(out.Caveats, r.workload.Caveats...)
	caveat := func(on bool, text string) {
		if on {
			out.Caveats = append(out.Caveats, text)
		}
	}
	caveat(r.cfg.BuiltInModel, report.CaveatBuiltInModel)
	caveat(r.cfg.BuiltInData, report.CaveatBuiltInData)
	caveat(r.cfg.Count > 0, fmt.Sprintf("a part of the data set: the first %d samples", r.cfg.Count))
	caveat(true, report.CaveatUnofficial)
}

func (r *run) backend() report.Backend {
	info := r.model.info()
	devices := map[string]int{}
	for _, d := range info.Devices {
		devices[d.Device] = d.Nodes
	}
	cores := runtime.GOMAXPROCS(0)
	return report.Backend{
		Engine: info.Engine, Library: info.Library, Devices: devices, Facts: info.Facts,
		ReservedCores: cores - r.cfg.Cores(cores), PinnedTo: r.pinnedTo(),
		Threads: r.model.shape.threads, Sessions: len(r.model.sessions),
		WarmUp:    report.WarmUp{Runs: r.warm.runs, Stable: r.warm.stable, LatencyNS: int64(r.warm.latency)},
		Instances: len(r.model.predictors), MaxBatch: r.model.shape.batch, MaxDelay: r.cfg.MaxDelay.String(),
	}
}

func (r *run) input() report.Input {
	in := report.Input{
		ModelPath: r.cfg.Backend.ModelPath, Precision: r.cfg.Precision, BuiltIn: r.cfg.BuiltInModel,
		DatasetPath: r.cfg.DatasetDir, BuiltInData: r.cfg.BuiltInData,
		Samples: r.workload.Samples, Part: r.cfg.Count > 0, Reference: r.cfg.Reference, Binding: r.workload.Notes, EndTokens: r.workload.EndTokens,
	}
	if in.ModelPath == "" {
		return in // a simulated model
	}
	if r.model.changed(r.files) {
		r.warnings.add(errors.New("the model file was changed during the run: " + in.ModelPath + " is no longer what was measured"))
		return in
	}
	sum, size, err := HashFiles(context.Background(), r.files) // after an interruption too
	if err != nil {
		r.warnings.add(fmt.Errorf("the model file cannot be hashed: %w", err))
		return in
	}
	in.ModelSHA256, in.ModelBytes = sum, size
	return in
}

// HashFiles returns the SHA-256 of a model's file with its external data, or one of the sums of several, and their size.
func HashFiles(ctx context.Context, files []workload.File) (sum string, size int64, err error) {
	all := sha256.New()
	for _, f := range files {
		model, err := onnx.FingerprintOf(ctx, f.Path)
		if err != nil {
			return "", 0, err
		}
		sum, size = model.SHA256, size+model.Bytes
		fmt.Fprintf(all, "%s %s\n", sum, f.Role)
	}
	if len(files) > 1 {
		sum = hex.EncodeToString(all.Sum(nil))
	}
	return sum, size, nil
}

// scoring is how the run's own log has to be scored.
func (r *run) scoring() workload.Scoring {
	options := r.cfg.Model.Shared(r.cfg.Options)
	maps.Copy(options, r.workload.ScoreOptions)
	engine := r.cfg.ScoreEngine
	if engine == nil && !r.asksServers() {
		engine = r.cfg.Engine
	}
	return workload.Scoring{
		DatasetDir: r.cfg.DatasetDir, Samples: r.workload.Samples, Options: options,
		Engine: engine, Keep: r.cfg.OutputDir, Progress: r.cfg.Observer.Items,
	}
}

// outcome scores the run if it has responses of all samples, and turns what stopped it
// into an error.
func (r *run) outcome(ctx context.Context, test *loadgen.Result, out *report.Results, dir string) error {
	switch failure := r.failure.Load(); {
	case failure != nil:
		return fmt.Errorf("%w: %w", errFailed, *failure)
	case test.Interrupted != nil:
		return test.Interrupted
	case len(test.Faults) > 0 || test.Effective.Mode == loadgen.PerformanceOnly || test.Effective.Mode == loadgen.FindPeakPerformance:
		return nil
	}
	r.cfg.Observer.Phase("scoring")
	a, err := Score(ctx, filepath.Join(dir, mlperflog.AccuracyFile), r.cfg.Model,
		r.scoring(), Target{Quality: r.cfg.Model.QualityIn(r.cfg.Rules), Reference: r.cfg.Reference, None: out.Input.NoTarget()})
	if err != nil {
		return err
	}
	out.Accuracy = a
	return WriteAccuracy(dir, a)
}
