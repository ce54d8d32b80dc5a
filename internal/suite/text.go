package suite

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Write prints the result screen: the scores against their targets, what speaks against them,
// and what is missing for a submission. Paint colours a verdict. Names and errors may be those of files from
// elsewhere: what cannot be printed of them is a number.
func (o *Outcome) Write(w io.Writer, paint func(verdict string) string) error {
	var b strings.Builder
	fmt.Fprintln(&b, userinput.PrintableLine(o.headline()))
	b.WriteString(o.table(paint))
	list(&b, "Why", o.reasons())
	var caveats []string
	for _, c := range o.Caveats {
		caveats = append(caveats, fmt.Sprintf("%s (%s)", c.Text, runs(c.Results)))
	}
	list(&b, "Caveats", caveats)
	list(&b, "Missing for a submission", o.Missing)
	if o.Left.Steps > 0 {
		fmt.Fprintf(&b, "Not run yet: %v\n", o.Left)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func runs(n int) string { return report.Counted(strconv.Itoa(n), "run") }

// verdictColumn is that of a table's row that is coloured.
const verdictColumn = 2

func (o *Outcome) table(paint func(string) string) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options.DrawBorder = false
	t.AppendHeader(table.Row{"benchmark", "scenario", "result", "score", "latency bound", "accuracy", "target", "time"})
	for _, s := range o.Scores {
		name := strings.TrimSpace(s.Model + " " + s.Precision)
		accuracy, target := accuracyCells(s)
		row := table.Row{name, s.Scenario, s.Result, metricCell(s.Metric), s.Bound, accuracy, target, timeCell(s.Seconds)}
		for i := range row {
			row[i] = userinput.PrintableLine(row[i].(string))
		}
		row[verdictColumn] = paint(row[verdictColumn].(string))
		t.AppendRow(row)
	}
	t.SuppressEmptyColumns()
	return "  " + strings.ReplaceAll(t.Render(), "\n", "\n  ") + "\n"
}

func metricCell(m *report.Metric) string {
	if m == nil {
		return ""
	}
	return fmt.Sprintf("%.5g %s", m.Value, m.Unit)
}

func timeCell(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return time.Duration(seconds * 1e9).Round(time.Second).String()
}

// accuracyCells are the accuracy and its target, which says whether it is reached.
func accuracyCells(s Score) (accuracy, target string) {
	a := s.Accuracy
	switch {
	case a == nil && (s.AccuracyError == notRun || s.AccuracyError == ""):
		return s.AccuracyError, ""
	case a == nil:
		return "not known", ""
	case a.NoTarget != "":
		return strings.TrimSpace(fmt.Sprintf("%.5g %s", a.Value, a.Unit)), "none"
	case a.Met:
		target = "reached"
	default:
		target = "MISSED"
	}
	return strings.TrimSpace(fmt.Sprintf("%.5g %s", a.Value, a.Unit)), fmt.Sprintf("%.5g %s", a.Target, target)
}

// reasons say of each score that is not VALID why, and why there is no accuracy.
func (o *Outcome) reasons() []string {
	var list []string
	for _, s := range o.Scores {
		if s.Why != "" && s.Result != report.Valid {
			list = append(list, fmt.Sprintf("%s is %s: %s", s.name(), s.Result, firstLine(s.Why)))
		}
		if s.AccuracyError == "" || s.AccuracyError == notRun {
			continue
		}
		// Scenarios share an accuracy run.
		if text := fmt.Sprintf("%s has no accuracy: %s", name(s.Model, s.Precision), firstLine(s.AccuracyError)); !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

func list(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "%s:\n", title)
	for _, item := range items {
		fmt.Fprintf(b, "  - %s\n", userinput.PrintableLine(item))
	}
}
