package results

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/request"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/importlog"
	"github.com/mlperf-go/mlperf/internal/run"
)

func newExplain() *cobra.Command {
	asJSON := false
	var about importlog.About
	cmd := &cobra.Command{
		Use:   "explain RUN_DIR",
		Short: "Show every constraint of a run: required, observed, verdict, which file set it, what to do",
		Long: `Show what a run was judged by, and with which settings.

RUN_DIR may also have the summary and the detail log of any LoadGen since v0.5, and nothing of
ours. The rules are then those of the round and the model that its path names
(inference_results_v5.1/closed/…/resnet50/Server/performance/run_1), else those of the version
of LoadGen, or what --rules and --model say.`,
		Example: "  mlperf explain results/resnet50/server/performance/latest\n" +
			"  mlperf explain --json results/resnet50/server/performance/latest\n" +
			"  mlperf explain --model resnet50 --rules v5.1 logs",
		Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := importlog.Read(args[0], about)
			if err != nil {
				return err
			}
			if asJSON {
				return report.JSON(cmd.OutOrStdout(), r)
			}
			return report.Explain(cmd.OutOrStdout(), r)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole of results.json")
	cmd.Flags().StringVar(&about.Model, "model", "", "benchmark that the logs of another LoadGen are of")
	cmd.Flags().StringVar(&about.Rules, "rules", "", "rule set of the logs of another LoadGen")
	return cmd
}

func newAccuracy() *cobra.Command {
	q := &run.ScoreRequest{}
	var options request.OptionFlags
	asJSON := false
	cmd := &cobra.Command{
		Use:   "accuracy [RUN_DIR]",
		Short: "Score an accuracy log as the official script does",
		Long: `Score the accuracy log of a run, print what the official script prints, and write it to
accuracy.txt beside the log. Without RUN_DIR, --model, --log and --dataset-path name what
to score.

With RUN_DIR and flags that name something else than the run's own, this is a what-if:
the score is printed, and the record of the run stays as it is. The spellings of the
official scripts are understood too (--use_inv_map, --output_dtype), and so is the variable
DATASET_ANNOTATIONS_FILE_PATH of the one for OpenImages.

--remove-48-empty-images numbers the samples in the order of the annotation file, in which
the reference loads them, and so does a run. The official script numbers them in the order
of a Python set, which is another one for the real data set.

Exit status: 0 target met, 4 below the target, 1 error, 2 usage.`,
		Example: "  mlperf accuracy results/mobilenet/offline/accuracy/latest\n" +
			"  mlperf accuracy --model resnet50 --log mlperf_log_accuracy.json --dataset-path imagenet",
		Args: cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				q.Run = args[0]
			} else if q.Model == "" || q.Log == "" || q.DatasetPath == "" {
				return cli.Usage("accuracy needs a RUN_DIR, or --model, --log and --dataset-path")
			}
			q.Options, q.OpenImagesAnnotations = options.Values(), os.Getenv("DATASET_ANNOTATIONS_FILE_PATH")
			display := cli.NewDisplay(cmd)
			scored, err := run.Score(cmd.Context(), *q, display)
			display.Done()
			if err != nil {
				return err
			}
			return showScore(cmd, scored, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Model, "model", "", "model of the catalogue (default: the run's)")
	f.StringVar(&q.Log, "log", "", "accuracy log (default: the run's)")
	f.StringVar(&q.DatasetPath, "dataset-path", "", "folder of the data set (default: the run's)")
	options.Define(f, run.ScoreOptions())
	request.DefineLibrary(f, &q.Engine)
	f.BoolVar(&asJSON, "json", false, "print the score as JSON")
	return cmd
}

func showScore(cmd *cobra.Command, s *run.Scored, asJSON bool) error {
	var err error
	if asJSON {
		err = cli.PrintJSON(cmd.OutOrStdout(), "accuracy", s.Accuracy)
	} else {
		err = report.Score(cmd.OutOrStdout(), s.Accuracy)
	}
	if err != nil {
		return err
	}
	for _, w := range s.Warnings {
		_ = cli.Say(cmd.ErrOrStderr(), "warning: %s\n", w)
	}
	if s.Run != nil && !s.Run.Valid() {
		_ = cli.Say(cmd.ErrOrStderr(), "warning: the run is %s\n", s.Run.Result)
	}
	if s.Accuracy.Below() {
		return cli.Finished(cli.ExitInaccurate)
	}
	return nil
}
