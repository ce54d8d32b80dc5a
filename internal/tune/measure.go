package tune

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// An Opened model is measured. *bench.Probe is one, and says what the methods do.
type Opened interface {
	Shape() (workers, threads, batch int)
	FixedBatch() int
	Engine() string
	LatencyBound() time.Duration
	Times(ctx context.Context, workers, batch int, d time.Duration) ([]time.Duration, error)
	Test(ctx context.Context, s loadgen.TestSettings) (*loadgen.Result, error)
	Close() error
}

// A meter measures one point.
type meter struct {
	model    Opened
	point    Point
	settings loadgen.TestSettings
}

// estimateShare is the part of a measurement that goes into the estimate by which its
// traffic is chosen.
const estimateShare = 0.2

// measure takes about a while to find the value of the objective. In the first stage that
// is an estimate.
func (m meter) measure(ctx context.Context, stage int, length time.Duration) (float64, error) {
	if stage == 0 {
		return m.estimate(ctx, length)
	}
	expected, err := m.estimate(ctx, time.Duration(estimateShare*float64(length)))
	if err != nil || expected == 0 && m.settings.Scenario != loadgen.Server {
		return 0, err
	}
	return m.test(ctx, expected, time.Duration((1-estimateShare)*float64(length)))
}

// estimate times batches with all workers busy that the scenario keeps busy, and computes
// what that makes of it.
func (m meter) estimate(ctx context.Context, d time.Duration) (float64, error) {
	switch s := m.settings; s.Scenario {
	case loadgen.SingleStream:
		times, err := m.model.Times(ctx, 1, 1, d)
		return milliseconds(atPercentile(times, s.SingleStreamTargetLatencyPercentile)), err
	case loadgen.MultiStream:
		return m.estimateQuery(ctx, int(s.MultiStreamSamplesPerQuery), d)
	case loadgen.Server:
		return m.estimateServer(ctx, d)
	}
	times, err := m.model.Times(ctx, m.point.Instances, m.point.MaxBatch, d)
	if err != nil {
		return 0, err
	}
	return float64(m.point.Instances*m.point.MaxBatch) / mean(times).Seconds(), nil
}

// estimateQuery splits a query of n samples into batches, which the workers answer in
// rounds.
func (m meter) estimateQuery(ctx context.Context, n int, d time.Duration) (float64, error) {
	batch := min(n, m.point.MaxBatch)
	batches := (n + batch - 1) / batch
	workers := min(batches, m.point.Instances)
	rounds := (batches + workers - 1) / workers
	times, err := m.model.Times(ctx, workers, batch, d)
	return float64(rounds) * milliseconds(atPercentile(times, m.settings.MultiStreamTargetLatencyPercentile)), err
}

// estimateServer simulates the queue with the times that batches usually take. That
// flatters a machine that is disturbed now and then, which is for real traffic to find out.
func (m meter) estimateServer(ctx context.Context, d time.Duration) (float64, error) {
	sizes := upTo(m.point.MaxBatch)
	medians := make([]time.Duration, len(sizes))
	for i, n := range sizes {
		times, err := m.model.Times(ctx, m.point.Instances, n, d/time.Duration(len(sizes)))
		if err != nil {
			return 0, err
		}
		medians[i] = max(atPercentile(times, 0.5), 1)
	}
	service := make([]time.Duration, m.point.MaxBatch+1)
	for n := range service {
		service[n] = interpolate(sizes, medians, n)
	}
	q := queueModel{m.point.Instances, m.point.MaxBatch, m.point.MaxDelay, func(n int) time.Duration { return service[n] }}
	return q.peak(m.settings.ServerTargetLatency, m.settings.ServerTargetLatencyPercentile), nil
}

// interpolate is the time for a batch of n, between those of the sizes next to it.
func interpolate(sizes []int, times []time.Duration, n int) time.Duration {
	for i, size := range sizes {
		if n > size {
			continue
		}
		if n == size || i == 0 {
			return times[i]
		}
		share := float64(n-sizes[i-1]) / float64(size-sizes[i-1])
		return times[i-1] + time.Duration(share*float64(times[i]-times[i-1]))
	}
	return times[len(times)-1]
}

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
	return m.offline(ctx, s, expected, d)
}

// longest is how many times the wanted duration a test may take.
const longest = 4

// offline issues as many samples as fill all workers' batches several times over: half-empty
// last batches, which a long test does not notice, would count against large ones in a
// short one.
func (m meter) offline(ctx context.Context, s loadgen.TestSettings, expected float64, d time.Duration) (float64, error) {
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
	// A test of a rate should see this many queries beyond the percentile, if there is time.
	queriesBeyond           = 2
	leastTests, mostTests   = 3, 6
	hopelessFactor, atLeast = 4, 64 // as in a search for the highest load
)

// serverPeak tries a few rates around the expected one, and returns the highest that kept the
// bound; 0 if none did.
func (m meter) serverPeak(ctx context.Context, s loadgen.TestSettings, expected float64, d time.Duration) (float64, error) {
	if expected == 0 {
		return 0, nil
	}
	queries := queriesBeyond / (1 - s.ServerTargetLatencyPercentile)
	tests := min(max(int(expected*d.Seconds()/queries), leastTests), mostTests)
	var tried rates
	for range tests {
		rate := tried.next(expected)
		s.MinDuration = d / time.Duration(tests)
		s.MaxDuration = longest * s.MinDuration
		s.ServerTargetQPS = rate
		s.ServerMaxAsyncQueries = uint64(hopelessFactor*rate*s.ServerTargetLatency.Seconds()) + atLeast
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
var downBy = []float64{1.15, 1.4, 2}

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

func mean(times []time.Duration) time.Duration {
	sum := time.Duration(0)
	for _, t := range times {
		sum += t
	}
	return max(sum/time.Duration(max(len(times), 1)), 1)
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

func percentileName(fraction float64) string {
	return fmt.Sprintf("%gth percentile", math.Round(fraction*1e6)/1e4)
}
