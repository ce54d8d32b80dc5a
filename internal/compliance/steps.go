package compliance

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// steps are the runs that a test needs.
func (r *runner) steps() []func(context.Context) error {
	switch {
	case r.Test == Test03:
		return []func(context.Context) error{r.performance, r.accuracy, r.custom}
	case pairOfRuns(r.Test, r.version):
		return []func(context.Context) error{r.unique, r.audit}
	}
	return []func(context.Context) error{r.performance, r.accuracy, r.audit}
}

func (r *runner) work(run string) string { return filepath.Join(r.Output, workFolder, run) }

// performance runs the result's performance test, if this test compares with it and there
// is none.
func (r *runner) performance(ctx context.Context) error {
	if r.Performance != "" || !r.kind.performance {
		return nil
	}
	r.Performance = r.work("performance")
	return r.run(ctx, r.Request.Request, r.Performance)
}

// accuracy runs the result's accuracy test, if this test compares with it and there is none.
func (r *runner) accuracy(ctx context.Context) error {
	if r.Accuracy != "" || !r.kind.accuracy {
		return nil
	}
	r.Accuracy = r.work("accuracy")
	q := r.Request.Request
	q.Mode, q.AutoLatency = "accuracy", false
	return r.run(ctx, q, r.Accuracy)
}

// unique runs with different samples, what TEST04 as two runs is compared with.
func (r *runner) unique(ctx context.Context) error {
	if r.Performance != "" {
		return nil
	}
	r.Performance = r.work(test04A)
	return r.under(ctx, r.Request.Request, r.Performance, uniqueConf(r.model))
}

// audit runs under the settings of the test.
func (r *runner) audit(ctx context.Context) error {
	text, err := Conf(r.Test, r.model, r.version)
	if err != nil {
		return err
	}
	q := r.Request.Request
	q.Settings = append(ownData(r.Test), q.Settings...)
	if r.Performance != "" {
		if err := r.sameTarget(&q); err != nil {
			return err
		}
	}
	return r.under(ctx, q, r.work(r.Test), text)
}

// ownData are settings of a test that has a data set of its own: TEST07's has 990 questions, all
// of which are in one query of Offline (compliance/TEST07/README.md).
func ownData(test string) []config.Override {
	if test != Test07 {
		return nil
	}
	return []config.Override{{Key: "performance_sample_count_override", Value: strconv.Itoa(samples07), Origin: confFile + ": the data set of " + test}}
}

// under runs with an audit.config.
func (r *runner) under(ctx context.Context, q run.Request, dir, conf string) error {
	q.AuditConf = filepath.Join(dir, confFile)
	if err := writeFile(q.AuditConf, strings.NewReader(conf)); err != nil {
		return err
	}
	return r.run(ctx, q, dir)
}

// custom runs performance and accuracy on changed data.
func (r *runner) custom(ctx context.Context) error {
	if r.CustomData == "" {
		r.CustomData = r.work("data")
		if r.dataset == "" { // the runs of the result were there
			r.dataset = r.DatasetPath
		}
		if r.dataset == "" {
			return userinput.Errorf("dataset_path", "TEST03 changes the data of the result's runs: want their folder, or the changed data")
		}
		r.observer.Note("changing the data of " + r.dataset + " into " + r.CustomData)
		if err := alter(ctx, r.dataset, r.CustomData); err != nil {
			return err
		}
	}
	q := r.Request.Request
	q.DatasetPath = r.CustomData
	if err := r.sameTarget(&q); err != nil {
		return err
	}
	if err := r.run(ctx, q, filepath.Join(r.work(r.Test), "performance", "run_1")); err != nil {
		return err
	}
	q = r.Request.Request
	q.DatasetPath, q.Mode, q.AutoLatency = r.CustomData, "accuracy", false
	return r.run(ctx, q, filepath.Join(r.work(r.Test), "accuracy"))
}
