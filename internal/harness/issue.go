package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

// test runs the test of the run's settings and judges it. Logs and results go to dir.
func (r *run) test(ctx context.Context, dir string) (*report.Results, error) {
	test, err := r.issue(ctx, dir)
	for again := 0; again < mostRepeats && err == nil && r.endedEarly(test); again++ {
		r.raiseRate(test)
		test, err = r.issue(ctx, dir)
	}
	if test == nil {
		return nil, err
	}
	results := r.results(test)
	incomplete(results, "the logs are not whole", err)
	err = errors.Join(err, r.outcome(ctx, test, results, dir), writeResults(results, dir))
	if r.cfg.Also != nil {
		err = errors.Join(err, r.cfg.Also(test, results, r.prompts()))
	}
	return results, err
}

// prompts are those of the samples, by their index; nil: they have none.
func (r *run) prompts() func(index int) *backend.Prompt {
	if r.workload.Prompts != nil {
		return r.workload.Prompts.Prompt
	}
	return nil
}

// incomplete makes results invalid of which something could not be written: nobody can check them.
func incomplete(out *report.Results, what string, err error) {
	if err == nil {
		return
	}
	out.Problems = append(out.Problems, what+": "+err.Error())
	if out.Result == report.Valid {
		out.Result = report.Invalid
	}
}

// writeResults writes the document of a run. Results that are only on screen are none.
func writeResults(results *report.Results, dir string) error {
	err := results.Write(dir)
	incomplete(results, "the results are not kept", err)
	return err
}

// mostRepeats is how often a test is made again that was too short by our own fault.
const mostRepeats = 2

// endedEarly reports whether an Offline test was too short, and has no other fault, because
// the rate that was measured before is lower than the one that was reached.
func (r *run) endedEarly(test *loadgen.Result) bool {
	p := test.Performance
	return r.calibration != nil && r.settings.Scenario == loadgen.Offline && p != nil && r.failure.Load() == nil &&
		test.Interrupted == nil && len(test.Faults) == 0 && !p.MinDurationMet && p.MinQueriesMet && p.PerfConstraintsMet
}

// raiseRate makes the Offline query large enough for the rate that was reached.
func (r *run) raiseRate(test *loadgen.Result) {
	p := test.Performance
	rate := offlineMargin * float64(p.SampleCount) / p.LastCompletion.Seconds()
	r.cfg.Observer.Note(fmt.Sprintf("the test took %v, less than the %v that it has to: at %.4g samples/s, not the %.4g that were measured before, "+
		"it is made again with more samples", p.LastCompletion.Round(time.Millisecond), r.settings.MinDuration, rate/offlineMargin, r.calibration.SamplesPerSecond))
	r.settings.OfflineExpectedQPS = rate
	r.calibration.SamplesPerSecond, r.calibration.Chosen.Value = rate/offlineMargin, rate
	r.calibration.Reason = "that is what a test reached that was too short, and a quarter more"
	r.set("target_qps", fmt.Sprintf("%.4g", rate), "calibration")
}

// issue has the load generator run the test of the run's settings, and writes its logs.
func (r *run) issue(ctx context.Context, dir string) (*loadgen.Result, error) {
	file, err := os.Create(filepath.Join(dir, mlperflog.AccuracyFile))
	if err != nil {
		return nil, fmt.Errorf("opening the accuracy log: %w", err)
	}
	defer file.Close() // a second time, which does no harm, unless something fails before
	sum := sha256.New()
	accuracyLog := mlperflog.NewAccuracyLog(io.MultiWriter(file, sum), r.settings.Scenario)
	var test *loadgen.Result
	r.beforeTest(ctx)
	err = r.phase(ctx, "traffic", func() (err error) {
		test, err = r.traffic(ctx, r.settings, accuracyLog, r.checkpoint(dir))
		return err
	})
	r.afterTest(ctx)
	if test == nil {
		return nil, err
	}
	err = errors.Join(err, accuracyLog.Close(), file.Close(), r.writeLogs(test, dir), r.writeCharts(test, dir))
	r.answersSum = hex.EncodeToString(sum.Sum(nil))
	return test, err
}

