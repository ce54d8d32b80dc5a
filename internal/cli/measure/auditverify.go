package measure

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/compliance"
	"github.com/mlperf-go/mlperf/internal/config"
)

// verifyFlags are the flags of audit verify.
type verifyFlags struct {
	options       compliance.Options
	logs          compliance.Logs
	dataset       string
	output        string
	force, asJSON bool
}

func newAuditVerify() *cobra.Command {
	o := &verifyFlags{}
	cmd := &cobra.Command{
		Use:   "verify TEST RESULT LOGS",
		Short: "Verify the logs of a compliance test that was run elsewhere",
		Long: `Verify the logs of a compliance test that was run elsewhere. RESULT is the folder of
the result, with performance/run_1 and accuracy, or of its performance run (before v2.1,
for TEST04, that of TEST04-A); LOGS is that of the run under the test's audit.config.

Nothing is written unless --output names the folder that gets one for TEST. With --model
and --dataset-path, TEST01 compares scores where responses vary.`,
		Example: "  mlperf audit verify TEST01 closed/Org/results/sys/resnet50/Offline logs --output checked\n" +
			"  mlperf audit verify TEST04 runs/performance runs/TEST04",
		Args: cli.Arguments(3, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.logs.Performance, o.logs.Audit = args[1], args[2]
			return o.run(cmd, args[0])
		},
	}
	o.define(cmd.Flags())
	return cmd
}

func (o *verifyFlags) define(f *pflag.FlagSet) {
	f.StringVar(&o.logs.Accuracy, "accuracy-logs", "", "folder of the result's accuracy run (default RESULT)")
	f.StringVar(&o.options.Rules, "rules", config.Newest, "rule set")
	defineAudit(f, &o.options)
	f.StringVar(&o.options.Model, "model", "", "model of the catalogue: for TEST01 and TEST07 to score, and for the bounds of TEST07 and TEST09 (default: as the results of LOGS say)")
	f.StringVar(&o.dataset, "dataset-path", "", "TEST01, TEST07: data set, to score")
	f.StringVar(&o.output, "output", "", "folder that gets one for TEST, as MLCommons wants it")
	f.BoolVar(&o.force, "force", false, "replace the test's files in --output")
	cli.JSONFlag(f, &o.asJSON)
}

func (o *verifyFlags) run(cmd *cobra.Command, test string) error {
	if err := o.pointless(cmd.Flags()); err != nil {
		return err
	}
	if o.options.Model != "" && o.dataset != "" {
		o.options.Scorer = compliance.ScoreWith(o.options.Model, o.dataset)
	}
	v, err := compliance.Verify(cmd.Context(), test, o.logs, o.options)
	if err == nil && o.output != "" {
		err = v.Write(o.output, o.force)
	}
	if err != nil {
		return err
	}
	return showVerdict(cmd.OutOrStdout(), v, o.asJSON)
}

// pointless finds flags that would be passed over without a word.
func (o *verifyFlags) pointless(f *pflag.FlagSet) error {
	if o.options.Model == "" {
		if err := cli.Pointless(f, "is scored with --model, which is not given", "dataset-path"); err != nil {
			return err
		}
	}
	if o.output == "" {
		return cli.Pointless(f, "is of --output, and nothing is written without it", "force")
	}
	return nil
}
