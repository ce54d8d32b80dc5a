package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
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
		accuracyLine(&b, r.Accuracy)
	}
	if len(r.Constraints) > 0 {
		b.WriteString(indent(constraintTable(r.Constraints, false)))
	}
	if p := r.Performance; p != nil {
		performanceLines(&b, p)
	}
	list(&b, "Why it is not valid", r.Problems)
	list(&b, "Warnings", r.Warnings)
	list(&b, "What this result is not", r.Marks)
	_, err := io.WriteString(w, b.String())
	return err
}

func headline(b *strings.Builder, r *Results) {
	fmt.Fprintf(b, "%s %s, %s: %s\n", r.Model, r.Scenario, r.Mode, r.Result)
}

// Score prints an accuracy: what the official script prints, and the target.
func Score(w io.Writer, a *Accuracy) error {
	var b strings.Builder
	accuracyLine(&b, a)
	_, err := io.WriteString(w, strings.ReplaceAll(b.String(), "\n  ", "\n")[2:])
	return err
}

func accuracyLine(b *strings.Builder, a *Accuracy) {
	verdict := "reached"
	if !a.Met {
		verdict = "MISSED"
	}
	for _, line := range a.Lines {
		fmt.Fprintf(b, "  %s\n", line)
	}
	fmt.Fprintf(b, "  %s: %.6g %s, target %.6g %s: %s (the FP32 reference has %.6g %s)\n",
		a.Metric, a.Value, a.Unit, a.Target, a.Unit, verdict, a.Reference, a.Unit)
}

func performanceLines(b *strings.Builder, p *Performance) {
	l := p.LatencyNS
	if p.QueryLatencyNS != nil {
		l = *p.QueryLatencyNS
	}
	d := func(ns int64) time.Duration { return round(time.Duration(ns)) }
	fmt.Fprintf(b, "  latency: min %v, p50 %v, p90 %v, p99 %v, max %v\n", d(l.Min), d(l.P50), d(l.P90), d(l.P99), d(l.Max))
	fmt.Fprintf(b, "  %d queries, %d samples in %v, %.5g samples/s\n", p.Queries, p.Samples, d(p.DurationNS), p.SamplesPerSecond)
	if p.IssueDelayNS != nil {
		i := p.IssueDelayNS
		fmt.Fprintf(b, "  the generator issued %v late at p50, %v at p99, %v at most; %d garbage collections, %v paused\n",
			d(i.P50), d(i.P99), d(i.Max), p.GCCycles, d(p.GCPauseNS))
	}
}

// number formats a metric to five significant digits.
func number(m Metric) string { return strings.TrimSpace(fmt.Sprintf("%.5g %s", m.Value, m.Unit)) }

func constraintTable(constraints []Constraint, withOrigin bool) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options.DrawBorder = false
	header := table.Row{"constraint", "required", "observed", "met"}
	if withOrigin {
		header = append(header, "set by")
	}
	t.AppendHeader(header)
	for _, c := range constraints {
		row := table.Row{c.Name, c.Required, c.Observed, yesNo(c.Met)}
		if withOrigin {
			row = append(row, c.Origin)
		}
		t.AppendRow(row)
	}
	return t.Render() + "\n"
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

// Explain prints everything that a run was judged by and with: each constraint with
// the file or flag that set it and what to do, the settings, and the system.
func Explain(w io.Writer, r *Results) error {
	var b strings.Builder
	headline(&b, r)
	fmt.Fprintf(&b, "rules %s, run by %s on %s\n\n", r.Rules, r.Program, r.Created.Format(time.RFC3339))
	if r.Metric != nil {
		fmt.Fprintf(&b, "The result of this scenario is the %s: %s.\n\n", r.Metric.Name, number(*r.Metric))
	}
	if len(r.Constraints) > 0 {
		b.WriteString(constraintTable(r.Constraints, true))
		b.WriteString("\n")
	}
	advice := []string{}
	for _, c := range r.Constraints {
		if !c.Met {
			advice = append(advice, c.Name+": "+c.Advice)
		}
	}
	list(&b, "What to do next", advice)
	if r.Accuracy != nil {
		accuracyLine(&b, r.Accuracy)
	}
	list(&b, "Why it is not valid", r.Problems)
	list(&b, "Warnings", r.Warnings)
	list(&b, "What this result is not", r.Marks)
	if c := r.Calibration; c != nil {
		fmt.Fprintf(&b, "The target was chosen by measuring: %s = %s, because %s.\n", c.Chosen.Name, number(c.Chosen), c.Reason)
	}
	b.WriteString("\n")
	b.WriteString(settingsTable(r.Settings))
	b.WriteString("\n")
	backendLines(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}

func settingsTable(settings []Setting) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options.DrawBorder = false
	t.AppendHeader(table.Row{"setting", "value", "set by"})
	for _, s := range settings {
		t.AppendRow(table.Row{s.Key, s.Value, s.Origin})
	}
	return t.Render() + "\n"
}

func backendLines(b *strings.Builder, r *Results) {
	fmt.Fprintf(b, "model    %s (sha256 %s)\n", r.Input.ModelPath, r.Input.ModelSHA256)
	for _, note := range r.Input.Binding {
		fmt.Fprintf(b, "         %s\n", note)
	}
	fmt.Fprintf(b, "data     %s, %d samples\n", r.Input.DatasetPath, r.Input.Samples)
	fmt.Fprintf(b, "engine   %s (%s)\n", r.Backend.Engine, r.Backend.Library)
	var devices []string
	for name, nodes := range r.Backend.Devices {
		if nodes >= 0 {
			name = fmt.Sprintf("%s (%d nodes)", name, nodes)
		}
		devices = append(devices, name)
	}
	slices.Sort(devices)
	fmt.Fprintf(b, "device   %s\n", strings.Join(devices, ", "))
	fmt.Fprintf(b, "workers  %d, batches of up to %d, delay %s\n", r.Backend.Instances, r.Backend.MaxBatch, r.Backend.MaxDelay)
	for _, phase := range r.Phases {
		fmt.Fprintf(b, "%-9s%.3f s\n", phase.Name, phase.Seconds)
	}
}
