package run

import (
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// What package harness does where nobody gave a target: the share of the capacity that Server is
// run at is at most this, an interval of MultiStream is that many times longer than its query,
// Offline has that many times the samples, and a quick run takes fewer queries if they would take
// longer.
const (
	usualLoad      = 0.6
	usualInterval  = 2
	offlineSamples = 1.4
	quickPatience  = 20 * time.Second
)

// Estimate says how long the traffic takes on a system that answers so many samples per second,
// of a data set with so many. 0: not known; then it is the least that the settings ask for.
func (r *Resolved) Estimate(speed float64, samples int) (time.Duration, error) {
	if speed == 0 || r.Settings.Mode != loadgen.PerformanceOnly {
		return r.simpleEstimate(speed, samples), nil
	}
	if r.Settings.Scenario == loadgen.Offline && r.resolved.Origin("min_query_count") == config.QuickOrigin && r.needsTarget() {
		return time.Duration(offlineSamples * float64(r.Settings.MinDuration)), nil
	}
	c := *r.resolved
	if s := &c.Settings; r.needsTarget() {
		s.ServerTargetQPS, s.OfflineExpectedQPS = usualLoad*speed, speed
	}
	if s := &c.Settings; r.fitStreams() && r.Request.AutoLatency {
		s.MultiStreamQPS, s.MultiStreamSamplesPerQuery = min(s.MultiStreamQPS, speed/usualInterval), 1
	}
	n := uint64(r.model.PerformanceSampleCount)
	p, err := config.NewPlan(&c, speed, n, n)
	if err != nil {
		return 0, err
	}
	took := lasting(p.Duration.Seconds() * float64(r.runs()) / float64(p.Runs))
	if r.fewQueries() {
		few := r.few(time.Duration(float64(took) / float64(max(1, p.Queries))))
		return min(took, max(few, quickPatience)), nil
	}
	return took, nil
}

// simpleEstimate is of a test of all samples, or at a speed that is not known.
func (r *Resolved) simpleEstimate(speed float64, samples int) time.Duration {
	switch {
	case speed > 0:
		return lasting(float64(samples) / speed)
	case r.Settings.Mode == loadgen.PerformanceOnly:
		return time.Duration(r.runs()) * r.Settings.MinDuration
	}
	return 0
}

// few is how long the queries take that a quick run of a slow model makes do with.
func (r *Resolved) few(query time.Duration) time.Duration {
	const percentile = 0.5
	over := uint64(1)
	if r.Settings.Scenario == loadgen.Server {
		over = 5
	}
	return max(r.Settings.MinDuration, lasting(float64(loadgen.NeededQueries(over, percentile))*query.Seconds()))
}

// longest is a time to which others may be added.
const longest = math.MaxInt64 / 2

// lasting is a time in seconds, up to the longest.
func lasting(seconds float64) time.Duration {
	if ns := seconds * 1e9; ns < longest {
		return time.Duration(ns)
	}
	return longest
}
