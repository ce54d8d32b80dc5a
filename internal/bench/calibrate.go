package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/workload"
)

const (
	// The last runs of a warm-up are stable if they differ by less than this share.
	stableRuns  = 5
	stableShare = 0.1
	// warmUpBudget bounds how long warming up one worker takes.
	warmUpBudget = 2 * time.Second
	// probeTime is how long all workers are measured together.
	probeTime = time.Second
)

// A warmUp says how long the model takes for one sample, before the test.
type warmUp struct {
	latency time.Duration // of one sample by one worker, the median of the last runs
	runs    int
	stable  bool // the last runs took about as long as each other
}

// warmUp runs the model outside the measured time until it takes about the same time
// again and again: the first runs allocate memory and plan kernels.
func (r *run) warmUp(ctx context.Context) error {
	return r.phase(ctx, "warm-up", func() error {
		if err := r.tryModel(ctx); err != nil {
			return err
		}
		return r.widen(ctx, runtime.GOMAXPROCS(0))
	})
}

// tryModel has every worker answer a batch of each size that it will see, and the first one a
// sample until that is stable.
func (r *run) tryModel(ctx context.Context) error {
	items, err := r.sampleRows(ctx, r.model.shape.batch)
	if err != nil {
		return err
	}
	for _, p := range r.model.predictors {
		began := time.Now()
		for i, n := range r.warmSizes() {
			if i > 0 && !r.compiles() && time.Since(began) > warmUpBudget {
				break
			}
			if err := tryOut(ctx, p, items[:n]); err != nil {
				return err
			}
		}
	}
	r.warm, err = stableTime(ctx, r.model.predictors[0], items[:1])
	return err
}

// warmSizes are those of the batches that workers are warmed up with.
func (r *run) warmSizes() []int {
	if r.model.concurrent() != nil {
		return []int{1} // servers are warm, or not for us to warm
	}
	return r.wish(1).sizes(r.model.shape.batch)
}

// compiles reports whether the device may compile the model anew for each size of a batch.
func (r *run) compiles() bool { return r.cfg.Backend.Device != "" && r.cfg.Backend.Device != "cpu" }

// warmRemainder has every worker answer as many samples as the last batch of Offline has.
func (r *run) warmRemainder(ctx context.Context) error {
	if r.settings.Scenario != loadgen.Offline || !r.compiles() || r.workload.Batch() > 0 {
		return nil
	}
	e := r.settings.Effective(uint64(r.qsl.performance), uint64(r.workload.Len()))
	rest := int(e.SamplesPerQuery % uint64(r.model.shape.batch))
	if rest == 0 {
		return nil
	}
	items, err := r.sampleRows(ctx, rest)
	for _, p := range r.model.predictors {
		if err == nil {
			err = tryOut(ctx, p, items)
		}
	}
	return err
}

// sampleRows loads samples of the data set and returns items for as many rows as asked, some
// of which are the same sample if the data set has fewer.
func (r *run) sampleRows(ctx context.Context, rows int) ([]workload.Item, error) {
	samples := typical(r.workload, rows)
	store, err := workload.NewStore(len(samples), func(i int) []workload.Slot { return r.workload.Row(samples[i]) })
	if err != nil {
		return nil, err
	}
	for i, index := range samples {
		err := context.Cause(ctx)
		if err == nil {
			err = r.qsl.load(store, i, index)
		}
		if err != nil {
			return nil, errors.Join(err, store.Close())
		}
	}
	items := make([]workload.Item, rows)
	for i := range items {
		items[i] = workload.Item{Row: i % len(samples), Index: samples[i%len(samples)], Ticket: i}
	}
	return items, r.qsl.swap(store)
}

// typical returns at most n samples to measure with: the first ones, or if samples differ in
// size some of all sizes, of which any few are about as large as the others.
func typical(w workload.Workload, n int) []int {
	all := make([]int, w.Len())
	for i := range all {
		all[i] = i
	}
	n = min(n, len(all))
	if !differ(w) {
		return all[:n]
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(sizeOf(w, a), sizeOf(w, b)) })
	var chosen []int
	const golden = 0.6180339887498949 // of its multiples, any few are spread evenly
	for at := 0.5; len(chosen) < n; at += golden {
		i := int((at - math.Floor(at)) * float64(len(all)))
		for slices.Contains(chosen, all[i]) {
			i = (i + 1) % len(all)
		}
		chosen = append(chosen, all[i])
	}
	return chosen
}

