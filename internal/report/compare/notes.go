package compare

import "slices"

// notes say what a reader should know.
func (d *decider) notes(metrics []Metric) []string {
	var list []string
	for _, r := range d.new {
		if slices.ContainsFunc(d.base, r.isCopyOf) {
			list = append(list, r.Folder+" is on both sides, and tells nothing of a change.")
		}
	}
	if slices.ContainsFunc(metrics, Metric.withinRuns) {
		list = append(list, "One run each: the intervals say how these two runs differ, not whether the next two would. What changes from run to run needs repeats in turns, 5 or more each.")
	}
	if n := min(len(d.base), len(d.new)); n > 1 && !d.turns {
		list = append(list, "The repeats did not take turns: what drifts meanwhile looks like a difference.")
	}
	if slices.ContainsFunc(metrics, Metric.slower) && d.base[0].Results.Scenario == "Server" {
		list = append(list, "A queue amplifies: 2 % more time per query moves p90 by about 4, 7 and 20 % at loads of 0.60, 0.75 and 0.90.")
	}
	return list
}

// withinRuns reports whether an interval comes from one run of each side.
func (m Metric) withinRuns() bool { return m.Repeats == 0 && m.Interval != nil && !m.Points }

// slower reports whether a latency differs.
func (m Metric) slower() bool { return m.Differs() && m.Unit == "ns" }
