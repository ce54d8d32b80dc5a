package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Pattern is a run of a model under one traffic pattern.
type Pattern struct {
	Scenario string   `json:"scenario"`
	Folder   string   `json:"folder,omitempty"` // of the run
	Error    string   `json:"error,omitempty"`  // why there are no results
	Results  *Results `json:"results,omitempty"`
}

// Note is the first thing to know of the run, while others go on; empty: it measured nothing.
func (p Pattern) Note() string {
	if p.Results == nil || p.Results.Performance == nil {
		return ""
	}
	latency := p.Results.Performance.queryLatency()
	if latency == nil {
		return ""
	}
	return fmt.Sprintf("%s: %s, p50 %s, p99 %s, %s samples/s", p.Scenario, p.Results.Verdict(), nanoseconds(latency.P50), nanoseconds(latency.P99),
		units.Number(p.Results.Performance.SamplesPerSecond))
}

// Patterns prints a model under several traffic patterns: a row for each with its latencies, throughput and what limits it, and the
// limitations that all have.
func Patterns(w io.Writer, runs []Pattern) error {
	var b strings.Builder
	t := tables.New("scenario", "p50", "p90", "p99", "samples/s", "result", "what limits")
	var first *Results
	for _, one := range runs {
		r := one.Results
		if r == nil || r.Performance == nil {
			t.Row(one.Scenario, "", "", "", "", "failed", one.Error)
			continue
		}
		if first == nil {
			first = r
		}
		p := r.Performance
		latency, row := cmp.Or(p.queryLatency(), &Latencies{}), []any{r.ScenarioName()}
		for _, ns := range []int64{latency.P50, latency.P90, latency.P99} {
			row = append(row, nanoseconds(ns))
		}
		t.Row(append(row, units.Number(p.SamplesPerSecond), r.Verdict(), r.Limit())...)
	}
	if first != nil {
		system := orDash(first.Backend.Engine) + ", " + orDash(deviceNames(first))
		if first.Input.Precision != "" {
			system += ", " + first.Input.Precision
		}
		fmt.Fprintf(&b, "%s on %s\n", first.Model, system)
	}
	b.WriteString(indent(t.Text(inner(tables.Width(w)))))
	for _, r := range runs {
		if r.Results != nil && r.Scenario == loadgen.Offline.String() {
			b.WriteString("  Offline: latencies count from the start, where all samples arrive at once\n")
		}
	}
	for _, r := range runs {
		if r.Results != nil && r.Results.SLO != nil {
			fmt.Fprintf(&b, "  %s: %s\n", r.Scenario, strings.Join(sloLines(r.Results.SLO), "; "))
		}
	}
	for _, r := range runs {
		if r.Folder != "" {
			fmt.Fprintf(&b, "%s: %s\n", r.Scenario, r.Folder)
		}
	}
	if first != nil {
		shared := slices.DeleteFunc(slices.Clone(first.Limitations), func(l limitation.Limitation) bool {
			return slices.ContainsFunc(runs, func(one Pattern) bool {
				return one.Results != nil && one.Results.Performance != nil && !slices.Contains(one.Results.Limitations, l)
			})
		})
		list(&b, "Limitations", shared.Sentences())
	}
	return say(w, b.String())
}

// queryLatency is the latency of queries if they have several samples, else of samples; nil: there is none.
func (p *Performance) queryLatency() *Latencies { return cmp.Or(p.QueryLatencyNS, p.LatencyNS) }

// constraint returns the constraint of an ID, if the run has it.
func (r *Results) constraint(id loadgen.ConstraintID) (c Constraint, there bool) {
	i := slices.IndexFunc(r.Constraints, func(c Constraint) bool { return c.ID == id })
	if i < 0 {
		return c, false
	}
	return r.Constraints[i], true
}

// BelowOneSample reports whether the latency bound is below the time of one sample, as measured before the test: no rate can keep it.
func (r *Results) BelowOneSample() bool {
	bound, there := r.constraint(loadgen.ConstraintLatency)
	return there && !bound.Met && bound.Required.Value < float64(r.Backend.WarmUp.LatencyNS)
}

// Limit says in a few words what limits the throughput or the latency of a run of performance.
func (r *Results) Limit() string {
	p := r.Performance
	if p == nil || len(r.Workers) == 0 || p.DurationNS == 0 {
		return ""
	}
	busy, batches, samples := 0.0, int64(0), int64(0)
	for _, w := range r.Workers {
		busy, batches, samples = busy+w.Busy, batches+w.Batches, samples+w.Samples
	}
	share := 100 * busy / float64(len(r.Workers)) / (float64(p.DurationNS) / 1e9)
	mean := float64(samples) / float64(max(batches, 1))
	text := fmt.Sprintf("%s × %s, %.0f %% busy", units.Count(len(r.Workers), "worker"), units.Count(max(r.Backend.Threads, 1), "thread"),
		min(share, 100))
	if mean > 1.05 {
		text += ", batches of " + units.Number(mean)
	}
	below := r.BelowOneSample()
	if few, there := r.constraint(loadgen.ConstraintEarlyStopping); there && !below && !few.Met && few.Observed != nil &&
		few.Observed.Value < few.Required.Value {
		text += fmt.Sprintf("; too few queries for a verdict: %.0f of %.0f", few.Observed.Value, few.Required.Value)
	}
	generator, scheduled := r.constraint(loadgen.ConstraintGenerator)
	bound, bounded := r.constraint(loadgen.ConstraintLatency)
	switch {
	case scheduled && !generator.Met:
		return "the load generator, which was late (" + text + ")"
	case below:
		return fmt.Sprintf("the latency bound of %s: one sample alone takes %s (%s)", strings.TrimPrefix(bound.RequiredText(), "≤ "),
			nanoseconds(r.Backend.WarmUp.LatencyNS), text)
	case bounded && bound.Met && share < 90 && r.Scenario == loadgen.Server.String():
		if r.Calibration != nil {
			return "the rate chosen to keep the bound of " + strings.TrimPrefix(bound.RequiredText(), "≤ ") + " (" + text + ")"
		}
		return "the rate that was given (" + text + ")"
	case bounded && share < 90:
		return fmt.Sprintf("the latency bound of %s (%s)", strings.TrimPrefix(bound.RequiredText(), "≤ "), text)
	case share >= 90 || r.Scenario == loadgen.Offline.String():
		return "the model (" + text + ")"
	}
	return "one query at a time (" + text + ")"
}
