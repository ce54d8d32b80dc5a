package loadgen

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/mlperf-go/mlperf/internal/machine/clock"
)

// Run runs one test: it loads samples, issues the traffic that the settings ask for,
// waits for all answers, and judges the run. It returns an error if the
// settings cannot be run with this QSL or the QSL fails. Everything else is a Result,
// also of a run that ctx ended early.
func Run(ctx context.Context, sut SUT, qsl QSL, settings TestSettings, opts Options) (*Result, error) {
	if err := settings.Validate(); err != nil {
		return nil, fmt.Errorf("test settings: %w", err)
	}
	t := &test{sut: sut, qsl: qsl, opts: opts.withDefaults(), saving: make(chan struct{}, 1), events: &eventLog{}}
	t.result = &Result{
		QSLName:                   qsl.Name(),
		QSLTotalSampleCount:       qsl.TotalSampleCount(),
		QSLPerformanceSampleCount: qsl.PerformanceSampleCount(),
		Requested:                 settings,
		StartTime:                 clock.Now(),
	}
	before := clock.Now()
	t.result.SUTName = sut.Name()
	t.result.NamingTook = clock.Since(before)

	if settings.Test05 {
		t.events.warn("the test05 switch is on: the test runs in performance mode with the alternative seeds")
	}
	t.e = settings.resolved().Effective(uint64(t.result.QSLPerformanceSampleCount), uint64(t.result.QSLTotalSampleCount))
	t.result.Effective = t.e
	if err := t.e.Validate(uint64(t.result.QSLTotalSampleCount)); err != nil {
		return nil, fmt.Errorf("test settings: %w", err)
	}
	err := t.run(ctx)
	t.endCheckpoints()
	t.result.Faults = t.faults.list()
	for _, fault := range t.result.Faults {
		t.events.fail("%v", fault)
	}
	t.result.Events = t.events.close()
	if err != nil && !errors.Is(err, errOver) {
		return nil, err
	}
	return t.result, nil
}

// errOver ends a test whose result already says why.
var errOver = errors.New("the test is over")

// A test is one call of Run.
type test struct {
	sut    SUT
	qsl    QSL
	e      EffectiveSettings
	opts   Options
	events *eventLog
	result *Result
	faults faults        // of all phases, also those that come after the end of one
	nextID ResponseID    // ids go on over all phases
	saving chan struct{} // full while a checkpoint is being saved
}

func (t *test) run(ctx context.Context) (err error) {
	if t.e.Mode == FindPeakPerformance {
		return t.findPeak(ctx)
	}
	if t.e.Mode != PerformanceOnly {
		err = t.runAccuracyMode(ctx)
	}
	if t.e.Mode != AccuracyOnly && err == nil {
		t.events.message("performance mode begins")
		t.result.Performance, err = t.measure(ctx, t.e)
	}
	return err
}

