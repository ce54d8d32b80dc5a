package page

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/report/figures"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Sweep is runs at one load after the other.
type Sweep struct {
	Load    string   // what was varied
	Facts   []string // about the whole: servers, model, lengths, date, bounds; empty ones are left out
	Outcome string   // in a sentence; empty: none
	Search  bool     // for the highest rate: loads have names, and keep bounds
	Columns []string
	Points  []SweepPoint
	Figures []figures.Figure
}

// A SweepPoint is a run of a sweep. Cells are those of the columns; NaN: not known.
type SweepPoint struct {
	Load   float64
	Name   string // of the load
	Kept   string // yes, or why not; empty: it had no bounds
	Result string
	Page   string // of the run, relative to that of the sweep
	Cells  []float64
}

// WriteSweep writes the page of a sweep: a table that sorts, with links to the pages of the runs, and its figures.
func WriteSweep(w io.Writer, s Sweep, program string) error {
	shell, err := newShell(s.Figures, program)
	if err != nil {
		return err
	}
	p := runsPage{shell: shell, Title: fmt.Sprintf("Sweep of %d loads", len(s.Points)), Sub: joined(s.Facts, " · "), Outcome: s.Outcome}
	table := group{Title: "Runs", Heads: []pair{{Name: s.Load, Key: true}, {Name: "result"}}}
	if s.Search {
		p.Title = "From one request at a time to the highest rate"
		table.Heads = []pair{{Name: "load", Key: true}, {Name: "kept the bounds"}}
	}
	for _, c := range s.Columns {
		table.Heads = append(table.Heads, pair{Name: c, Key: true})
	}
	number := func(v float64) cell {
		return cell{Text: units.Text(v, ""), Sort: strconv.FormatFloat(v, 'g', -1, 64), Number: true}
	}
	for _, point := range s.Points {
		class, _ := tone(point.Result)
		cells := []cell{number(point.Load), {Text: point.Result, Class: cmp.Or(map[string]string{"": "y", "warn": "w"}[class], "n"), Link: point.Page}}
		if s.Search {
			cells[0].Text, cells[0].Link = point.Name, point.Page
			cells[1] = cell{Text: point.Kept, Class: map[bool]string{true: "y", false: "n"}[point.Kept == "yes"]}
		}
		for _, v := range point.Cells {
			c := number(v)
			if v != v {
				c.Sort = ""
			}
			cells = append(cells, c)
		}
		table.Rows = append(table.Rows, row{Cells: cells})
	}
	p.Groups = []group{table}
	return render(w, "runs.html", p)
}
