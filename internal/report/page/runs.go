package page

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/figures"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A cell of the table of runs. Numbers sort by Sort; empty sorts last.
type cell struct {
	Text, Sort, Class string
	Number            bool
	Link              string
}

// A sortable is a table that sorts by a click.
type sortable struct {
	Heads []pair // Key: numbers
	Rows  [][]cell
}

type runsPage struct {
	shell
	Title, Sub  string
	Limitations []string
	Table       sortable
}

// Runs writes a page about many runs: a table that sorts, and speed against accuracy. Limitations
// are those of all runs, each once, with how many have it.
func Runs(w io.Writer, lines []report.Line, runs []report.Run, program string) error {
	s, err := newShell(figures.Many(lines), program)
	if err != nil {
		return err
	}
	p := runsPage{shell: s, Title: fmt.Sprintf("%d runs", len(lines)), Sub: summary(lines), Limitations: limitations(runs)}
	lines, parent := inParent(lines)
	if parent != "" {
		p.Sub += " · below " + parent
	}
	columns, shared := used(lines)
	p.Sub = joined(append([]string{p.Sub}, shared...), " · ")
	for _, c := range columns {
		p.Table.Heads = append(p.Table.Heads, pair{Name: c.head, Key: c.number})
	}
	for _, l := range lines {
		var row []cell
		for _, c := range columns {
			row = append(row, c.of(l))
		}
		p.Table.Rows = append(p.Table.Rows, row)
	}
	return render(w, "runs.html", p)
}

// inParent shortens the folders of several runs to what is below the folder that they share, if that has a name.
func inParent(lines []report.Line) (shortened []report.Line, parent string) {
	if len(lines) < 2 {
		return lines, ""
	}
	parent = filepath.Dir(lines[0].Folder)
	for _, l := range lines {
		for !strings.HasPrefix(l.Folder, parent+string(filepath.Separator)) {
			if parent == filepath.Dir(parent) {
				return lines, ""
			}
			parent = filepath.Dir(parent)
		}
	}
	for _, l := range lines {
		l.Folder = strings.TrimPrefix(l.Folder, parent+string(filepath.Separator))
		shortened = append(shortened, l)
	}
	return shortened, parent
}

// summary counts verdicts.
func summary(lines []report.Line) string {
	counts := map[string]int{}
	var order []string
	for _, l := range lines {
		if counts[l.Result] == 0 {
			order = append(order, l.Result)
		}
		counts[l.Result]++
	}
	slices.Sort(order)
	var parts []string
	for _, v := range order {
		parts = append(parts, fmt.Sprintf("%d %s", counts[v], v))
	}
	return joined(parts, " · ")
}

func limitations(runs []report.Run) []string {
	var all []*report.Results
	for _, r := range runs {
		all = append(all, r.Results)
	}
	return report.CountLimitations(all...).Sentences(func(sentence string, n int) string {
		if n < len(runs) {
			sentence += fmt.Sprintf(" (%d of %d)", n, len(runs))
		}
		return sentence
	})
}

// A column of the table of runs.
type column struct {
	head   string
	number bool
	once   bool // a value that all runs share is said once, above the table
	of     func(report.Line) cell
}

func text(head string, of func(report.Line) string) column {
	return column{head, false, false, func(l report.Line) cell { return cell{Text: of(l)} }}
}

func once(head string, of func(report.Line) string) column {
	c := text(head, of)
	c.once = true
	return c
}

// numbers shows nothing for 0, which is what was not measured.
func numbers(head, unit string, of func(report.Line) float64) column {
	return column{head, true, false, func(l report.Line) cell {
		if v := of(l); v != 0 {
			return numberCell(v, unit)
		}
		return none
	}}
}

// none is the cell of a number that was not measured.
var none = cell{Text: "–", Number: true}

func numberCell(v float64, unit string) cell {
	return cell{Text: units.Text(v, unit), Sort: strconv.FormatFloat(v, 'g', -1, 64), Number: true}
}

var columns = []column{
	text("model", func(l report.Line) string { return l.Model }),
	once("scenario", func(l report.Line) string { return l.Scenario }),
	once("mode", func(l report.Line) string { return l.Mode }),
	{"result", false, false, func(l report.Line) cell {
		class := map[string]string{report.Valid: "y"}[l.Result]
		if class == "" {
			class = "n"
		}
		return cell{Text: l.Result, Class: class}
	}},
	numbers("samples/s", "", func(l report.Line) float64 { return l.SamplesPerSecond }),
	numbers("p95 latency", "ns", func(l report.Line) float64 { return l.LatencyP95MS * 1e6 }),
	{"accuracy", true, false, func(l report.Line) cell {
		if l.Accuracy == nil {
			return none
		}
		c := numberCell(l.Accuracy.Value, l.Accuracy.Unit)
		if !l.Accuracy.Met {
			c.Class = "n"
		}
		return c
	}},
	{"Top-5", true, false, func(l report.Line) cell {
		if l.Accuracy == nil || l.Accuracy.Top5 == nil {
			return none
		}
		return numberCell(*l.Accuracy.Top5, "%")
	}},
	once("precision", func(l report.Line) string { return l.Precision }),
	numbers("batch", "", func(l report.Line) float64 { return float64(l.Batch) }),
	numbers("concurrency", "", func(l report.Line) float64 { return float64(l.Concurrency) }),
	numbers("samples/s per dollar", "", func(l report.Line) float64 { return l.PerDollar }),
	numbers("energy per sample", "J", func(l report.Line) float64 { return l.JoulesPerSample }),
	once("engine", func(l report.Line) string { return l.Engine }),
	once("device", func(l report.Line) string { return l.Device }),
	text("folder", func(l report.Line) string { return l.Folder }),
}

// used are the columns that tell something of any run, and the values that several runs share.
func used(lines []report.Line) (list []column, shared []string) {
	if len(lines) == 0 {
		return nil, nil
	}
	for _, c := range columns {
		first := c.of(lines[0]).Text
		same := !slices.ContainsFunc(lines, func(l report.Line) bool { return c.of(l).Text != first })
		switch {
		case same && (first == "" || first == none.Text):
		case same && c.once && len(lines) > 1:
			shared = append(shared, first)
		default:
			list = append(list, c)
		}
	}
	return list, shared
}
