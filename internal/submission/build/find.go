package build

import (
	"cmp"
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
	"github.com/mlperf-go/mlperf/internal/report"
)

// A run is a folder with the logs of a test.
type run struct {
	folder    string
	log       *mlperflog.Detail
	results   *report.Results // nil: this program did not make them, or they are gone
	benchmark string          // as the round calls it
	scenario  string          // as its folder is called
	mode      loadgen.Mode
	made      time.Time
}

// ours reports whether this program made the logs.
func (r *run) ours() bool {
	version, _ := r.log.Text("loadgen_version")
	return r.results != nil || strings.HasPrefix(version, "mlperf ")
}

// An audit is a folder with a compliance test.
type audit struct {
	folder, test string
	run          *run // under the settings of the test; nil: it has no logs of performance
}

// found is what there is in the folders.
type found struct {
	runs   []*run
	audits []*audit
}

// find looks for runs and tests in all folders, through no links but the folders themselves.
func (b *builder) find(ctx context.Context) (*found, error) {
	all := &found{}
	var errs []error
	for _, root := range b.Runs {
		root, err := filepath.EvalSymlinks(root) // such as latest, which is a link
		if err != nil {
			return nil, err
		}
		errs = append(errs, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err != nil || !entry.IsDir() {
				return err
			}
			return b.look(all, path)
		}))
	}
	return all, errors.Join(errs...)
}

var testFolder = regexp.MustCompile(`^TEST\d\d$`)

// look looks into one folder.
func (b *builder) look(all *found, folder string) error {
	if name := filepath.Base(folder); testFolder.MatchString(name) && len(fileio.Glob(folder, "verify_*.txt")) > 0 {
		a, err := b.audit(folder, name)
		if err == nil {
			all.audits = append(all.audits, a)
		}
		return cmp.Or(b.leaveOut(err), fs.SkipDir)
	}
	if !there(filepath.Join(folder, mlperflog.DetailFile)) || ranging(folder) {
		return nil
	}
	r, err := b.run(folder)
	if err == nil && !r.underTest() {
		all.runs = append(all.runs, r)
	}
	return b.leaveOut(err)
}

// ranging reports whether a run only found the ranges of the analyser, for the one beside it that counts.
func ranging(folder string) bool {
	return filepath.Base(folder) == "ranging" && there(filepath.Join(filepath.Dir(folder), "run_1", mlperflog.DetailFile))
}

// audit reads a test's folder. What made its logs is in its own results, or in those of
// the folder where package compliance runs it.
func (b *builder) audit(folder, test string) (*audit, error) {
	a := &audit{folder: folder, test: test}
	for _, place := range []string{filepath.Join(filepath.Dir(folder), "runs", test), filepath.Join(folder, "performance", "run_1")} {
		if _, err := os.Stat(filepath.Join(place, mlperflog.DetailFile)); err != nil {
			continue
		}
		var err error
		a.run, err = b.run(place)
		return a, err
	}
	return nil, fmt.Errorf("%s has no logs of its run: want performance/run_1/%s", folder, mlperflog.DetailFile)
}

// run reads the logs in a folder.
func (b *builder) run(folder string) (*run, error) {
	r := &run{folder: folder}
	for _, step := range []func() error{r.readLog, r.readResults, r.readTest} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	var err error
	if r.benchmark, err = b.benchmark(r); err != nil && r.results != nil && r.results.Model != report.NotKnown {
		err = b.stranger(err)
	}
	if err == nil && r.scenario == "Server" && r.interactive(b.round.Model(r.benchmark).TokenLimitsNS) {
		r.scenario = "Interactive"
	}
	return r, err
}

func (r *run) readLog() (err error) {
	path := filepath.Join(r.folder, mlperflog.DetailFile)
	if r.log, err = mlperflog.ReadDetail(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil {
		r.made = info.ModTime()
	}
	return err
}

// readResults reads what this program knows of the run, if it made it.
func (r *run) readResults() (err error) {
	if !there(filepath.Join(r.folder, report.FileName)) {
		return nil
	}
	if r.results, err = report.Read(r.folder); err == nil {
		r.made = r.results.Created
	}
	return err
}

// readTest reads which test it was.
func (r *run) readTest() (err error) {
	scenario, err := r.log.Text("effective_scenario")
	if err != nil {
		return err
	}
	if r.scenario = rounds.Scenario(scenario); r.scenario == "" || r.scenario != scenario { // it will be the name of a folder
		return fmt.Errorf("%s: effective_scenario is %q, which is no scenario", r.log.Name, scenario)
	}
	mode, err := r.log.Text("effective_test_mode")
	if err != nil {
		return err
	}
	if r.mode, err = loadgen.ParseMode(mode); err != nil {
		return fmt.Errorf("%s: %w", r.log.Name, err)
	}
	return nil
}

// interactive reports whether a run that LoadGen calls Server is of that scenario. Our own
// results say so. Of other logs, the bounds that were asked for do, or the name of a folder.
func (r *run) interactive(limits map[string]rounds.TokenLimits) bool {
	if r.results != nil {
		return r.results.Interactive
	}
	for part := range strings.SplitSeq(filepath.ToSlash(r.folder), "/") {
		if rounds.Scenario(part) == "Interactive" {
			return true
		}
	}
	most, has := limits["Interactive"]
	return has && most != limits["Server"] && r.within(most)
}

// within reports whether the bounds that were asked for are known, and none is above those.
func (r *run) within(most rounds.TokenLimits) bool {
	ttft, errTTFT := r.log.Uint("requested_server_ttft_latency")
	tpot, errTPOT := r.log.Uint("requested_server_tpot_latency")
	return errTTFT == nil && errTPOT == nil && ttft <= uint64(most.TTFT) && tpot <= uint64(most.TPOT)
}

// underTest reports whether a run is of a compliance test and none of a result.
func (r *run) underTest() bool {
	if _, err := os.Stat(filepath.Join(r.folder, "audit.config")); err == nil {
		return true
	}
	same, _ := r.log.Bool("effective_performance_issue_same")
	unique, _ := r.log.Bool("effective_performance_issue_unique")
	sampled, _ := r.log.Uint("effective_accuracy_log_sampling_target")
	return same || unique || sampled > 0
}
