package run

import (
	"math"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
)

func TestEstimate(t *testing.T) {
	const min10 = 10 * time.Minute
	for _, c := range []struct {
		scenario, rules, mode string
		quick, autoLatency    bool
		given                 config.Override
		speed                 float64
		samples               int
		want                  time.Duration
	}{
		{scenario: "single-stream", speed: 1000, want: min10},
		{scenario: "single-stream", given: set("min_query_count", "64"), speed: 0.05, want: 64 * 20 * time.Second},
		{scenario: "server", speed: 100, want: min10}, // at 60 % of the speed
		{scenario: "server", rules: "v0.5", given: set("target_qps", "1000"), speed: 2000, want: 5 * 270336 * time.Millisecond},
		{scenario: "server", rules: "v0.5", quick: true, given: set("target_qps", "100"), speed: 2000, want: 10 * time.Second},
		{scenario: "offline", quick: true, speed: 50, want: 14 * time.Second}, // four tenths more samples than needed
		{scenario: "offline", quick: true, given: set("target_qps", "50"), speed: 50, want: 11 * time.Second},
		{scenario: "offline", mode: "accuracy", speed: 4, samples: 100, want: 25 * time.Second},
		{scenario: "offline", mode: "submission", speed: 4, samples: 100, want: 25 * time.Second},
		{scenario: "server", samples: 100, want: min10},
		{scenario: "server", mode: "accuracy", samples: 100},
		// A model of 2 s a sample: 11 queries instead of 64, 22 of Server at 60 %, and intervals of twice a query.
		{scenario: "single-stream", rules: "v0.5", quick: true, speed: 0.5, samples: 500, want: 22 * time.Second},
		{scenario: "multi-stream", rules: "v0.5", quick: true, autoLatency: true, speed: 0.5, samples: 500, want: 44 * time.Second},
		{scenario: "server", rules: "v0.5", quick: true, autoLatency: true, speed: 0.5, samples: 500, want: 73 * time.Second},
	} {
		q := here()
		if q.Scenario, q.Rules, q.Mode, q.Quick, q.AutoLatency = c.scenario, c.rules, c.mode, c.quick, c.autoLatency; c.given.Key != "" {
			q.Settings = []config.Override{c.given}
		}
		got, err := resolved(t, q).Estimate(c.speed, c.samples)
		if slack := c.want / 100; err != nil || got < c.want-slack || got > c.want+slack {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}

// Speeds come from results of earlier runs, whatever those say.
func TestEstimateOfAVerySlowModel(t *testing.T) {
	for _, c := range []struct {
		rules, scenario, mode string
		quick                 bool
	}{
		{"v0.5", "server", "performance", false}, {"v0.5", "server", "performance", true}, {"v6.1", "single-stream", "performance", true},
		{"v6.1", "offline", "performance", false}, {"v6.1", "offline", "accuracy", false}, {"v0.5", "multi-stream", "performance", true},
	} {
		q := here()
		q.Rules, q.Scenario, q.Mode, q.Quick = c.rules, c.scenario, c.mode, c.quick
		r := resolved(t, q)
		for _, speed := range []float64{1e-3, 1e-12, 1e-300} {
			if got, err := r.Estimate(speed, 50_000); err == nil && (got <= 0 || got > math.MaxInt64/2) {
				t.Errorf("%+v at %g samples a second: %v", c, speed, got)
			}
		}
	}
}
