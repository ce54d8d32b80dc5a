package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run/catalogue"
	"github.com/mlperf-go/mlperf/internal/run/rescore"
)

func newAccuracy() *cobra.Command {
	q := &rescore.Request{}
	var options optionFlags
	asJSON := false
	cmd := &cobra.Command{
		Use:   "accuracy [RUN_DIR]",
		Short: "Score an accuracy log as the official script does",
		Long: `Score the accuracy log of a run, print what the official script prints, and write it to
accuracy.txt in the folder of the run. Without RUN_DIR it is the newest accuracy run under
results, or what --model, --log and --dataset-path name.

A log without a run, and a run with flags that name other files than its own, have their
score only printed: --output names a folder for accuracy.txt, as submissions need it beside
the log. Spellings of the official scripts work too
(--use_inv_map, --output_dtype, --day-23-file), and so does the variable
DATASET_ANNOTATIONS_FILE_PATH of the script for OpenImages.

Logs of DLRM with labels, as the official script expects them, need no --dataset-path.

--remove-48-empty-images numbers the samples in the order of the annotation file, as the
reference loads them, and as a run does. The official script numbers them in the order of a
Python set, which differs for the real data set.

Exit status: 0 target met, 4 below the target, 1 error, 2 usage.`,
		Example: "  mlperf accuracy results/mobilenet/offline/accuracy/latest\n" +
			"  mlperf accuracy --model resnet50 --log mlperf_log_accuracy.json --dataset-path imagenet",
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1:
				q.Run = args[0]
			case q.Model == "" && q.Log == "" && q.DatasetPath == "":
				var err error
				q.Run, err = newestRun(cmd, "accuracy run", "mlperf run --model resnet50 --scenario offline --mode accuracy", func(r *report.Results) bool {
					return r.Mode == loadgen.AccuracyOnly.String() || r.Mode == loadgen.SubmissionRun.String()
				})
				if err != nil {
					return err
				}
			case q.Model == "" || q.Log == "":
				return usage("accuracy needs --model, --log and --dataset-path together, or a RUN_DIR; logs of DLRM with labels need no --dataset-path")
			}
			q.Options, q.OpenImagesAnnotations = options.values(), os.Getenv("DATASET_ANNOTATIONS_FILE_PATH")
			display := newDisplay(cmd)
			scored, err := rescore.Score(cmd.Context(), *q, display)
			display.Done()
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), "accuracy", scored.Accuracy)
			} else {
				err = report.Score(cmd.OutOrStdout(), scored.Accuracy)
			}
			if err != nil {
				return err
			}
			for _, w := range scored.Warnings {
				_ = say(cmd.ErrOrStderr(), "warning: %s\n", w)
			}
			if scored.Run != nil && !scored.Run.Valid() {
				_ = say(cmd.ErrOrStderr(), "warning: the run is %s\n", scored.Run.Result)
			}
			if scored.Accuracy.Below() {
				return finished(ExitInaccurate)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Model, "model", "", "model of the catalogue (default: the run's)")
	f.StringVar(&q.Log, "log", "", "accuracy log (default: the run's)")
	f.StringVar(&q.DatasetPath, "dataset-path", "", "folder of the data set (default: the run's)")
	f.StringVar(&q.Output, "output", "", "folder that gets accuracy.txt, too")
	options.define(f, catalogue.ScoreOptions())
	defineLibrary(f, &q.Library)
	jsonFlag(f, &asJSON)
	return cmd
}
