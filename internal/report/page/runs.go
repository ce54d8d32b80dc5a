package page

import (
	"fmt"
	"io"
	"maps"
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
	Width             int // of a bar, of 1000
}

// A sortable is a table that sorts by a click.
type sortable struct {
	Heads []pair // Key: numbers
	Rows  [][]cell
}

type runsPage struct {
	shell
	Title, Sub     string
	Outcome        string // in a sentence; empty: none
	Filters        []filter
	Groups         []group
	Shared, Others []string // limitations of all runs, and of some
}

// A filter shows the rows that have a value.
type filter struct {
	Name   string
	Values []string
}

// A group has the runs of a model in a scenario, which one metric compares.
type group struct {
	Title, Metric string
	Heads         []pair
	Rows          []row
}

// A row is a run.
type row struct {
	Filter []string // its values, in the order of the filters
	Cells  []cell
}

// filters are the fields by which rows are shown, of which the page has those that differ.
var filters = []struct {
	name string
	of   func(report.Line) string
}{
	{"model", func(l report.Line) string { return l.Model }}, {"scenario", func(l report.Line) string { return l.Scenario }},
	{"result", func(l report.Line) string { return l.Result }}, {"precision", func(l report.Line) string { return l.Precision }},
	{"device", func(l report.Line) string { return l.Device }},
}

// Runs writes a page about many runs: a table of each model and scenario, with their metric, and speed against accuracy. Limitations
// of all runs are listed once, the others are numbers in the rows.
func Runs(w io.Writer, lines []report.Line, runs []report.Run, program string) error {
	s, err := newShell(figures.Many(lines), program)
	if err != nil {
		return err
	}
	p := runsPage{shell: s, Title: fmt.Sprintf("%d runs", len(lines)), Sub: summary(lines)}
	var marks func(folders ...string) string
	p.Shared, p.Others, marks = limitations(runs)
	for i := range lines {
		lines[i].Marks = marks(lines[i].Folder)
	}
	lines, parent := inParent(lines)
	if parent != "" {
		p.Sub += " · below " + parent
	}
	p.Sub = joined(append([]string{p.Sub}, shared(lines)...), " · ")
	var shown []func(report.Line) string
	for _, f := range filters {
		values := map[string]bool{}
		for _, l := range lines {
			values[f.of(l)] = true
		}
		if delete(values, ""); len(values) > 1 {
			p.Filters, shown = append(p.Filters, filter{f.name, slices.Sorted(maps.Keys(values))}), append(shown, f.of)
		}
	}
	for _, of := range grouped(lines) {
		p.Groups = append(p.Groups, newGroup(of, lines, shown))
	}
	return render(w, "runs.html", p)
}

// grouped are the lines of each model and scenario, in their order.
func grouped(lines []report.Line) (groups [][]report.Line) {
	place := map[[2]string]int{}
	for _, l := range lines {
		key := [2]string{l.Model, l.Scenario}
		if _, known := place[key]; !known {
			place[key], groups = len(groups), append(groups, nil)
		}
		groups[place[key]] = append(groups[place[key]], l)
	}
	return groups
}