// sizeOf says how large a sample is, compared with others.
func sizeOf(w workload.Workload, index int) int64 {
	if long, ok := w.(workload.Long); ok {
		return int64(long.Length(index))
	}
	return workload.Bytes(w.Row(index))
}

// differ reports whether samples are of different sizes.
func differ(w workload.Workload) bool {
	for i := 1; i < w.Len(); i++ {
		if sizeOf(w, i) != sizeOf(w, 0) {
			return true
		}
	}
	return false
}

// stableTime measures how long a predictor takes for the items, never less than 1 ns.
func stableTime(ctx context.Context, p workload.Predictor, items []workload.Item) (warmUp, error) {
	var last []time.Duration // at most stableRuns
	w := warmUp{}
	for begin := time.Now(); !w.stable && (w.runs == 0 || time.Since(begin) < warmUpBudget); w.runs++ {
		start := time.Now()
		if err := tryOut(ctx, p, items); err != nil {
			return w, err
		}
		if last = append(last, time.Since(start)); len(last) > stableRuns {
			last = last[1:]
		}
		most, least := slices.Max(last), slices.Min(last)
		w.stable = len(last) == stableRuns && float64(most-least) <= stableShare*float64(most)
	}
	slices.Sort(last)
	w.latency = max(last[len(last)/2], 1)
	return w, nil
}

// batchTime measures how long one worker takes for a batch of n.
func (r *run) batchTime(ctx context.Context, n int) (time.Duration, error) {
	items, err := r.sampleRows(ctx, n)
	if err != nil {
		return 0, err
	}
	w, err := stableTime(ctx, r.model.predictors[0], items)
	return w.latency, err
}

// tryOut has a predictor answer items, outside a test.
func tryOut(ctx context.Context, p workload.Predictor, items []workload.Item) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var replies counter
	if err := predict(ctx, p, items, &replies); err != nil {
		return err
	}
	if int(replies) != len(items) {
		return fmt.Errorf("the model answered %d of %d samples", replies, len(items))
	}
	return nil
}

// A counter counts replies and drops them.
type counter int

func (c *counter) FirstToken(int, []byte) {}
func (c *counter) Done(int, []byte, int)  { *c++ }

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
	if err := r.limitDelay(ctx); err != nil {
		return err
	}
	if r.cfg.Calibrate {
		if err := r.phase(ctx, "calibration", func() error { return r.chooseRate(ctx) }); err != nil {
			return err
		}
		if c := r.calibration; c != nil {
			r.cfg.Observer.Note(fmt.Sprintf("nobody gave a target: %s = %.4g %s, because %s",
				c.Chosen.Name, c.Chosen.Value, c.Chosen.Unit, c.Reason))
		}
	}
	r.chooseQueryCount()
	return r.warmRemainder(ctx)
}

const (
	// patience is how long the queries of a test may take before FewQueries matters.
	patience = 20 * time.Second
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
	case s.Scenario == loadgen.MultiStream && s.MultiStreamQPS == 0:
		gap, percentile = s.MultiStreamExpectedLatencyNS/1e9, &s.MultiStreamTargetLatencyPercentile
	case s.Scenario == loadgen.Server && !s.UseTokenLatencies:
		gap, percentile, over = 1/s.ServerTargetQPS, &s.ServerTargetLatencyPercentile, fewOver
	default:
		return
	}
	few := loadgen.NeededQueries(over, fewPercentile)
	took := gap * float64(s.MinQueryCount)
	if took <= patience.Seconds() || s.MinQueryCount <= few {
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
	if r.warm.latency <= bound {
		return nil
	}
	hopeless := &HopelessError{Latency: took, Bound: bound}
	if !r.cfg.Anyway {
		return hopeless
	}
	r.cfg.Observer.Note(hopeless.Error())
	return nil
}

// A HopelessError says that no Server rate can keep the latency bound.
type HopelessError struct {
	Latency time.Duration // of one sample
	Bound   time.Duration
}

