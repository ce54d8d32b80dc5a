package compare

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Run is compared with others. Charts may be nil.
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
	// Differences beside the metrics, the weightiest first.
	Differences []Difference `json:"differences"`
	Metrics     []Metric     `json:"metrics"`
	Notes       []string     `json:"notes,omitempty"`
	// Commands repeat the runs in turns, which would make the comparison sure.
	Commands []string `json:"commands,omitempty"`
}

// Title names the benchmark.
func (c *Comparison) Title() string { return c.Model + " " + c.Scenario + ", " + c.Mode }

// Shown are the metrics without the scenario's result, where that repeats another row.
func (c *Comparison) Shown() []Metric {
	return slices.DeleteFunc(slices.Clone(c.Metrics), func(m Metric) bool {
		return m.Name == resultName && slices.ContainsFunc(c.Metrics, m.repeats)
	})
}

// repeats reports whether another metric has the same values.
func (m Metric) repeats(o Metric) bool {
	return o.Name != m.Name && o.Unit == m.Unit && o.Base == m.Base && o.New == m.New
}

// resultName is the name of the scenario's result among the metrics.
const resultName = "metric"

// Headline is the outcome in a sentence: how the scenario's result changed, and how sure that is. Empty: no result to compare.
func (c *Comparison) Headline() string {
	if len(c.Metrics) == 0 {
		return ""
	}
	m := c.Metrics[max(0, slices.IndexFunc(c.Metrics, func(m Metric) bool { return m.Name == resultName }))]
	if m.Name == resultName {
		name := "result"
		if i := slices.IndexFunc(c.Metrics, m.repeats); i >= 0 { // the row that says what the result is, as p90
			name = c.Metrics[i].Name
		}
		m.Name = name
	}
	base, new := m.Values()
	values := fmt.Sprintf("%s against %s", new, base)
	how := fmt.Sprintf("95 %% interval %s, %s", m.Range(), units.Count(m.Repeats, "pair"))
	if m.Repeats == 0 {
		how = "95 % interval " + m.Range() + " within one run each; other runs may differ by more"
	}
	switch tone := m.Tone(); {
	case m.Interval == nil:
		return strings.TrimSuffix(fmt.Sprintf("%s %s, not confirmed: %s (%s)", m.Name, m.Text(m.Change), values, m.Method), " ()")
	case !m.Differs():
		return fmt.Sprintf("no change of %s beyond noise: %s (%s)", m.Name, values, how)
	case tone != "":
		outcome := map[string]string{"good": "better", "bad": "worse"}[tone]
		return fmt.Sprintf("%s %s: %s, %s (%s)", m.Name, outcome, m.Text(m.Change), values, how)
	}
	return fmt.Sprintf("%s %s: %s (%s)", m.Name, m.Text(m.Change), values, how)
}

// Unlike are the differences with which the two sides are different tests, or on different machines.
func (c *Comparison) Unlike() []Difference {
	var list []Difference
	for _, d := range c.Differences {
		if d.Unlike {
			list = append(list, d)
		}
	}
	return list
}

// Of compares runs, benchmark by benchmark. Two own models, one on each side, are compared with each other, as a file and its
// quantized form. Runs without a partner are named in left.
func Of(base, new []Run) (list []Comparison, left []string, err error) {
	files := onlyOwnModel(base) != "" && onlyOwnModel(new) != ""
	var groups []*[2][]Run // the runs of a benchmark, of both sides
	known := map[string]*[2][]Run{}
	for side, runs := range [][]Run{base, new} {
		for _, r := range runs {
			model := r.Results.Model
			if files && r.isOwnModel() {
				model = ""
			}
			key := fmt.Sprintf("%q %q %q", model, r.Results.ScenarioName(), r.Results.Mode)
			g := known[key]
			if g == nil {
				g = &[2][]Run{}
				known[key], groups = g, append(groups, g)
			}
			if i := slices.IndexFunc(g[side], r.isCopyOf); i >= 0 { // which is no repeat
				left = append(left, fmt.Sprintf("%s: it is a copy of the run in %s", r.Folder, g[side][i].Folder))
				continue
			}
			g[side] = append(g[side], r)
		}
	}
	for _, g := range groups {
		if len(g[0]) == 0 || len(g[1]) == 0 {
			for _, r := range slices.Concat(g[0], g[1]) {
				left = append(left, fmt.Sprintf("%s: the other side has no run of %s %s, %s", r.Folder, r.Results.Model, r.Results.ScenarioName(),
					r.Results.Mode))
			}
			continue
		}
		list = append(list, newComparison(g[0], g[1]))
	}
	if len(list) == 0 {
		return nil, left, fmt.Errorf("no benchmark has runs on both sides, of %d and %d runs", len(base), len(new))
	}
	return list, left, nil
}

