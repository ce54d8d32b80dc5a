package report

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/units"
)

// Servers are the addresses of the servers that answered; none: the model ran here.
func (r *Results) Servers() (list []string) {
	if r.Generation != nil {
		for _, s := range r.Generation.Servers {
			list = append(list, s.URL)
		}
	}
	if r.Remote != nil {
		for _, e := range r.Remote.Endpoints {
			list = append(list, e.URL)
		}
	}
	return list
}

// ServedModel is the model as the servers call it, or else the benchmark.
func (r *Results) ServedModel() string {
	if name := r.Backend.Facts["endpoint_model"]; name != "" {
		return name
	}
	return r.Model
}

// Lengths says how long prompts and answers were, on average; empty: they are not known, or there are none.
func (r *Results) Lengths() string {
	g := r.Generation
	if g == nil || g.Answers == 0 {
		return ""
	}
	text := fmt.Sprintf("answers of %s", units.Text(float64(g.Tokens)/float64(g.Answers), "tokens"))
	if g.PromptTokens > 0 {
		text = fmt.Sprintf("prompts of %s, %s", units.Text(float64(g.PromptTokens)/float64(g.Answers), "tokens"), text)
	}
	return text + " on average"
}

// Bounds are the bounds of the run: its objectives, or those of the scenario; none: nothing is bounded.
func (r *Results) Bounds() (list []string) {
	if r.SLO != nil {
		for _, o := range r.SLO.Objectives {
			list = append(list, o.String())
		}
		return list
	}
	t := r.Test
	if t == nil || r.Scenario != "Server" {
		return nil
	}
	percentile := units.Percentile(t.TargetLatencyPercentile)
	for _, b := range []struct {
		of string
		at time.Duration
	}{{OfFirstToken, t.ServerTTFTLatency}, {OfPerToken, t.ServerTPOTLatency}} {
		if b.at > 0 {
			list = append(list, Objective{Of: b.of, Percentile: percentile, BoundNS: int64(b.at)}.String())
		}
	}
	if len(list) == 0 && t.TargetLatency > 0 {
		list = append(list, percentile+"<"+t.TargetLatency.String())
	}
	return list
}
