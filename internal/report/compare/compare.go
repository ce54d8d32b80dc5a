package compare

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
)

// A Run is one of those that are compared. Charts may be nil.
type Run struct {
	report.Run
	Charts *charts.Charts
}

// A Comparison is of all runs of one benchmark.
type Comparison struct {
	Model    string `json:"model"`
	Scenario string `json:"scenario"`
	Mode     string `json:"mode"`

	Base []string `json:"base"` // folders
	New  []string `json:"new"`
	// Differences are what else differs, the weightiest first.
	Differences []Difference `json:"differences"`
	Metrics     []Metric     `json:"metrics"`
	Notes       []string     `json:"notes,omitempty"`
	// Commands repeat the runs in turns, which is what it takes to be sure.
	Commands []string `json:"commands,omitempty"`
}

// Title names the benchmark.
func (c *Comparison) Title() string { return c.Model + " " + c.Scenario + ", " + c.Mode }

// Unlike are the differences that make a comparison one of different things.
func (c *Comparison) Unlike() []Difference {
	var list []Difference
	for _, d := range c.Differences {
		if d.Unlike {
			list = append(list, d)
		}
	}
	return list
}

// Of compares runs, benchmark by benchmark. Runs without a partner are named in left.
func Of(base, new []Run) (list []Comparison, left []string, err error) {
	for _, g := range byBenchmark(base, new) {
		for side := range g {
			g[side] = once(g[side], &left)
		}
		if len(g[0]) == 0 || len(g[1]) == 0 {
			for _, r := range slices.Concat(g[0], g[1]) {
				left = append(left, fmt.Sprintf("%s: the other side has no run of %s %s, %s", r.Folder, r.Results.Model, r.Results.ScenarioName(), r.Results.Mode))
			}
			continue
		}
		list = append(list, newComparison(g[0], g[1]))
	}
	if len(list) == 0 {
		return nil, left, fmt.Errorf("no benchmark has runs on both sides: there are %d and %d runs", len(base), len(new))
	}
	return list, left, nil
}

// once leaves out copies of runs, which are no repeats.
func once(runs []Run, left *[]string) []Run {
	var list []Run
	for _, r := range runs {
		if i := slices.IndexFunc(list, r.isCopyOf); i >= 0 {
			*left = append(*left, fmt.Sprintf("%s: it is a copy of the run in %s", r.Folder, list[i].Folder))
			continue
		}
		list = append(list, r)
	}
	return list
}

// isCopyOf reports whether two folders have the same measurement.
func (r Run) isCopyOf(other Run) bool {
	a, b := r.Results, other.Results
	return a.Performance != nil && a.Created.Equal(b.Created) && a.Host == b.Host && reflect.DeepEqual(a.Performance, b.Performance)
}

// byBenchmark puts the runs of one benchmark together, those of base before those of new.
func byBenchmark(base, new []Run) []*[2][]Run {
	var groups []*[2][]Run
	known := map[string]*[2][]Run{}
	for side, runs := range [][]Run{base, new} {
		for _, r := range runs {
			key := fmt.Sprintf("%q %q %q", r.Results.Model, r.Results.ScenarioName(), r.Results.Mode)
			if known[key] == nil {
				known[key] = &[2][]Run{}
				groups = append(groups, known[key])
			}
			known[key][side] = append(known[key][side], r)
		}
	}
	return groups
}

func newComparison(base, new []Run) Comparison {
	byTime := func(a, b Run) int { return a.Results.Created.Compare(b.Results.Created) }
	slices.SortStableFunc(base, byTime)
	slices.SortStableFunc(new, byTime)
	r := base[0].Results
	c := Comparison{Model: r.Model, Scenario: r.ScenarioName(), Mode: r.Mode, Base: folders(base), New: folders(new), Differences: differences(base, new)}
	d := decider{base: base, new: new}
	d.turns = d.tookTurns()
	c.Metrics = d.metrics()
	c.Notes = d.notes(c.Metrics)
	if r.Performance != nil && (len(base) == 1 || len(new) == 1 || !d.turns) {
		c.Commands = inTurns(base[0], new[0])
	}
	return c
}

func folders(runs []Run) []string {
	var list []string
	for _, r := range runs {
		list = append(list, r.Folder)
	}
	return list
}

// leastRepeats is how many pairs of runs may fail a build.
const leastRepeats = 5

// inTurns are the commands of a series of repeats in which both sides take turns, so that what
// drifts meets both. There are none if a run does not say how it was made.
func inTurns(base, new Run) []string {
	commandOf := func(r Run, folder string) string {
		if len(r.Results.Command) == 0 {
			return ""
		}
		return report.CommandLine(withOutput(r.Results.Command)) + ` --output ` + folder + `/$i`
	}
	a, b := commandOf(base, "base"), commandOf(new, "new")
	if a == "" || b == "" {
		return nil
	}
	return []string{fmt.Sprintf("for i in 1 2 3 4 5; do\n  %s\n  %s\ndone\nmlperf compare base -- new", a, b)}
}

// withOutput drops the folder of a command.
func withOutput(command []string) []string {
	var list []string
	for i := 0; i < len(command); i++ {
		switch a := command[i]; {
		case a == "--output":
			i++
		case len(a) > 9 && a[:9] == "--output=", a == "--force":
		default:
			list = append(list, a)
		}
	}
	return list
}
