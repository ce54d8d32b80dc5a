package compliance

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
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
	// unique is the folder of the run with different samples, where TEST04 is two runs.
	unique string
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

// Write puts the files that the official checker wants into a folder of the test's name
// within dir: texts, and copies of logs. It replaces such a folder's files only if force.
func (v *Verdict) Write(dir string, force bool) error {
	v.Folder = filepath.Join(dir, v.Test)
	if v.unique == "" {
		return v.writeTo(v.Folder, v.audit, v.texts, force)
	}
	v.Folder = filepath.Join(dir, test04A)
	return errors.Join(
		v.writeTo(v.Folder, v.unique, v.texts, force),
		v.writeTo(filepath.Join(dir, test04B), v.audit, nil, force),
	)
}

// writeTo writes one folder, with the logs of a run.
func (v *Verdict) writeTo(folder, run string, texts map[string]string, force bool) error {
	if _, err := os.Stat(folder); err == nil && !force {
		return fmt.Errorf("%s is there already: choose another folder, or have it replaced", folder)
	}
	texts = maps.Clone(texts)
	if score := filepath.Join("accuracy", scoreFile); kinds[v.Test].keepsLog && texts[score] == "" {
		texts[score] = "" // may be empty, must be there
	}
	errs := []error{clearFallback(folder)}
	for name, text := range texts {
		errs = append(errs, writeFile(filepath.Join(folder, name), strings.NewReader(text)))
	}
	for name, source := range v.logs(run) {
		errs = append(errs, copyFile(filepath.Join(folder, name), source))
	}
	return errors.Join(errs...)
}

// logs says which logs of a run the folder of the test keeps, and from where.
func (v *Verdict) logs(run string) map[string]string {
	copies := map[string]string{}
	if kinds[v.Test].keepsRun {
		for _, name := range []string{mlperflog.SummaryFile, mlperflog.DetailFile} {
			copies[filepath.Join("performance", "run_1", name)] = filepath.Join(run, name)
		}
	}
	if kinds[v.Test].keepsLog {
		copies[filepath.Join("accuracy", mlperflog.AccuracyFile)] = v.log
	}
	return copies
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
	f, err := fileio.Open(from)
	if err != nil {
		return err
	}
	return errors.Join(writeFile(to, f), f.Close())
}
