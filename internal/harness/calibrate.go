package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/harness/selftest"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
)

// calibrate chooses the rate, or the expected latency, if only the rules' placeholder was given, and the
// latency bound on request. It notes what it chose and why.
func (r *run) calibrate(ctx context.Context) error {
	s := &r.cfg.Settings
	if s.Mode == loadgen.AccuracyOnly {
		if r.cfg.Calibrate && s.Scenario == loadgen.Server { // accuracy need not wait for a query per second
			s.ServerTargetQPS = float64(len(r.model.predictors)) / r.warm.latency.Seconds()
			r.set("target_qps", rateSetting(s.ServerTargetQPS), "calibration", limitation.Calibration)
		}
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
		c := r.calibration
		r.cfg.Observer.Note(fmt.Sprintf("no target given: using %s = %s (%s)", c.Chosen.Name, units.Text(c.Chosen.Value, c.Chosen.Unit), c.Reason))
	}
	if err := r.chooseQueryCount(ctx); err != nil {
		return err
	}
	return r.warmRemainder(ctx)
}

// A LatencyBoundError says that no Server rate can keep the latency bound.
type LatencyBoundError struct {
	Latency time.Duration // of one sample, at least
	Bound   time.Duration
}

func (e *LatencyBoundError) Error() string {
	return fmt.Sprintf("one sample takes at least %s, the latency bound is %s: no rate can meet it", units.Duration(e.Latency), units.Duration(e.Bound))
}

// chooseLatencyBound compares the Server bound with the time that one sample takes. A
// bound below it cannot be met at any rate, and one that leaves a sample no time to
// wait for another one is met by chance.
func (r *run) chooseLatencyBound() error {
	if r.cfg.Settings.Scenario != loadgen.Server || r.cfg.Settings.UseTokenLatencies {
		return nil
	}
	bound, took := r.cfg.Settings.ServerTargetLatency, units.Duration(r.warm.latency)
	if r.cfg.AutoLatency && 2*r.warm.latency > bound {
		const factor = 4
		auto := (factor*r.warm.latency + time.Millisecond - 1).Truncate(time.Millisecond)
		r.cfg.Settings.ServerTargetLatency = auto
		r.set("target_latency", fmt.Sprint(auto), fmt.Sprintf("auto: %d × the %s of one sample", factor, took), "")
		r.cfg.Observer.Note(fmt.Sprintf("one sample takes %s; two samples do not fit into the latency bound of %s: using %s%s", took, units.Duration(bound),
			units.Duration(auto), r.openDivision()))
		return nil
	}
	if r.warm.least <= bound {
		return nil
	}
	err := &LatencyBoundError{Latency: r.warm.least, Bound: bound}
	switch {
	case r.cfg.Anyway:
		r.cfg.Observer.Note(err.Error())
	case !r.cfg.Brief || r.cfg.FindPeak || r.cfg.Settings.Mode != loadgen.PerformanceOnly:
		return err
	default:
		r.impossible = err
		s, origin := &r.cfg.Settings, "no rate can meet the latency bound"
		r.cfg.Runs = 1
		if s.MinDuration > briefTime {
			s.MinDuration = briefTime
			r.set("min_duration", s.MinDuration.String(), origin, "")
		}
		if s.MinQueryCount > 1 {
			s.MinQueryCount = 1
			r.set("min_query_count", fmt.Sprint(s.MinQueryCount), origin, "")
		}
		r.cfg.Observer.Note(fmt.Sprintf("%v; %s of traffic show how far off it is", err, units.Duration(s.MinDuration)))
	}
	return nil
}

// openDivision is a remark on a bound that the rules do not have, where they have the benchmark.
func (r *run) openDivision() string {
	if r.cfg.Own {
		return ""
	}
	return " (open division)"
}

// briefTime is the traffic of a run that cannot be VALID.
const briefTime = 10 * time.Second

// limitDelay has no sample wait longer for a batch to fill than the Server bound
// leaves beside the time that the batch takes.
func (r *run) limitDelay(ctx context.Context) error {
	if r.cfg.MaxDelay == 0 || r.cfg.Settings.Scenario != loadgen.Server || r.cfg.Settings.UseTokenLatencies {
		return nil
	}
	batch, bound := r.model.shape.batch, r.cfg.Settings.ServerTargetLatency
	took, err := r.batchTime(ctx, batch)
	if err != nil {
		return err
	}
	if left := max(0, bound-took); r.cfg.MaxDelay > left {
		r.cfg.Observer.Note(fmt.Sprintf("a batch of %d takes %s, the latency bound is %s: samples wait at most %s for a batch, not %s",
			batch, units.Duration(took), units.Duration(bound), units.Duration(left), units.Duration(r.cfg.MaxDelay)))
		r.cfg.MaxDelay = left
	}
	return nil
}

