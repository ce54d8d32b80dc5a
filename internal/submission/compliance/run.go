package compliance

import (
	"cmp"
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
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/run/rescore"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Request asks for a test.
type Request struct {
	run.Request // Output is the folder of the scenario: the test's goes there

	Test string
	// Performance and Accuracy are folders of runs of the result; empty: they are made.
	Performance, Accuracy string
	// Keep leaves a run that is in its folder already if it is VALID, or of an audit, and was of the same settings, model, data and program.
	Keep bool
	// CustomData is the folder of TEST03's data; empty: they are made from the official ones.
	CustomData string
	Options    Options
}

// A runner makes the runs of a test.
type runner struct {
	Request
	version  string // of the rules
	model    string // of the catalogue
	scenario loadgen.Scenario
	observer run.Observer
	dataset  string   // of the last run
	kept     bool     // the last run was in its folder already, or all of an audit were
	made     []string // folders of runs: a second try replaces the first
}

// Run makes the runs that a test needs, verifies them and writes the test's folder. The run under the test's settings has
// the target of the result's, unless the request has another.
func Run(ctx context.Context, q Request, o run.Observer) (*Verdict, error) {
	return (&runner{Request: q, observer: o}).test(ctx)
}

// RunSet makes the audit set of v0.5, and calls tell with the verdict of each test. All tests compare with the same runs of
// the result. A test that fails does not keep the others from running.
func RunSet(ctx context.Context, q Request, o run.Observer, tell func(*Verdict) error) error {
	q.Rules = "v0.5"
	dataset := q.DatasetPath
	for _, test := range auditSet {
		r := &runner{Request: q, observer: o, dataset: dataset}
		r.Test = test
		if test == test04 {
			r.Performance = "" // it compares two runs of its own
			if needs, err := Needs(q.Rules, q.Model, ""); err == nil && !slices.Contains(needs[0].Tests, test04A) {
				continue
			}
		}
		v, err := r.test(ctx)
		if err != nil {
			return err
		}
		if err := tell(v); err != nil {
			return err
		}
		if dataset, q.Output = r.dataset, r.Output; test == test01 {
			q.Performance, q.Accuracy = r.Performance, r.Accuracy
		}
	}
	return nil
}

// test makes one test.
func (r *runner) test(ctx context.Context) (*Verdict, error) {
	if err := r.prepare(); err != nil {
		return nil, err
	}
	if r.asksServers() {
		return r.audit(ctx)
	}
	steps := []func(context.Context) error{r.runPerformance, r.runAccuracy, r.runTest}
	switch {
	case r.Test == test03:
		steps[2] = r.runChanged
	case twoRuns(r.Test, r.version):
		steps = []func(context.Context) error{r.runUnique, r.runTest}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if r.Test == test01 || r.Test == test07 {
		q := rescore.Request{Model: r.model, DatasetPath: r.dataset}
		if m, err := models.LookupAny(r.model); err == nil {
			q.Model = models.InRound(r.version, r.model, m).Name
			q.Options = m.Shared(r.Request.Request.Options) // as the tokenizer
		}
		r.Options.Scorer = scoreWith(q)
	}
	v, err := Verify(ctx, r.Test, Logs{Performance: r.Performance, Accuracy: r.Accuracy, Audit: r.folder(r.Test)}, r.Options)
	if err != nil {
		return nil, err
	}
	return v, v.Write(r.Output, r.Force)
}

// folder is where a run goes.
func (r *runner) folder(run string) string { return filepath.Join(r.Output, "runs", run) }

// prepare refuses a wrong request before anything runs, and finds out the model and the scenario.
func (r *runner) prepare() (err error) {
	if r.Test, r.version, err = lookup(r.Test, r.Rules); err != nil {
		return err
	}
	r.Options.Rules = r.version
	if err := r.Options.check(); err != nil {
		return err
	}
	switch {
	case r.Mode != "" && r.Mode != "performance":
		return userinput.Errorf("mode", "a test has the modes it needs")
	case r.AuditConf != "":
		return userinput.Errorf("audit_conf", "the test makes its own")
	}
	r.Mode = "performance"
	q := r.Request.Request
	q.Output = ""
	resolved, err := run.Resolve(q)
	if err != nil {
		return err
	}
	r.model, r.scenario = resolved.Request.Model, resolved.Settings.Scenario
	r.Options.Model = r.model
	if r.Test >= test06 { // logs of other models have nothing to check
		needs, err := Needs(r.version, r.model, "")
		if err != nil {
			return err
		}
		if own := needs[0].Tests; !slices.Contains(own, r.Test) { // all scenarios have the same
			return userinput.Errorf("test", "%s is not for %s, whose tests are %s", r.Test, r.model, strings.Join(own, ", "))
		}
	}
	if r.Output == "" {
		r.Output = filepath.Join(outdir.Root, r.model, strings.ToLower(resolved.ScenarioName()), "audit", time.Now().Format("20060102-150405"))
	}
	names := []string{r.Test}
	switch {
	case twoRuns(r.Test, r.version):
		names = []string{test04A, test04B}
	case r.asksServers():
		names = []string{AuditFolder}
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(r.Output, name)); err == nil && !r.Force {
			return &outdir.ExistsError{Folder: filepath.Join(r.Output, name)}
		}
	}
	return nil
}

// runPerformance makes the result's performance run, if the test compares with it and there is none.
func (r *runner) runPerformance(ctx context.Context) error {
	if r.Performance != "" || !kinds[r.Test].performance {
		return nil
	}
	r.Performance = r.folder("performance")
	return r.run(ctx, r.Request.Request, r.Performance, "")
}

// runAccuracy makes the result's accuracy run, if the test compares with it and there is none.
func (r *runner) runAccuracy(ctx context.Context) error {
	if r.Accuracy != "" || !kinds[r.Test].accuracy {
		return nil
	}
	r.Accuracy = r.folder("accuracy")
	q := r.Request.Request
	q.Mode, q.AutoLatency = "accuracy", false
	return r.run(ctx, q, r.Accuracy, "")
}

// runUnique makes the run of TEST04-A.
func (r *runner) runUnique(ctx context.Context) error {
	if r.Performance != "" {
		return nil
	}
	r.Performance = r.folder(test04A)
	return r.run(ctx, r.Request.Request, r.Performance, confText(test04A, r.model, "performance_issue_unique = 1", "performance_issue_same = 0"))
}

// runTest makes the run under the settings of the test.
func (r *runner) runTest(ctx context.Context) error {
	conf, err := Conf(r.Test, r.model, r.version)
	if err != nil {
		return err
	}
	q := r.Request.Request
	if r.Test == test07 { // it has data of its own, all in one query of Offline (compliance/TEST07/README.md)
		samples := config.Override{Key: "performance_sample_count_override", Value: strconv.Itoa(samples07),
			Origin: confFile + ": the data set of TEST07", Role: limitation.AuditConf}
		q.Settings = append([]config.Override{samples}, q.Settings...)
	}
	if r.Performance != "" {
		if err := r.sameTarget(&q); err != nil {
			return err
		}
	}
	err = r.run(ctx, q, r.folder(r.Test), conf)
	if few := (*loadgen.FewSamplesError)(nil); errors.As(err, &few) { // a trial on a small data set: Verify says that samples are missing
		r.observer.Note(fmt.Sprintf("%s has %d samples, and only %d are loaded: it runs with these", r.Test, few.PerQuery, few.Loaded))
		q.Settings = append(q.Settings, config.Override{Key: "performance_sample_count_override", Value: strconv.Itoa(few.Loaded),
			Origin: "the loaded samples"})
		conf = strings.Replace(conf, fmt.Sprintf("min_query_count = %d\n", few.PerQuery), fmt.Sprintf("min_query_count = %d\n", few.Loaded), 1)
		err = r.run(ctx, q, r.folder(r.Test), conf)
	}
	return err
}

// runChanged makes the performance and the accuracy run of TEST03, on changed data.
func (r *runner) runChanged(ctx context.Context) error {
	if r.CustomData == "" {
		r.CustomData = r.folder("data")
		if r.dataset == "" { // the runs of the result were given
			r.dataset = r.DatasetPath
		}
		if r.dataset == "" {
			return userinput.Errorf("dataset_path", "TEST03 changes the data of the result's runs: give their folder, or the changed data")
		}
		r.observer.Note("changing the data of " + r.dataset + " into " + r.CustomData)
		if err := changeData(ctx, r.dataset, r.CustomData); err != nil {
			return err
		}
	}
	q := r.Request.Request
	q.DatasetPath = r.CustomData
	if err := r.sameTarget(&q); err != nil {
		return err
	}
	if err := r.run(ctx, q, filepath.Join(r.folder(r.Test), "performance", "run_1"), ""); err != nil {
		return err
	}
	q = r.Request.Request
	q.DatasetPath, q.Mode, q.AutoLatency = r.CustomData, "accuracy", false
	return r.run(ctx, q, filepath.Join(r.folder(r.Test), "accuracy"), "")
}

// sameTarget gives a run the target of the result, which may have been measured, unless the request itself has one.
func (r *runner) sameTarget(q *run.Request) error {
	folder, err := findRun(r.Performance)
	if err != nil {
		return err
	}
	ref, err := readRun(folder)
	if err != nil {
		return err
	}
	s, origin := ref.settings, "the performance run"
	asked := slices.ContainsFunc(q.Settings, func(o config.Override) bool { return o.Key == "target_qps" })
	if !asked && (s.Scenario == loadgen.Offline || s.Scenario == loadgen.Server) {
		q.Settings = append(q.Settings, config.Override{Key: "target_qps", Value: strconv.FormatFloat(s.TargetQPS, 'g', -1, 64), Origin: origin})
	}
	if s.Scenario == loadgen.Server && q.AutoLatency {
		q.AutoLatency = false
		q.Settings = append(q.Settings, config.Override{Key: "target_latency", Value: s.TargetLatency.String(), Origin: origin})
	}
	return nil
}

// run makes one run, under an audit.config if there is one. The verdict tells whether it is INVALID.
func (r *runner) run(ctx context.Context, q run.Request, dir, conf string) error {
	q.Output, q.AccuracyRun = dir, cmp.Or(q.AccuracyRun, r.Accuracy)
	if q.Force = q.Force || slices.Contains(r.made, dir); !q.Force {
		r.made = append(r.made, dir)
	}
	if conf != "" {
		q.AuditConf = filepath.Join(dir, confFile)
		if err := outdir.CheckText(q.AuditConf, conf); err != nil && !q.Force {
			return err
		}
		if err := os.MkdirAll(r.Output, 0o755); err != nil {
			return err
		}
		name, err := filepath.Rel(r.Output, q.AuditConf)
		if err != nil {
			return err
		}
		if err := fileio.CopyIn(r.Output, filepath.ToSlash(name), strings.NewReader(conf)); err != nil {
			return err
		}
	}
	resolved, err := run.Resolve(q)
	if err != nil {
		return err
	}
	prepared, err := resolved.Provide(ctx, r.observer)
	if err != nil {
		return err
	}
	r.dataset = prepared.DatasetDir()
	earlier := run.Earlier(dir, prepared.Fingerprint.String())
	ended := earlier != nil && (earlier.Valid() || r.asksServers()) // the audit has a verdict of its own: its 20 streams are too few for LoadGen's
	if r.kept = r.Keep && ended; r.kept {
		return prepared.Close()
	}
	r.observer.Note("run for " + cmp.Or(r.Test, "the result") + ": logs and results go to " + dir)
	results, err := prepared.Run(ctx)
	if results != nil && results.Result == report.Invalid && r.Test == test06 {
		err = nil // the verdict says which requests failed
	}
	if err = errors.Join(err, prepared.Close()); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if results.Result == report.Interrupted && ctx.Err() != nil {
		return fmt.Errorf("%s: %w", dir, context.Cause(ctx))
	}
	return nil
}

// ScoreWith scores logs of a model with the ground truth in a folder.
func ScoreWith(model, dataset string) scorer {
	return scoreWith(rescore.Request{Model: model, DatasetPath: dataset})
}

func scoreWith(q rescore.Request) scorer {
	return func(ctx context.Context, log string) (*report.Accuracy, error) {
		q.Log = log
		scored, err := rescore.Score(ctx, q, nil)
		if scored == nil {
			return nil, err
		}
		return scored.Accuracy, err
	}
}
