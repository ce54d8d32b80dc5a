package report

import (
	"cmp"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"
)

// peakTable is the curve: every load in ascending order, with its latency.
func peakTable(p *Peak) string {
	t := newTable(table.Row{"load, " + p.Unit, "length", "latency", "kept the bound", "why not"})
	for _, s := range slices.SortedStableFunc(slices.Values(p.Steps), func(a, b PeakStep) int { return cmp.Compare(a.Load, b.Load) }) {
		length := "short"
		if s.Full {
			length = "full"
		}
		latency := ""
		if s.LatencyNS > 0 {
			latency = shorten(s.LatencyNS).String()
		}
		t.AppendRow(table.Row{digits(s.Load), length, latency, yesNo(s.Met), s.Reason})
	}
	return t.Render() + "\n"
}

// runTable lists the runs of which the lowest counts.
func runTable(runs []RunOutcome) string {
	t := newTable(table.Row{"run", "result", "metric"})
	for _, r := range runs {
		value := ""
		if r.Metric != nil {
			value = number(*r.Metric)
		}
		t.AppendRow(table.Row{r.Folder, r.Result, value})
	}
	return t.Render() + "\n"
}