func (r Run) isOwnModel() bool { return r.Results.Limitations.Has(limitation.OwnModel) }

// onlyOwnModel is the name of the own model of runs; empty: they have none, or several.
func onlyOwnModel(runs []Run) (name string) {
	for _, r := range runs {
		switch {
		case !r.isOwnModel():
		case name != "" && r.Results.Model != name:
			return ""
		default:
			name = r.Results.Model
		}
	}
	return name
}

// isCopyOf reports whether two folders have the same measurement.
func (r Run) isCopyOf(other Run) bool {
	a, b := r.Results, other.Results
	return a.Performance != nil && a.Created.Equal(b.Created) && a.Host == b.Host && reflect.DeepEqual(a.Performance, b.Performance)
}

func newComparison(base, new []Run) Comparison {
	byTime := func(a, b Run) int { return a.Results.Created.Compare(b.Results.Created) }
	slices.SortStableFunc(base, byTime)
	slices.SortStableFunc(new, byTime)
	r := base[0].Results
	c := Comparison{Model: r.Model, Scenario: r.ScenarioName(), Mode: r.Mode, Base: folders(base), New: folders(new),
		Differences: differences(base, new)}
	d := decider{base: base, new: new, turns: tookTurns(base, new)}
	c.Metrics = d.metrics()
	c.Notes = d.notes(c.Metrics)
	if r.Performance != nil && (len(base) == 1 || len(new) == 1 || !d.turns) && !d.same() {
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

// inTurns is the command that repeats both sides in turns, so that a drift meets both; nil if a run does not know how it was made.
func inTurns(base, new Run) []string {
	if len(base.Results.Command) == 0 || len(new.Results.Command) == 0 {
		return nil
	}
	return []string{report.CommandLine([]string{"mlperf", "compare", "--repeat", strconv.Itoa(leastRepeats), base.Folder, new.Folder})}
}

// same reports whether the new runs are those of the base.
func (d *decider) same() bool {
	return !slices.ContainsFunc(d.new, func(r Run) bool { return !slices.ContainsFunc(d.base, r.isCopyOf) })
}

// notes for the reader.
func (d *decider) notes(metrics []Metric) []string {
	if d.same() {
		return []string{"Both sides are the same run: nothing is compared."}
	}
	var list []string
	for _, r := range d.new {
		if slices.ContainsFunc(d.base, r.isCopyOf) {
			list = append(list, r.Folder+" is on both sides: it shows no change.")
		}
	}
	if slices.ContainsFunc(metrics, func(m Metric) bool { return m.Repeats == 0 && m.Interval != nil && !m.Points }) {
		list = append(list, "One run each: the intervals say how these two runs differ, not whether the next two would. Changes from run to "+
			"run need repeats in turns, 5 or more each.")
	}
	if n := min(len(d.base), len(d.new)); n > 1 && !d.turns {
		list = append(list, "The repeats did not take turns: a drift of the machine looks like a difference.")
	}
	if slices.ContainsFunc(metrics, func(m Metric) bool { return m.Differs() && m.Unit == "ns" }) && d.base[0].Results.Scenario == "Server" {
		list = append(list, "A queue amplifies: 2 % more time per query moves p90 by about 4, 7 and 20 % at loads of 0.60, 0.75 and 0.90.")
	}
	return list
}
