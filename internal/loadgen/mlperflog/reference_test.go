package mlperflog

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

var (
	numbers = regexp.MustCompile(`-?\d+(\.\d+)?(e[+-]\d+)?`)
	plural  = regexp.MustCompile(`^(# (warning|ERROR))[sS]?`)
)

// shapeOfSummary replaces what differs from run to run: numbers in values by # (with
// fixed decimals by #.##), advice by its bullet.
func shapeOfSummary(text string) []string {
	var shape []string
	prose := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		label, value, isField := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, "===") || line == "":
			prose = false
		case strings.HasPrefix(line, "WARNING:"):
			prose, line = true, "warning"
		case strings.HasSuffix(line, "Early Stopping Result:") || line == "Recommendations:":
			prose = true
		case prose && strings.HasPrefix(line, " * Early stopping "):
			line = label + ": #"
		case prose && strings.HasPrefix(line, " * "):
			line = " * advice"
		case prose:
			line = " more"
		case isField && numbers.MatchString(value) && !strings.HasPrefix(line, "  "):
			line = label + ": " + shapeOfNumber(value)
		default:
			line = plural.ReplaceAllString(numbers.ReplaceAllString(line, "#"), "$1")
		}
		shape = append(shape, line)
	}
	return shape
}

func shapeOfNumber(value string) string {
	if i := strings.IndexByte(value, '.'); i >= 0 && len(value)-i == 3 {
		return "#.##"
	}
	return "#"
}

// general numbers have any number of decimals.
func isGeneral(line string) bool {
	return strings.HasPrefix(line, "Samples per second: ") || strings.HasPrefix(line, "Tokens per second") ||
		strings.HasPrefix(line, "target_qps : ")
}

func TestSummariesAgainstReference(t *testing.T) {
	for _, c := range readCases(t) {
		t.Run(c.name, func(t *testing.T) {
			reference := shapeOfSummary(readTestdata(t, "reference", c.name+".summary.txt"))
			ours := shapeOfSummary(c.run(t).summary)
			for _, shape := range [][]string{reference, ours} {
				for i, line := range shape {
					if isGeneral(line) {
						shape[i] = strings.TrimSuffix(line, ".##")
					}
				}
			}
			if diff := cmp.Diff(reference, ours); diff != "" {
				t.Errorf("summary (-reference +ours):\n%s", diff)
			}
		})
	}
}

// A rawMessage is a line of a detail log with its value as it stands there.
type rawMessage struct {
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	Namespace string          `json:"namespace"`
	EventType string          `json:"event_type"`
	Metadata  struct {
		IsError   *bool   `json:"is_error"`
		IsWarning *bool   `json:"is_warning"`
		File      *string `json:"file"`
		LineNo    *int    `json:"line_no"`
		PID       *int    `json:"pid"`
		TID       *int    `json:"tid"`
	} `json:"metadata"`
}

// rawMessages reads a detail log without our reader.
func rawMessages(t *testing.T, text string) []rawMessage {
	t.Helper()
	var list []rawMessage
	for line := range strings.Lines(text) {
		body, ok := strings.CutPrefix(line, ":::MLLOG ")
		var m rawMessage
		if err := json.Unmarshal([]byte(body), &m); !ok || err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		list = append(list, m)
	}
	return list
}

var deterministicKey = regexp.MustCompile(`^(requested_|effective_|generated_|loaded_qsl_set$|qsl_|sut_name$|result_validity$|` +
	`result_.*_met$|early_stopping_met$|num_errors$)`)

// shapeOfDetail lists keys, the form of their values, and the values that do not differ
// from run to run.
func shapeOfDetail(t *testing.T, text string, steps bool) []string {
	t.Helper()
	var shape []string
	for _, m := range rawMessages(t, text) {
		if *m.Metadata.IsWarning && strings.Contains(string(m.Value), "Logging allocation") {
			continue // of the reference's logging threads
		}
		if strings.Contains(string(m.Value), "by the system clock") {
			continue // of print_timestamps, for which the reference writes to standard output
		}
		if steps && (strings.HasPrefix(m.Key, "generated_") || m.Key == "loaded_qsl_set" || m.Key == "generic_message" ||
			strings.HasPrefix(m.Key, "logger_") || strings.HasPrefix(m.Key, "power_")) {
			continue // how many steps a search takes depends on the machine
		}
		value := string(m.Value)
		if !deterministicKey.MatchString(m.Key) {
			value = map[byte]string{'"': "text", 't': "switch", 'f': "switch", '{': "map"}[value[0]]
		}
		flags := ""
		if *m.Metadata.IsError {
			flags = " error"
		}
		shape = append(shape, m.Key+" = "+value+flags)
	}
	return shape
}

func TestDetailAgainstReference(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	for _, c := range readCases(t) {
		t.Run(c.name, func(t *testing.T) {
			steps := c.name == "find-peak"
			reference := shapeOfDetail(t, readTestdata(t, "reference", c.name+".detail.txt.gz"), steps)
			ours := shapeOfDetail(t, c.run(t).detail, steps)
			if diff := cmp.Diff(reference, ours); diff != "" {
				t.Errorf("detail log (-reference +ours):\n%s", diff)
			}
		})
	}
}

func TestDetailLayout(t *testing.T) {
	layout := func(line string) string {
		line = regexp.MustCompile(`"value": .*, "time_ms"`).ReplaceAllString(line, `"value": V, "time_ms"`)
		line = regexp.MustCompile(`"file": "[^"]*"`).ReplaceAllString(line, `"file": F`)
		line = regexp.MustCompile(`"time_ms": \d+\.\d{6},`).ReplaceAllString(line, `"time_ms": T,`)
		return regexp.MustCompile(`\d+`).ReplaceAllString(line, "N")
	}
	c := readCases(t)[0]
	reference := strings.Split(readTestdata(t, "reference", c.name+".detail.txt.gz"), "\n")
	ours := strings.Split(c.run(t).detail, "\n")
	for i := range reference {
		if got, want := layout(ours[i]), layout(reference[i]); got != want {
			t.Errorf("line %d is laid out as\n%s, want\n%s", i+1, got, want)
		}
	}
}

func TestAccuracyLogsAgainstReference(t *testing.T) {
	n := 0
	for _, c := range readCases(t) {
		if _, err := os.Stat("testdata/reference/" + c.name + ".accuracy.json"); err != nil {
			continue
		}
		n++
		t.Run(c.name, func(t *testing.T) {
			reference, ours := readTestdata(t, "reference", c.name+".accuracy.json"), c.run(t).accuracy
			if c.name == "sampled-responses" { // as many as the machine was fast
				reference, ours = commonRecords(reference, ours)
			}
			if diff := cmp.Diff(reference, ours); diff != "" {
				t.Errorf("accuracy log (-reference +ours):\n%s", diff)
			}
		})
	}
	if n != 5 {
		t.Errorf("%d accuracy logs of the reference, want 5", n)
	}
}

// commonRecords cuts both logs to the records of the shorter one.
func commonRecords(a, b string) (string, string) {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	n := min(len(x), len(y)) - 3 // without the last record, which has no comma
	return strings.Join(x[:n], "\n"), strings.Join(y[:n], "\n")
}
