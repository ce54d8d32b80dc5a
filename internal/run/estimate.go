package run

import (
	"math"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// Estimate says how long the traffic takes on a system that answers so many samples per second,
// of a data set with so many. 0: not known; then it is the least that the settings ask for.
func (r *Resolved) Estimate(speed float64, samples int) (time.Duration, error) {
	// The choices of package harness where no target is given: the share of the capacity at which Server runs, at most; how
	// many times longer than its query an interval of MultiStream is; how many times the needed samples Offline has; and the
	// time beyond which a quick run has fewer queries.
	const (
		usualLoad      = 0.6
		usualInterval  = 2
		offlineSamples = 1.4
		quickQueries   = 20 * time.Second
	)
	switch performance := r.Settings.Mode == loadgen.PerformanceOnly; {
	case !performance && speed > 0:
		return duration(float64(samples) / speed), nil
	case !performance:
		return 0, nil
	case speed == 0:
		return time.Duration(r.runs()) * r.Settings.MinDuration, nil
	case r.Settings.Scenario == loadgen.Offline && r.byQuickRun("min_query_count") && r.needsTarget():
		return time.Duration(offlineSamples * float64(r.Settings.MinDuration)), nil
	}
	c := *r.Resolved
	s := &c.Settings
	if r.needsTarget() {
		s.ServerTargetQPS, s.OfflineExpectedQPS = usualLoad*speed, speed
	}
	if r.fitStreams() && r.Request.AutoLatency {
		s.MultiStreamQPS, s.MultiStreamSamplesPerQuery = min(s.MultiStreamQPS, speed/usualInterval), 1
	}
	n := uint64(r.model.PerformanceSampleCount)
	p, err := config.NewPlan(&c, speed, n, n)
	if err != nil {
		return 0, err
	}
	took := duration(p.Duration.Seconds() * float64(r.runs()) / float64(p.Runs))
	if r.fewQueries() {
		over := uint64(1)
		if s.Scenario == loadgen.Server {
			over = 5
		}
		few := duration(float64(loadgen.NeededQueries(over, 0.5)) * took.Seconds() / float64(max(1, p.Queries)))
		took = min(took, max(r.Settings.MinDuration, few, quickQueries))
	}
	return took, nil
}

// duration is a time in seconds, up to half of the longest that time.Duration holds: others may be added to it.
func duration(seconds float64) time.Duration {
	const longest = math.MaxInt64 / 2
	if ns := seconds * 1e9; ns < longest {
		return time.Duration(ns)
	}
	return longest
}
