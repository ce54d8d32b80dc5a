package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/units"
)

// A Limit is a change that must not be exceeded: p99>+5%.
type Limit struct {
	Metric string
	Above  bool    // more than Change; else less than it
	Change float64 // relative, of an accuracy in points
	text   string
}

// String writes the limit as it was given.
func (l Limit) String() string { return l.text }

// parsePercent reads a signed number and a percent sign.
func parsePercent(text string) (float64, bool) {
	number, found := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.Replace(strings.TrimSpace(number), "−", "-", 1), 64)
	return v, err == nil && found && units.Finite(v)
}

// ParseLimit reads a limit: a metric, > or <, a signed number and a percent sign.
func ParseLimit(text string) (Limit, error) {
	at := strings.IndexAny(text, "<>")
	if at <= 0 {
		return Limit{}, fmt.Errorf("%q: must be a metric, > or <, and a change, as in p99>+5%%", text)
	}
	l := Limit{Metric: strings.TrimSpace(text[:at]), Above: text[at] == '>', text: text}
	number := strings.TrimSpace(text[at+1:])
	v, ok := parsePercent(number)
	if !ok {
		return Limit{}, fmt.Errorf("%q: the change is %q: must be a signed number of percent for example +5%%", text, number)
	}
	l.Change = v / 100
	if l.Metric == accuracyName {
		l.Change = v // points
	}
	if !slices.Contains(metricNames(), l.Metric) {
		return Limit{}, fmt.Errorf("%q: unknown metric %q: must be one of %s", text, l.Metric, strings.Join(metricNames(), ", "))
	}
	return l, nil
}

const accuracyName = "accuracy"

// metricNames are the names of metrics.
func metricNames() []string {
	names := []string{"samples/s", "metric", accuracyName}
	for _, q := range slices.Concat(latencies("", true, nil), latencies("ttft ", false, nil), latencies("tpot ", false, nil)) {
		names = append(names, q.name)
	}
	return names
}

// An Outcome is the outcome of a limit in a comparison.
type Outcome struct {
	Limit      string `json:"limit"`
	Comparison string `json:"comparison"`
	Met        bool   `json:"met"`            // the change is beyond the limit: fail
	Open       bool   `json:"open,omitempty"` // not enough data
	Reason     string `json:"reason"`
}

// Check says whether a change is beyond a limit: only if the whole interval is, of
// repeats in turns, or of the same samples.
func (l Limit) Check(c Comparison) Outcome {
	o := Outcome{Limit: l.text, Comparison: c.Title()}
	at := slices.IndexFunc(c.Metrics, l.isOf)
	if at < 0 {
		o.Open, o.Reason = true, "the runs have no "+l.Metric
		return o
	}
	m := c.Metrics[at]
	switch {
	case m.Interval == nil:
		o.Open, o.Reason = true, "not decided: "+m.Method
	case !m.Decides:
		o.Open, o.Reason = true, fmt.Sprintf("not decided: expected %d repeats each, in turns; this is %s", leastRepeats, m.Method)
	case l.beyond(*m.Interval):
		o.Met, o.Reason = true, fmt.Sprintf("%s to %s, all beyond (%s)", m.Text(m.Interval.Lower), m.Text(m.Interval.Upper), m.Method)
	default:
		o.Reason = fmt.Sprintf("%s to %s is not all beyond", m.Text(m.Interval.Lower), m.Text(m.Interval.Upper))
	}
	return o
}

// Of reports whether a comparison has the metric of a limit.
func (l Limit) Of(c Comparison) bool { return slices.ContainsFunc(c.Metrics, l.isOf) }

func (l Limit) isOf(m Metric) bool { return m.Name == l.Metric }

func (l Limit) beyond(i Interval) bool {
	if l.Above {
		return i.Lower > l.Change
	}
	return i.Upper < l.Change
}

// reproduced bounds the relative change of a reproduced result, in either direction (the rules of MLPerf Mobile).
const reproduced = 0.05

// Reproduces reports whether the new result of the scenario is within 5 % of the base's, and says it in words. The results
// of streams are their percentiles, without the allowance of early stopping. An error: the runs have no result.
func (c *Comparison) Reproduces() (bool, string, error) {
	find := func(name string) int {
		return slices.IndexFunc(c.Metrics, func(m Metric) bool { return m.Name == name })
	}
	i := find(resultName)
	if i < 0 {
		i = find(map[string]string{"SingleStream": "p90", "MultiStream": "p99", "Server": "samples/s", "Interactive": "samples/s"}[c.Scenario])
	}
	if i < 0 {
		return false, "", errors.New("the runs have no result to reproduce: expected runs of performance")
	}
	m := c.Metrics[i]
	return math.Abs(m.Change) <= reproduced, fmt.Sprintf("%s %s after %s, %s: must be within %s", m.Name, units.Text(m.New, m.Unit),
		units.Text(m.Base, m.Unit), m.Text(m.Change), units.Text(100*reproduced, "%")), nil
}
