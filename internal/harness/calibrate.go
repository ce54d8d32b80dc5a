package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// calibrate chooses the rate, or the expected latency, if nobody gave one, and the
// latency bound if that was asked for. It says what it chose and why.
func (r *run) calibrate(ctx context.Context) error {
	if r.settings.Mode == loadgen.AccuracyOnly {
		r.calibrateAccuracy()
		return nil
	}
	if err := r.chooseLatencyBound(); err != nil {
		return err
	}
	if err := errors.Join(r.limitDelay(ctx), r.chooseInterval(ctx)); err != nil {
		return err
	}
	if err := r.measureCosts(ctx); err != nil {
		return err
	}
	if r.cfg.Calibrate {
		if err := r.phase(ctx, "calibration", func() error { return r.chooseRate(ctx) }); err != nil {
			return err
		}
		r.noteTarget()
	}
	r.chooseQueryCount()
	return r.warmRemainder(ctx)
}

// noteTarget says which target was chosen.
func (r *run) noteTarget() {
	if c := r.calibration; c != nil {
		r.cfg.Observer.Note(fmt.Sprintf("nobody gave a target: %s = %.4g %s, because %s",
			c.Chosen.Name, c.Chosen.Value, c.Chosen.Unit, c.Reason))
	}
}

const (
	// fewBeyond is how long the queries of a test may take before FewQueries matters.
	fewBeyond = 20 * time.Second
	// fewPercentile is the lowest that still says something about most queries.
	fewPercentile = 0.5
	// fewOver is how many of few Server queries may be over the bound: about a quarter, so
	// that a test at a load that keeps it is seldom invalid by chance.
	fewOver = 5
)

// chooseQueryCount makes do with a lower percentile, for which fewer queries suffice, if
// that was asked for and the model is slow.
func (r *run) chooseQueryCount() {
	s := &r.settings
	var gap float64 // between queries, s
	var percentile *float64
	over := uint64(1)
	switch {
	case !r.cfg.FewQueries:
		return
	case s.Scenario == loadgen.SingleStream:
		gap, percentile = s.SingleStreamExpectedLatencyNS/1e9, &s.SingleStreamTargetLatencyPercentile
	case s.Scenario == loadgen.MultiStream:
		gap, percentile = s.MultiStreamExpectedLatencyNS/1e9, &s.MultiStreamTargetLatencyPercentile
		if s.MultiStreamQPS > 0 {
			gap = max(gap, 1/s.MultiStreamQPS)
		}
	case s.Scenario == loadgen.Server:
		gap, percentile, over = 1/s.ServerTargetQPS, &s.ServerTargetLatencyPercentile, fewOver
	default:
		return
	}
	few := loadgen.NeededQueries(over, fewPercentile)
	took := gap * float64(s.MinQueryCount)
	if took <= fewBeyond.Seconds() || s.MinQueryCount <= few {
		return
	}
	why := fmt.Sprintf("%d queries would take %v", s.MinQueryCount, time.Duration(took*1e9).Round(time.Second))
	s.MinQueryCount, *percentile = few, fewPercentile
	r.set("min_query_count", fmt.Sprint(few), "quick run: "+why)
	r.set("target_latency_percentile", fmt.Sprint(100*fewPercentile), "quick run: "+why)
	r.cfg.Observer.Note(fmt.Sprintf("%s: %d are enough to know the %.0fth percentile", why, few, 100*fewPercentile))
}

// calibrateAccuracy spares an accuracy run the wait for a Poisson process at the default
// rate of one query per second, which has no bearing on accuracy.
func (r *run) calibrateAccuracy() {
	if r.cfg.Calibrate && r.settings.Scenario == loadgen.Server {
		r.settings.ServerTargetQPS = float64(len(r.model.predictors)) / r.warm.latency.Seconds()
		r.set("target_qps", fmt.Sprintf("%.4g", r.settings.ServerTargetQPS), "calibration")
	}
}

// autoLatencyFactor is how many times the latency of a single sample the bound is that
// Config.AutoLatency falls back to.
const autoLatencyFactor = 4

// chooseLatencyBound compares the Server bound with the time that one sample takes. A
// bound below it cannot be met at any rate, and one that leaves no room for a sample to
// wait for another one is met by chance.
func (r *run) chooseLatencyBound() error {
	if r.settings.Scenario != loadgen.Server || r.settings.UseTokenLatencies {
		return nil
	}
	bound, took := r.settings.ServerTargetLatency, r.warm.latency.Round(10*time.Microsecond)
	if r.cfg.AutoLatency && 2*r.warm.latency > bound {
		r.raiseLatencyBound(bound, took)
		return nil
	}
	if r.warm.least <= bound {
		return nil
	}
	hopeless := &HopelessError{Latency: r.warm.least.Round(10 * time.Microsecond), Bound: bound}
	if !r.cfg.Anyway {
		return hopeless
	}
	r.cfg.Observer.Note(hopeless.Error())
	return nil
}

// A HopelessError says that no Server rate can keep the latency bound.
type HopelessError struct {
	Latency time.Duration // of one sample, at least
	Bound   time.Duration
}

func (e *HopelessError) Error() string {
	return fmt.Sprintf("one sample takes at least %v, the latency bound is %v: no rate can meet it", e.Latency, e.Bound)
}

func (r *run) raiseLatencyBound(bound, took time.Duration) {
	auto := (autoLatencyFactor*r.warm.latency + time.Millisecond - 1).Truncate(time.Millisecond)
	r.settings.ServerTargetLatency = auto
	r.set("target_latency", fmt.Sprint(auto), fmt.Sprintf("auto: %d × the %v of one sample", autoLatencyFactor, took))
	r.cfg.Observer.Note(fmt.Sprintf("one sample takes %v, too long for the official bound of %v: the bound is %v for this run, "+
		"an open-division limit", took, bound, auto))
}

// limitDelay sees to it that no sample waits longer for a batch to fill than the Server bound
// leaves beside the time that the batch takes.
func (r *run) limitDelay(ctx context.Context) error {
	if r.cfg.MaxDelay == 0 || r.settings.Scenario != loadgen.Server || r.settings.UseTokenLatencies {
		return nil
	}
	batch := r.model.shape.batch
	took, err := r.batchTime(ctx, batch)
	if err != nil {
		return err
	}
	bound := r.settings.ServerTargetLatency
	if left := max(0, bound-took); r.cfg.MaxDelay > left {
		r.cfg.Observer.Note(fmt.Sprintf("a batch of %d takes %v of the %v that a query may take: samples wait at most %v for it, not %v",
			batch, took.Round(10*time.Microsecond), bound, left.Round(10*time.Microsecond), r.cfg.MaxDelay))
		r.cfg.MaxDelay = left
	}
	return nil
}
