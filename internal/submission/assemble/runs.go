package assemble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/submission/compliance"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A run is a folder with logs: of a performance or accuracy run, or of a compliance test.
type run struct {
	folder    string // of the logs, or of the test
	test      string // TEST01, …; empty: it is a run for the result itself
	log       *mlperflog.Detail
	results   *report.Results // nil: another program made the logs, or the file is missing
	benchmark string          // as the round calls it
	scenario  string          // as its folder is called
	mode      loadgen.Mode
	made      time.Time
}

var testFolder = regexp.MustCompile(`^TEST\d\d$`)

// find looks for runs and tests in all folders. A folder may be a link (latest); links inside it are not followed.
func (b *builder) find(ctx context.Context) error {
	var errs []error
	for _, root := range b.Runs {
		root, err := filepath.EvalSymlinks(root)
		if err != nil {
			return err
		}
		errs = append(errs, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err != nil || !entry.IsDir() {
				return err
			}
			return b.look(path)
		}))
	}
	return errors.Join(errs...)
}

// look looks for a run or a test in one folder.
func (b *builder) look(folder string) error {
	logs, test := folder, ""
	switch name := filepath.Base(folder); {
	case name == compliance.AuditFolder && fileio.Exists(filepath.Join(folder, compliance.AuditFile)):
		test = compliance.CachingTest
	case testFolder.MatchString(name) && len(fileio.Glob(folder, "verify_*.txt")) > 0:
		test = name
	}
	if test != "" {
		// Package compliance has the logs, and the results beside them, in another folder.
		if logs = filepath.Join(filepath.Dir(folder), "runs", test); !hasLog(logs) {
			logs = filepath.Join(folder, "performance", "run_1")
		}
		if !hasLog(logs) {
			return fmt.Errorf("%s has no logs of its run: expected performance/run_1/%s", folder, mlperflog.DetailFile)
		}
	}
	ranging := filepath.Base(folder) == "ranging" && hasLog(filepath.Join(filepath.Dir(folder), "run_1")) // of a power measurement
	if !hasLog(logs) || ranging {
		return nil
	}
	r, err := b.read(logs)
	var other otherModelError
	switch {
	case errors.As(err, &other):
		b.built.LeftOut = append(b.built.LeftOut, other.Error())
	case err != nil:
		return err
	case test != "":
		r.folder, r.test = folder, test
		b.tests = append(b.tests, r)
	case !r.isTest():
		b.runs = append(b.runs, r)
	}
	if test != "" {
		return fs.SkipDir
	}
	return nil
}

func hasLog(folder string) bool { return fileio.Exists(filepath.Join(folder, mlperflog.DetailFile)) }

// read reads the logs in a folder.
func (b *builder) read(folder string) (*run, error) {
	r := &run{folder: folder}
	path := filepath.Join(folder, mlperflog.DetailFile)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	r.made = info.ModTime()
	if r.log, err = mlperflog.ReadDetail(path); err != nil {
		return nil, err
	}
	switch r.results, err = report.Read(folder); {
	case err == nil:
		r.made = r.results.Created
	case !errors.Is(err, report.ErrNoRun):
		return nil, err
	}
	scenario, err := r.log.Text("effective_scenario")
	if err != nil {
		return nil, err
	}
	if r.scenario = rounds.Scenario(scenario); r.scenario == "" || r.scenario != scenario { // it becomes the name of a folder
		return nil, fmt.Errorf("%s: unknown effective_scenario %q", path, scenario)
	}
	mode, err := r.log.Text("effective_test_mode")
	if err != nil {
		return nil, err
	}
	if r.mode, err = loadgen.ParseMode(mode); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.benchmark, err = b.benchmark(r); err != nil {
		return nil, err
	}
	if r.scenario == "Server" && r.isInteractive(b.round.Model(r.benchmark).TokenLimitsNS) {
		r.scenario = "Interactive"
	}
	return r, nil
}

// isTest reports whether a run has the settings of a compliance test.
func (r *run) isTest() bool {
	same, _ := r.log.Bool("effective_performance_issue_same")
	unique, _ := r.log.Bool("effective_performance_issue_unique")
	sampled, _ := r.log.Uint("effective_accuracy_log_sampling_target")
	return same || unique || sampled > 0 || fileio.Exists(filepath.Join(r.folder, "audit.config"))
}

// isInteractive reports whether a run that LoadGen calls Server is of the scenario Interactive. The results of this program
// say so; for other logs the name of a folder decides, or the bounds of the tokens' latencies.
func (r *run) isInteractive(limits map[string]rounds.TokenLimits) bool {
	if r.results != nil {
		return r.results.Interactive
	}
	for part := range strings.SplitSeq(filepath.ToSlash(r.folder), "/") {
		if rounds.Scenario(part) == "Interactive" {
			return true
		}
	}
	most, has := limits["Interactive"]
	ttft, errTTFT := r.log.Uint("requested_server_ttft_latency")
	tpot, errTPOT := r.log.Uint("requested_server_tpot_latency")
	return has && most != limits["Server"] && errTTFT == nil && errTPOT == nil && ttft <= uint64(most.TTFT) && tpot <= uint64(most.TPOT)
}

// official returns the round's name for a model by any of its names; empty: the round does not have it.
func (b *builder) official(name string) string {
	names := []string{name}
	if m, err := models.LookupAny(name); err == nil {
		names = append(append(names, m.Name), m.Rules.Listed()...)
	}
	return b.round.Benchmark(names...)
}

// An otherModelError is the error of a run whose results name a model that the tree cannot have.
type otherModelError struct{ error }

// benchmark returns the round's name for the model of a run.
func (b *builder) benchmark(r *run) (string, error) {
	name, named := b.Model, false
	if r.results != nil {
		name, named = r.results.Model, r.results.Model != report.NotKnown
	}
	if name == "" || name == report.NotKnown {
		return "", userinput.Errorf("model", "%s: logs of LoadGen do not name the model", r.folder)
	}
	if m, err := models.Lookup(name); err == nil && !m.Rules.In(b.round.Version) {
		return "", otherModelError{fmt.Errorf("%s: rules %s have no benchmark %q", r.folder, b.Rules, name)}
	}
	official := b.official(name)
	var err error
	switch {
	case official == "":
		err = fmt.Errorf("%s: rules %s have no benchmark %q", r.folder, b.Rules, name)
	case rounds.Other(name) && b.Division != "open":
		err = fmt.Errorf("%s: %s is not %s: the division %s has the reference's model", r.folder, name, official, b.Division)
	case rounds.Other(name) && b.Name == "":
		return "", userinput.Errorf("name", "%s: %s is not %s: expected a name of its own", r.folder, name, official)
	}
	if err != nil && named { // a folder may have the runs of many models
		err = otherModelError{err}
	}
	return official, err
}
