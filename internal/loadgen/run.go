package loadgen

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// Options are what a test may be given beside its settings. The zero value is useful.
type Options struct {
	// AccuracyLog receives the responses to keep; nil drops them.
	AccuracyLog AccuracyLog
	// Progress is called about once per ProgressEvery while queries are issued, from
	// a goroutine of its own, never twice at the same time.
	Progress      func(Progress)
	ProgressEvery time.Duration // default 500 ms
	// StallTimeout is how long the SUT may go without completing a sample that it has,
	// or stay inside IssueQuery, before the test gives it up. Default: 5 minutes.
	StallTimeout time.Duration
	// MaxIssueDelay bounds how late the generator may issue Server queries by its own fault, at
	// the test's target percentile. Default: half the target latency, or with token
	// latencies half the bound of the first token.
	MaxIssueDelay time.Duration
	// MaxOutstanding ends a Server performance phase, INVALID, when more queries than that
	// are outstanding and the settings give no limit; 0: it goes on.
	MaxOutstanding uint64
	// LogTimeout is how long the accuracy log may take for one response before it is given up,
	// and the run with it. Default: 30 s.
	LogTimeout time.Duration
	// LogBuffer is how many bytes of responses may wait for the accuracy log. Default: 512 MiB.
	LogBuffer int64
	// Checkpoint is given what is known so far, marked as the result of an interrupted test: when
	// the first samples are loaded, and then every CheckpointEvery while queries are issued. Who
	// writes it down has something to show for a program that was killed. It is called from
	// a goroutine of its own, never twice at the same time, and may take its time.
	Checkpoint      func(*Result)
	CheckpointEvery time.Duration // default 1 minute
	// NewPacer makes the pacer of an issue thread; nil: NewPacer(DefaultSpin, true).
	NewPacer func() Pacer
}

func (o Options) withDefaults() Options {
	if o.ProgressEvery <= 0 {
		o.ProgressEvery = 500 * time.Millisecond
	}
	if o.StallTimeout <= 0 {
		o.StallTimeout = 5 * time.Minute
	}
	if o.CheckpointEvery <= 0 {
		o.CheckpointEvery = time.Minute
	}
	if o.LogTimeout <= 0 {
		o.LogTimeout = 30 * time.Second
	}
	if o.LogBuffer <= 0 {
		o.LogBuffer = 512 << 20
	}
	if o.NewPacer == nil {
		o.NewPacer = func() Pacer { return NewPacer(DefaultSpin, true) }
	}
	return o
}

