package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Summary prints the outcome of a run: the result, whether it is valid, each
// constraint with what was required and observed, and what the numbers are not.
func Summary(w io.Writer, r *Results) error {
	var b strings.Builder
	headline(&b, r)
	if r.Metric != nil {
		fmt.Fprintf(&b, "  %s: %s\n", r.Metric.Name, number(*r.Metric))
	}
	if r.Accuracy != nil {
		b.WriteString(indent(strings.Join(accuracyLines(r.Accuracy), "\n")))
	}
	if len(r.Constraints) > 0 {
		b.WriteString(indent(constraintTable(r.Constraints, false)))
	}
	performanceLines(&b, r.Performance)
	generationLines(&b, r.Generation)
	if r.Energy != nil {
		fmt.Fprintf(&b, "  energy: %v\n", r.Energy)
	}
	if r.Peak != nil {
		b.WriteString(indent(strings.Join(peakLines(r.Peak), "\n")))
	}
	if len(r.Runs) > 0 {
		b.WriteString(indent(runTable(r.Runs)))
	}
	remarks(&b, r)
	return say(w, b.String())
}

// remarks are what is to be said about the run, by weight.
func remarks(b *strings.Builder, r *Results) {
	list(b, "Why it is not valid", r.Problems)
	list(b, "Warnings", r.warnings())
	list(b, "Caveats", r.Caveats)
	list(b, "Notes", r.Notes)
}

func headline(b *strings.Builder, r *Results) {
	model := r.Model
	if model == NotKnown {
		model = "a model that is not known,"
	}
	fmt.Fprintf(b, "%s %s, %s: %s on %s\n", model, r.ScenarioName(), r.Mode, r.Verdict(), system(r))
}

// ScenarioName is the scenario as users call it: Interactive, too.
func (r *Results) ScenarioName() string {
	if r.Interactive {
		return "Interactive"
	}
	return r.Scenario
}

// Verdict is the result in words. A run that is VALID and misses its accuracy target is not
// called so.
func (r *Results) Verdict() string {
	if r.Result == Valid && r.Accuracy.Below() {
		return BelowTarget
	}
	return r.Result
}

// system says what answered the queries: the engine, the devices and the precision.
func system(r *Results) string {
	if strings.HasPrefix(r.Backend.Engine, simulatedEngine) {
		return "a SIMULATED engine"
	}
	if r.Backend.Engine == NotKnown {
		return "a system that is not known"
	}
	parts := []string{orDash(r.Backend.Engine), orDash(deviceNames(r))}
	if r.Input.Precision != "" {
		parts = append(parts, r.Input.Precision)
	}
	return strings.Join(parts, ", ")
}

// say writes what people read. Documents and logs may be of anybody: nothing in them steers a terminal.
func say(w io.Writer, text string) error {
	_, err := io.WriteString(w, userinput.PrintableText(text))
	return err
}

// simulatedEngine is how the names of engines begin that compute nothing.
const simulatedEngine = "simulated"

// Score prints an accuracy: what the official script prints, and the target.
func Score(w io.Writer, a *Accuracy) error {
	return say(w, strings.Join(accuracyLines(a), "\n")+"\n")
}

func accuracyLines(a *Accuracy) []string {
	verdict := "reached"
	if !a.Met {
		verdict = "MISSED"
	}
	n := func(v float64) string { return strings.TrimSpace(fmt.Sprintf("%.6g %s", v, a.Unit)) }
	if a.NoTarget != "" {
		return append(slices.Clone(a.Lines), fmt.Sprintf("%s: %s, without a target: %s", a.Metric, n(a.Value), a.NoTarget))
	}
	target := fmt.Sprintf("%s: %s, target %s: %s (the FP32 reference has %s)", a.Metric, n(a.Value), n(a.Target), verdict, n(a.Reference))
	if a.Partial {
		target += fmt.Sprintf("; the log has %d samples only", a.Samples)
	}
	return append(slices.Clone(a.Lines), target)
}