// A queryTime is how long a MultiStream query of so many samples takes.
type queryTime struct {
	samples, rounds int
	batch           time.Duration // of a round
	latency         time.Duration // of all rounds
}

func (r *run) queryTime(ctx context.Context, n int) (queryTime, error) {
	size := r.model.shape.batch
	took, err := r.warm.latency*time.Duration(min(n, size)), error(nil)
	if r.fits(2 * took) {
		took, err = r.batchTime(ctx, min(n, size))
	}
	workers := len(r.model.predictors)
	rounds := ((n+size-1)/size + workers - 1) / workers
	return queryTime{n, rounds, took, time.Duration(rounds) * took}, err
}

// rateSetting is a rate as conf files have it, with four digits.
func rateSetting(rate float64) string { return units.Exact(units.Rounded(rate, units.Digits)) }

// chooseInterval makes queries at fixed intervals that this machine answers in time, if the configuration
// allows it: of fewer samples, and if one is too many, at longer intervals.
func (r *run) chooseInterval(ctx context.Context) error {
	s := &r.cfg.Settings
	if s.Scenario != loadgen.MultiStream || s.MultiStreamQPS == 0 || !r.cfg.FitStreams && !r.cfg.AutoLatency {
		return nil
	}
	const share = 0.75 // of the interval, at most: under traffic, queries take up to a quarter longer
	interval := time.Duration(float64(time.Second) / s.MultiStreamQPS)
	most := time.Duration(share * float64(interval))
	t, err := r.queryTime(ctx, int(s.MultiStreamSamplesPerQuery))
	if err == nil && t.latency > most && r.cfg.FitStreams && t.samples > 1 {
		n := max(1, int(int64(t.samples)*int64(most)/int64(t.latency)))
		why := fmt.Sprintf("%s take %s, the interval is %s", units.Count(t.samples, "sample"), units.Duration(t.latency), units.Duration(interval))
		s.MultiStreamSamplesPerQuery = uint64(n)
		r.set("samples_per_query", strconv.Itoa(n), "calibration: "+why, "")
		r.cfg.Observer.Note(fmt.Sprintf("%s: using %d per query", why, n))
		t, err = r.queryTime(ctx, n)
	}
	if err == nil && t.latency > most && r.cfg.AutoLatency {
		const factor = 2
		auto := (factor*t.latency + time.Millisecond - 1).Truncate(time.Millisecond)
		took := units.Duration(t.latency)
		s.MultiStreamQPS = 1 / auto.Seconds()
		r.set("target_qps", rateSetting(s.MultiStreamQPS), fmt.Sprintf("auto: an interval of %d × the %s of a query", factor, took), "")
		r.cfg.Observer.Note(fmt.Sprintf("a query of %s takes %s; the official interval is %s: using %s%s", units.Count(t.samples, "sample"), took,
			units.Duration(interval), units.Duration(auto), r.openDivision()))
	}
	return err
}

// offlineMargin makes the Offline query larger than the measured rate asks for. A rate
// that was measured while the machine was busy would make the test too short, one that is
// too high only makes it longer.
const offlineMargin = 1.25

