package loadgen

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Run runs one test: it loads samples, issues the traffic that the settings ask for,
// waits for all answers, and judges the run. It returns an error if the
// settings cannot be run with this QSL or the QSL fails. Everything else is a Result,
// also of a run that ctx ended early.
func Run(ctx context.Context, sut SUT, qsl QSL, settings TestSettings, opts Options) (*Result, error) {
	if err := settings.Validate(); err != nil {
		return nil, fmt.Errorf("test settings: %w", err)
	}
	t := &test{sut: sut, qsl: qsl, opts: opts.withDefaults(), saving: make(chan struct{}, 1)}
	t.result = &Result{
		QSLName:                   qsl.Name(),
		QSLTotalSampleCount:       qsl.TotalSampleCount(),
		QSLPerformanceSampleCount: qsl.PerformanceSampleCount(),
		Requested:                 settings,
		StartTime:                 time.Now(),
	}
	t.events = &eventLog{}
	before := time.Now()
	t.result.SUTName = sut.Name()
	t.result.NamingTook = time.Since(before)

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
	t.noteFaults()
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

// noteFaults writes down the faults at the end of the test.
func (t *test) noteFaults() {
	t.result.Faults = t.faults.list()
	for _, fault := range t.result.Faults {
		t.events.fail("error_runtime", "%v", fault)
	}
}

// interrupted records that ctx ended the test.
func (t *test) interrupted(ctx context.Context) error {
	t.result.Interrupted = context.Cause(ctx)
	t.events.fail("error_runtime", "the test was stopped: %v", t.result.Interrupted)
	return errOver
}

// runPhase draws the traffic of a phase, issues it, and records what came of it.
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
	before := gcStats()
	p.rec.started = time.Now()
	err := t.supervise(ctx, p)
	p.rec.close(err != nil)
	p.gc = gcStats().since(before)
	t.finish(p)
	if e := t.closeLog(p); err == nil {
		err = e
	}
	return err
}

// printTimestamps writes what the setting print_timestamps asks for: the instants of a
// performance phase by the system clock, and how long it took by both clocks. The reference
// prints that; here it goes to the detail log.
func (t *test) printTimestamps(begin, end time.Time) {
	monotonic, wall := end.Sub(begin), end.Round(0).Sub(begin.Round(0))
	t.events.message(fmt.Sprintf("performance mode began at %s and ended at %s by the system clock (%d and %d s since 1970)",
		begin.UTC().Format(powerTime), end.UTC().Format(powerTime), begin.Unix(), end.Unix()))
	t.events.message(fmt.Sprintf("performance mode took %d ms by the monotonic clock and %d ms by the system clock, a ratio of %.4f",
		monotonic.Milliseconds(), wall.Milliseconds(), float64(monotonic)/float64(max(wall, 1))))
}

// closeLog has the last responses written. The test is over if that fails.
func (t *test) closeLog(p *phase) error {
	if p.rec.log == nil {
		return nil
	}
	if err := p.rec.log.close(); err != nil {
		p.rec.faults.add(faultAccuracyLog, "the accuracy log: %w", err)
		return errOver
	}
	return nil
}

// finish writes down what is known once a phase has ended.
func (t *test) finish(p *phase) {
	begin := p.rec.started
	end := begin.Add(time.Duration(p.rec.lastCompletion()))
	if p.e.PrintTimestamps && !p.accuracy {
		t.printTimestamps(begin, time.Now())
	}
	t.events.add(Event{Key: "power_begin", Value: begin.UTC().Format(powerTime)})
	t.events.add(Event{Key: "power_end", Value: end.UTC().Format(powerTime)})
	now := time.Now()
	checkClocks(now.Sub(begin), now.Round(0).Sub(begin.Round(0)), t.events)
}

func (t *test) newPhase(e EffectiveSettings, set loadableSet, accuracy bool) (*phase, error) {
	traffic, err := newTraffic(e, accuracy, set)
	if err != nil {
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
	}
	if t.opts.AccuracyLog == nil {
		return p, nil
	}
	limits := logLimits{most: t.opts.LogBuffer, timeout: t.opts.LogTimeout}
	if accuracy {
		rec.log = newResponseLog(t.opts.AccuracyLog, limits, e.UseTokenLatencies)
	} else if accuracyLogProbability(e) > 0 {
		limits.hold = limits.most / 8 // nothing is written while the clock runs, if it fits
		rec.log = newResponseLog(t.opts.AccuracyLog, limits, e.UseTokenLatencies)
		p.keep = newSampler(e, t.nextID).keep
	}
	return p, nil
}

// powerTime is how the reference writes instants for power measurements.
const powerTime = "01-02-2006 15:04:05.000"

// gcStats returns what the garbage collector has done so far.
func gcStats() GCStats {
	var s debug.GCStats
	debug.ReadGCStats(&s)
	return GCStats{Cycles: int(s.NumGC), Pause: s.PauseTotal}
}

func (g GCStats) since(before GCStats) GCStats {
	return GCStats{Cycles: g.Cycles - before.Cycles, Pause: g.Pause - before.Pause}
}
