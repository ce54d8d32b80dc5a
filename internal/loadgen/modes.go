package loadgen

import "context"

// This file says what each mode does; the search for a peak is in peak.go.

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

// measure loads the samples of a performance phase, runs it and judges it.
func (t *test) measure(ctx context.Context, e EffectiveSettings) (perf *Performance, err error) {
	set := t.performanceSet(e)
	p, err := t.newPhase(e, set, false) // which may find that there is nothing to load samples for
	if err != nil {
		return nil, err
	}
	err = t.withLoaded(ctx, set, func() error {
		perf, err = t.measureLoaded(ctx, p)
		return err
	})
	return perf, err
}

// performanceSet is what a performance phase has in memory.
func (t *test) performanceSet(e EffectiveSettings) loadableSet {
	return loadableSets(e, uint64(t.result.QSLTotalSampleCount), e.PerformanceSampleCount)[0]
}

// measureLoaded runs a performance phase whose samples are in memory, and judges it.
func (t *test) measureLoaded(ctx context.Context, p *phase) (*Performance, error) {
	err := t.runPhase(ctx, p)
	if p.rec.started.IsZero() {
		return nil, err
	}
	perf := p.performance(t.result.StartTime, t.opts)
	perf.warn(t.events)
	return perf, err
}
