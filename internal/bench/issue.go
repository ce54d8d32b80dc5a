package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
)

// issue has the load generator run the test, and writes its logs.
func (r *run) issue(ctx context.Context) (*loadgen.Result, error) {
	file, err := os.Create(filepath.Join(r.cfg.OutputDir, mlperflog.AccuracyFile))
	if err != nil {
		return nil, fmt.Errorf("opening the accuracy log: %w", err)
	}
	defer file.Close() // a second time, which does no harm, unless something fails before
	accuracyLog := mlperflog.NewAccuracyLog(file, r.settings.Scenario)
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	r.sut = newSUT(r.sutName(), r.predictors, &r.qsl.rows, r.batching, r.failOnce(fail))
	var test *loadgen.Result
	err = r.phase(ctx, "traffic", func() (err error) {
		test, err = loadgen.Run(running, r.sut, r.qsl, r.settings, loadgen.Options{
			AccuracyLog:  accuracyLog,
			Progress:     r.cfg.Observer.Traffic,
			StallTimeout: r.stallTimeout(),
			NewPacer:     r.cfg.NewPacer,
		})
		return err
	})
	if test == nil {
		return nil, err
	}
	return test, errors.Join(err, accuracyLog.Close(), file.Close(), r.writeLogs(test))
}

// failOnce returns what the SUT is to call when a prediction fails: the test ends then,
// because nothing that follows could make it valid.
func (r *run) failOnce(stop context.CancelCauseFunc) func(error) {
	return func(err error) {
		if r.failure.CompareAndSwap(nil, &err) {
			stop(err)
		}
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
	about := mlperflog.About{Version: r.cfg.Program, PID: os.Getpid()}
	err := mlperflog.WriteFiles(r.cfg.OutputDir, test, about)
	if r.cfg.Trace && test.Performance != nil {
		err = errors.Join(err, mlperflog.WriteTraceFile(r.cfg.OutputDir, test, about))
	}
	return err
}
