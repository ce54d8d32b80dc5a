package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/regular"
)

// A Verdict is the outcome of a test.
type Verdict struct {
	Test     string   `json:"test"`
	Passed   bool     `json:"passed"`
	Facts    []string `json:"facts"`             // what was compared
	Findings []string `json:"findings"`          // why it failed
	Causes   []string `json:"causes,omitempty"`  // what usually leads to that
	Notes    []string `json:"notes,omitempty"`   // what does not decide
	Caveats  []string `json:"caveats,omitempty"` // of the runs
	Folder   string   `json:"folder,omitempty"`  // where Write put it

	texts map[string]string // files by name
	audit string            // folder of the run under the test's settings
	log   string            // its accuracy log
}

// fail adds a finding, and what usually causes it, once.
func (v *Verdict) fail(finding string, causes ...string) {
	v.Passed = false
	v.Findings = append(v.Findings, finding)
	for _, c := range causes {
		if !strings.Contains(strings.Join(v.Causes, "\n"), c) {
			v.Causes = append(v.Causes, c)
		}
	}
}

// write keeps lines as a file of the verdict.
func (v *Verdict) write(file string, lines ...string) {
	v.texts[file] += strings.Join(lines, "\n") + "\n"
}

// verdictLine is what the official checker searches.
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

// hasAccuracy and hasPerformance say which folders the checker wants of a test.
func (v *Verdict) hasAccuracy() bool { return v.Test != Test04 && v.Test != Test05 }

func (v *Verdict) hasPerformance() bool { return v.Test != Test06 }

// Write puts the files that the official checker wants into a folder of the test's name
// within dir: texts, and copies of logs. It replaces such a folder's files only if force.
func (v *Verdict) Write(dir string, force bool) error {
	folder := filepath.Join(dir, v.Test)
	if _, err := os.Stat(folder); err == nil && !force {
		return fmt.Errorf("%s is there already: choose another folder, or have it replaced", folder)
	}
	copies := map[string]string{}
	if v.hasPerformance() {
		for _, name := range []string{mlperflog.SummaryFile, mlperflog.DetailFile} {
			copies[filepath.Join("performance", "run_1", name)] = filepath.Join(v.audit, name)
		}
	}
	texts := map[string]string{}
	for name, text := range v.texts {
		texts[name] = text
	}
	if v.hasAccuracy() {
		copies[filepath.Join("accuracy", mlperflog.AccuracyFile)] = v.log
		if score := filepath.Join("accuracy", scoreFile); texts[score] == "" {
			texts[score] = "" // may be empty, must be there
		}
	}
	errs := []error{clearFallback(folder)}
	for name, text := range texts {
		errs = append(errs, writeFile(filepath.Join(folder, name), strings.NewReader(text)))
	}
	for name, source := range copies {
		errs = append(errs, copyFile(filepath.Join(folder, name), source))
	}
	v.Folder = folder
	return errors.Join(errs...)
}

// clearFallback removes what a fallback before left: beside a test that passes without,
// its files are too many.
func clearFallback(folder string) error {
	for _, name := range []string{baselineFile, complianceFile} {
		if err := os.Remove(filepath.Join(folder, "accuracy", name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func writeFile(path string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// copyFile copies a log. A log that is in its place already stays.
func copyFile(to, from string) error {
	a, err := os.Stat(from)
	if b, err := os.Stat(to); err == nil && os.SameFile(a, b) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := regular.Open(from)
	if err != nil {
		return err
	}
	return errors.Join(writeFile(to, f), f.Close())
}