// chooseRate measures the speed of the workers and chooses the target of the scenario.
func (r *run) chooseRate(ctx context.Context) error {
	s, c := &r.cfg.Settings, &report.Calibration{BatchOneLatencyNS: int64(r.warm.latency)}
	r.calibration = c
	workers := len(r.model.predictors)
	who := units.Count(workers, "worker")
	switch s.Scenario {
	case loadgen.SingleStream:
		s.SingleStreamExpectedLatencyNS = float64(r.warm.latency)
		c.Chosen = report.Metric{Name: "expected latency", Value: r.warm.latency.Seconds() * 1e3, Unit: "ms"}
		c.Reason = "median of a few runs"
		r.set("target_latency", fmt.Sprint(r.warm.latency), "calibration", limitation.Calibration)

	case loadgen.MultiStream:
		t, err := r.queryTime(ctx, int(s.MultiStreamSamplesPerQuery))
		if err != nil {
			return err
		}
		s.MultiStreamExpectedLatencyNS = float64(t.latency)
		c.Chosen = report.Metric{Name: "expected query latency", Value: t.latency.Seconds() * 1e3, Unit: "ms"}
		c.Reason = fmt.Sprintf("%s take %d × %s", units.Count(t.samples, "sample"), t.rounds, units.Duration(t.batch))
		if t.samples == 1 {
			c.Reason = "1 sample takes " + units.Duration(t.batch)
		}
		r.set("target_latency", fmt.Sprint(t.latency), "calibration", limitation.Calibration)

	case loadgen.Offline:
		rate, err := r.throughput(ctx, r.model.shape.batch)
		if err != nil {
			return err
		}
		c.SamplesPerSecond = rate
		s.OfflineExpectedQPS = offlineMargin * rate
		c.Chosen = report.Metric{Name: "target_qps", Value: s.OfflineExpectedQPS, Unit: "samples/s"}
		c.Reason = fmt.Sprintf("measured %s with %s; a quarter more makes the test long enough", units.Text(rate, "samples/s"), who)
		r.set("target_qps", rateSetting(s.OfflineExpectedQPS), "calibration", limitation.Calibration)

	case loadgen.Server:
		// Samples always wait while the capacity is measured: each worker answers them one by one, or as many as a decoder has
		// room for.
		atOnce, how := 1, "one by one"
		if p := r.model.predictors[0]; (p.decoder != nil || p.prompts != nil) && r.model.shape.batch > 1 {
			atOnce = r.model.shape.batch
			how = fmt.Sprintf("%d at a time", atOnce)
		}
		capacity, err := r.throughput(ctx, atOnce)
		if err != nil {
			return err
		}
		took := r.warm.latency
		if atOnce > 1 {
			took = time.Duration(float64(workers*atOnce) / capacity * 1e9) // with others beside it
		}
		bound, what := s.ServerTargetLatency, "latency"
		if s.UseTokenLatencies { // the wait for the first token may last as long as the bound
			bound, what = took+s.ServerTTFTLatency, "the time with the wait for a first token"
		}
		load := safeLoad(workers*atOnce, took, bound, s.ServerTargetLatencyPercentile)
		c.SamplesPerSecond = capacity
		s.ServerTargetQPS = load * capacity
		c.Chosen = report.Metric{Name: "target_qps", Value: s.ServerTargetQPS, Unit: "queries/s"}
		c.Reason = fmt.Sprintf("measured %s with %s, %s; using %.0f %% to keep %s below %s", units.Text(capacity, "samples/s"), who, how, load*100,
			what, units.Duration(bound))
		if took > bound {
			c.Reason = fmt.Sprintf("measured %s with %s, %s; using %.0f %%, which the machine sustains", units.Text(capacity, "samples/s"), who, how, load*100)
		}
		r.set("target_qps", rateSetting(s.ServerTargetQPS), "calibration", limitation.Calibration)
	}
	return nil
}

