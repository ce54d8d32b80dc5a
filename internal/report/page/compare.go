package page

import (
	"fmt"
	"io"
	"math"

	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/report/compare"
	"github.com/mlperf-go/mlperf/internal/report/figures"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A comparison is one benchmark of the page.
type comparison struct {
	C     compare.Comparison
	Runs  string
	Scale string // how far the bars reach
	Rows  []change
}

// A change is a row: a metric, and its interval as a bar around the middle.
type change struct {
	Name, Base, New, Verdict, Range, How, Tone string
	Drawn                                      bool
	From, Width                                int // of 1000
}

type comparePage struct {
	shell
	Title string
	List  []comparison
}

// Compare writes a page about comparisons.
func Compare(w io.Writer, list []compare.Comparison, program string) error {
	var drawn []figures.Figure
	for i, c := range list {
		if f, ok := figures.Compared(fmt.Sprintf("latency-%d", i), c.Title()+": latency, base and new", chartsOf(c.Base), chartsOf(c.New)); ok {
			drawn = append(drawn, f)
		}
	}
	s, err := newShell(drawn, program)
	if err != nil {
		return err
	}
	p := comparePage{shell: s, Title: "Comparison"}
	if len(list) == 1 {
		p.Title = list[0].Model + " " + list[0].Scenario + ": comparison"
	}
	for _, c := range list {
		p.List = append(p.List, newComparison(c))
	}
	return render(w, "compare.html", p)
}

// chartsOf are the charts of the runs in folders. Those of foreign logs have none, and the page does without those that cannot
// be read.
func chartsOf(folders []string) (list []*charts.Charts) {
	for _, folder := range folders {
		if c, err := charts.Read(folder); err == nil {
			list = append(list, c)
		}
	}
	return list
}

func newComparison(c compare.Comparison) comparison {
	reach := reachOf(c)
	out := comparison{
		C: c, Scale: "±" + units.Text(100*reach, "%"), Runs: fmt.Sprintf("%d new against %d of the base", len(c.New), len(c.Base)),
	}
	for _, m := range c.Shown() {
		base, new := m.Values()
		row := change{Name: m.Name, Base: base, New: new, Verdict: m.Verdict(), Range: m.Range(), How: m.Method, Tone: m.Tone()}
		if m.Needed > 0 {
			row.How += fmt.Sprintf("; %d would show %s", m.Needed, m.Text(m.Change))
		}
		if m.Interval != nil && !m.Points {
			row.Drawn = true
			from, to := place(m.Interval.Lower/reach), place(m.Interval.Upper/reach)
			row.From, row.Width = from, max(to-from, 4)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// reachOf is how great a change the bars have room for.
func reachOf(c compare.Comparison) float64 {
	reach := 0.01
	for _, m := range c.Metrics {
		if m.Interval != nil && !m.Points {
			reach = max(reach, math.Abs(m.Interval.Lower), math.Abs(m.Interval.Upper))
		}
	}
	return min(reach, 1) // beyond, bars are cut off
}

// place is a share from -1 to 1 on a bar of 1000.
func place(share float64) int { return int(500 + 500*min(max(share, -1), 1)) }
