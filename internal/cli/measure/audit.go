package measure

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/compliance"
	"github.com/mlperf-go/mlperf/internal/config"
)

// auditFlags are the flags of audit.
type auditFlags struct {
	runFlags
	audit compliance.Request
}

func newAudit() *cobra.Command {
	o := &auditFlags{}
	cmd := &cobra.Command{
		Use:   "audit TEST",
		Short: "Run and verify a compliance test, TEST01 to TEST09, or the audit set of v0.5",
		Long: `Run and verify a compliance test of a model and a scenario, with the flags of run.

TEST01 compares the responses of a performance run with those of the accuracy run; if
they vary, it compares scores of the same samples. TEST04 asks for one sample again and
again, which must not be faster; before v2.1 it is two runs, TEST04-A with all samples
different and TEST04-B. TEST05, of the rules to v4.1, takes other seeds, which must not be
slower. TEST06 looks at first tokens, ends and lengths of answers, TEST07 at their score
in performance mode, which --accuracy-script prints, TEST09 at their length, and TEST08 at
the entropy of recommendations.

v0.5 is that round's audit set: TEST01 with its seeds, TEST03, which runs on changed data
(pictures without blue, sentences with other words; --custom-data has others), TEST04 and
TEST05.

What a test compares with is run too, unless --performance-logs and --accuracy-logs name
folders that have it. Files go to TEST in the folder of --output, as MLCommons wants them
in a result's folder; everything of the runs is in runs.

Thresholds and algorithms are those of the reference's scripts. The exit status is 0 if
the test passes, 3 if it does not, and 1 if it could not be judged.`,
		Example: "  mlperf audit list --model resnet50 --scenario offline\n" +
			"  mlperf audit TEST04 --model resnet50 --scenario offline --quick --output audit\n" +
			"  mlperf audit v0.5 --model mobilenet --scenario single-stream --output audit\n" +
			"  mlperf audit verify TEST01 closed/Org/results/sys/resnet50/Offline logs",
		Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	o.defineAll(cmd.Flags())
	cmd.AddCommand(newAuditList(), newAuditVerify())
	return cmd
}

// defineAll defines the flags of run, and those of tests.
func (o *auditFlags) defineAll(f *pflag.FlagSet) {
	o.define(f)
	for _, name := range []string{"mode", "audit-conf"} { // the test's own
		if err := f.MarkHidden(name); err != nil {
			panic(err) // a flag that is not there
		}
	}
	f.StringVar(&o.audit.Performance, "performance-logs", "", "folder of the result's performance run (default: it is made)")
	f.StringVar(&o.audit.Accuracy, "accuracy-logs", "", "folder of the result's accuracy run (default: it is made, where a test compares with it)")
	f.StringVar(&o.audit.CustomData, "custom-data", "", "TEST03: data set to run on (default: the official one, changed)")
	defineAudit(f, &o.audit.Options)
}

// defineAudit defines the flags that say how logs are verified.
func defineAudit(f *pflag.FlagSet, o *compliance.Options) {
	f.StringVar(&o.DType, "response-dtype", "", "what responses are of: for TEST01 and TEST03, which compare the first, byte, float32, int32 or int64 (default: byte); for TEST06 int16, int32 or int64 (default: int32)")
	f.Int32Var(&o.EOS, "eos", 0, "TEST06: token that ends an answer (default: those of the run's model, 2 if it does not say)")
	f.StringVar(&o.Score, "accuracy-script", "", "TEST07: command that scores a log, with {accuracy_log} for it (default: the score of the model here)")
	f.StringVar(&o.Pattern, "score-pattern", "", "TEST07: regular expression that finds the score in what that prints (default: as gpt-oss-120b's script prints it)")
	f.Float64Var(&o.LeastScore, "accuracy-threshold", 0, "TEST07: least score (default: the model's)")
	f.Float64Var(&o.Tolerance, "tolerance", 0.001, "TEST08: how much the entropy may differ, as a fraction")
	f.Float64Var(&o.LeastTokens, "min-tokens", 0, "TEST09: least mean length of answers (default: the model's bounds)")
	f.Float64Var(&o.MostTokens, "max-tokens", 0, "TEST09: greatest mean length of answers")
}

func (o *auditFlags) run(cmd *cobra.Command, test string) error {
	if o.Model == "" || o.Scenario == "" {
		return cli.Usage("audit needs --model and --scenario")
	}
	q, err := o.Build(cmd.Flags())
	if err != nil {
		return err
	}
	o.audit.Request = q
	if !strings.EqualFold(test, "v0.5") {
		o.audit.Test = test
		return o.one(cmd)
	}
	if cli.OnCommandLine(cmd.Flags(), "rules") { // what lies in the environment is for other tests
		if set, err := config.Rules(o.audit.Rules); err != nil || set.Version != "v0.5" {
			return cli.Usage("the audit set of v0.5 has the rules of v0.5, not of %s", o.audit.Rules)
		}
	}
	return o.set(cmd)
}

// set runs the audit set of v0.5.
func (o *auditFlags) set(cmd *cobra.Command) error {
	display := cli.NewDisplay(cmd)
	defer display.Done()
	passed := true
	err := compliance.RunSet(cmd.Context(), o.audit, display, func(v *compliance.Verdict) error {
		display.Done()
		passed = passed && v.Passed
		return printVerdict(cmd.OutOrStdout(), v, o.asJSON)
	})
	if err == nil && !passed {
		err = cli.Finished(cli.ExitInvalid)
	}
	return hopeless(err)
}

func (o *auditFlags) one(cmd *cobra.Command) error {
	display := cli.NewDisplay(cmd)
	defer display.Done()
	v, err := compliance.Run(cmd.Context(), o.audit, display)
	display.Done()
	if err != nil {
		return hopeless(err)
	}
	return showVerdict(cmd.OutOrStdout(), v, o.asJSON)
}

// showVerdict prints a verdict, and turns it into the exit status.
func showVerdict(w io.Writer, v *compliance.Verdict, asJSON bool) error {
	if err := printVerdict(w, v, asJSON); err != nil || v.Passed {
		return err
	}
	return cli.Finished(cli.ExitInvalid)
}

func printVerdict(w io.Writer, v *compliance.Verdict, asJSON bool) error {
	if asJSON {
		return cli.PrintJSON(w, "audit", v)
	}
	return cli.Say(w, "%s", verdictText(v))
}

func verdictText(v *compliance.Verdict) string {
	var b strings.Builder
	outcome := "PASSED"
	if !v.Passed {
		outcome = "FAILED"
	}
	fmt.Fprintf(&b, "%s: %s\n", v.Test, outcome)
	for _, part := range []struct {
		title string
		lines []string
	}{{"Compared", v.Facts}, {"Why", v.Findings}, {"Usual causes", v.Causes}, {"Notes", v.Notes}, {"Caveats", v.Caveats}} {
		if len(part.lines) > 0 {
			fmt.Fprintf(&b, "%s:\n  %s\n", part.title, strings.Join(part.lines, "\n  "))
		}
	}
	if v.Folder != "" {
		fmt.Fprintf(&b, "Files for MLCommons: %s\n", v.Folder)
	}
	return b.String()
}