// safeLoad is the share of their capacity at which c workers that take s for a sample
// should keep a latency bound at a percentile, at most 60 %.
//
// It is the largest load at which a queue with Poisson arrivals and a fixed service time
// keeps latencies below 70 % of the bound, or leaves half of the room beside the sample
// itself if that is more. The percentile is further out, because chance,
// which early stopping allows for, needs room too. If the sample alone takes longer
// than the bound, no load is safe: it is the highest at which a queue does not grow by chance.
func safeLoad(c int, s, bound time.Duration, percentile float64) float64 {
	if s > bound {
		return 0.9
	}
	const (
		least, most = 0.01, 0.6
		fill        = 0.7 // of the bound for a sample and its wait; the rest is for other work on the machine
	)
	limit := max(fill*float64(bound), float64(s+bound)/2)/float64(s) - 1
	keeps := func(load float64) bool { return waitingTime(c, load, (1+percentile)/2) <= limit }
	if keeps(most) {
		return most
	}
	low, high := least, most
	for high-low > least/2 {
		if middle := (low + high) / 2; keeps(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// waitingTime is a percentile of the time that samples wait in a queue for c workers, as a
// multiple of the time that a worker takes for one. It simulates the queue: because all
// samples take the same time, the workers take turns.
func waitingTime(c int, load, percentile float64) float64 {
	const samples = 1 << 15
	arrivals := rand.New(rand.NewPCG(1, 1))
	free := make([]float64, c) // when each worker is
	waits := make([]float64, samples)
	now := 0.0
	for i := range waits {
		now += arrivals.ExpFloat64() / (load * float64(c))
		worker := &free[i%c]
		waits[i] = max(*worker-now, 0)
		*worker = now + waits[i] + 1
	}
	slices.Sort(waits)
	return waits[int(percentile*samples)]
}

// fits reports whether the configuration has time for something before the test.
func (r *run) fits(d time.Duration) bool { return r.cfg.Longest == 0 || d <= r.cfg.Longest }

// chooseQueryCount takes a lower percentile, for which fewer queries suffice, if
// the configuration allows it and the model is slow. Where these take too long as well, it takes as many as fit. An expected latency
// of the user does not make a model faster than it was measured.
func (r *run) chooseQueryCount(ctx context.Context) error {
	const (
		percentile = 0.5 // the lowest that still says something about most queries
		serverOver = 5   // Server queries over the bound, about a quarter: a load that keeps it is seldom INVALID by chance
	)
	longest := cmp.Or(r.cfg.Longest, 20*time.Second) // of the queries that the settings ask for
	s := &r.cfg.Settings
	var gap float64 // between queries, s
	var target *float64
	over, least := uint64(1), uint64(1)
	switch {
	case !r.cfg.FewQueries:
		return nil
	case s.Scenario == loadgen.SingleStream:
		gap, target = max(s.SingleStreamExpectedLatencyNS/1e9, r.warm.latency.Seconds()), &s.SingleStreamTargetLatencyPercentile
	case s.Scenario == loadgen.MultiStream:
		gap, target = s.MultiStreamExpectedLatencyNS/1e9, &s.MultiStreamTargetLatencyPercentile
		if !r.cfg.Calibrate {
			t, err := r.queryTime(ctx, int(s.MultiStreamSamplesPerQuery))
			if err != nil {
				return err
			}
			gap = max(gap, t.latency.Seconds())
		}
		if s.MultiStreamQPS > 0 {
			gap = max(gap, 1/s.MultiStreamQPS)
		}
	case s.Scenario == loadgen.Server:
		gap, target, over = 1/s.ServerTargetQPS, &s.ServerTargetLatencyPercentile, serverOver
		least = 2 // have a rate
	default:
		return nil
	}
	needed := loadgen.NeededQueries(over, percentile)
	few, took := needed, gap*float64(s.MinQueryCount)
	if r.cfg.Longest > 0 {
		few = min(needed, max(least, uint64(longest.Seconds()/gap)))
	}
	if took <= longest.Seconds() || s.MinQueryCount <= few {
		return nil
	}
	before := *target
	origin := fmt.Sprintf("quick run: %s would take %s", units.Count(s.MinQueryCount, "query"), units.Text(took, "s"))
	text := fmt.Sprintf("slow model: %s and the median instead of %s and %s", units.Count(few, "query"), units.Number(float64(s.MinQueryCount)),
		units.Percentile(before))
	if few < needed {
		s.MinDuration = min(s.MinDuration, time.Duration(float64(few-1)*gap*1e9))
		r.set("min_duration", s.MinDuration.String(), origin, limitation.QuickRun)
		text += fmt.Sprintf("; a verdict under the rules needs %d", needed)
	}
	r.cfg.Observer.Note(text)
	s.MinQueryCount, *target = few, percentile
	r.set("min_query_count", fmt.Sprint(few), origin, limitation.QuickRun)
	r.set("target_latency_percentile", fmt.Sprint(100*percentile), origin, limitation.QuickRun)
	return nil
}

// checkHeadroom warns if the Server target is more than half of what the generator can
// issue on this machine: at twice the target a backlog grows.
func (r *run) checkHeadroom(ctx context.Context) error {
	const (
		from    = 5000 // queries/s; every machine that runs a model issues fewer without trouble
		factor  = 2
		tooLate = time.Millisecond // of the median query
	)
	target := r.cfg.Settings.ServerTargetQPS
	if r.cfg.Settings.Scenario != loadgen.Server || r.cfg.Settings.Mode == loadgen.AccuracyOnly || target < from {
		return nil
	}
	alone, err := selftest.Test{Scenario: loadgen.Server, TargetQPS: factor * target, Duration: 200 * time.Millisecond,
		NewPacer: r.cfg.NewPacer}.Run(ctx)
	if err != nil {
		return err
	}
	if late := time.Duration(alone.IssueDelayP50NS); late > tooLate {
		r.warnings.add(fmt.Errorf("the target of %s is more than half of what the generator can issue on this machine "+
			"(at twice the target, the median query is %s late): its own delays will count as latency", units.Text(target, "queries/s"), units.Duration(late)))
	}
	return nil
}
