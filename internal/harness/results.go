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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// results gathers everything that is known about a test.
func (r *run) results(test *loadgen.Result) *report.Results {
	input := r.input() // may warn
	out := &report.Results{
		Schema:      report.Schema,
		Program:     r.cfg.Program,
		Created:     test.StartTime.UTC().Truncate(time.Second),
		Model:       r.cfg.Model.Name,
		Rules:       r.cfg.Rules,
		Interactive: r.cfg.Interactive,
		Limitations: slices.Clone(r.cfg.Limitations),
		Fingerprint: r.cfg.Fingerprint,
		Problems:    []string{},
		Warnings:    append(append([]string{}, r.cfg.Warnings...), r.warnings.list...),
		Calibration: r.calibration,
		Settings:    r.cfg.Made,
		Phases:      r.phases,
		System:      r.cfg.System,
		Host:        r.cfg.Host,
		Command:     r.cfg.Command,
		Backend:     r.backend(),
		Input:       input,
		Files:       maps.Clone(r.sums),
	}
	out.Fill(test, r.origin)
	out.JudgeObjectives(r.cfg.SLO, test.Performance)
	if r.impossible != nil {
		out.Problems = append([]string{r.impossible.Error()}, out.Problems...)
	}
	if r.failure.Load() != nil {
		out.Result = report.Invalid // the run stopped the test itself
	}
	out.Queue = r.queueStats(test)
	out.Generation = r.generation(test)
	out.Warnings = append(out.Warnings, out.Generation.Warnings()...)
	if q := out.Queue; out.Result == report.Invalid && q != nil && q.Backlog > 0 {
		out.Problems = append(out.Problems, fmt.Sprintf("overload: the queue grew from %.3f s on, to %d samples when the last query was issued; "+
			"the target is more than the system can do", q.GrewSeconds, q.Backlog))
	}
	for _, w := range r.sut.workers {
		out.Workers = append(out.Workers, report.WorkerStats{
			Batches: w.batches.Load(),
			Samples: w.samples.Load(),
			Busy:    time.Duration(w.busy.Load()).Seconds(),
		})
	}
	alike := r.workload.Alike
	if r.cfg.BuiltInData {
		alike = r.workload.Samples // answers are letters and numbers
	}
	r.serverCheck.judgeTokens(out.Generation, alike, r.workload.Samples)
	r.serverCheck.apply(out)
	r.addLimitations(out)
	return out
}

// queueStats say how the queue of the last test grew.
func (r *run) queueStats(test *loadgen.Result) *report.QueueStats {
	n, when, left := r.sut.queue.stats()
	if n == 0 {
		return nil
	}
	began := test.StartTime
	if p := test.Performance; p != nil && test.Effective.Mode != loadgen.SubmissionRun {
		began = began.Add(p.Started) // after loading
	}
	stats := &report.QueueStats{Peak: n, PeakSeconds: when.Sub(began).Seconds()}
	grew := began
	if left.since.After(began) {
		grew = left.since
	}
	// A few queries in the last moment are no backlog.
	if test.Effective.Scenario == loadgen.Server && left.samples > len(r.sut.workers)*r.model.shape.batch &&
		left.at.Sub(grew) >= left.at.Sub(began)/10 {
		stats.Backlog, stats.GrewSeconds = left.samples, grew.Sub(began).Seconds()
	}
	return stats
}

// addLimitations adds the limitations by settings that are easier than the
// rules', and by models and data that are not the official ones.
func (r *run) addLimitations(out *report.Results) {
	if r.cfg.Judge != nil {
		limitations, notes := r.cfg.Judge(r.cfg.Settings, r.cfg.Made)
		out.Limitations, out.Notes = append(out.Limitations, limitations...), append(out.Notes, notes...)
	}
	if r.cfg.JudgeData != nil && !r.cfg.BuiltInData && r.cfg.Count == 0 {
		loaded := r.performanceSamples()
		seen, distinct := r.qsl.contents.count()
		if n := r.cfg.Settings.PerformanceSampleCountOverride; n > 0 { // LoadGen takes it, even if the data set has fewer samples
			loaded = int(min(n, uint64(r.workload.Samples)))
		}
		out.Limitations = append(out.Limitations, r.cfg.JudgeData(loaded, r.workload.Samples, seen, distinct)...)
	}
	out.Limitations = append(out.Limitations, r.workload.Limitations...)
	if r.workload.Answers != nil {
		out.Limitations = append(out.Limitations, r.workload.Answers()...)
	}
	limit := func(on bool, l limitation.Limitation) {
		if on {
			out.Limitations = append(out.Limitations, l)
		}
	}
	limit(len(r.cfg.Beside) > 0, r.besideOthers())
	limit(r.cfg.BuiltInModel, limitation.Limitation{ID: limitation.BuiltInModel})
	limit(r.cfg.BuiltInData, limitation.Limitation{ID: limitation.BuiltInData})
	limit(r.cfg.Count > 0, limitation.Limitation{ID: limitation.PartOfData, Value: strconv.Itoa(r.cfg.Count)})
	limit(true, limitation.Limitation{ID: limitation.Unofficial})
}

