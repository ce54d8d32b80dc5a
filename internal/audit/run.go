package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/session"
)

// A Request asks for a test.
type Request struct {
	session.Request // Output is the folder of the scenario: the test's goes there

	Test string
	// Performance and Accuracy are folders of runs of the result; empty: they are made.
	Performance, Accuracy string
	Options               Options
}

// workFolder, within that of the scenario, has all files of the runs.
const workFolder = "runs"

// A runner makes the runs of a test.
type runner struct {
	Request
	model    string // of the catalogue
	observer session.Observer
	dataset  string
}

// Run makes the runs that a test needs, verifies them and writes the test's folder. The
// run under the test's settings has the target of the result's.
func Run(ctx context.Context, q Request, o session.Observer) (*Verdict, error) {
	r := &runner{Request: q, observer: o}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{r.performance, r.accuracy, r.audit} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if r.Test == Test01 {
		r.Options.Scorer = r.score
	}
	v, err := Verify(r.Test, Logs{Performance: r.Performance, Accuracy: r.Accuracy, Audit: r.work(r.Test)}, r.Options)
	if err != nil {
		return nil, err
	}
	return v, v.Write(r.Output, r.Force)
}

// prepare refuses what cannot end well before anything runs.
func (r *runner) prepare() (err error) {
	if r.Test, err = lookup(r.Test); err != nil {
		return err
	}
	if r.Mode != "" && r.Mode != "performance" {
		return field.Errorf("mode", "a test has the modes it needs")
	}
	if r.AuditConf != "" {
		return field.Errorf("audit_conf", "the test makes its own")
	}
	q := r.Request.Request
	q.Output = ""
	resolved, err := session.Resolve(q)
	if err != nil {
		return err
	}
	set, err := config.Rules(r.Rules)
	if err != nil {
		return field.Wrap("rules", err)
	}
	if r.Options.Rules = set.Version; r.Test == Test05 && (set.Version < "v2.1" || set.Version >= "v5") {
		return field.Errorf("rules", "TEST05 is of the rules v2.1 to v4.1, not of %s", set.Version)
	}
	r.model = resolved.Request.Model
	if r.Output == "" {
		r.Output = filepath.Join("results", r.model, strings.ToLower(resolved.Settings.Scenario.String()), "audit", time.Now().Format("20060102-150405"))
	}
	if strings.HasSuffix(r.model, "99.9") && r.Options.MaxLoss == 0 {
		r.Options.MaxLoss = 0.1
	}
	return r.free()
}

// free refuses a folder that has the test already.
func (r *runner) free() error {
	if _, err := os.Stat(filepath.Join(r.Output, r.Test)); err == nil && !r.Force {
		return &session.ExistsError{Folder: filepath.Join(r.Output, r.Test)}
	}
	return nil
}

func (r *runner) work(run string) string { return filepath.Join(r.Output, workFolder, run) }

// performance runs the result's performance test, unless there is one.
func (r *runner) performance(ctx context.Context) error {
	if r.Performance != "" {
		return nil
	}
	r.Performance = r.work("performance")
	q := r.Request.Request
	q.Mode = "performance"
	return r.run(ctx, q, r.Performance)
}

// accuracy runs the result's accuracy test, if this test needs one.
func (r *runner) accuracy(ctx context.Context) error {
	if r.Accuracy != "" || r.Test != Test01 {
		return nil
	}
	r.Accuracy = r.work("accuracy")
	q := r.Request.Request
	q.Mode, q.AutoLatency = "accuracy", false
	return r.run(ctx, q, r.Accuracy)
}

// audit runs under the settings of the test.
func (r *runner) audit(ctx context.Context) error {
	text, err := Conf(r.Test, r.model)
	if err != nil {
		return err
	}
	dir := r.work(r.Test)
	q := r.Request.Request
	q.Mode, q.AuditConf = "performance", filepath.Join(dir, confFile)
	if err := writeFile(q.AuditConf, strings.NewReader(text)); err != nil {
		return err
	}
	if err := r.sameTarget(&q); err != nil {
		return err
	}
	return r.run(ctx, q, dir)
}

// sameTarget gives the run the target of the result, which may have been measured.
func (r *runner) sameTarget(q *session.Request) error {
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
func (r *runner) run(ctx context.Context, q session.Request, dir string) error {
	q.Output = dir
	resolved, err := session.Resolve(q)
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
func (r *runner) score(log string) (*report.Accuracy, error) {
	return ScoreWith(r.model, r.dataset)(log)
}

// ScoreWith scores logs of a model with the ground truth in a folder.
func ScoreWith(model, dataset string) Scorer {
	return func(log string) (*report.Accuracy, error) {
		scored, err := session.Score(session.ScoreRequest{Model: model, Log: log, DatasetPath: dataset})
		if scored == nil {
			return nil, err
		}
		return scored.Accuracy, err
	}
}
