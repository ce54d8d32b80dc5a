package compare

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/mlperf-go/mlperf/internal/report"
)

// Text prints comparisons for a terminal: differences first, then the metrics.
func Text(w io.Writer, list []Comparison) error { return render(w, list, table.Writer.Render, "") }

// Markdown prints comparisons for a review.
func Markdown(w io.Writer, list []Comparison) error {
	return render(w, list, table.Writer.RenderMarkdown, "### ")
}

func render(w io.Writer, list []Comparison, draw func(table.Writer) string, head string) error {
	var b strings.Builder
	for i, c := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s%s: %s against %s\n", head, c.Title(), report.Counted(strconv.Itoa(len(c.New)), "run"), report.Counted(strconv.Itoa(len(c.Base)), "run"))
		if headline := c.Headline(); headline != "" {
			b.WriteString(headline + "\n")
		}
		if len(c.Unlike()) > 0 {
			b.WriteString("\nDIFFERENT TESTS OR MACHINES (!):\n")
		} else if len(c.Differences) > 0 {
			b.WriteString("\nOther differences:\n")
		}
		if len(c.Differences) > 0 {
			b.WriteString("\n" + draw(differencesTable(c.Differences)) + "\n")
		}
		b.WriteString("\n" + draw(metricsTable(c.Shown())) + "\n\n")
		for _, n := range c.Notes {
			b.WriteString(n + "\n")
		}
		fence := ""
		if head != "" {
			fence = "```\n"
		}
		for _, cmd := range c.Commands {
			fmt.Fprintf(&b, "To be sure, repeat both in turns:\n%s%s\n%s", fence, cmd, fence)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newTable(header table.Row) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options.DrawBorder = false
	t.AppendHeader(header)
	return t
}

func differencesTable(list []Difference) table.Writer {
	t := newTable(table.Row{"", "base", "new"})
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, WidthMax: 60}, {Number: 3, WidthMax: 60}})
	for _, d := range list {
		key := d.Key
		if d.Unlike {
			key = "! " + key
		}
		t.AppendRow(table.Row{key, d.Base, d.New})
	}
	return t
}

func metricsTable(list []Metric) table.Writer {
	t := newTable(table.Row{"metric", "base", "new", "change", "95 % interval", "how"})
	for _, m := range list {
		base, new := m.Values()
		t.AppendRow(table.Row{m.Name, base, new, m.Verdict(), m.Range(), m.how()})
	}
	return t
}

// Range writes the interval of the change.
func (m Metric) Range() string {
	if m.Interval == nil {
		return "–"
	}
	return m.Text(m.Interval.Lower) + " to " + m.Text(m.Interval.Upper)
}

func (m Metric) how() string {
	if m.Needed > 0 {
		return fmt.Sprintf("%s; %d repeats would show %s", m.Method, m.Needed, m.Text(m.Change))
	}
	return m.Method
}

// CSV writes the metrics of all comparisons, exactly.
func CSV(w io.Writer, list []Comparison) error {
	records := [][]string{{"model", "scenario", "mode", "metric", "unit", "base", "new", "change", "lower", "upper", "differs", "decides", "repeats", "repeats_needed", "method", "unlike"}}
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, x := range list {
		for _, m := range x.Metrics {
			lower, upper := "", ""
			if m.Interval != nil {
				lower, upper = exact(m.Interval.Lower), exact(m.Interval.Upper)
			}
			records = append(records, []string{
				x.Model, x.Scenario, x.Mode, m.Name, m.Unit, exact(m.Base), exact(m.New), exact(m.Change), lower, upper, strconv.FormatBool(m.Differs()),
				strconv.FormatBool(m.Decides), strconv.Itoa(m.Repeats), strconv.Itoa(m.Needed), m.Method, strconv.Itoa(len(x.Unlike())),
			})
		}
	}
	return report.WriteCSV(w, records)
}