func (r *run) backend() report.Backend {
	info := r.model.info()
	devices := map[string]int{}
	for _, d := range info.Devices {
		devices[d.Device] = d.Nodes
	}
	cores, s := runtime.GOMAXPROCS(0), r.model.shape
	return report.Backend{
		Engine: info.Engine, Simulated: info.Simulated, Library: info.Library, Devices: devices, Facts: info.Facts,
		ReservedCores: cores - r.cfg.Cores(cores), PinnedTo: r.cfg.Processors[:min(s.workers*s.threads, len(r.cfg.Processors))],
		Threads: s.threads, Sessions: len(r.model.sessions),
		WarmUp:    report.WarmUp{Runs: r.warm.runs, Stable: r.warm.stable, LatencyNS: int64(r.warm.latency)},
		Instances: len(r.model.predictors), MaxBatch: s.batch, MaxDelay: r.cfg.MaxDelay.String(),
	}
}

func (r *run) input() report.Input {
	in := report.Input{
		ModelPath: r.cfg.Backend.ModelPath, Precision: r.cfg.Precision, Conversion: r.cfg.Conversion, BuiltIn: r.cfg.BuiltInModel,
		DatasetPath: r.cfg.DatasetDir, BuiltInData: r.cfg.BuiltInData,
		Samples: r.workload.Samples, Part: r.cfg.Count > 0, Reference: r.cfg.Reference, Binding: r.workload.Notes, RunSamples: r.workload.Batch, EndTokens: r.workload.EndTokens,
	}
	if in.ModelPath == "" {
		return in // a simulated model
	}
	if r.model.changed(r.files) {
		r.warnings.add(errors.New("the model file was changed during the run, its hash is left out: " + in.ModelPath))
		return in
	}
	sum, prints, err := HashFiles(context.Background(), r.files) // after an interruption too
	if err != nil {
		r.warnings.add(fmt.Errorf("the model file cannot be hashed: %w", err))
		return in
	}
	in.ModelSHA256 = sum
	for _, p := range prints {
		in.ModelBytes += p.Bytes
	}
	return in
}

// HashFiles returns the SHA-256 of a model's file with its external data, or one of the sums of several, and the fingerprint
// of each file.
func HashFiles(ctx context.Context, files []workload.File) (sum string, prints []onnx.Fingerprint, err error) {
	all := sha256.New()
	for _, f := range files {
		model, err := onnx.FingerprintOf(ctx, f.Path)
		if err != nil {
			return "", nil, err
		}
		sum, prints = model.SHA256, append(prints, model)
		fmt.Fprintf(all, "%s %s\n", sum, f.Role)
	}
	if len(files) > 1 {
		sum = hex.EncodeToString(all.Sum(nil))
	}
	return sum, prints, nil
}

// outcome scores the run if it has responses of all samples, and returns the error that stopped it.
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
	how := workload.Scoring{
		DatasetDir: r.cfg.DatasetDir, Samples: r.workload.Samples, Options: r.cfg.Model.Shared(r.cfg.Options), Best: r.workload.Best,
		Engine: r.cfg.ScoreEngine, Keep: r.cfg.OutputDir, Progress: r.cfg.Observer.Items,
	}
	maps.Copy(how.Options, r.workload.ScoreOptions)
	if how.Engine == nil && !r.asksServers() {
		how.Engine = r.cfg.Engine
	}
	a, err := Score(ctx, filepath.Join(dir, mlperflog.AccuracyFile), r.cfg.Model, how, Target{Quality: r.cfg.Model.QualityIn(r.cfg.Rules), Reference: r.cfg.Reference, None: out.Input.NoTarget()})
	if err != nil {
		out.Warnings = append(out.Warnings, report.NotScored+strings.Join(userinput.ErrorLines(err), "; "))
		return err
	}
	out.Accuracy = a
	return WriteAccuracy(dir, out)
}

// checkpoint returns a function that writes a test that has not ended, so that a program that is
// killed leaves logs and results. It does not hash the model file.
func (r *run) checkpoint(dir string) func(*loadgen.Result) {
	known := report.Results{
		Schema: report.Schema, Program: r.cfg.Program, Model: r.cfg.Model.Name, Rules: r.cfg.Rules, Interactive: r.cfg.Interactive,
		Settings: r.cfg.Made, Calibration: r.calibration, Phases: r.phases, System: r.cfg.System, Backend: r.backend(),
		Fingerprint: r.cfg.Fingerprint, Host: r.cfg.Host, Command: r.cfg.Command,
	}
	warnings := slices.Concat(r.cfg.Warnings, r.warnings.list)
	return func(test *loadgen.Result) {
		out := known
		out.Limitations, out.Warnings, out.Problems = slices.Clone(r.cfg.Limitations), slices.Clone(warnings), []string{}
		out.Created = test.StartTime.UTC().Truncate(time.Second)
		out.Fill(test, r.origin)
		r.addLimitations(&out)
		_, err := r.writeLogs(test, dir)
		_ = errors.Join(err, out.Write(dir)) // an error now is one when the test has ended, too
	}
}
