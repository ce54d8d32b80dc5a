package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/report/requests"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// issue has the load generator run the test of the run's settings, and writes its logs.
func (r *run) issue(ctx context.Context, dir string) (*loadgen.Result, error) {
	file, err := fileio.CreateIn(dir, mlperflog.AccuracyFile)
	if err != nil {
		return nil, fmt.Errorf("opening the accuracy log: %w", err)
	}
	defer file.Close() // again, unless something fails before
	sum := sha256.New()
	accuracyLog := mlperflog.NewAccuracyLog(io.MultiWriter(file, sum), r.cfg.Settings.Scenario)
	var test *loadgen.Result
	r.beforeTest(ctx)
	r.qsl.took = 0
	err = r.phase(ctx, "traffic", func() (err error) {
		test, err = r.traffic(ctx, r.cfg.Settings, accuracyLog, r.checkpoint(dir))
		return err
	})
	if loading := r.qsl.took.Seconds(); loading > 0 { // a phase of its own
		last := len(r.phases) - 1
		r.phases[last].Seconds -= loading
		r.phases = slices.Insert(r.phases, last, report.PhaseTime{Name: "loading samples", Seconds: loading})
	}
	if test == nil { // nothing was issued
		return nil, err
	}
	r.afterTest(ctx)
	if r.cfg.Cancels {
		r.cancelTook, r.cancelStill = r.afterCancelled(ctx)
	}
	sums, errLogs := r.writeLogs(test, dir)
	complete := errors.Join(accuracyLog.Close(), file.Close())
	if complete == nil {
		sums[mlperflog.AccuracyFile] = hex.EncodeToString(sum.Sum(nil))
	}
	if r.cfg.EachRequest {
		sum, problem := r.writeRequests(test, dir)
		sums[requests.FileName], errLogs = sum, errors.Join(errLogs, problem)
	}
	if r.charts = r.chartsOf(test); r.charts != nil {
		sums[charts.FileName] = r.charts.Sum()
	}
	r.sums, r.issued = sums, test
	return test, errors.Join(err, complete, errLogs)
}

// traffic has the load generator run a test. The accuracy log and the checkpoint may be nil.
func (r *run) traffic(ctx context.Context, s loadgen.TestSettings, log loadgen.AccuracyLog, checkpoint func(*loadgen.Result)) (
	*loadgen.Result, error) {
	if r.stuck {
		return nil, errStillRunning
	}
	running, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	failed := func(err error) { // nothing that follows can make the test valid
		var loss backend.Loss
		if log != nil && errors.As(err, &loss) && loss.Survivors() > 0 {
			return // other servers answer the samples that follow; a search, without a log, has no use for them
		}
		if r.failure.CompareAndSwap(nil, &err) {
			fail(err)
		}
	}
	// The issue thread answers a query itself, if it waits for the response anyway. At fixed intervals it keeps the schedule,
	// and a thread that waits for a server gains nothing by staying on its core.
	oneAtATime := s.Scenario == loadgen.SingleStream || s.Scenario == loadgen.MultiStream && s.MultiStreamQPS == 0
	batches := r.batchOptions()
	if order := r.workload.Order; order != nil {
		of := r.expected(s)
		batches.order = func(n uint64) int { return order(n, of) }
	}
	r.sut = newSUT(r.sutName(), r.model.predictors, &r.qsl.rows, batches, oneAtATime && !r.asksServers(), failed)
	if r.workload.SystemName != nil {
		r.sut.naming = func() (string, error) { return r.workload.SystemName(running) }
	}
	r.sut.tokens = s.UseTokenLatencies
	if d, ok := r.sut.dispatcher(); ok && log != nil && (r.cfg.EachRequest || r.cfg.Cancels) {
		d.traces = &traces{of: map[loadgen.ResponseID][]*backend.Trace{}}
	}
	if r.raw != nil {
		r.raw.made.Store(0)
		r.raw.spent.Store(0)
	}
	defer context.AfterFunc(ctx, r.sut.cancel)() // an interruption does not wait for predictions
	r.sut.start()
	var watched func()
	r.gauges, watched = watch(slices.Concat(r.cfg.Gauges, r.sut.gauges()), r.cfg.Observer)
	defer watched()
	cpuTime := func() time.Duration {
		if r.cfg.CPUTime == nil {
			return 0
		}
		return r.cfg.CPUTime()
	}
	before := cpuTime()
	test, err := loadgen.Run(running, r.sut, r.qsl, s, loadgen.Options{
		AccuracyLog:    log,
		Checkpoint:     checkpoint,
		Progress:       r.cfg.Observer.Traffic,
		StallTimeout:   max(2*time.Minute, 20*r.warm.latency*time.Duration(r.model.shape.batch)), // much longer than a batch takes
		Working:        r.sut.worked.Load,
		NewPacer:       r.cfg.NewPacer,
		MaxOutstanding: r.maxOutstanding(),
		MaxDrain:       2 * r.longestQueue(),
	})
	r.cpuTime = cpuTime() - before
	r.stuck = r.sut.stop() != nil
	return test, err
}

