package mlperflog

import (
	"regexp"
	"strconv"
)

// A Summary is what is in a summary log. That of an accuracy run has counts of
// warnings and errors only.
type Summary struct {
	Name   string // of the file
	Fields []Field

	SUT      string
	Scenario string // e.g. SingleStream, also if an older version wrote Single Stream
	Mode     string // e.g. PerformanceOnly, also if an older version wrote Performance

	HasResult       bool
	Valid           bool
	Recommendations []string
	EarlyStopping   []string // the lines below the headings of early stopping

	Warnings int // in the detail log
	Errors   int
}

// A Field is a line with a label and a value.
type Field struct {
	Line    int
	Section string // the title above: MLPerf Results Summary, Additional Stats, …
	Group   string // a heading within the section, such as "Per-query latency"
	Label   string
	Value   any // string, bool, int64, uint64 or float64; constraints are bools
}

// Titles of the sections.
const (
	resultsSection    = "MLPerf Results Summary"
	statsSection      = "Additional Stats"
	parametersSection = "Test Parameters Used"
)

// Field returns the first field of a label; false if there is none.
func (s *Summary) Field(label string) (Field, bool) {
	for _, f := range s.Fields {
		if f.Label == label {
			return f, true
		}
	}
	return Field{}, false
}

// Float returns the number behind a label; false if there is none.
func (s *Summary) Float(label string) (float64, bool) {
	f, ok := s.Field(label)
	if !ok {
		return 0, false
	}
	switch v := f.Value.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

// Estimate returns the latency in nanoseconds that early stopping guarantees at a
// percentile, such as 90; false if there is none. With token latencies it is the last
// one, of the time per token, as for the official scripts.
func (s *Summary) Estimate(percentile float64) (int64, bool) {
	for i := len(s.EarlyStopping) - 1; i >= 0; i-- {
		m := estimateLine.FindStringSubmatch(s.EarlyStopping[i])
		if m == nil {
			continue
		}
		p, err := strconv.ParseFloat(m[1], 64)
		v, err2 := strconv.ParseInt(m[2], 10, 64)
		if err == nil && err2 == nil && p == percentile {
			return v, true
		}
	}
	return 0, false
}

var estimateLine = regexp.MustCompile(`^\* Early stopping ([0-9.]+)th percentile estimate: (\d+)$`)
