package page

import (
	"io"
	"slices"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/figures"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Suite is the outcome of a suite as its page shows it.
type Suite struct {
	Title, Sub string
	Rows       []SuiteRow
	Left       string // what was not run yet; empty: nothing
	Missing    []string
}

// A SuiteRow is a benchmark in a scenario: its speed and its accuracy.
type SuiteRow struct {
	Benchmark, Scenario, Result, Score, Bound, Accuracy, Target, Time string
	// Page and AccuracyPage are those of the runs, relative to that of the suite; empty: there are none.
	Page, AccuracyPage string
	Reasons            []string // for what is not VALID, or not known
	Missed             bool     // the target of the accuracy
	// Folder and AccuracyFolder are those of the runs, as they were found.
	Folder, AccuracyFolder string

	Energy, Marks string // WriteSuite fills them in: of a sample; numbers of the limitations of its runs
}

// Tone is the class of the result.
func (r SuiteRow) Tone() string {
	switch class, _ := tone(r.Result); {
	case class == "":
		return "y"
	case r.Result == report.Invalid:
		return "n"
	}
	return "w"
}

type suitePage struct {
	shell
	Suite
	System         string // what all runs share
	Energy         bool   // of some row
	Shared, Others []string
}

// WriteSuite writes the page of a suite: what it ran on, its table, with links to the pages of its runs and the limitations of those, and
// charts of the runs.
func WriteSuite(w io.Writer, s Suite, runs []report.Run, program string) error {
	shell, err := newShell(figures.Many(report.Lines(runs, nil, 0)), program)
	if err != nil {
		return err
	}
	p := suitePage{shell: shell, Suite: s, System: sharedSystem(runs)}
	var marks func(folders ...string) string
	p.Shared, p.Others, marks = limitations(runs)
	p.Rows = slices.Clone(s.Rows)
	for i := range p.Rows {
		row := &p.Rows[i]
		if i > 0 && row.Benchmark == s.Rows[i-1].Benchmark && slices.Equal(row.Reasons, s.Rows[i-1].Reasons) {
			row.Reasons = nil // the scenarios of a benchmark that share a reason say it once
		}
		row.Marks = marks(row.Folder, row.AccuracyFolder)
		for _, r := range runs {
			if r.Folder == row.Folder && r.Results.Energy != nil && r.Results.Energy.JoulesPerSample > 0 {
				row.Energy, p.Energy = units.Text(r.Results.Energy.JoulesPerSample, "J"), true
			}
		}
	}
	return render(w, "suite.html", p)
}

// sharedSystem is what all runs say of machine and engine.
func sharedSystem(runs []report.Run) string {
	var list []pair
	shown := []string{"host", "processor", "memory", "system", "engine", "device"}
	for i, r := range runs {
		of := slices.DeleteFunc(system(r.Results), func(p pair) bool { return !slices.Contains(shown, p.Name) })
		if i == 0 {
			list = of
		}
		list = slices.DeleteFunc(list, func(p pair) bool { return !slices.Contains(of, p) })
	}
	var values []string
	for _, p := range list {
		values = append(values, p.Value)
	}
	return joined(values, " · ")
}
