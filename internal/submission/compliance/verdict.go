package compliance

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

// A Verdict is the outcome of a test.
type Verdict struct {
	Test        string             `json:"test"`
	Passed      bool               `json:"passed"`
	Facts       []string           `json:"facts"`                 // what was compared
	Findings    []string           `json:"findings"`              // why it failed
	Causes      []string           `json:"causes,omitempty"`      // usual causes of the findings
	Notes       []string           `json:"notes,omitempty"`       // remarks that do not decide
	Limitations report.Limitations `json:"limitations,omitempty"` // of the runs, and of the test
	Folder      string             `json:"folder,omitempty"`      // that Write made

	texts     map[string]string // files by name
	run       string            // folder of the run under the test's settings
	responses string            // its accuracy log
	unique    string            // folder of TEST04-A's run; empty: another test
}

// The files of a verdict. The last three are in its folder accuracy.
const (
	performanceFile = "verify_performance.txt"
	accuracyFile    = "verify_accuracy.txt"
	lengthFile      = "verify_output_len.txt"
	scoreFile       = "accuracy.txt"
	baselineFile    = "baseline_accuracy.txt"
	complianceFile  = "compliance_accuracy.txt"
)

// fail adds a finding, and each of its usual causes once.
func (v *Verdict) fail(finding string, causes ...string) {
	v.Passed = false
	v.Findings = append(v.Findings, finding)
	for _, c := range causes {
		if !strings.Contains(strings.Join(v.Causes, "\n"), c) {
			v.Causes = append(v.Causes, c)
		}
	}
}

// limit adds a limitation of the test: what it had in place of what the rules want.
func (v *Verdict) limit(id limitation.ID, value, want any) {
	v.Limitations = append(v.Limitations, limitation.Limitation{ID: id, Key: v.Test, Value: fmt.Sprint(value), Want: fmt.Sprint(want)})
}

// Outcome is PASSED or FAILED.
func (v *Verdict) Outcome() string {
	if v.Passed {
		return "PASSED"
	}
	return "FAILED"
}

// write adds lines to a file of the verdict.
func (v *Verdict) write(file string, lines ...string) {
	v.texts[file] += strings.Join(lines, "\n") + "\n"
}

// verdictLine is the line that the official checker looks for.
func verdictLine(passed bool) string {
	if passed {
		return "TEST PASS"
	}
	return "TEST FAIL"
}

// number writes a number as the reference's scripts do.
func number(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// percent says how much larger b is than a.
func percent(a, b float64) string { return fmt.Sprintf("%+.1f %%", (b/a-1)*100) }

// Write writes the files that the official checker wants into a folder of the test's name within dir: texts, and copies of
// logs. It replaces the files of an existing folder only if force.
func (v *Verdict) Write(dir string, force bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	v.Folder = filepath.Join(dir, v.Test)
	if v.unique == "" {
		return v.writeTo(dir, v.Test, v.run, v.texts, force)
	}
	v.Folder = filepath.Join(dir, test04A)
	return errors.Join(
		v.writeTo(dir, test04A, v.unique, v.texts, force),
		v.writeTo(dir, test04B, v.run, nil, force),
	)
}

// writeTo writes one folder below dir, with the logs of a run.
func (v *Verdict) writeTo(dir, below, run string, texts map[string]string, force bool) error {
	folder := filepath.Join(dir, below)
	if _, err := os.Lstat(folder); err == nil && !force {
		return fmt.Errorf("%s already exists: choose another folder, or force it to be replaced", folder)
	}
	var errs []error
	errs = append(errs, fileio.RemoveIn(folder, "accuracy/"+baselineFile, "accuracy/"+complianceFile)) // of an earlier fallback
	texts = maps.Clone(texts)
	copies := map[string]string{}
	if kinds[v.Test].keepsRun {
		for _, name := range []string{mlperflog.SummaryFile, mlperflog.DetailFile} {
			copies[filepath.Join("performance", "run_1", name)] = filepath.Join(run, name)
		}
	}
	if kinds[v.Test].keepsLog {
		copies[filepath.Join("accuracy", mlperflog.AccuracyFile)] = v.responses
		texts[filepath.Join("accuracy", scoreFile)] += "" // the file may be empty, but must exist
	}
	for name, text := range texts {
		errs = append(errs, fileio.CopyIn(dir, below+"/"+filepath.ToSlash(name), strings.NewReader(text)))
	}
	for name, source := range copies {
		errs = append(errs, copyFile(dir, below+"/"+filepath.ToSlash(name), source))
	}
	return errors.Join(errs...)
}

// copyFile copies a log, unless it is in its place already.
func copyFile(dir, to, from string) error {
	f, err := fileio.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	a, err := f.Stat()
	if b, errTo := os.Lstat(filepath.Join(dir, filepath.FromSlash(to))); err != nil || errTo == nil && os.SameFile(a, b) {
		return err
	}
	return fileio.CopyIn(dir, to, f)
}
