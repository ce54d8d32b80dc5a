package compare

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/units"
)

// Text prints comparisons for a terminal: differences first, then the metrics.
func Text(w io.Writer, list []Comparison) error {
	width := tables.Width(w)
	return render(w, list, width, func(t *tables.Table) string { return t.Text(width) }, "")
}

// Markdown prints comparisons for a review.
func Markdown(w io.Writer, list []Comparison) error {
	return render(w, list, 0, (*tables.Table).Markdown, "### ")
}

func render(w io.Writer, list []Comparison, width int, draw func(*tables.Table) string, head string) error {
	var b strings.Builder
	for i, c := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s%s: %s against %s\n", head, c.Title(), units.Count(len(c.New), "run"), units.Count(len(c.Base), "run"))
		if headline := c.Headline(); headline != "" {
			b.WriteString(headline + "\n")
		}
		unlike, differences := len(c.Unlike()) > 0, ""
		if len(c.Differences) > 0 {
			differences = "\n" + draw(differencesTable(c.Differences))
		}
		if unlike {
			b.WriteString("\nDIFFERENT TESTS OR MACHINES (!):\n" + differences)
		}
		b.WriteString("\n" + draw(metricsTable(c.Shown())))
		if !unlike && differences != "" {
			b.WriteString("\nOther differences:\n" + differences)
		}
		b.WriteString("\n")
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
	_, err := io.WriteString(w, tables.Wrap(b.String(), width))
	return err
}

func differencesTable(list []Difference) *tables.Table {
	t := tables.New("", "base", "new")
	t.Most = 60 // texts of files and machines have any length
	for _, d := range list {
		key := d.Key
		if d.Unlike {
			key = "! " + key
		}
		t.Row(key, d.Base, d.New)
	}
	return t
}

func metricsTable(list []Metric) *tables.Table {
	t := tables.New("metric", "base", "new", "change", "95 % interval", "how")
	for _, m := range list {
		base, new := m.Values()
		t.Row(m.Name, base, new, m.Verdict(), m.Range(), m.how())
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
	records := [][]string{{"model", "scenario", "mode", "metric", "unit", "base", "new", "change", "lower", "upper", "differs", "decides",
		"repeats", "repeats_needed", "method", "unlike"}}
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