// newGroup makes the table of a model and scenario. All are the lines of the page.
func newGroup(lines, all []report.Line, filters []func(report.Line) string) group {
	g := group{Title: lines[0].Model + " " + lines[0].Scenario}
	most := 0.0
	for _, l := range lines {
		if l.Metric != nil && units.Finite(l.Metric.Value) {
			g.Metric, most = l.Metric.Name, max(most, l.Metric.Value)
		}
	}
	metric := column{"result of the scenario", true, false, func(l report.Line) cell {
		if l.Metric == nil {
			return none
		}
		c := numberCell(l.Metric.Value, l.Metric.Unit)
		if most > 0 && units.Finite(l.Metric.Value) {
			c.Width = int(1000 * max(l.Metric.Value, 0) / most)
		}
		return c
	}}
	list := used(lines, all, metric)
	for _, c := range list {
		g.Heads = append(g.Heads, pair{Name: c.head, Key: c.number})
	}
	for _, l := range lines {
		var r row
		for _, of := range filters {
			r.Filter = append(r.Filter, of(l))
		}
		for _, c := range list {
			r.Cells = append(r.Cells, c.of(l))
		}
		g.Rows = append(g.Rows, r)
	}
	return g
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

// limitations are those that all runs have, those that some have, and the numbers of the latter that the runs in some folders have.
func limitations(runs []report.Run) (shared, others []string, marks func(folders ...string) string) {
	count := map[string]int{}
	var order []string
	for _, r := range runs {
		for _, s := range r.Results.Limitations.Sentences() {
			if count[s]++; count[s] == 1 {
				order = append(order, s)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return count[b] - count[a] })
	number := map[string]int{}
	for _, s := range order {
		if count[s] == len(runs) {
			shared = append(shared, s)
			continue
		}
		others = append(others, fmt.Sprintf("%s (%d of %d)", s, count[s], len(runs)))
		number[s] = len(others)
	}
	numbers := map[string][]int{}
	for _, r := range runs {
		for _, s := range r.Results.Limitations.Sentences() {
			if n := number[s]; n > 0 {
				numbers[r.Folder] = append(numbers[r.Folder], n)
			}
		}
	}
	return shared, others, func(folders ...string) string {
		var all []int
		for _, folder := range folders {
			all = append(all, numbers[folder]...)
		}
		slices.Sort(all)
		var texts []string
		for _, n := range slices.Compact(all) {
			texts = append(texts, strconv.Itoa(n))
		}
		return strings.Join(texts, ", ")
	}
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

// columns are those beside the metric.
var columns = []column{
	{"result", false, false, func(l report.Line) cell {
		class := map[string]string{report.Valid: "y"}[l.Result]
		if class == "" {
			class = "n"
		}
		return cell{Text: l.Result, Class: class, Link: l.Page}
	}},
	{"SLO", false, false, func(l report.Line) cell {
		switch {
		case l.SLO == nil:
			return cell{}
		case l.SLO.Met:
			return cell{Text: "met: " + l.SLO.Bounds, Class: "y"}
		}
		return cell{Text: "MISSED: " + l.SLO.Bounds, Class: "n"}
	}},
	{"goodput", true, false, func(l report.Line) cell {
		if l.SLO == nil {
			return none
		}
		return numberCell(l.SLO.GoodPerSecond, "/s")
	}},
	text("why", func(l report.Line) string { return l.Reason }),
	once("mode", func(l report.Line) string { return l.Mode }),
	{"accuracy", true, false, func(l report.Line) cell {
		if l.Accuracy == nil {
			return none
		}
		c := cell{Text: units.With(units.Score(l.Accuracy.Value), l.Accuracy.Unit), Sort: strconv.FormatFloat(l.Accuracy.Value, 'g', -1, 64), Number: true}
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
	onceNumber("batch", func(l report.Line) float64 { return float64(l.Batch) }),
	onceNumber("workers", func(l report.Line) float64 { return float64(l.Concurrency) }),
	numbers("samples/s per dollar", "", func(l report.Line) float64 { return l.PerDollar }),
	numbers("energy per sample", "J", func(l report.Line) float64 { return l.JoulesPerSample }),
	once("engine", func(l report.Line) string { return l.Engine }),
	once("device", func(l report.Line) string { return l.Device }),
	text("limitations", func(l report.Line) string { return l.Marks }),
	text("folder", func(l report.Line) string { return l.Folder }),
}

// onceNumber is a number that says something where it differs from run to run.
func onceNumber(head string, of func(report.Line) float64) column {
	c := numbers(head, "", of)
	c.once = true
	return c
}

// used are the columns that tell something of a run of a group, with the metric behind the result and its reason. What all runs of the
// page, or a group of several, share has no column.
func used(lines, all []report.Line, metric column) (list []column) {
	for _, c := range columns {
		if !blank(c, lines) && (!c.once || !alike(c, all) && !(c.number && len(lines) > 1 && alike(c, lines))) {
			list = append(list, c)
		}
		if c.head == "why" && slices.ContainsFunc(lines, func(l report.Line) bool { return l.Metric != nil }) {
			list = append(list, metric)
		}
	}
	return list
}

// blank reports whether no run has a value of a column.
func blank(c column, lines []report.Line) bool {
	return !slices.ContainsFunc(lines, func(l report.Line) bool { t := c.of(l).Text; return t != "" && t != none.Text })
}

// alike reports whether several runs have the same value of a column.
func alike(c column, lines []report.Line) bool {
	return len(lines) > 1 && !slices.ContainsFunc(lines, func(l report.Line) bool { return c.of(l).Text != c.of(lines[0]).Text })
}

// shared are the texts that all of several runs have.
func shared(lines []report.Line) (list []string) {
	for _, c := range columns {
		if c.once && !c.number && alike(c, lines) && !blank(c, lines) {
			list = append(list, c.of(lines[0]).Text)
		}
	}
	return list
}