// Progress is a glance at a running phase.
type Progress struct {
	Accuracy  bool // the phase
	Set, Sets int  // which loaded set, counted from 1, of how many
	Elapsed   time.Duration
	// PlannedDuration is how long the phase lasts if all goes as planned; 0 where the
	// number of samples decides.
	PlannedDuration time.Duration
	Issued          uint64 // queries
	Prepared        uint64 // queries; in SingleStream and MultiStream more may follow
	Completed       uint64 // samples
	Samples         uint64 // of all prepared queries
	// RecentP99 is the 99th percentile of the latency of recent queries; 0 in Offline.
	RecentP99 time.Duration
}

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
	if err := t.e.validate(uint64(t.result.QSLTotalSampleCount)); err != nil {
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

func (t *test) run(ctx context.Context) error {
	switch t.e.Mode {
	case AccuracyOnly:
		return t.accuracy(ctx)
	case PerformanceOnly:
		return t.performance(ctx)
	case FindPeakPerformance:
		return t.findPeak(ctx)
	default:
		if err := t.accuracy(ctx); err != nil {
			return err
		}
		return t.performance(ctx)
	}
}

// accuracy issues every sample once, set by set.
func (t *test) accuracy(ctx context.Context) error {
	t.events.message("accuracy mode begins")
	sets := loadableSets(t.e, uint64(t.result.QSLTotalSampleCount), t.e.AccuracySampleCount)
	for i, set := range sets {
		p, err := t.newPhase(t.e, set, true)
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

// performance issues the scenario's traffic with the first loadable set.
func (t *test) performance(ctx context.Context) (err error) {
	t.events.message("performance mode begins")
	t.result.Performance, err = t.measure(ctx, t.e)
	return err
}

// measure runs a performance phase and judges it.
func (t *test) measure(ctx context.Context, e EffectiveSettings) (*Performance, error) {
	set := loadableSets(e, uint64(t.result.QSLTotalSampleCount), e.PerformanceSampleCount)[0]
	p, err := t.newPhase(e, set, false)
	if err != nil {
		return nil, err
	}
	err = t.withLoaded(ctx, set, func() error { return t.runPhase(ctx, p) })
	if p.rec.started.IsZero() {
		return nil, err
	}
	perf := p.performance(t.result.StartTime, t.opts)
	perf.warn(t.events)
	return perf, err
}

// withLoaded calls f while the samples of a set are in memory.
func (t *test) withLoaded(ctx context.Context, set loadableSet, f func() error) error {
	t.events.add(Event{Key: "loaded_qsl_set", Value: set.indices})
	switch err := t.guardQSL(func() error { return t.qsl.LoadSamplesToRAM(ctx, set.indices) }); {
	case errors.Is(err, errOver):
		return err
	case err != nil && ctx.Err() != nil:
		return t.interrupted(ctx)
	case err != nil:
		return fmt.Errorf("loading %d samples: %w", len(set.indices), err)
	}
	err := f()
	if e := t.guardQSL(func() error { return t.qsl.UnloadSamplesFromRAM(set.indices) }); e != nil && !errors.Is(e, errOver) {
		t.events.warn("unloading %d samples: %v", len(set.indices), e) // what was measured stays measured
	}
	return err
}

// guardQSL turns a panic of the QSL into a fault, which ends the test with a result.
func (t *test) guardQSL(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			t.faults.add(faultPanic, "the QSL panicked: %v", v)
			err = errOver
		}
	}()
	return f()
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

// errGivenUp is the cause with which a phase is stopped whose SUT has stalled or
// panicked, or whose accuracy log has failed; the recorder's faults say what happened.
var errGivenUp = errors.New("the SUT was given up")

// graceAfterStop is how long a stopped test waits for the SUT to return from IssueQuery.
const graceAfterStop = 500 * time.Millisecond

// supervise runs the issue loops, waits for the last answer, and watches that there is
// something to wait for.
func (t *test) supervise(ctx context.Context, p *phase) error {
	running, stop := context.WithCancelCause(ctx)
	p.stop = stop
	issued := make(chan struct{})
	go func() {
		defer close(issued)
		p.run(running)
		p.flush()
	}()
	var watching sync.WaitGroup
	watching.Go(func() { t.watch(running, p) })
	complete := p.wait(running, issued)
	stop(nil)
	watching.Wait()
	switch {
	case complete:
		return nil
	case ctx.Err() != nil:
		return t.interrupted(ctx)
	}
	return errOver
}

// wait waits until everything is issued and answered; it returns false if ctx is done first.
func (p *phase) wait(ctx context.Context, issued <-chan struct{}) bool {
	select {
	case <-issued:
		p.rec.expect(p.returned.Load() * int64(p.rec.perQuery))
		return p.rec.await(ctx) == nil
	case <-ctx.Done():
		select {
		case <-issued:
		case <-time.After(graceAfterStop):
			p.rec.faults.add(faultStall, "the SUT has not returned from IssueQuery or FlushQueries")
		}
		return false
	}
}

// flush tells the SUT that there will be no more queries.
func (p *phase) flush() {
	p.flushing.Store(true)
	p.guard(func() ending {
		p.sut.FlushQueries()
		return endScheduled
	})
	p.flushing.Store(false)
}

// watch reports progress, and gives up a SUT that makes none.
func (t *test) watch(ctx context.Context, p *phase) {
	opts, saved := t.opts, time.Now()
	ticker := time.NewTicker(opts.ProgressEvery)
	defer ticker.Stop()
	scratch := make([]int64, 0, recentQueries)
	last, since := int64(-1), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if opts.Progress != nil {
				opts.Progress(p.progress(now, scratch))
			}
			if p.rec.log != nil && p.rec.log.failure(now) != nil {
				p.stop(errGivenUp) // finish says why
				return
			}
			if now.Sub(saved) >= opts.CheckpointEvery {
				t.checkpoint(p)
				saved = time.Now()
			}
			work := p.rec.completed.Load() + p.entered() + p.returned.Load()
			if owed := p.owes(); work != last || owed == "" {
				last, since = work, now
			} else if idle := now.Sub(since); idle >= opts.StallTimeout {
				p.rec.faults.add(faultStall, "the SUT has stalled: for %v it %s", idle.Round(time.Second), owed)
				p.stop(errGivenUp)
				return
			}
		}
	}
}

// owes says what the test is waiting for; nothing if that is the schedule.
func (p *phase) owes() string {
	entered, returned := p.entered(), p.returned.Load()
	outstanding := returned*int64(p.rec.perQuery) - p.rec.completed.Load()
	switch {
	case entered > returned:
		return "has not returned from IssueQuery"
	case p.flushing.Load():
		return "has not returned from FlushQueries"
	case outstanding > 0:
		return fmt.Sprintf("has completed none of the %d samples that it has", outstanding)
	}
	return ""
}

// recentQueries is how many queries the latency shown as progress comes from.
const recentQueries = 2048

func (p *phase) progress(now time.Time, scratch []int64) Progress {
	issued := uint64(p.returned.Load())
	g := Progress{
		Accuracy:  p.accuracy,
		Set:       p.number,
		Sets:      p.of,
		Elapsed:   now.Sub(p.rec.started),
		Issued:    issued,
		Prepared:  p.traffic.count,
		Completed: p.rec.answered(),
		Samples:   p.traffic.count * uint64(p.rec.perQuery),
	}
	if p.e.Scenario == Offline {
		return g
	}
	if !p.accuracy && p.e.TargetDuration > 0 && !p.e.PerformanceIssueUnique {
		g.PlannedDuration = p.e.TargetDuration
	}
	if recent := p.rec.recentLatencies(issued, scratch); len(recent) > 0 {
		slices.Sort(recent)
		g.RecentP99 = time.Duration(recent[percentileRank(uint64(len(recent)), 0.99)])
	}
	return g
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
