package mlperflog

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// ReadSummary reads a summary log of any version of LoadGen. If lines cannot be understood it
// returns what it has read of the others, and an error.
func ReadSummary(path string) (*Summary, error) {
	text, err := fileio.ReadFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("reading a summary log: %w", err)
	}
	return parseSummary(path, string(text))
}

func parseSummary(name, text string) (*Summary, error) {
	p := &summaryParser{summary: &Summary{Name: name}, bad: problems{file: name}, counted: map[string]bool{}}
	for line := range strings.Lines(text) {
		p.n++
		p.line(strings.TrimRight(line, " \r\n"))
	}
	p.end()
	return p.summary, p.bad.join()
}

type summaryParser struct {
	summary *Summary
	bad     problems
	n       int // the current line
	section string
	group   string
	list    *[]string // of which lines with bullets are items
	inTitle bool
	counted map[string]bool // which trailers were read
}

func (p *summaryParser) line(text string) {
	switch {
	case text == rule:
		p.inTitle = !p.inTitle
	case p.inTitle:
		p.title(text)
	case text == "":
		p.group = ""
	case p.trailer(text) || p.item(text):
	case p.section == "":
		p.bad.add(p.n, "want a summary log, got %q", shorten(text))
	default:
		p.field(text)
	}
}

func (p *summaryParser) title(text string) {
	switch text {
	case resultsSection, statsSection, parametersSection:
		p.section, p.group, p.list = text, "", nil
	default:
		p.bad.add(p.n, "want one of the titles of a summary log, got %q", shorten(text))
	}
}

var countLine = regexp.MustCompile(`^(No|\d+) (warning|error|ERROR)[sS]? encountered(\. See detailed log\.| during test\.)$`)

// trailer reads the counts at the end.
func (p *summaryParser) trailer(text string) bool {
	m := countLine.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	n := 0
	if m[1] != "No" {
		var err error
		if n, err = strconv.Atoi(m[1]); err != nil {
			p.bad.add(p.n, "%s is no count", m[1])
		}
	}
	p.list = nil
	if m[2] == "warning" {
		p.summary.Warnings, p.counted["warnings"] = n, true
	} else {
		p.summary.Errors, p.counted["errors"] = n, true
	}
	return true
}

// item reads a line with a bullet, or what continues one, below a heading.
func (p *summaryParser) item(text string) bool {
	if list, ok := p.headings()[text]; ok {
		p.list = list
		return true
	}
	if p.list == nil || !strings.HasPrefix(text, " ") {
		return false
	}
	if bullet, ok := strings.CutPrefix(text, " * "); ok {
		*p.list = append(*p.list, "* "+bullet)
	} else if last := len(*p.list) - 1; last >= 0 {
		(*p.list)[last] += " " + strings.TrimSpace(text)
	} else {
		return false
	}
	return true
}

// headings are the lines above items.
func (p *summaryParser) headings() map[string]*[]string {
	if p.section != resultsSection {
		return nil
	}
	return map[string]*[]string{
		"Recommendations:":            &p.summary.Recommendations,
		"Early Stopping Result:":      &p.summary.EarlyStopping,
		"TTFT Early Stopping Result:": &p.summary.EarlyStopping,
		"TPOT Early Stopping Result:": &p.summary.EarlyStopping,
	}
}

// warningText is how the text about equal issue begins, which has no form.
const warningText = "WARNING: "

func (p *summaryParser) field(text string) {
	if strings.HasPrefix(text, warningText) {
		p.group = warningText
		return
	}
	label, value, ok := cutLabel(text)
	switch {
	case p.group == warningText:
	case !ok || label == "":
		p.bad.add(p.n, "want a label and a value, got %q", shorten(text))
	case p.section == statsSection && (value == "" || strings.HasPrefix(value, `"`)):
		p.group = label
	case value == "" && label != "SUT name":
		p.bad.add(p.n, "%s has no value", label)
	default:
		p.add(label, value)
	}
}

func (p *summaryParser) add(label, value string) {
	s := p.summary
	f := Field{Line: p.n, Section: p.section, Group: p.group, Label: label, Value: scalarOrText(value)}
	switch {
	case label == "SUT name":
		s.SUT, f.Value = value, value
	case label == "Scenario":
		s.Scenario = scenarioName(value)
		f.Value = s.Scenario
	case label == "Mode":
		s.Mode = modeName(value)
		f.Value = s.Mode
	case label == "Result is":
		s.HasResult, s.Valid = true, value == "VALID"
		if value != "VALID" && value != "INVALID" {
			p.bad.add(p.n, "Result is %s, want VALID or INVALID", value)
		}
	case strings.HasSuffix(label, " satisfied"):
		f.Value = value == "Yes"
		if value != "Yes" && value != "NO" {
			p.bad.add(p.n, "%s is %s, want Yes or NO", label, value)
		}
	default:
		if _, isText := f.Value.(string); isText {
			p.bad.add(p.n, "%s is %q, want a number", label, shorten(value))
		}
	}
	s.Fields = append(s.Fields, f)
}

// end reports what every summary log has.
func (p *summaryParser) end() {
	if !p.counted["warnings"] || !p.counted["errors"] {
		p.bad.add(max(1, p.n), "the log ends before its counts of warnings and errors")
	}
	if p.section != "" && !p.summary.HasResult {
		p.bad.add(p.n, "the log has no result")
	}
}
