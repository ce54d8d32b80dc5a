package importlog

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A name is that of a number in the detail log and in the summary; empty: it is not there.
type name struct{ key, label string }

// number looks a number up. LoadGen before v1.0 had results in the summary only.
func (l *logs) number(n name) (float64, bool) {
	v, err := l.detail.Float(n.key)
	ok := err == nil
	if !ok {
		l.find(err)
		v, ok = l.summary.Float(n.label)
	}
	if ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
		l.findings = append(l.findings, fmt.Sprintf("%s (in the summary: %s) is %g, want a number", n.key, n.label, v))
		return 0, false
	}
	return v, ok
}

// count looks up how many there are.
func (l *logs) count(key string) uint64 {
	n, err := l.detail.Uint(key)
	l.find(err)
	return n
}

// time looks up a time in nanoseconds.
func (l *logs) time(n name) (time.Duration, bool) {
	v, ok := l.number(n)
	if ok && !(v >= 0 && v < math.MaxInt64) {
		l.findings = append(l.findings, fmt.Sprintf("%s (in the summary: %s) is %g, want nanoseconds", n.key, n.label, v))
		return 0, false
	}
	return time.Duration(v), ok
}

// verdict is that of the detail log, or of the summary.
func (l *logs) verdict() (valid, found bool) {
	valid, found, err := l.detail.Valid()
	l.find(err)
	switch s := l.summary; {
	case !found && s.HasResult:
		return s.Valid, true
	case found && s.HasResult && valid != s.Valid:
		l.findings = append(l.findings, "the detail log and the summary have different verdicts: the result counts as INVALID")
		return false, true
	}
	return valid, found
}

// met is what the logs say of a kind of constraint; those that they do not mention did not
// exist then.
func (l *logs) met(key, label string) (met, found bool) {
	met, err := l.detail.Bool(key)
	if err == nil {
		return met, true
	}
	l.find(err)
	if f, ok := l.summary.Field(label); ok {
		met, isBool := f.(bool)
		return met, isBool
	}
	return true, false
}

// latencies look up statistics; names gives the name of each: min, mean, max, or a percentile
// such as 99.00. The target percentile may be none of those that LoadGen logs: it is 0 then.
func (l *logs) latencies(target float64, names func(stat string) name) (s loadgen.LatencyStats) {
	s.Min, _ = l.time(names("min"))
	s.Mean, _ = l.time(names("mean"))
	s.Max, _ = l.time(names("max"))
	for i, p := range loadgen.Percentiles() {
		v, ok := l.time(names(fmt.Sprintf("%.2f", p*100)))
		s.Percentiles[i] = v
		if ok {
			s.Count = 1 // or more: it only says that there are some
		}
		if ok && math.Abs(p-target) < 1e-9 {
			s.Target = v
		}
	}
	return s
}

// statName makes names of statistics: before min in the detail log, after it, and after a
// percentile there; what it is of in the summary.
func statName(before, after, afterPercentile, of string) func(stat string) name {
	return func(stat string) name {
		if strings.Contains(stat, ".") {
			return name{"result_" + before + stat + afterPercentile, stat + " percentile " + of}
		}
		return name{"result_" + before + stat + after, strings.ToUpper(stat[:1]) + stat[1:] + " " + of}
	}
}
