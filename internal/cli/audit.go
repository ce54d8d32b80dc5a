package cli

import (
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/submission/compliance"
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
they vary, it compares scores of the same samples. TEST04 repeats one sample, which must
not be faster; before v2.1 it is two runs, TEST04-A with all samples different and
TEST04-B, and for servers of text in v6.1 the audit of mlcommons/endpoints, whose files go
to the folder audit. TEST05, of the rules to v4.1, takes other seeds, which must not be slower.
TEST06 looks at first tokens, ends and lengths of answers, TEST07 at their score in
performance mode, which --accuracy-script prints, TEST09 at their length, and TEST08 at
the entropy of recommendations.

v0.5 is that round's audit set: TEST01 with its seeds, TEST03, which runs on changed data
(pictures without blue, sentences with other words; --custom-data has others), TEST04 and
TEST05.

The runs that a test compares with are made too, unless --performance-logs and
--accuracy-logs name folders that have them. Files go to TEST in the folder of --output, in
the layout that MLCommons wants in a result's folder; the runs themselves are in runs.

Thresholds and algorithms are those of the reference's scripts. The exit status is 0 if
the test passes, 3 if it does not, and 1 if it could not be judged.`,
		Example: "  mlperf audit list --model resnet50 --scenario offline\n" +
			"  mlperf audit TEST04 --model resnet50 --scenario offline --quick --output audit\n" +
			"  mlperf audit v0.5 --model mobilenet --scenario single-stream --output audit\n" +
			"  mlperf audit verify TEST01 closed/Org/results/sys/resnet50/Offline logs",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	o.define(f)
	for _, name := range []string{"mode", "audit-conf"} { // the test's own
		f.Lookup(name).Hidden = true
	}
	f.StringVar(&o.audit.Performance, "performance-logs", "", "folder of the result's performance run (default: it is made)")
	f.StringVar(&o.audit.Accuracy, "accuracy-logs", "", "folder of the result's accuracy run (default: it is made, where a test compares with it)")
	f.StringVar(&o.audit.CustomData, "custom-data", "", "TEST03: data set to run on (default: the official one, changed)")
	defineVerification(f, &o.audit.Options)
	cmd.AddCommand(newAuditList(), newAuditVerify())
	return cmd
}

// defineVerification defines the flags that say how logs are verified.
func defineVerification(f *pflag.FlagSet, o *compliance.Options) {
	f.StringVar(&o.DType, "response-dtype", "",
		"type of the responses: for TEST01 and TEST03, which compare the first, byte, float32, int32 or int64 (default: byte); for TEST06 "+
			"int16, int32 or int64 (default: int32)")
	f.Int32Var(&o.EOS, "eos", 0, "TEST06: token that ends an answer (default: those of the run's model, 2 if it does not say)")
	f.StringVar(&o.Score, "accuracy-script", "", "TEST07: command that scores a log, with {accuracy_log} for it (default: the score of the model here)")
	f.StringVar(&o.Pattern, "score-pattern", "",
		"TEST07: regular expression that finds the score in what that prints (default: as gpt-oss-120b's script prints it)")
	f.Float64Var(&o.LeastScore, "accuracy-threshold", 0, "TEST07: least score (default: the model's)")
	f.Float64Var(&o.Tolerance, "tolerance", 0.001, "TEST08: how much the entropy may differ, as a fraction")
	f.Float64Var(&o.LeastTokens, "min-tokens", 0, "TEST09: least mean length of answers (default: the model's bounds)")
	f.Float64Var(&o.MostTokens, "max-tokens", 0, "TEST09: greatest mean length of answers")
}

func (o *auditFlags) run(cmd *cobra.Command, test string) error {
	if o.Model == "" || o.Scenario == "" {
		return usage("audit needs --model and --scenario")
	}
	var err error
	if o.audit.Request, err = o.build(cmd.Flags()); err != nil {
		return err
	}
	w, passed := cmd.OutOrStdout(), true
	display := newDisplay(cmd)
	defer display.Done()
	show := func(v *compliance.Verdict) error {
		display.Done()
		passed = passed && v.Passed
		return printVerdict(w, v, o.asJSON)
	}
	if strings.EqualFold(test, "v0.5") {
		if onCommandLine(cmd.Flags(), "rules") { // a variable or mlperf.yaml is for other tests
			if set, err := config.Rules(o.audit.Rules); err != nil || set.Version != "v0.5" {
				return usage("the audit set of v0.5 has the rules of v0.5, not of %s", o.audit.Rules)
			}
		}
		err = compliance.RunSet(cmd.Context(), o.audit, display, show)
	} else {
		o.audit.Test = test
		var v *compliance.Verdict
		if v, err = compliance.Run(cmd.Context(), o.audit, display); err == nil {
			err = show(v)
		}
	}
	display.Done()
	if err == nil && !passed {
		err = finished(ExitInvalid)
	}
	return explainHopeless(err)
}

func printVerdict(w io.Writer, v *compliance.Verdict, asJSON bool) error {
	if asJSON {
		return printJSON(w, "audit", v)
	}
	text := v.Test + ": " + v.Outcome() + "\n"
	for _, part := range []struct {
		title string
		lines []string
	}{{"Compared", v.Facts}, {"Why", v.Findings}, {"Usual causes", v.Causes}, {"Notes", v.Notes}, {"Limitations", v.Limitations.Sentences()}} {
		if len(part.lines) > 0 {
			text += part.title + ":\n  " + strings.Join(part.lines, "\n  ") + "\n"
		}
	}
	if v.Folder != "" {
		text += "Files for MLCommons: " + v.Folder + "\n"
	}
	return sayText(w, text)
}

func newAuditList() *cobra.Command {
	model, scenario, rules, asJSON := "", "", config.Newest, false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the compliance tests that a result needs",
		Long: `List the compliance tests that results of the closed and the network division need; the
open division needs none.`,
		Example: "  mlperf audit list --model resnet50 --scenario offline\n  mlperf audit list --rules v4.1",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			needs, err := compliance.Needs(rules, model, scenario)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), "audit-list", needs)
			}
			return printTable(cmd.OutOrStdout(), tableRow{"model", "scenario", "tests"}, needs, func(n compliance.Need) tableRow {
				return tableRow{n.Model, n.Scenario, strings.Join(n.Tests, " ")}
			})
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "benchmark (default: all of the round)")
	cmd.Flags().StringVar(&scenario, "scenario", "", "scenario (default: all)")
	cmd.Flags().StringVar(&rules, "rules", rules, "rule set")
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newAuditVerify() *cobra.Command {
	var options compliance.Options
	var logs compliance.Logs
	var dataset, output string
	var force, asJSON bool
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
		Args: arguments(3, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if options.Model == "" {
				if err := refuseFlags(cmd.Flags(), "is scored with --model, which is not given", "dataset-path"); err != nil {
					return err
				}
			}
			if output == "" {
				if err := refuseFlags(cmd.Flags(), "is of --output, and nothing is written without it", "force"); err != nil {
					return err
				}
			}
			logs.Performance, logs.Audit = args[1], args[2]
			if options.Model != "" && dataset != "" {
				options.Scorer = compliance.ScoreWith(options.Model, dataset)
			}
			v, err := compliance.Verify(cmd.Context(), args[0], logs, options)
			if err == nil && output != "" {
				err = v.Write(output, force)
			}
			if err == nil {
				err = printVerdict(cmd.OutOrStdout(), v, asJSON)
			}
			if err == nil && !v.Passed {
				err = finished(ExitInvalid)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&logs.Accuracy, "accuracy-logs", "", "folder of the result's accuracy run (default RESULT)")
	f.StringVar(&options.Rules, "rules", config.Newest, "rule set")
	defineVerification(f, &options)
	f.StringVar(&options.Model, "model", "",
		"model of the catalogue: for TEST01 and TEST07 to score, and for the bounds of TEST07 and TEST09 (default: as the results of LOGS say)")
	f.StringVar(&dataset, "dataset-path", "", "TEST01, TEST07: data set, to score")
	f.StringVar(&output, "output", "", "folder that gets one for TEST, as MLCommons wants it")
	f.BoolVar(&force, "force", false, "replace the test's files in --output")
	jsonFlag(f, &asJSON)
	return cmd
}
