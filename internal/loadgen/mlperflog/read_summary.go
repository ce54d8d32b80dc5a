package mlperflog

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Summary is the content of a summary log. That of an accuracy run has counts of warnings and errors only.
type Summary struct {
	Name            string // of the file
	HasResult       bool
	Valid           bool
	Recommendations []string
	EarlyStopping   []string // the lines below the headings of early stopping

	fields map[string]any // by label, the first of each: string, bool, int64, uint64 or float64
}

// Field returns the value of a label; false: none. Scenarios and modes have the names that they have had since
// v1.0, and constraints are true or false.
func (s *Summary) Field(label string) (any, bool) {
	v, ok := s.fields[label]
	return v, ok
}

// Float returns the number of a label; false: none.
func (s *Summary) Float(label string) (float64, bool) { return toFloat(s.fields[label]) }

// Estimate returns the latency in nanoseconds that early stopping guarantees at a percentile, e.g. 90; false if there is
// none. With token latencies it is the last one, of the time per token, as for the official scripts.
func (s *Summary) Estimate(percentile float64) (ns int64, ok bool) {
	for _, line := range s.EarlyStopping {
		if m := estimateLine.FindStringSubmatch(line); m != nil {
			p, errP := strconv.ParseFloat(m[1], 64)
			v, errV := strconv.ParseInt(m[2], 10, 64)
			if errP == nil && errV == nil && p == percentile {
				ns, ok = v, true
			}
		}
	}
	return ns, ok
}

var estimateLine = regexp.MustCompile(`^\* Early stopping ([0-9.]+)th percentile estimate: (\d+)$`)

// maxSummary is how long a summary may be. It has some kilobytes.
const maxSummary = 1 << 20

// ReadSummary reads a summary log of any version of LoadGen. The error names the lines that it cannot read; the Summary has
// the others. Of a file that cannot be read it is nil.
func ReadSummary(path string) (*Summary, error) {
	text, err := fileio.ReadFile(path, maxSummary)
	if err != nil {
		return nil, fmt.Errorf("reading a summary log: %w", err)
	}
	return parseSummary(path, string(text))
}

func parseSummary(name, text string) (*Summary, error) {
	p := &summaryParser{summary: &Summary{Name: name, fields: map[string]any{}}, bad: problems{file: name}}
	for line := range strings.Lines(text) {
		p.n++
		p.line(strings.TrimRight(line, " \r\n"))
	}
	switch {
	case !p.warnings || !p.errors:
		p.bad.add(max(1, p.n), "the log ends before its counts of warnings and errors")
	case p.section != "" && !p.summary.HasResult:
		p.bad.add(p.n, "the log has no result")
	}
	return p.summary, p.bad.join()
}

// Titles of the sections.
const (
	resultsSection    = "MLPerf Results Summary"
	statsSection      = "Additional Stats"
	parametersSection = "Test Parameters Used"
)

// warningText is how the paragraph about equal issue begins.
const warningText = "WARNING: "

type summaryParser struct {
	summary          *Summary
	bad              problems
	n                int // the current line
	section          string
	inTitle          bool
	inWarning        bool
	list             *[]string // to which lines with bullets belong
	warnings, errors bool      // their counts were read
}

var countLine = regexp.MustCompile(`^(?:No|\d+) (warning|error|ERROR)[sS]? encountered(?:\. See detailed log\.| during test\.)$`)

func (p *summaryParser) line(text string) {
	if p.inTitle && text != rule {
		if text != resultsSection && text != statsSection && text != parametersSection {
			p.bad.add(p.n, "expected one of the titles of a summary log, got %q", shorten(text))
			return
		}
		p.section, p.list, p.inWarning = text, nil, false
		return
	}
	count := countLine.FindStringSubmatch(text)
	switch {
	case text == rule:
		p.inTitle = !p.inTitle
	case text == "":
		p.inWarning = false
	case count != nil:
		p.list = nil
		if count[1] == "warning" {
			p.warnings = true
		} else {
			p.errors = true
		}
	case p.item(text) || p.inWarning:
	case p.section == "":
		p.bad.add(p.n, "expected a summary log, got %q", shorten(text))
	case strings.HasPrefix(text, warningText):
		p.inWarning = true
	default:
		p.field(text)
	}
}

// item reads a heading of items, or below it a line with a bullet or one that continues it.
func (p *summaryParser) item(text string) bool {
	if p.section == resultsSection {
		switch text {
		case "Recommendations:":
			p.list = &p.summary.Recommendations
			return true
		case "Early Stopping Result:", "TTFT Early Stopping Result:", "TPOT Early Stopping Result:":
			p.list = &p.summary.EarlyStopping
			return true
		}
	}
	if p.list == nil || !strings.HasPrefix(text, " ") {
		return false
	}
	if bullet, ok := strings.CutPrefix(text, " * "); ok {
		*p.list = append(*p.list, "* "+bullet)
		return true
	}
	last := len(*p.list) - 1
	if last >= 0 {
		(*p.list)[last] += " " + strings.TrimSpace(text)
	}
	return last >= 0
}

// field reads a label and its value.
func (p *summaryParser) field(text string) {
	label, value, ok := cutLabel(text)
	switch {
	case !ok || label == "":
		p.bad.add(p.n, "expected a label and a value, got %q", shorten(text))
		return
	case p.section == statsSection && (value == "" || strings.HasPrefix(value, `"`)):
		return // the heading of a group, with or without settings: Per-query latency:
	case value == "" && label != "SUT name":
		p.bad.add(p.n, "%s has no value", label)
		return
	}
	typed := parseScalar(value)
	switch {
	case label == "SUT name":
		typed = value
	case beyondReference(label):
	case label == "Scenario":
		typed = scenarioName(value)
	case label == "Mode":
		typed = modeName(value)
	case label == "Result is":
		p.summary.HasResult, p.summary.Valid = true, value == "VALID"
		if value != "VALID" && value != "INVALID" {
			p.bad.add(p.n, "Result is %s: must be VALID or INVALID", value)
		}
	case strings.HasSuffix(label, " satisfied"):
		typed = value == "Yes"
		if value != "Yes" && value != "NO" {
			p.bad.add(p.n, "%s is %s: must be Yes or NO", label, value)
		}
	default:
		if _, isText := typed.(string); isText {
			p.bad.add(p.n, "%s is %q: must be a number", label, shorten(value))
		}
	}
	if _, again := p.summary.fields[label]; !again {
		p.summary.fields[label] = typed
	}
}

// beyondReference reports whether a label is of a setting that the reference does not have.
func beyondReference(label string) bool {
	return slices.ContainsFunc(loadgen.Settings(), func(row *loadgen.Setting) bool { return row.IfSet && row.Label == label })
}
