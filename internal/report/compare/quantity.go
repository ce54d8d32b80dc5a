package compare

import (
	"cmp"
	"math"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report"
)

// A quantity is something that results have a number of.
type quantity struct {
	name, unit, better string
	fraction           float64 // of a latency's percentile; 0: its mean
	latency            bool    // of queries
	throughput         bool    // of completed samples
	scheduled          bool    // the schedule sets it
	of                 func(*report.Results) float64
}

// quantities are those of a scenario.
func quantities(r *report.Results) []quantity {
	var list []quantity
	if r.Scenario != "Offline" {
		list = append(list, latencies("", true, func(p *report.Performance) *report.Latencies { return cmp.Or(p.QueryLatencyNS, p.LatencyNS) })...)
	}
	list = append(list, latencies("ttft ", false, func(p *report.Performance) *report.Latencies { return p.FirstTokenNS })...)
	list = append(list, latencies("tpot ", false, func(p *report.Performance) *report.Latencies { return p.TimePerOutputTokenNS })...)
	list = append(list, quantity{
		name: "samples/s", unit: "/s", better: "up", throughput: r.Scenario == "Offline", scheduled: r.Scenario == "Server",
		of: func(r *report.Results) float64 {
			if r.Performance == nil || r.Performance.SamplesPerSecond <= 0 {
				return math.NaN()
			}
			return r.Performance.SamplesPerSecond
		},
	})
	if m := r.Metric; m != nil && (strings.Contains(m.Name, "tokens") || r.Scenario == "Offline") {
		list = append(list, metricOf(*m, r.Scenario == "Offline" && !strings.Contains(m.Name, "tokens")))
	}
	return list
}

// metricOf is the scenario's result.
func metricOf(m report.Metric, throughput bool) quantity {
	return quantity{name: "metric", unit: strings.TrimPrefix(m.Unit, "samples"), better: "up", throughput: throughput, of: func(r *report.Results) float64 {
		if r.Metric == nil || r.Metric.Unit != m.Unit {
			return math.NaN()
		}
		return r.Metric.Value
	}}
}

func latencies(prefix string, own bool, of func(*report.Performance) *report.Latencies) []quantity {
	var list []quantity
	for _, l := range []struct {
		name     string
		fraction float64
		value    func(*report.Latencies) int64
	}{
		{"mean", 0, func(l *report.Latencies) int64 { return l.Mean }}, {"p50", 0.5, func(l *report.Latencies) int64 { return l.P50 }},
		{"p90", 0.9, func(l *report.Latencies) int64 { return l.P90 }}, {"p95", 0.95, func(l *report.Latencies) int64 { return l.P95 }},
		{"p97", 0.97, func(l *report.Latencies) int64 { return l.P97 }}, {"p99", 0.99, func(l *report.Latencies) int64 { return l.P99 }},
		{"p99.9", 0.999, func(l *report.Latencies) int64 { return l.P999 }},
	} {
		list = append(list, quantity{name: prefix + l.name, unit: "ns", better: "down", fraction: l.fraction, latency: own, of: func(r *report.Results) float64 {
			if r.Performance == nil {
				return math.NaN()
			}
			if stats := of(r.Performance); stats != nil {
				return float64(l.value(stats))
			}
			return math.NaN()
		}})
	}
	return list
}
