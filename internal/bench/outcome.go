package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models"
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
	if n, when := r.sut.queue.longest(); n > 0 {
		out.Queue = &report.QueueStats{Peak: n, PeakSeconds: when.Sub(test.StartTime).Seconds()}
	}
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
	info := r.session.Info()
	devices := map[string]int{}
	for _, d := range info.Devices {
		devices[d.Device] = d.Nodes
	}
	return report.Backend{
		Engine: info.Engine, Library: info.Library, Devices: devices, Facts: info.Facts,
		Instances: len(r.predictors), MaxBatch: r.batching.maxBatch, MaxDelay: r.batching.maxDelay.String(),
	}
}

func (r *run) input() report.Input {
	in := report.Input{
		ModelPath: r.cfg.Backend.ModelPath, BuiltIn: r.cfg.BuiltInModel,
		DatasetPath: r.cfg.DatasetDir, BuiltInData: r.cfg.BuiltInData,
		Samples: r.workload.Len(), Binding: r.workload.Notes(),
	}
	if in.ModelPath == "" {
		return in // a simulated model
	}
	sum, size, err := hashFile(in.ModelPath)
	if err != nil {
		r.warnings.add(fmt.Errorf("the model file cannot be hashed: %w", err))
		return in
	}
	in.ModelSHA256, in.ModelBytes = sum, size
	return in
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

// outcome scores the run if it has responses of all samples, and turns what stopped it
// into an error.
func (r *run) outcome(test *loadgen.Result, out *report.Results) error {
	switch failure := r.failure.Load(); {
	case failure != nil:
		return fmt.Errorf("%w: %w", ErrFailed, *failure)
	case test.Interrupted != nil:
		return test.Interrupted
	case len(test.Faults) > 0 || test.Effective.Mode == loadgen.PerformanceOnly || test.Effective.Mode == loadgen.FindPeakPerformance:
		return nil
	}
	r.cfg.Observer.Phase("scoring")
	a, warnings, err := Score(filepath.Join(r.cfg.OutputDir, mlperflog.AccuracyFile), r.cfg.Model,
		models.Scoring{DatasetDir: r.cfg.DatasetDir}, Target{Quality: r.cfg.Model.Quality, Reference: r.cfg.Reference})
	if err != nil {
		return err
	}
	all := uint64(r.workload.Len())
	a.Samples = min(test.Effective.AccuracySampleCount, all) // MultiStream asks for some twice
	a.Partial = a.Samples < all
	out.Accuracy = a
	out.Warnings = append(out.Warnings, warnings...)
	return WriteAccuracy(r.cfg.OutputDir, a)
}