// traffic has the load generator run a test. The accuracy log and the checkpoint may be nil.
func (r *run) traffic(ctx context.Context, s loadgen.TestSettings, log loadgen.AccuracyLog, checkpoint func(*loadgen.Result)) (*loadgen.Result, error) {
	if r.stuck {
		return nil, errStillRunning
	}
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	_, remote := r.cfg.Engine.(backend.Remote) // a thread that waits for a server gains nothing by staying on its core
	failed := r.failOnce(fail)
	if log != nil { // a search has nothing that is worth going on for
		failed = unlessOthersAnswer(failed)
	}
	r.sut = newSUT(r.sutName(), r.model.predictors, &r.qsl.rows, r.batching(), oneAtATime(s) && !remote, failed)
	if r.workload.SystemName != nil {
		r.sut.naming = func() (string, error) { return r.workload.SystemName(running) }
	}
	r.sut.tokens = s.UseTokenLatencies
	var watched func()
	r.gauges, watched = watch(slices.Concat(r.cfg.Gauges, r.sut.gauges()))
	defer watched()
	worked := r.cpuTime()
	test, err := loadgen.Run(running, r.sut, r.qsl, s, loadgen.Options{
		AccuracyLog:    log,
		Checkpoint:     checkpoint,
		Progress:       r.cfg.Observer.Traffic,
		StallTimeout:   r.stallTimeout(),
		Working:        r.sut.worked.Load,
		NewPacer:       r.cfg.NewPacer,
		MaxOutstanding: r.hopeless(),
	})
	r.worked = r.cpuTime() - worked
	r.stuck = r.sut.stop() != nil
	return test, err
}

// cpuTime is how long processors have worked for this process; 0: not known.
func (r *run) cpuTime() time.Duration {
	if r.cfg.CPUTime == nil {
		return 0
	}
	return r.cfg.CPUTime()
}

// batching says how workers gather samples: with others of about the same length where
// that matters, as long as half of the Server bound is left.
func (r *run) batching() batching {
	b := batching{maxBatch: r.model.shape.batch, maxDelay: r.cfg.MaxDelay, costs: r.costs}
	if r.workload.Length != nil {
		b.length = func(i loadgen.QuerySampleIndex) int { return r.workload.Length(int(i)) }
		if r.settings.Scenario == loadgen.Server {
			b.bound = r.settings.ServerTargetLatency
			b.patience = b.bound / 2
			if r.settings.UseTokenLatencies {
				b.bound, b.patience = 0, r.settings.ServerTTFTLatency/2
			}
		}
	}
	return b
}

// oneAtATime says whether a test issues a query when the one before was answered. At fixed
// intervals the issue thread has to keep its schedule.
func oneAtATime(s loadgen.TestSettings) bool {
	return s.Scenario == loadgen.SingleStream || s.Scenario == loadgen.MultiStream && s.MultiStreamQPS == 0
}

// sutName names the system in logs: model, engine, device, and precision if it is known.
func (r *run) sutName() string {
	info := r.model.info()
	device := r.cfg.Backend.Device
	switch {
	case r.model.prompts() != nil:
		device = "endpoint"
	case device == "":
		device = "cpu"
	}
	if _, remote := r.cfg.Engine.(backend.Remote); remote {
		device = "remote"
	}
	return strings.TrimSpace(fmt.Sprintf("mlperf-go %s %s %s %s", r.cfg.Model.Name, info.Engine, device, r.cfg.Precision))
}

// writeLogs writes the log files of the reference.
func (r *run) writeLogs(test *loadgen.Result, dir string) error {
	about := mlperflog.About{Version: r.cfg.Program, PID: os.Getpid()}
	err := mlperflog.WriteFiles(dir, test, about)
	if r.cfg.Trace && !errors.Is(test.Interrupted, loadgen.ErrUnfinished) {
		err = errors.Join(err, mlperflog.WriteTraceFile(dir, test, about))
	}
	return err
}
