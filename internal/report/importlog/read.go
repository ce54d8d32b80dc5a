package importlog

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// An About names what logs do not have. Empty: the path of the folder decides.
type About struct {
	Model string // by any name of the rules
	Rules string // the round
}

// Read reads the folder of a run. The error about one without results.json and logs wraps
// report.ErrNoRun.
func Read(dir string, about About) (*report.Results, error) {
	r, err := report.Read(dir)
	switch {
	case err == nil && about != About{}:
		return nil, fmt.Errorf("%s names its model and rules: expected neither for such a run", filepath.Join(dir, report.FileName))
	case !errors.Is(err, report.ErrNoRun):
		return r, err
	case fileio.Exists(filepath.Join(dir, mlperflog.DetailFile)), fileio.Exists(filepath.Join(dir, mlperflog.SummaryFile)):
	case OfClient(dir):
		if r, err = readClient(dir, about); err == nil {
			userinput.Lines(r)
		}
		return r, err
	case fileio.Exists(dir):
		return nil, fmt.Errorf("%w, and no %s", err, mlperflog.DetailFile)
	default:
		return nil, err
	}
	l, err := open(dir)
	if err != nil {
		return nil, err
	}
	if r, err = l.results(about); err != nil {
		return nil, err
	}
	userinput.Lines(r)
	return r, nil
}

// logs are the two logs of a test.
type logs struct {
	dir     string
	detail  *mlperflog.Detail
	summary *mlperflog.Summary // empty if there is none
	// findings are oddities of the logs, notes say where numbers come from.
	findings, notes []string
	stopping        bool // they have a verdict of early stopping
	differ          bool // they have different results
}

// open reads the logs. The detail log must tell the scenario.
func open(dir string) (*logs, error) {
	l := &logs{dir: dir, summary: &mlperflog.Summary{}}
	var err error
	if l.detail, err = mlperflog.ReadDetail(filepath.Join(dir, mlperflog.DetailFile)); l.detail == nil {
		return nil, err
	}
	if _, none := l.detail.Scenario(); none != nil {
		return nil, errors.Join(none, err)
	}
	l.find(err)
	summary, err := mlperflog.ReadSummary(filepath.Join(dir, mlperflog.SummaryFile))
	if summary != nil {
		l.summary = summary
	}
	l.find(err)
	return l, nil
}

// find keeps an error as findings, one for each line.
func (l *logs) find(err error) {
	if err == nil || errors.Is(err, mlperflog.ErrNoKey) {
		return
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		l.findings = append(l.findings, line)
	}
}

func (l *logs) note(format string, args ...any) {
	l.notes = append(l.notes, fmt.Sprintf(format, args...))
}

// text returns the text of a key of the detail log, or another text if that is empty.
func (l *logs) text(key, otherwise string) string {
	s, err := l.detail.Text(key)
	l.find(err)
	if s == "" {
		return otherwise
	}
	return s
}

// results makes the document.
func (l *logs) results(about About) (*report.Results, error) {
	effective, err := l.detail.Effective()
	l.find(err)
	round, err := l.context(about)
	if err != nil {
		return nil, err
	}
	r := &report.Results{
		Schema: report.Schema, Program: "LoadGen " + l.text("loadgen_version", "of an unknown version"), Created: l.created(),
		Model: report.NotKnown, Rules: report.NotKnown, Interactive: round.interactive, Problems: []string{}, Settings: l.settings(),
		Backend: report.Backend{
			Engine: report.NotKnown, Devices: map[string]int{report.NotKnown: -1},
			Facts: map[string]string{"sut_name": l.text("sut_name", report.NotKnown), "qsl_name": l.text("qsl_name", report.NotKnown)},
		},
	}
	if round.model != nil {
		r.Model = round.model.Name
	}
	if round.rules != nil {
		r.Rules = round.rules.Version
	}
	f := l.figures(effective)
	r.Fill(&loadgen.Result{Effective: effective, Performance: f.performance}, l.origin)
	r.Problems = []string{}
	switch {
	case f.performance == nil && effective.Mode == loadgen.AccuracyOnly:
		r.Result = report.Valid
		l.note("LoadGen gives an accuracy run no verdict: VALID says that its logs could be read")
	case f.performance == nil:
		r.Result = report.Interrupted
		r.Problems = append(r.Problems, "neither log has a result: the test was stopped before its end, or the logs are incomplete")
	default:
		f.complete(r)
	}
	r.Limitations, r.Notes = round.compare(l)
	if l.detail.Ours() {
		r.Limitations = append(r.Limitations, limitation.Limitation{ID: limitation.NoRecord})
	}
	r.Notes = append(r.Notes, l.notes...)
	r.Warnings = append(l.findings, l.messages()...)
	return r, nil
}

func (l *logs) created() time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, l.text("test_datetime", "")); err == nil {
			return t
		}
	}
	l.note("the logs do not say when the test was run")
	return time.Time{}
}

// settings are the requested settings, with their lines.
func (l *logs) settings() []report.Setting {
	list := []report.Setting{}
	for _, e := range l.detail.Entries {
		if key, ok := strings.CutPrefix(e.Key, requested); ok {
			list = append(list, report.Setting{Key: key, Value: shorten(fmt.Sprint(e.Value)), Origin: l.at(e), Role: limitation.Log})
		}
	}
	return list
}

// requested begins the keys of requested settings.
const requested = "requested_"

// at names a line of the detail log.
func (l *logs) at(e mlperflog.Entry) string {
	return fmt.Sprintf("%s:%d", mlperflog.DetailFile, e.Line)
}

// mostMessages is how many errors and warnings of a log are repeated.
const mostMessages = 10

// messages are the errors and warnings of the test.
func (l *logs) messages() []string {
	var list []string
	all := append(l.detail.Errors(), l.detail.Warnings()...)
	for _, e := range all[:min(len(all), mostMessages)] {
		kind := "warning"
		if e.IsError {
			kind = "error"
		}
		list = append(list, fmt.Sprintf("%s: %s of the test: %s: %s", l.at(e), kind, shorten(e.Key), shorten(fmt.Sprint(e.Value))))
	}
	if more := len(all) - mostMessages; more > 0 {
		list = append(list, fmt.Sprintf("%s has %d more errors and warnings of the test", mlperflog.DetailFile, more))
	}
	return list
}

// shorten cuts a long text of a log.
func shorten(text string) string { return userinput.Cut(text, 300) }

// origin is the line of the log with a setting of a conf file.
func (l *logs) origin(setting string) string {
	if setting == "infer_token_latencies" || setting == "token_latency_scaling_factor" {
		return mlperflog.DetailFile + ", by its results"
	}
	scenario, _ := l.detail.Scenario() // without one, open is an error
	for _, row := range loadgen.Settings() {
		if row.Key != setting || row.RequestedKey == "" || !row.In(scenario) && row.Needs == "" { // bounds of tokens are in logs of other scenarios, too
			continue
		}
		if e, ok := l.detail.First(requested + row.RequestedKey); ok {
			return l.at(e) + ", requested settings"
		}
	}
	return mlperflog.DetailFile + " does not have it"
}