// expected is how many samples a test of performance issues, as far as its settings tell; 0: each is issued once first.
func (r *run) expected(s loadgen.TestSettings) uint64 {
	if s.Mode == loadgen.AccuracyOnly || s.Mode == loadgen.SubmissionRun {
		return 0
	}
	e := s.Effective(uint64(r.qsl.performance), uint64(r.workload.Samples))
	if e.Scenario == loadgen.Offline {
		return e.SamplesPerQuery
	}
	queries, _ := e.Prepared()
	return uint64(queries) * e.SamplesPerQuery
}

// batchOptions say how workers gather samples: with others of about the same length where
// that matters, as long as half of the Server bound remains.
func (r *run) batchOptions() batchOptions {
	b := batchOptions{maxBatch: r.model.shape.batch, maxDelay: r.cfg.MaxDelay, costs: r.costs}
	if r.workload.Length != nil {
		b.length = func(i loadgen.QuerySampleIndex) int { return r.workload.Length(int(i)) }
		if r.cfg.Settings.Scenario == loadgen.Server {
			b.bound = r.cfg.Settings.ServerTargetLatency
			b.overtake = b.bound / 2
			if r.cfg.Settings.UseTokenLatencies {
				b.bound, b.overtake = 0, r.cfg.Settings.ServerTTFTLatency/2
			}
		}
	}
	return b
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
	if r.asksServers() {
		device = "remote"
	}
	name := userinput.Line(strings.TrimSpace(fmt.Sprintf("mlperf-go %s %s %s %s", r.cfg.Model.Name, info.Engine, device, r.cfg.Precision)))
	if r.cfg.SystemNote != "" {
		name += ", " + r.cfg.SystemNote
	}
	return name
}

// writeLogs writes the summary and the detail log, and returns their sums.
func (r *run) writeLogs(test *loadgen.Result, dir string) (map[string]string, error) {
	return mlperflog.WriteFiles(dir, test, mlperflog.ThisProgram(r.cfg.Program))
}

// maxOutstanding is how many queries of a Server test may be outstanding before it ends: as many as the system answers in 10 s, or
// in four latency bounds if these are longer, and 1000. A system with such a queue has lost its bound, and answering more of it
// would only take longer than the test, and memory. 0: any number, where only tokens have bounds, and for servers of text, whose
// behaviour under load is the result.
func (r *run) maxOutstanding() uint64 {
	s := r.cfg.Settings
	if s.UseTokenLatencies || r.model.prompts() != nil {
		return 0
	}
	const least = 1000
	return least + uint64(float64(r.longestQueue())/float64(r.warm.latency)*float64(r.model.shape.workers*r.model.shape.batch))
}

// longestQueue is how long a system may take for the queue with which a test ends. It has twice as long for that: answers
// under load take longer than in the warm-up.
func (r *run) longestQueue() time.Duration {
	return max(10*time.Second, 4*r.cfg.Settings.ServerTargetLatency)
}
