package compliance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Request asks for a test.
type Request struct {
	run.Request // Output is the folder of the scenario: the test's goes there

	Test string
	// Performance and Accuracy are folders of runs of the result; empty: they are made.
	Performance, Accuracy string
	// CustomData is the folder of TEST03's data; empty: they are made from the official ones.
	CustomData string
	Options    Options
}

// workFolder, within that of the scenario, has all files of the runs.
const workFolder = "runs"

// A runner makes the runs of a test.
type runner struct {
	Request
	kind     kind
	version  string // of the rules
	model    string // of the catalogue
	observer run.Observer
	dataset  string
}

// Run makes the runs that a test needs, verifies them and writes the test's folder. The
// run under the test's settings has the target of the result's.
func Run(ctx context.Context, q Request, o run.Observer) (*Verdict, error) {
	return (&runner{Request: q, observer: o}).all(ctx)
}

// RunSet makes the audit set of v0.5, and tells the verdict on each test. All tests compare
// with the same runs of the result. A test that fails does not keep the others from running.
func RunSet(ctx context.Context, q Request, o run.Observer, tell func(*Verdict) error) error {
	q.Rules = "v0.5"
	dataset := q.DatasetPath
	for _, test := range set05() {
		r := &runner{Request: q, observer: o, dataset: dataset}
		r.Test = test
		if test == Test04 {
			r.Performance = "" // it compares two runs of its own
			if needs, err := Needs(q.Rules, q.Model, ""); err == nil && !slices.Contains(needs[0].Tests, test04A) {
				continue
			}
		}
		v, err := r.all(ctx)
		if err != nil {
			return err
		}
		if err := tell(v); err != nil {
			return err
		}
		if dataset, q.Output = r.dataset, r.Output; test == Test01 {
			q.Performance, q.Accuracy = r.Performance, r.Accuracy
		}
	}
	return nil
}

// all does everything for one test.
func (r *runner) all(ctx context.Context) (*Verdict, error) {
	if err := r.prepare(); err != nil {
		return nil, err
	}
	for _, step := range r.steps() {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if r.Test == Test01 || r.Test == Test07 {
		r.Options.Scorer = r.score
	}
	v, err := Verify(ctx, r.Test, Logs{Performance: r.Performance, Accuracy: r.Accuracy, Audit: r.work(r.Test)}, r.Options)
	if err != nil {
		return nil, err
	}
	return v, v.Write(r.Output, r.Force)
}

// prepare refuses what cannot end well before anything runs.
func (r *runner) prepare() (err error) {
	if r.Test, r.version, err = lookup(r.Test, r.Rules); err != nil {
		return err
	}
	r.kind, r.Options.Rules = kinds[r.Test], r.version
	if err := r.Options.check(); err != nil {
		return err
	}
	switch {
	case r.Mode != "" && r.Mode != "performance":
		return userinput.Errorf("mode", "a test has the modes it needs")
	case r.AuditConf != "":
		return userinput.Errorf("audit_conf", "the test makes its own")
	}
	r.Mode = "performance" // but where a run says so
	return r.resolve()
}

// resolve finds out the model, and chooses what nobody has.
func (r *runner) resolve() error {
	q := r.Request.Request
	q.Output = ""
	resolved, err := run.Resolve(q)
	if err != nil {
		return err
	}
	r.model = resolved.Request.Model
	r.Options.Model = r.model
	if err := r.wanted(); err != nil {
		return err
	}
	if r.Output == "" {
		r.Output = filepath.Join(run.KeptRuns, r.model, strings.ToLower(resolved.ScenarioName()), "audit", time.Now().Format("20060102-150405"))
	}
	return r.free()
}

// wanted refuses tests of language models and of recommendations for other models, whose
// logs have nothing that these look at.
func (r *runner) wanted() error {
	if r.Test < Test06 {
		return nil
	}
	needs, err := Needs(r.version, r.model, "")
	if err != nil {
		return err
	}
	if !slices.Contains(needs[0].Tests, r.Test) { // of any scenario: all have the same
		return userinput.Errorf("test", "%s is not for %s, whose tests are %s", r.Test, r.model, strings.Join(needs[0].Tests, ", "))
	}
	return nil
}

// free refuses a folder that has the test already.
func (r *runner) free() error {
	names := []string{r.Test}
	if pairOfRuns(r.Test, r.version) {
		names = []string{test04A, test04B}
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(r.Output, name)); err == nil && !r.Force {
			return &run.ExistsError{Folder: filepath.Join(r.Output, name)}
		}
	}
	return nil
}

// sameTarget gives the run the target of the result, which may have been measured.
func (r *runner) sameTarget(q *run.Request) error {
	folder, err := folderOf(r.Performance, mlperflog.DetailFile, filepath.Join("performance", "run_1"))
	if err != nil {
		return err
	}
	ref, err := readRun(folder)
	if err != nil {
		return err
	}
	s, origin := ref.settings, "the performance run"
	if s.Scenario == loadgen.Offline || s.Scenario == loadgen.Server {
		q.Settings = append(q.Settings, config.Override{Key: "target_qps", Value: strconv.FormatFloat(s.TargetQPS, 'g', -1, 64), Origin: origin})
	}
	if s.Scenario == loadgen.Server && q.AutoLatency {
		q.AutoLatency = false
		q.Settings = append(q.Settings, config.Override{Key: "target_latency", Value: s.TargetLatency.String(), Origin: origin})
	}
	return nil
}

// run makes one run. One that is INVALID is for the verdict to say.
func (r *runner) run(ctx context.Context, q run.Request, dir string) error {
	q.Output = dir
	resolved, err := run.Resolve(q)
	if err != nil {
		return err
	}
	prepared, err := resolved.Provide(ctx, r.observer)
	if err != nil {
		return err
	}
	r.dataset = prepared.DatasetDir()
	r.observer.Note("run for " + r.Test + ": logs and results go to " + dir)
	results, err := prepared.Run(ctx)
	if err = errors.Join(err, prepared.Close()); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if results.Result == report.Interrupted && ctx.Err() != nil {
		return fmt.Errorf("%s: %w", dir, context.Cause(ctx))
	}
	return nil
}

// score scores a log as the model's official script does.
func (r *runner) score(ctx context.Context, log string) (*report.Accuracy, error) {
	return scoreWith(run.ScoreRequest{Model: r.model, DatasetPath: r.dataset, Options: r.scoreOptions()})(ctx, log)
}

// scoreOptions are those of the run that its score has too, such as the tokenizer.
func (r *runner) scoreOptions() map[string]string {
	m, err := models.LookupAsked(r.model)
	if err != nil {
		return nil
	}
	return m.Shared(r.Request.Request.Options)
}

// ScoreWith scores logs of a model with the ground truth in a folder.
func ScoreWith(model, dataset string) Scorer {
	return scoreWith(run.ScoreRequest{Model: model, DatasetPath: dataset})
}

func scoreWith(q run.ScoreRequest) Scorer {
	return func(ctx context.Context, log string) (*report.Accuracy, error) {
		q.Log = log
		scored, err := run.Score(ctx, q, nil)
		if scored == nil {
			return nil, err
		}
		return scored.Accuracy, err
	}
}