// runAccuracyMode issues every sample once, set by set (loadgen/loadgen.cc, RunAccuracyMode).
func (t *test) runAccuracyMode(ctx context.Context) error {
	t.events.message("accuracy mode begins")
	sets := loadableSets(t.e, uint64(t.result.QSLTotalSampleCount), t.e.AccuracySampleCount)
	for i, set := range sets {
		p, err := t.newPhase(ctx, t.e, set, true)
		if err != nil {
			return err
		}
		p.number, p.of = i+1, len(sets)
		err = t.withLoaded(ctx, set, func() error { return t.runPhase(ctx, p) })
		t.result.AccuracySamples += p.rec.answered()
		if !p.rec.started.IsZero() {
			t.result.accuracy = append(t.result.accuracy, p.rec)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// measure loads the samples of a performance phase, runs it and judges it (loadgen/loadgen.cc, RunPerformanceMode).
func (t *test) measure(ctx context.Context, e EffectiveSettings) (perf *Performance, err error) {
	set := t.performanceSet(e)
	p, err := t.newPhase(ctx, e, set, false) // fails before samples are loaded for nothing
	if err != nil {
		return nil, err
	}
	err = t.withLoaded(ctx, set, func() error {
		perf, err = t.measureLoaded(ctx, p)
		return err
	})
	return perf, err
}

// performanceSet is in memory during a performance phase: the first loadable set.
func (t *test) performanceSet(e EffectiveSettings) loadableSet {
	return loadableSets(e, uint64(t.result.QSLTotalSampleCount), e.PerformanceSampleCount)[0]
}

// measureLoaded runs a performance phase whose samples are in memory, and judges it.
func (t *test) measureLoaded(ctx context.Context, p *phase) (*Performance, error) {
	err := t.runPhase(ctx, p)
	if p.rec.started.IsZero() || t.dropped() {
		return nil, err
	}
	perf := p.performance(t.result.StartTime, t.opts.MaxIssueDelay)
	for _, warning := range perf.warnings() {
		t.events.warn("%s", warning)
	}
	return perf, err
}

// withLoaded calls f while the samples of a set are in memory. A QSL that panics is a fault, which ends the test with a result.
func (t *test) withLoaded(ctx context.Context, set loadableSet, f func() error) error {
	guard := func(f func() error) (err error) {
		defer func() {
			if v := recover(); v != nil {
				t.faults.add(faultPanic, "the QSL panicked: %v", v)
				err = errOver
			}
		}()
		return f()
	}
	t.events.add(Event{Key: "loaded_qsl_set", Value: set.indices})
	switch err := guard(func() error { return t.qsl.LoadSamplesToRAM(ctx, set.indices) }); {
	case errors.Is(err, errOver):
		return err
	case err != nil && ctx.Err() != nil:
		return t.interrupted(ctx)
	case err != nil:
		return fmt.Errorf("loading %d samples: %w", len(set.indices), err)
	}
	err := f()
	if e := guard(func() error { return t.qsl.UnloadSamplesFromRAM(set.indices) }); e != nil && !errors.Is(e, errOver) {
		t.events.warn("unloading %d samples: %v", len(set.indices), e) // the measurements stand
	}
	return err
}

// interrupted records that ctx ended the test.
func (t *test) interrupted(ctx context.Context) error {
	t.result.Interrupted = context.Cause(ctx)
	t.events.fail("the test was stopped: %v", t.result.Interrupted)
	return errOver
}

// dropped reports whether the test was interrupted and its statistics are not wanted.
func (t *test) dropped() bool { return t.result.Interrupted != nil && t.opts.DropInterrupted }

// newPhase prepares to draw and to record the traffic of a loaded set.
func (t *test) newPhase(ctx context.Context, e EffectiveSettings, set loadableSet, accuracy bool) (*phase, error) {
	traffic, err := newTraffic(ctx, e, accuracy, set)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, t.interrupted(ctx)
	case err != nil:
		return nil, err
	}
	limit := uint64(maxSamples)
	if e.Scenario == Offline {
		limit = 1
	}
	rec := newRecorder(t.nextID, traffic.perQuery, limit, e.UseTokenLatencies)
	rec.faults, rec.needsFirstToken = &t.faults, e.UseTokenLatencies && e.Scenario != Offline
	p := &phase{
		e: e, accuracy: accuracy, number: 1, of: 1,
		sut: t.sut, pacer: t.opts.NewPacer, maxOutstanding: t.opts.MaxOutstanding, traffic: traffic, rec: rec, events: t.events,
		started: make(chan struct{}),
	}
	if t.opts.AccuracyLog == nil || !accuracy && accuracyLogProbability(e) <= 0 {
		return p, nil
	}
	limits := logLimits{most: t.opts.LogBuffer, timeout: t.opts.LogTimeout}
	if !accuracy {
		limits.hold = limits.most / 8 // nothing is written while the clock runs, if it fits
		p.keep = newSampler(e, t.nextID).keep
	}
	rec.log = newResponseLog(t.opts.AccuracyLog, limits, e.UseTokenLatencies)
	return p, nil
}

// powerTime is how the reference writes instants for power measurements.
const powerTime = "01-02-2006 15:04:05.000"

// runPhase draws the traffic of a phase, issues it, and records the outcome.
func (t *test) runPhase(ctx context.Context, p *phase) error {
	if err := p.prepare(ctx); err != nil {
		if ctx.Err() != nil {
			return t.interrupted(ctx)
		}
		return err
	}
	t.nextID = p.rec.nextID
	t.events.add(Event{Key: "generated_query_count", Value: p.traffic.count})
	t.events.add(Event{Key: "generated_samples_per_query", Value: uint64(p.rec.perQuery)})
	t.events.add(Event{Key: "generated_query_duration", Value: int64(p.traffic.length)})

	if p.rec.log != nil {
		p.rec.log.begin()
	}
	if p.rec.base == 0 { // the first phase
		t.checkpoint(nil)
	}
	if !p.accuracy {
		runtime.GC() // a collection that has begun would stop all goroutines while the clock runs
	}
	var before, after debug.GCStats
	debug.ReadGCStats(&before)
	err := t.supervise(ctx, p)
	begin := p.rec.started
	p.rec.close(err != nil)
	debug.ReadGCStats(&after)
	p.gc = GCStats{Cycles: int(after.NumGC - before.NumGC), Pause: after.PauseTotal - before.PauseTotal}

	now := clock.Now()
	monotonic, wall := now.Sub(begin), now.Round(0).Sub(begin.Round(0))
	if p.e.PrintTimestamps && !p.accuracy { // the reference prints this; here it goes to the detail log
		t.events.message(fmt.Sprintf("performance mode began at %s and ended at %s by the system clock (%d and %d s since 1970)",
			begin.UTC().Format(powerTime), now.UTC().Format(powerTime), begin.Unix(), now.Unix()))
		t.events.message(fmt.Sprintf("performance mode took %d ms by the monotonic clock and %d ms by the system clock, a ratio of %.4f",
			monotonic.Milliseconds(), wall.Milliseconds(), float64(monotonic)/float64(max(wall, 1))))
	}
	if !t.dropped() {
		end := begin.Add(time.Duration(p.rec.lastCompletion()))
		t.events.add(Event{Key: "power_begin", Value: begin.UTC().Format(powerTime)})
		t.events.add(Event{Key: "power_end", Value: end.UTC().Format(powerTime)})
	}
	t.events.checkClocks(monotonic, wall)

	if p.rec.log != nil {
		if e := p.rec.log.close(); e != nil {
			p.rec.faults.add(faultAccuracyLog, "the accuracy log: %w", e)
			if err == nil {
				err = errOver
			}
		}
	}
	return err
}
