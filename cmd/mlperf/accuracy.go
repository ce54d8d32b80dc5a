package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// accuracyOptions are the flags of accuracy.
type accuracyOptions struct {
	model, log, datasetPath string
	bind                    modelFlags
	asJSON                  bool
}

func newAccuracy() *cobra.Command {
	o := &accuracyOptions{}
	cmd := &cobra.Command{
		Use:   "accuracy [RUN_DIR]",
		Short: "Score an accuracy log as the official script does",
		Long: `Score the accuracy log of a run, print what the official script prints, and write it to
accuracy.txt beside the log. Without RUN_DIR, --model and --log name the log.

Exit status: 0 target met, 4 below the target, 1 error.`,
		Example: "  mlperf accuracy results/mobilenet/offline/accuracy/latest\n" +
			"  mlperf accuracy --model resnet50 --log mlperf_log_accuracy.json --dataset-path imagenet",
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := mergeOptions(cmd); err != nil {
				return usage("%w", err)
			}
			return o.run(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.model, "model", "", "model of the catalogue (default: the run's)")
	f.StringVar(&o.log, "log", "", "accuracy log (default: the run's)")
	f.StringVar(&o.datasetPath, "dataset-path", "", "folder of the data set (default: the run's)")
	o.bind.define(f, func(m workload.Model) []workload.Option { return m.ScoreOptions })
	f.BoolVar(&o.asJSON, "json", false, "print the score as JSON")
	return cmd
}

func (o *accuracyOptions) run(cmd *cobra.Command, args []string) error {
	var run *report.Results
	dir := ""
	if len(args) == 1 {
		dir = args[0]
		var err error
		if run, err = report.Read(dir); err != nil {
			return err
		}
		o.fillFrom(run, dir)
	}
	if o.model == "" || o.log == "" || o.datasetPath == "" {
		return usage("accuracy needs a RUN_DIR, or --model, --log and --dataset-path")
	}
	model, err := models.Lookup(o.model)
	if err != nil {
		return usage("%w", err)
	}
	target := bench.Target{Quality: model.Quality}
	if run != nil && run.Accuracy != nil {
		target.Reference = run.Accuracy.Reference
	}
	scoring := workload.Scoring{DatasetDir: o.datasetPath, Options: o.bind.values(), Foreign: run == nil}
	if err := optionUsage(model.CheckScoreOptions(scoring.Options)); err != nil {
		return err
	}
	if run != nil {
		scoring.Samples = run.Input.Samples
	}
	score, warnings, err := bench.Score(o.log, model, scoring, target)
	if err != nil {
		return err
	}
	if err := o.keep(run, dir, score); err != nil {
		return err
	}
	return o.show(cmd, run, score, warnings)
}

// fillFrom takes what no flag gives from a run.
func (o *accuracyOptions) fillFrom(run *report.Results, dir string) {
	for _, f := range []struct {
		flag *string
		of   string
	}{
		{&o.model, run.Model},
		{&o.log, filepath.Join(dir, mlperflog.AccuracyFile)},
		{&o.datasetPath, run.Input.DatasetPath},
	} {
		if *f.flag == "" {
			*f.flag = f.of
		}
	}
}

// keep writes the score beside the log, and into the results of the run.
func (o *accuracyOptions) keep(run *report.Results, dir string, score *report.Accuracy) error {
	if run == nil {
		return nil
	}
	if run.Accuracy != nil {
		score.Samples = run.Accuracy.Samples
	}
	run.Accuracy = score
	if err := bench.WriteAccuracy(dir, score); err != nil {
		return err
	}
	return run.Write(dir)
}

func (o *accuracyOptions) show(cmd *cobra.Command, run *report.Results, score *report.Accuracy, warnings []string) error {
	if o.asJSON {
		if err := report.JSON(cmd.OutOrStdout(), score); err != nil {
			return err
		}
	} else if err := report.Score(cmd.OutOrStdout(), score); err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", w)
	}
	if run != nil && !run.Valid() {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: the run is %s\n", run.Result)
	}
	if !score.Met {
		return finished(exitInaccurate)
	}
	return nil
}
