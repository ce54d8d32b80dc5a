package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
)

// issue has the load generator run the test, and writes its logs.
func (r *run) issue(ctx context.Context) (*loadgen.Result, error) {
	accuracyLog, err := mlperflog.CreateAccuracy(filepath.Join(r.cfg.OutputDir, mlperflog.AccuracyFile))
	if err != nil {
		return nil, fmt.Errorf("opening the accuracy log: %w", err)
	}
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	r.sut = newSUT(r.sutName(), r.predictors, &r.qsl.rows, r.batching, r.failOnce(fail))
	var test *loadgen.Result
	err = r.phase("traffic", func() (err error) {
		test, err = loadgen.Run(running, r.sut, r.qsl, r.settings, loadgen.Options{
			AccuracyLog:  accuracyLog,
			Progress:     r.cfg.Observer.Traffic,
			StallTimeout: r.stallTimeout(),
			NewPacer:     r.cfg.NewPacer,
		})
		return err
	})
	if e := accuracyLog.Close(); e != nil {
		err = errors.Join(err, fmt.Errorf("closing the accuracy log: %w", e))
	}
	if test == nil {
		return nil, err
	}
	return test, errors.Join(err, r.writeLogs(test))
}

// failOnce returns what the SUT is to call when a prediction fails: the test ends then,
// because nothing that follows could make it valid.
func (r *run) failOnce(stop context.CancelCauseFunc) func(error) {
	var once sync.Once
	return func(err error) {
		once.Do(func() {
			r.failure = err
			stop(err)
		})
	}
}

// stallTimeout is how long the test waits for an answer: much longer than a batch takes.
func (r *run) stallTimeout() time.Duration {
	return max(2*time.Minute, 20*r.latency*time.Duration(r.batching.maxBatch))
}

// sutName names the system in logs: model, engine, device.
func (r *run) sutName() string {
	info := r.session.Info()
	device := r.cfg.Backend.Device
	if device == "" {
		device = "cpu"
	}
	return fmt.Sprintf("mlperf-go %s %s %s", r.cfg.Model.Name, info.Engine, device)
}

// writeLogs writes the log files of the reference.
func (r *run) writeLogs(test *loadgen.Result) error {
	files := []struct {
		name  string
		write func(*os.File) error
		skip  bool
	}{
		{mlperflog.SummaryFile, func(f *os.File) error { return mlperflog.WriteSummary(f, test) }, false},
		{mlperflog.DetailFile, func(f *os.File) error { return mlperflog.WriteDetail(f, test) }, false},
		{mlperflog.TraceFile, func(f *os.File) error { return mlperflog.WriteTrace(f, test) }, !r.cfg.Trace || test.Performance == nil},
	}
	var errs []error
	for _, file := range files {
		if file.skip {
			continue
		}
		if err := writeFile(filepath.Join(r.cfg.OutputDir, file.name), file.write); err != nil {
			errs = append(errs, fmt.Errorf("writing %s: %w", file.name, err))
		}
	}
	return errors.Join(errs...)
}

func writeFile(path string, write func(*os.File) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
