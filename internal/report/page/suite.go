package page

import (
	"io"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/figures"
)

// A Suite is the outcome of a suite as its page shows it.
type Suite struct {
	Title, Sub           string
	Rows                 []SuiteRow
	Left                 string // what was not run yet; empty: nothing
	Limitations, Missing []string
}

// A SuiteRow is a benchmark in a scenario: its speed and its accuracy.
type SuiteRow struct {
	Benchmark, Scenario, Result, Score, Bound, Accuracy, Target, Time string
	// Page and AccuracyPage are those of the runs, relative to that of the suite; empty: there are none.
	Page, AccuracyPage string
	Reasons            []string // for what is not VALID, or not known
	Missed             bool     // the target of the accuracy
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
}

// WriteSuite writes the page of a suite: its table, with links to the pages of its runs, and charts of the lines, which are
// those runs.
func WriteSuite(w io.Writer, s Suite, lines []report.Line, program string) error {
	shell, err := newShell(figures.Many(lines), program)
	if err != nil {
		return err
	}
	return render(w, "suite.html", suitePage{shell, s})
}