func (e *HopelessError) Error() string {
	return fmt.Sprintf("this machine takes %v for one sample, the latency bound is %v: no rate can meet it", e.Latency, e.Bound)
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

// offlineMargin makes the Offline query larger than the measured rate asks for. A rate
// that was measured while the machine was busy would make the test too short, one that is
// too high only makes it longer.
const offlineMargin = 1.25

func (r *run) chooseRate(ctx context.Context) error {
	c := &report.Calibration{BatchOneLatencyNS: int64(r.warm.latency)}
	r.calibration = c
	switch r.settings.Scenario {
	case loadgen.SingleStream:
		r.settings.SingleStreamExpectedLatencyNS = float64(r.warm.latency)
		c.Chosen = report.Metric{Name: "expected latency", Value: r.warm.latency.Seconds() * 1e3, Unit: "ms"}
		c.Reason = "that is the median of a few runs"
		r.set("target_latency", fmt.Sprint(r.warm.latency), "calibration")
	case loadgen.MultiStream:
		return r.chooseQueryLatency(ctx, c)
	case loadgen.Offline:
		rate, err := r.throughput(ctx, r.model.shape.batch)
		if err != nil {
			return err
		}
		c.SamplesPerSecond = rate
		rate *= offlineMargin
		r.settings.OfflineExpectedQPS = rate
		c.Chosen = report.Metric{Name: "target_qps", Value: rate, Unit: "samples/s"}
		c.Reason = fmt.Sprintf("%s reached %.4g samples/s, and a quarter more makes the test long enough",
			r.workers(), c.SamplesPerSecond)
		r.set("target_qps", fmt.Sprintf("%.4g", rate), "calibration")
	case loadgen.Server:
		return r.chooseServerRate(ctx, c)
	}
	return nil
}

func (r *run) chooseQueryLatency(ctx context.Context, c *report.Calibration) error {
	n := int(r.settings.MultiStreamSamplesPerQuery)
	batches := (n + r.model.shape.batch - 1) / r.model.shape.batch
	took, err := r.batchTime(ctx, min(n, r.model.shape.batch))
	if err != nil {
		return err
	}
	rounds := (batches + len(r.model.predictors) - 1) / len(r.model.predictors)
	latency := time.Duration(rounds) * took
	r.settings.MultiStreamExpectedLatencyNS = float64(latency)
	c.Chosen = report.Metric{Name: "expected query latency", Value: latency.Seconds() * 1e3, Unit: "ms"}
	c.Reason = fmt.Sprintf("%d samples take %d × %v", n, rounds, took.Round(10*time.Microsecond))
	r.set("target_latency", fmt.Sprint(latency), "calibration")
	return nil
}

// capacity is the rate that Server's workers reach if samples always wait, and how many each has
// at once then: one by one, or as many as a Puller has room for.
func (r *run) capacity(ctx context.Context) (rate float64, atOnce int, how string, err error) {
	atOnce, how = 1, "one by one"
	_, pulls := r.model.predictors[0].(workload.Puller)
	if many := r.model.concurrent() != nil; (pulls || many) && r.model.shape.batch > 1 {
		atOnce = r.model.shape.batch
		how = fmt.Sprintf("with %d under way at once", atOnce)
	}
	rate, err = r.throughput(ctx, atOnce)
	return rate, atOnce, how, err
}

func (r *run) chooseServerRate(ctx context.Context, c *report.Calibration) error {
	capacity, atOnce, how, err := r.capacity(ctx)
	if err != nil {
		return err
	}
	took := r.warm.latency
	if places := len(r.model.predictors) * atOnce; atOnce > 1 {
		took = time.Duration(float64(places) / capacity * 1e9) // with others beside it
	}
	bound, what := r.settings.ServerTargetLatency, "latencies"
	if r.settings.UseTokenLatencies {
		bound, what = took+r.settings.ServerTTFTLatency, "samples with the wait for their first token" // which may last as long as the bound
	}
	load := safeLoad(len(r.model.predictors)*atOnce, took, bound, r.settings.ServerTargetLatencyPercentile)
	rate := load * capacity
	c.SamplesPerSecond = capacity
	r.settings.ServerTargetQPS = rate
	c.Chosen = report.Metric{Name: "target_qps", Value: rate, Unit: "queries/s"}
	c.Reason = fmt.Sprintf("%s reached %.4g samples/s %s, and at %.0f %% of that the queue should keep %s below %v",
		r.workers(), capacity, how, load*100, what, bound)
	r.set("target_qps", fmt.Sprintf("%.4g", rate), "calibration")
	return nil
}

// workers says in words how many there are.
func (r *run) workers() string {
	if n := len(r.model.predictors); n > 1 {
		return fmt.Sprintf("%d workers", n)
	}
	return "1 worker"
}
