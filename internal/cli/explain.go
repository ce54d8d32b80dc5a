package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/importlog"
)

func newExplain() *cobra.Command {
	asJSON := false
	var about importlog.About
	cmd := &cobra.Command{
		Use:   "explain [RUN_DIR]",
		Short: "Show every constraint of a run: required, observed, verdict, which file set it, what to do",
		Long: `Show the constraints of a run, and its settings. Without RUN_DIR it is the newest under results.

RUN_DIR may also contain only the summary and the detail log of any LoadGen since v0.5. The rules
are then those of the round and the model that its path names
(inference_results_v5.1/closed/…/resnet50/Server/performance/run_1), else those of the version
of LoadGen, or what --rules and --model say.`,
		Example: "  mlperf explain results/resnet50/server/performance/latest\n" +
			"  mlperf explain --json results/resnet50/server/performance/latest\n" +
			"  mlperf explain --model resnet50 --rules v5.1 logs",
		Args: arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := "", error(nil)
			if len(args) == 1 {
				dir = args[0]
			} else if dir, err = newestRun(cmd, "run", "mlperf run", func(*report.Results) bool { return true }); err != nil {
				return err
			}
			r, err := importlog.Read(dir, about)
			if err != nil {
				return err
			}
			if asJSON {
				return report.JSON(cmd.OutOrStdout(), r)
			}
			var commands []string
			if r.Result == report.Invalid {
				for _, c := range changesFor(r) {
					commands = append(commands, c.of(commandOf(r)))
				}
			}
			return report.Explain(cmd.OutOrStdout(), r, commands...)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole of results.json")
	cmd.Flags().StringVar(&about.Model, "model", "", "benchmark that the logs of another LoadGen are of")
	cmd.Flags().StringVar(&about.Rules, "rules", "", "rule set of the logs of another LoadGen")
	return cmd
}

// commandOf are the arguments that made a run, or those that make one like it.
func commandOf(r *report.Results) []string {
	if c := r.Command; len(c) > 1 && c[0] == "mlperf" && c[1] == "run" {
		return c[1:]
	}
	args := []string{"run"}
	if r.Model != report.NotKnown {
		args = append(args, "--model", r.Model)
	}
	args = append(args, "--scenario", strings.ToLower(r.ScenarioName()))
	if r.Rules != report.NotKnown {
		args = append(args, "--rules", r.Rules)
	}
	return args
}
