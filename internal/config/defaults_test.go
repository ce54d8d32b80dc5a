package config_test

import (
	"fmt"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
)

// TestDefaultsSatisfyTheRules: without any setting of the user's a run has what the checker of its round asks for, of a system of
// any speed.
func TestDefaultsSatisfyTheRules(t *testing.T) {
	n := 0
	for _, version := range config.Versions() {
		set := rules(t, version)
		for _, model := range models.All() {
			asked, ok := set.Minima(model.Rules)
			if !ok {
				continue
			}
			for _, s := range loadgen.Scenarios() {
				name := fmt.Sprintf("%s %v %s", version, s, model.Name)
				r, err := config.Resolve(config.Request{Model: model.Rules, Scenario: s, Rules: set})
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				n++
				settings := r.Settings
				settings.OfflineExpectedQPS, settings.ServerTargetQPS = 1e-3, 1e-3
				e := settings.Effective(1000, 1000)
				if e.MinDuration < set.MinDuration && !model.Rules.Once {
					t.Errorf("%s: min_duration is %v", name, e.MinDuration)
				}
				if least := set.MinQueries(s, model.Rules); s == loadgen.Offline && e.SamplesPerQuery < max(least, asked.OfflineSamples) {
					t.Errorf("%s: %d samples, want %d", name, e.SamplesPerQuery, max(least, asked.OfflineSamples))
				} else if s != loadgen.Offline && !set.EarlyStopping && e.MinQueryCount < least {
					t.Errorf("%s: %d queries, want %d", name, e.MinQueryCount, least)
				}
				if s == loadgen.Server && asked.ServerLatency > 0 && !e.UseTokenLatencies && e.TargetLatency > asked.ServerLatency {
					t.Errorf("%s: the bound is %v, want %v", name, e.TargetLatency, asked.ServerLatency)
				}
				if own := settings.PerformanceSampleCountOverride; own != 0 && own < asked.PerformanceSamples {
					t.Errorf("%s: %d samples in memory, want %d", name, own, asked.PerformanceSamples)
				}
				if list, err := r.Differences(r.Settings, config.Closed); err != nil || len(list) > 0 {
					t.Errorf("%s: %v, %v", name, list, err)
				}
			}
		}
	}
	if n < 400 {
		t.Errorf("%d combinations of round, benchmark and scenario", n)
	}
}
