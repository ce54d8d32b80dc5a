package page

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/units"
)

// percentiles are those of the deciding latency, with intervals where they are known.
func percentiles(r *report.Results, c *charts.Charts) []pair {
	if r.Performance == nil || r.Scenario == "Offline" {
		return nil
	}
	l := cmp.Or(r.Performance.QueryLatencyNS, r.Performance.LatencyNS)
	if l == nil {
		return nil
	}
	notes, target := intervals(c), ""
	if r.Test != nil {
		target = units.Percentile(r.Test.TargetLatencyPercentile)
	}
	var list []pair
	for _, v := range []struct {
		name  string
		value int64
	}{{"min", l.Min}, {"mean", l.Mean}, {"p50", l.P50}, {"p90", l.P90}, {"p95", l.P95}, {"p97", l.P97}, {"p99", l.P99}, {"p99.9", l.P999},
		{"max", l.Max}} {
		row := pair{Name: v.name, Value: units.Text(float64(v.value), "ns"), Note: notes[v.name], Key: v.name == target}
		if row.Key {
			row.Note = joined([]string{"decides", row.Note}, ", ")
		}
		list = append(list, row)
	}
	return list
}

// intervals are those of the percentiles that are known to lie within some, by name.
func intervals(c *charts.Charts) map[string]string {
	if c == nil {
		return nil
	}
	of := map[string]string{}
	for _, p := range c.Percentiles {
		of[units.Percentile(p.Percentile)] = interval(p)
	}
	return of
}

func interval(p charts.Percentile) string {
	if p.UpperNS == 0 {
		return "too short a run for an interval"
	}
	return fmt.Sprintf("%s to %s", units.Text(float64(p.LowerNS), "ns"), units.Text(float64(p.UpperNS), "ns"))
}

// system says what answered.
func system(r *report.Results) []pair {
	s, b := r.System, r.Backend
	var phases []string
	for _, p := range r.Phases {
		phases = append(phases, p.Name+" "+units.Text(p.Seconds, "s"))
	}
	priority := ""
	if r.Performance != nil {
		priority = r.Performance.IssuePriority
	}
	energy := ""
	if r.Energy != nil {
		energy = r.Energy.String()
	}
	here := []pair{
		{Name: "host", Value: r.Host}, {Name: "processor", Value: processor(s)}, {Name: "memory", Value: memory(s)},
		{Name: "system", Value: joined([]string{field(s, "os"), field(s, "kernel")}, ", ")},
		{Name: "engine", Value: b.Engine}, {Name: "device", Value: devices(b)}, {Name: "workers", Value: workers(b)},
	}
	if servers := r.Servers(); len(servers) > 0 { // what this machine has says nothing of them
		here = []pair{{Name: "servers", Value: strings.Join(servers, ", ")}, {Name: "asked for", Value: r.ServedModel()},
			{Name: "asked by", Value: r.Host}, {Name: "protocol", Value: b.Engine}}
		if s := r.Speculation; s != nil {
			here = append(here, pair{Name: "speculative decoding", Value: s.String()})
		}
		for _, m := range r.ServerMetrics {
			here = append(here, pair{Name: m.Name, Value: m.String()})
		}
	}
	var list []pair
	for _, v := range append(here, []pair{
		{Name: "model", Value: joined([]string{r.Input.ModelPath, shortSum(r.Input.ModelSHA256)}, ", ")},
		{Name: "data", Value: r.Input.DatasetPath}, {Name: "priority", Value: priority},
		{Name: "pre-processing", Value: preparation(r.Preparation)}, {Name: "work", Value: work(r.Operations)},
		{Name: "energy", Value: energy}, {Name: "time", Value: strings.Join(phases, ", ")}, {Name: "program", Value: r.Program},
	}...) {
		if v.Value != "" {
			list = append(list, v)
		}
	}
	return list
}

// work is what the model computes, and how much of it the run did.
func work(o *report.Operations) string {
	if o == nil {
		return ""
	}
	return o.String()
}

func preparation(p *report.Preparation) string {
	if p == nil {
		return ""
	}
	return p.String()
}

func processor(system any) string {
	text := field(system, "cpu", "model")
	if n := number(system, "cpu", "cores"); n > 0 {
		text += ", " + units.Count(n, "core")
	}
	return text
}

func memory(system any) string {
	n := number(system, "memory", "total_bytes")
	if !(n > 0) {
		return ""
	}
	return units.Memory(uint64(n))
}

func workers(b report.Backend) string {
	if b.Instances <= 0 {
		return ""
	}
	return fmt.Sprintf("%d × %s, batches of up to %d, delay %s", b.Instances, units.Count(b.Threads, "thread"), b.MaxBatch, b.Delay())
}

// devices are those that ran something, with how much of the graph.
func devices(b report.Backend) string {
	var list []string
	for name, nodes := range b.Devices {
		if nodes >= 0 {
			name += fmt.Sprintf(" (%s)", units.Count(nodes, "node"))
		}
		list = append(list, name)
	}
	return sorted(list)
}

func shortSum(sum string) string {
	if sum == "" {
		return ""
	}
	return "sha256 " + sum[:min(len(sum), 16)]
}

// field is a text in the description of the machine; empty if there is none.
func field(system any, path ...string) string {
	for _, name := range path {
		m, ok := system.(map[string]any)
		if !ok {
			return ""
		}
		system = m[name]
	}
	switch v := system.(type) {
	case string:
		return v
	case float64:
		return units.Text(v, "")
	}
	return ""
}

// number is one in the description of the machine; 0 if there is none.
func number(system any, path ...string) float64 {
	for _, name := range path {
		m, _ := system.(map[string]any)
		system = m[name]
	}
	v, _ := system.(float64)
	return v
}
