package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/session"
)

func newAccuracy() *cobra.Command {
	q := &session.ScoreRequest{}
	var options optionFlags
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
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				q.Run = args[0]
			} else if q.Model == "" || q.Log == "" || q.DatasetPath == "" {
				return usage("accuracy needs a RUN_DIR, or --model, --log and --dataset-path")
			}
			q.Options, q.OpenImagesAnnotations = options.values(), os.Getenv("DATASET_ANNOTATIONS_FILE_PATH")
			scored, err := session.Score(*q)
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
	options.define(f, session.ScoreOptions())
	f.BoolVar(&asJSON, "json", false, "print the score as JSON")
	return cmd
}

func showScore(cmd *cobra.Command, s *session.Scored, asJSON bool) error {
	var err error
	if asJSON {
		err = report.JSON(cmd.OutOrStdout(), s.Accuracy)
	} else {
		err = report.Score(cmd.OutOrStdout(), s.Accuracy)
	}
	if err != nil {
		return err
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s\n", w)
	}
	if s.Run != nil && !s.Run.Valid() {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: the run is %s\n", s.Run.Result)
	}
	if s.Accuracy.Below() {
		return finished(exitInaccurate)
	}
	return nil
}
