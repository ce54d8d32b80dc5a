package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

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
	t, err := r.queryTime(ctx, int(r.settings.MultiStreamSamplesPerQuery))
	if err != nil {
		return err
	}
	r.settings.MultiStreamExpectedLatencyNS = float64(t.latency)
	c.Chosen = report.Metric{Name: "expected query latency", Value: t.latency.Seconds() * 1e3, Unit: "ms"}
	c.Reason = fmt.Sprintf("%s take %d × %v", samples(t.samples), t.rounds, t.batch.Round(10*time.Microsecond))
	if t.samples == 1 {
		c.Reason = fmt.Sprintf("1 sample takes %v", t.batch.Round(10*time.Microsecond))
	}
	r.set("target_latency", fmt.Sprint(t.latency), "calibration")
	return nil
}

// capacity is the rate that Server's workers reach if samples always wait, and how many each has
// at once then: one by one, or as many as a decoder has room for.
func (r *run) capacity(ctx context.Context) (rate float64, atOnce int, how string, err error) {
	atOnce, how = 1, "one by one"
	if p := r.model.predictors[0]; (p.decoder != nil || p.prompts != nil) && r.model.shape.batch > 1 {
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