// performanceLines say what was measured, if anything was.
func performanceLines(b *strings.Builder, p *Performance) {
	if p == nil {
		return
	}
	if p.QueryLatencyNS != nil {
		latencyLine(b, "query latency", p.QueryLatencyNS)
	} else {
		latencyLine(b, "latency", p.LatencyNS)
	}
	latencyLine(b, "time to first token", p.FirstTokenNS)
	latencyLine(b, "time per output token", p.TimePerOutputTokenNS)
	queries := "queries"
	if p.Queries == 1 {
		queries = "query"
	}
	fmt.Fprintf(b, "  %d %s, %s in %v", p.Queries, queries, Counted(fmt.Sprint(p.Samples), "sample"), shorten(p.DurationNS))
	if p.SamplesPerSecond > 0 {
		fmt.Fprintf(b, ", %s samples/s", digits(p.SamplesPerSecond))
	}
	b.WriteString("\n")
	delayLines(b, p)
}

// delayLines say how late queries were issued, and whose fault that was. Documents of the
// first form do not tell these apart.
func delayLines(b *strings.Builder, p *Performance) {
	own := p.GeneratorDelayNS
	if own == nil {
		own = p.IssueDelayNS
	}
	if own == nil {
		return
	}
	fmt.Fprintf(b, "  the generator (priority: %s) issued %v late at p50, %v at p99, %v at most; %s, %v paused\n",
		p.IssuePriority, shorten(own.P50), shorten(own.P99), shorten(own.Max), Counted(fmt.Sprint(p.GCCycles), "garbage collection"), shorten(p.GCPauseNS))
	if all := p.IssueDelayNS; all != nil && all.P99 > 2*own.P99 {
		fmt.Fprintf(b, "  with the time that the SUT was still inside IssueQuery: %v late at p50, %v at p99, %v at most\n",
			shorten(all.P50), shorten(all.P99), shorten(all.Max))
	}
}

// latencyLine says what latencies there were, if they were measured.
func latencyLine(b *strings.Builder, name string, l *Latencies) {
	if l == nil {
		return
	}
	fmt.Fprintf(b, "  %s: min %v, p50 %v, p90 %v, p99 %v, max %v\n",
		name, shorten(l.Min), shorten(l.P50), shorten(l.P90), shorten(l.P99), shorten(l.Max))
}

// peakLines say what the search for the highest load found.
func peakLines(p *Peak) []string {
	if p.Best == 0 {
		return []string{fmt.Sprintf("no load that was tried (%d) kept the bound", len(p.Steps))}
	}
	lines := []string{fmt.Sprintf("of %d loads that were tried, %s %s is the highest that kept the bound", len(p.Steps), digits(p.Best), p.Unit)}
	if p.UserConf != "" {
		for line := range strings.SplitSeq(p.UserConf, "\n") {
			lines = append(lines, "for user.conf: "+line)
		}
	}
	return lines
}

func shorten(ns int64) time.Duration { return loadgen.Round(time.Duration(ns)) }

// number formats a metric.
func number(m Metric) string { return strings.TrimSpace(digits(m.Value) + " " + m.Unit) }

// digits writes a number with five significant digits, or all of those before the point.
func digits(v float64) string {
	if math.Abs(v) >= 99999.5 { // which five digits would write as 1e+05
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.5g", v)
}

func constraintTable(constraints []Constraint, withOrigin bool) string {
	header := table.Row{"constraint", "required", "observed", "met"}
	if withOrigin {
		header = append(header, "set by")
	}
	t := newTable(header)
	for _, c := range constraints {
		name, required, observed, met := c.row()
		row := table.Row{name, required, observed, met}
		if withOrigin {
			row = append(row, c.Origin)
		}
		t.AppendRow(row)
	}
	return t.Render() + "\n"
}

func newTable(header table.Row) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options.DrawBorder = false
	t.AppendHeader(header)
	return t
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "NO"
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}

func list(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "%s:\n", title)
	for _, item := range items {
		fmt.Fprintf(b, "  - %s\n", item)
	}
}
