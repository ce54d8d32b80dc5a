package compare

import (
	"math"

	"github.com/mlperf-go/mlperf/internal/report/figures"
)

// A Metric is one number of both sides, and how they differ.
type Metric struct {
	Name string  `json:"name"`
	Unit string  `json:"unit"`
	Base float64 `json:"base"` // of several runs their geometric mean
	New  float64 `json:"new"`
	// Change is the relative change, and in points that of an accuracy.
	Change float64 `json:"change"`
	Points bool    `json:"points,omitempty"`
	// Interval is that of the change; absent: there is none that is honest.
	Interval *Interval `json:"interval,omitempty"`
	// Method says how the interval was found, or why there is none.
	Method string `json:"method"`
	// Repeats is how many pairs of runs it is of; 0: it is within two runs, and says nothing of what
	// changes from run to run.
	Repeats int `json:"repeats,omitempty"`
	// Decides says that it may fail a build.
	Decides bool `json:"decides,omitempty"`
	// Needed is how many repeats would show a change as large as this one, if it is real.
	Needed int `json:"repeats_needed,omitempty"`
	// Better is up or down; empty: neither is.
	Better string `json:"better,omitempty"`
}

// Differs reports whether the change is beyond noise.
func (m Metric) Differs() bool { return m.Interval != nil && !m.Interval.has(0) }

// Verdict is ~ where there is no change beyond noise, ? where that cannot be said, and the
// change otherwise.
func (m Metric) Verdict() string {
	switch {
	case m.Interval == nil:
		return "?"
	case !m.Differs():
		return "~"
	}
	return m.Text(m.Change)
}

// Text writes a change.
func (m Metric) Text(change float64) string {
	sign := "+"
	if change < 0 {
		sign = "−"
	}
	if m.Points {
		return sign + figures.Text(math.Abs(change), "points")
	}
	return sign + figures.Text(100*math.Abs(change), "%")
}

// Values writes the two numbers.
func (m Metric) Values() (base, new string) {
	return figures.Text(m.Base, m.Unit), figures.Text(m.New, m.Unit)
}

// Tone is good or bad if the change is; empty if it is neither or not sure.
func (m Metric) Tone() string {
	switch {
	case !m.Differs() || m.Better == "":
		return ""
	case m.Change > 0 == (m.Better == "up"):
		return "good"
	}
	return "bad"
}

// fromLogs fills in what is known of a difference of logarithms.
func (m *Metric) fromLogs(d float64, i Interval) {
	m.Change = math.Expm1(d)
	m.Interval = &Interval{math.Expm1(i.Lower), math.Expm1(i.Upper)}
}
