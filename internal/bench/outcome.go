package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/workload"
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
		Marks:       r.marks,
		Problems:    []string{},
		Warnings:    append(append([]string{}, r.cfg.Warnings...), r.warnings.list...),
		Calibration: r.calibration,
		Settings:    r.made,
		Phases:      r.phases,
		System:      r.cfg.System,
		Backend:     r.backend(),
		Input:       input,
	}
	out.Fill(test, r.origin)
	if r.failure.Load() != nil {
		out.Result = report.Invalid // the test was stopped, but not from outside
	}
	out.Queue = r.queueStats(test)
	out.Problems = append(out.Problems, overload(out)...)
	for _, w := range r.sut.workers {
		out.Workers = append(out.Workers, report.WorkerStats{
			Batches: w.batches.Load(),
			Samples: w.samples.Load(),
			Busy:    time.Duration(w.busy.Load()).Seconds(),
		})
	}
	r.addMarks(out)
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

// addMarks says what follows from the input for what the results may be used for.
func (r *run) addMarks(out *report.Results) {
	mark := func(on bool, text string) {
		if on {
			out.Marks = append(out.Marks, text)
		}
	}
	mark(r.cfg.BuiltInModel, "of a trained model: the built-in model has the official architecture and random weights")
	mark(r.cfg.BuiltInData, "of the official data: the built-in data set is synthetic")
	mark(r.cfg.Count > 0, fmt.Sprintf("of the whole data set: --count %d", r.cfg.Count))
	mark(true, "an official MLPerf result: those come from the C++ LoadGen, unmodified, and are reviewed by MLCommons")
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
		ReservedCores: cores - r.cfg.Cores(cores),
		Threads:       r.model.shape.threads, Sessions: len(r.model.sessions),
		WarmUp:    report.WarmUp{Runs: r.warm.runs, Stable: r.warm.stable, LatencyNS: int64(r.warm.latency)},
		Instances: len(r.model.predictors), MaxBatch: r.model.shape.batch, MaxDelay: r.cfg.MaxDelay.String(),
	}
}

func (r *run) input() report.Input {
	in := report.Input{
		ModelPath: r.cfg.Backend.ModelPath, Precision: r.cfg.Precision, BuiltIn: r.cfg.BuiltInModel,
		DatasetPath: r.cfg.DatasetDir, BuiltInData: r.cfg.BuiltInData,
		Samples: r.workload.Len(), Binding: r.workload.Notes(),
	}
	if in.ModelPath == "" {
		return in // a simulated model
	}
	if r.model.changed(r.files) {
		r.warnings.add(errors.New("the model file was changed during the run: " + in.ModelPath + " is no longer what was measured"))
		return in
	}
	sum, size, err := hashFiles(r.files)
	if err != nil {
		r.warnings.add(fmt.Errorf("the model file cannot be hashed: %w", err))
		return in
	}
	in.ModelSHA256, in.ModelBytes = sum, size
	return in
}

// hashFiles returns the sum of a file, or one of the sums of several, and their size.
func hashFiles(files []workload.File) (sum string, size int64, err error) {
	all := sha256.New()
	for _, f := range files {
		var n int64
		if sum, n, err = hashFile(f.Path); err != nil {
			return "", 0, err
		}
		fmt.Fprintf(all, "%s %s\n", sum, f.Role)
		size += n
	}
	if len(files) > 1 {
		sum = hex.EncodeToString(all.Sum(nil))
	}
	return sum, size, nil
}

func hashFile(path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// scoring is how the run's own log has to be scored.
func (r *run) scoring() workload.Scoring {
	s := workload.Scoring{DatasetDir: r.cfg.DatasetDir, Samples: r.workload.Len()}
	if w, ok := r.workload.(workload.Scored); ok {
		s.Options = w.ScoreOptions()
	}
	return s
}

// outcome scores the run if it has responses of all samples, and turns what stopped it
// into an error.
func (r *run) outcome(test *loadgen.Result, out *report.Results, dir string) error {
	switch failure := r.failure.Load(); {
	case failure != nil:
		return fmt.Errorf("%w: %w", ErrFailed, *failure)
	case test.Interrupted != nil:
		return test.Interrupted
	case len(test.Faults) > 0 || test.Effective.Mode == loadgen.PerformanceOnly || test.Effective.Mode == loadgen.FindPeakPerformance:
		return nil
	}
	r.cfg.Observer.Phase("scoring")
	a, warnings, err := Score(filepath.Join(dir, mlperflog.AccuracyFile), r.cfg.Model,
		r.scoring(), Target{Quality: r.cfg.Model.Quality, Reference: r.cfg.Reference})
	if err != nil {
		return err
	}
	all := uint64(r.workload.Len())
	a.Samples = min(test.Effective.AccuracySampleCount, all) // MultiStream asks for some twice
	a.Partial = a.Samples < all
	out.Accuracy = a
	out.Warnings = append(out.Warnings, warnings...)
	return WriteAccuracy(dir, a)
}
