package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/foreign"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/session"
)

// reportFormats are the values of --format.
var reportFormats = []string{"mlmark", "table", "csv", "json"}

func newReport() *cobra.Command {
	format, price := "table", 0.0
	cmd := &cobra.Command{
		Use:   "report [RUN_DIR…]",
		Short: "List runs side by side: as a table, CSV, JSON, or as MLMark does",
		Long: `List the runs below folders (default: results), also those that another LoadGen has
logged: what its logs do not say, such as the engine, is not known.

--format mlmark shows what EEMBC's MLMark reports: frames per second, 95th-percentile
latency, and accuracy, beside precision, batch and concurrency, with three significant
digits. Accuracy is that of the newest accuracy run of the same model file on the same
engine and device. With --price, the price of the system in dollars, it also shows frames
per second per dollar. These are not MLMark scores: those come from EEMBC's own program.`,
		Example: `  mlperf report
  mlperf report --format mlmark --price 1499 results/mobilenet
  mlperf report --format csv results/resnet50/server/performance/latest`,
		Args: arguments(0, 1000),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(reportFormats, format) {
				return usage("unknown format %q, want %s", format, strings.Join(reportFormats, ", "))
			}
			if price < 0 {
				return usage("--price is %g, want dollars", price)
			}
			lines, err := reportLines(cmd, args, price)
			if err != nil {
				return err
			}
			return printLines(cmd.OutOrStdout(), format, lines)
		},
	}
	cmd.Flags().StringVar(&format, "format", format, "mlmark, table, csv or json")
	cmd.Flags().Float64Var(&price, "price", 0, "price of the system in dollars")
	return cmd
}

// keptRuns is the folder of runs that nobody gave a folder for.
const keptRuns = "results"

// reportLines lists the runs below folders. Their accuracy may also come from another run in
// the folder where runs are kept.
func reportLines(cmd *cobra.Command, folders []string, price float64) ([]report.Line, error) {
	var others []report.Run
	if len(folders) == 0 {
		folders = []string{keptRuns}
	} else {
		others, _, _ = report.Collect([]string{keptRuns}, report.Read) // it need not exist
	}
	runs, problems, err := report.Collect(folders, func(dir string) (*report.Results, error) { return foreign.Read(dir, foreign.About{}) })
	if err != nil {
		return nil, err
	}
	for _, p := range problems {
		fmt.Fprintf(cmd.ErrOrStderr(), "left out: %v\n", p)
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("there are no runs below %s", strings.Join(folders, ", "))
	}
	return report.Lines(runs, others, price), nil
}

func printLines(w io.Writer, format string, lines []report.Line) error {
	switch format {
	case "mlmark":
		return report.MLMark(w, lines)
	case "csv":
		return report.CSV(w, lines)
	case "json":
		return report.JSON(w, lines)
	}
	return report.Table(w, lines)
}
func newExplain() *cobra.Command {
	asJSON := false
	var about foreign.About
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
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := foreign.Read(args[0], about)
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
