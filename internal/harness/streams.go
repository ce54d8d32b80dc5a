package harness

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

const (
	// intervalShare is how much of the interval of MultiStream a query may take while the machine is
	// measured: under traffic, queries take up to a quarter longer.
	intervalShare = 0.75
	// autoIntervalFactor is how many times the time of a query the interval is that
	// Config.AutoLatency falls back to.
	autoIntervalFactor = 2
)

// chooseInterval makes queries at fixed intervals such as this machine answers in time, as far as
// that was asked for: of fewer samples, and if one is too many, at longer intervals.
func (r *run) chooseInterval(ctx context.Context) error {
	s := &r.settings
	if s.Scenario != loadgen.MultiStream || s.MultiStreamQPS == 0 || !r.cfg.FitStreams && !r.cfg.AutoLatency {
		return nil
	}
	interval := time.Duration(float64(time.Second) / s.MultiStreamQPS)
	most := time.Duration(intervalShare * float64(interval))
	t, err := r.queryTime(ctx, int(s.MultiStreamSamplesPerQuery))
	if err == nil && t.latency > most && r.cfg.FitStreams && t.samples > 1 {
		t, err = r.fitStreams(ctx, t, most, interval)
	}
	if err == nil && t.latency > most && r.cfg.AutoLatency {
		r.raiseInterval(t, interval)
	}
	return err
}

// fitStreams makes queries smaller until they take at most so long.
func (r *run) fitStreams(ctx context.Context, t queryTime, most, interval time.Duration) (queryTime, error) {
	n := max(1, int(int64(t.samples)*int64(most)/int64(t.latency)))
	why := fmt.Sprintf("%d samples take %v, the interval is %v", t.samples, t.latency.Round(10*time.Microsecond), interval.Round(time.Microsecond))
	r.settings.MultiStreamSamplesPerQuery = uint64(n)
	r.set("samples_per_query", strconv.Itoa(n), "calibration: "+why)
	r.cfg.Observer.Note(fmt.Sprintf("%s: queries of this run have %d", why, n))
	return r.queryTime(ctx, n)
}

func (r *run) raiseInterval(t queryTime, interval time.Duration) {
	auto := (autoIntervalFactor*t.latency + time.Millisecond - 1).Truncate(time.Millisecond)
	took := t.latency.Round(10 * time.Microsecond)
	r.settings.MultiStreamQPS = 1 / auto.Seconds()
	r.set("target_qps", fmt.Sprintf("%.4g", r.settings.MultiStreamQPS), fmt.Sprintf("auto: an interval of %d × the %v of a query", autoIntervalFactor, took))
	r.cfg.Observer.Note(fmt.Sprintf("a query of %s takes %v, too long for the official interval of %v: it is %v in this run, an open-division limit",
		samples(t.samples), took, interval.Round(time.Microsecond), auto))
}

func samples(n int) string {
	if n == 1 {
		return "1 sample"
	}
	return fmt.Sprintf("%d samples", n)
}

// A queryTime is how long a MultiStream query of so many samples takes.
type queryTime struct {
	samples, rounds int
	batch           time.Duration // of a round
	latency         time.Duration // of all rounds
}

func (r *run) queryTime(ctx context.Context, n int) (queryTime, error) {
	size := r.model.shape.batch
	took, err := r.batchTime(ctx, min(n, size))
	workers := len(r.model.predictors)
	rounds := ((n+size-1)/size + workers - 1) / workers
	return queryTime{n, rounds, took, time.Duration(rounds) * took}, err
}
