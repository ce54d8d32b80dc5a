package tune

import (
	"context"
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A model is opened in the way of a point. *harness.Probe is one, and documents the methods.
type model interface {
	Shape() (workers, threads, batch int)
	FixedBatch() int
	LatencyBound() time.Duration
	Times(ctx context.Context, workers, batch int, d time.Duration) ([]time.Duration, error)
	Test(ctx context.Context, s loadgen.TestSettings) (*loadgen.Result, error)
	Close() error
}

// A meter measures one point.
type meter struct {
	model    model
	point    Point
	settings loadgen.TestSettings
}

// estimateShare is the part of a measurement that goes into the estimate by which its
// traffic is chosen.
const estimateShare = 0.2

// estimates is how many a measurement of the first stage makes: their spread is its noise.
const estimates = 3

// measure takes about the given time to find values of the objective: in the first stage estimates, else one.
func (m meter) measure(ctx context.Context, stage int, length time.Duration) (values []float64, err error) {
	if stage == 0 {
		for range estimates {
			v, err := m.estimate(ctx, length/estimates)
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
		return values, nil
	}
	v, err := m.estimate(ctx, time.Duration(estimateShare*float64(length)))
	if err == nil && v > 0 {
		v, err = m.test(ctx, v, time.Duration((1-estimateShare)*float64(length)))
	}
	return []float64{v}, err
}

// estimate times batches with all workers busy that the scenario keeps busy, and computes
// the value of the objective from that.
func (m meter) estimate(ctx context.Context, d time.Duration) (float64, error) {
	workers, batch := m.point.Instances, m.point.MaxBatch
	switch s := m.settings; s.Scenario {
	case loadgen.SingleStream:
		times, err := m.model.Times(ctx, 1, 1, d)
		return milliseconds(atPercentile(times, s.SingleStreamTargetLatencyPercentile)), err
	case loadgen.MultiStream: // a query is split into batches, which the workers answer in rounds
		n := int(s.MultiStreamSamplesPerQuery)
		batch = min(n, batch)
		batches := (n + batch - 1) / batch
		workers = min(batches, workers)
		rounds := (batches + workers - 1) / workers
		times, err := m.model.Times(ctx, workers, batch, d)
		return float64(rounds) * milliseconds(atPercentile(times, s.MultiStreamTargetLatencyPercentile)), err
	case loadgen.Server:
		return m.estimateServer(ctx, d)
	}
	times, err := m.model.Times(ctx, workers, batch, d)
	if err != nil {
		return 0, err
	}
	sum := time.Duration(1)
	for _, t := range times {
		sum += t
	}
	return float64(len(times)*workers*batch) / sum.Seconds(), nil
}

// estimateServer is the rate at which the latency should reach the bound, with the best size of batches. Of samples
// that arrive at random, the wait for workers with a constant time has an exponential tail with the mean
// load/(1−load) · time/(2·workers) (Kingman 1961). Median times leave disturbances to the traffic of later stages.
func (m meter) estimateServer(ctx context.Context, d time.Duration) (float64, error) {
	best := 0.0
	sizes := upTo(m.point.MaxBatch)
	for _, n := range sizes {
		times, err := m.model.Times(ctx, m.point.Instances, n, d/time.Duration(len(sizes)))
		if err != nil {
			return 0, err
		}
		took := max(atPercentile(times, 0.5), 1).Seconds()
		wait := max((m.settings.ServerTargetLatency-m.point.MaxDelay).Seconds()-took, 0) // the longest that keeps the bound
		odds := 2 * float64(m.point.Instances) * wait / took / -math.Log(1-m.settings.ServerTargetLatencyPercentile)
		best = max(best, odds/(1+odds)*float64(n*m.point.Instances)/took)
	}
	return best, nil
}

// longest is how many times the wanted duration a test may take.
const longest = 4

// test measures under the scenario's traffic. Expected is the value of the estimate.
func (m meter) test(ctx context.Context, expected float64, d time.Duration) (float64, error) {
	s := m.settings
	s.Mode, s.MinQueryCount, s.MaxQueryCount, s.MinDuration, s.MaxDuration = loadgen.PerformanceOnly, 1, 0, d, longest*d
	switch s.Scenario {
	case loadgen.SingleStream:
		s.SingleStreamExpectedLatencyNS = expected * 1e6
		test, err := m.model.Test(ctx, s)
		if err != nil {
			return 0, err
		}
		return milliseconds(test.Performance.SampleLatency.Target), nil
	case loadgen.MultiStream:
		s.MultiStreamExpectedLatencyNS, s.MultiStreamQPS = expected*1e6, 0
		test, err := m.model.Test(ctx, s)
		if err != nil {
			return 0, err
		}
		return milliseconds(test.Performance.QueryLatency.Target), nil
	case loadgen.Server:
		return m.serverPeak(ctx, s, expected, d)
	}
	// As many samples as fill all workers' batches several times over: half-empty last batches, which a long test does
	// not notice, would count against large ones in a short one.
	round := float64(m.point.Instances * m.point.MaxBatch)
	rounds := max(1, math.Round(expected*d.Seconds()/round))
	s.MinQueryCount = uint64(rounds * round)
	s.OfflineExpectedQPS, s.MinDuration, s.MaxDuration = expected, 0, 0
	test, err := m.model.Test(ctx, s)
	if err != nil {
		return 0, err
	}
	return test.Performance.SamplesPerSecond(), nil
}

const (
	// A test of a rate should have this many queries beyond the percentile, if the time suffices.
	queriesBeyond         = 2
	leastTests, mostTests = 3, 6
	// More outstanding queries than these end a test: the rate is too high. As in a search for the highest load.
	overload, leastOverload = 4, 64
)

// serverPeak tries a few rates around the expected one, and returns the highest that kept the
// bound; 0 if none did.
func (m meter) serverPeak(ctx context.Context, s loadgen.TestSettings, expected float64, d time.Duration) (float64, error) {
	queries := queriesBeyond / (1 - s.ServerTargetLatencyPercentile)
	tests := min(max(int(expected*d.Seconds()/queries), leastTests), mostTests)
	var tried rates
	for range tests {
		rate := tried.next(expected)
		s.MinDuration = d / time.Duration(tests)
		s.MaxDuration = longest * s.MinDuration
		s.ServerTargetQPS = rate
		s.ServerMaxAsyncQueries = uint64(overload*rate*s.ServerTargetLatency.Seconds()) + leastOverload
		test, err := m.model.Test(ctx, s)
		if err != nil {
			return 0, err
		}
		p := test.Performance
		tried.add(rate, p.PerfConstraintsMet && p.MinDurationMet && p.MinQueriesMet)
	}
	return tried.low, nil
}

// rates narrows a rate down: met is known of all up to low, and not of those from high on.
type rates struct {
	low, high float64 // 0: not known
	missed    int
}

const upBy = 1.15

// downBy is by how much the next rate is lower, each time that none was met so far.
var downBy = []float64{1.15, 1.5, 2}

func (r *rates) next(expected float64) float64 {
	switch {
	case r.low == 0 && r.high == 0:
		return expected
	case r.high == 0:
		return r.low * upBy
	case r.low == 0:
		return r.high / downBy[min(r.missed, len(downBy))-1]
	}
	return math.Sqrt(r.low * r.high)
}

func (r *rates) add(rate float64, met bool) {
	if met {
		r.low = max(r.low, rate)
		return
	}
	r.missed++
	if r.high == 0 || rate < r.high {
		r.high = rate
	}
}

// atPercentile reads a percentile of ascending times, at the index that LoadGen uses
// (loadgen/results.cc); 0 if there are none.
func atPercentile(times []time.Duration, percentile float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return times[int(percentile*float64(len(times)))]
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }
