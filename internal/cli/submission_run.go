package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/submission/assemble"
	"github.com/mlperf-go/mlperf/internal/submission/compliance"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// submissionRunFlags are the flags of submission run: those of run and those of submission build.
type submissionRunFlags struct {
	runFlags
	tree   buildFlags
	dryRun bool
}

// ofSingleRuns are the flags of run that submission run does not have.
var ofSingleRuns = []string{"mode", "audit-conf", "sweep-qps", "sweep-concurrency"}

func newSubmissionRun() *cobra.Command {
	o := &submissionRunFlags{}
	cmd := &cobra.Command{
		Use:   "run TREE",
		Short: "Make all runs of a benchmark and the tree from them",
		Long: `Make all runs that a benchmark needs in a submission, with the flags of run, and the tree
from them: for each scenario of the kind of system, performance, accuracy and the
compliance tests, then what submission build does. --scenario makes one scenario, and the
tree of all that are there. --dry-run prints the commands that do the same.

Runs go to --output, a folder for each scenario. The same command goes on after Ctrl-C or a
run that is INVALID: stages that are VALID, with the same settings, model, data and program,
are kept. If a stage fails, the others run, the tree is not made, and a command is
shown that can help. --force makes all runs again.

Exit status: 0 the tree passes, 3 it does not or a stage is INVALID, 4 an accuracy is below
its target, 1 a stage could not be made, 130 interrupted.`,
		Example: "  mlperf submission run tree --model resnet50 --model-path resnet50_v1.onnx --dataset-path imagenet --description " +
			"board1.json --system board1",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	o.define(f)
	for _, name := range ofSingleRuns {
		f.Lookup(name).Hidden = true
	}
	f.Lookup("output").Usage = "`folder` for logs and results (default TREE.runs)"
	f.Lookup("force").Usage = "make all runs again, and replace the tree"
	o.tree.system.defineSubmitter(f)
	o.tree.defineTexts(f)
	f.BoolVar(&o.tree.Add, "add", false, "add to the tree that is there, for instance another benchmark")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the commands that do the same, one by one, and run nothing")
	return cmd
}

func (o *submissionRunFlags) run(cmd *cobra.Command, tree string) error {
	if err := refuseFlags(cmd.Flags(), "is of single runs", ofSingleRuns...); err != nil {
		return err
	}
	if o.Model == "" {
		return usage("submission run needs --model")
	}
	request, err := o.requestFlags.build(cmd.Flags())
	if err != nil {
		return err
	}
	if request.Output == "" {
		request.Output = filepath.Clean(tree) + ".runs"
	}
	request.Command = append([]string{"mlperf"}, os.Args[1:]...)
	t := &o.tree
	t.Tree, t.Runs, t.Force, t.asJSON, t.Rules = tree, []string{filepath.Join(request.Output, request.Model)}, o.Force, o.asJSON, request.Rules
	t.system.Division, t.system.library = request.Division, request.Engine.Library
	if err := t.settle(cmd); err != nil {
		return err
	}
	if request.Division = t.Division; t.Submitter == "" || t.System == "" {
		return usage("submission run needs --system, and --submitter or a --description that has it")
	}
	if err := assemble.Check(t.Request); errors.As(err, new(*assemble.ExistsError)) {
		return fmt.Errorf("%w: --add adds to it, submission build %s makes it again from the runs that are there, --force makes the runs "+
			"again, too", err, t.Runs[0])
	} else if err != nil {
		return err
	}
	scenarios, err := o.scenarios()
	if err != nil {
		return err
	}
	stages, err := compliance.Stages(compliance.Request{Request: request}, scenarios)
	if err != nil {
		return err
	}
	if o.dryRun {
		return o.list(cmd, stages)
	}

	display := newDisplay(cmd)
	defer display.Done()
	for _, line := range o.forecast(stages) {
		display.Note(line)
	}
	err = compliance.RunStages(cmd.Context(), stages, display, func(s *compliance.Stage) error {
		if s.Verdict == nil || s.Kept {
			return nil
		}
		if t.ModelSource != "" { // the README of the result has the statement
			s.Verdict.Limitations = slices.DeleteFunc(s.Verdict.Limitations, func(l limitation.Limitation) bool { return l.ID == limitation.UnknownModel })
		}
		display.Done()
		return printVerdict(cmd.ErrOrStderr(), s.Verdict, false)
	})
	display.Done()
	if err != nil {
		if errors.Is(err, ErrInterrupted) {
			_ = say(cmd.ErrOrStderr(), "Stages that are done are in %s: the same command goes on.\n", request.Output)
			return interrupted(err)
		}
		return err
	}
	if slices.ContainsFunc(stages, func(s *compliance.Stage) bool { return !s.Passed }) {
		return o.explain(cmd, stages)
	}
	return t.build(cmd)
}

// scenarios are those that the system's results need, without those that are inferred.
func (o *submissionRunFlags) scenarios() ([]string, error) {
	if o.Scenario != "" {
		return []string{o.Scenario}, nil
	}
	round, err := rounds.Find(o.tree.Rules)
	if err != nil {
		return nil, err
	}
	var list []string
	for kind := range strings.SplitSeq(o.tree.Description["system_type"], ",") {
		for _, s := range round.Model(round.ModelName(o.Model, "")).Required[kind] {
			inferred := o.tree.Infer && kind == "edge" && s != "SingleStream"
			if !slices.Contains(list, s) && !inferred {
				list = append(list, s)
			}
		}
	}
	if len(list) == 0 {
		return nil, userinput.Errorf("model", "rules %s have no scenarios of %s for a system of the kind %q", o.tree.Rules, o.Model,
			o.tree.Description["system_type"])
	}
	return list, nil
}

// forecast says how long the runs take, and what the tree will lack.
func (o *submissionRunFlags) forecast(stages []*compliance.Stage) (lines []string) {
	var least time.Duration
	for _, s := range stages {
		least += s.Least
	}
	lines = append(lines, fmt.Sprintf("%s with at least %s of traffic, then the tree", units.Count(len(stages), "stage"),
		units.Duration(least.Round(time.Second))))
	if resolved, err := run.Resolve(stages[0].Request.Request); err == nil {
		if text := resolved.Forecast(); text != "" {
			lines = append(lines, text)
		}
	}
	if fields := o.tree.Description.Unfinished(); len(fields) > 0 {
		lines = append(lines, "to fill in, in the description of the system: "+strings.Join(fields, ", "))
	}
	if o.tree.Division == "open" && o.tree.Deviations == "" {
		lines = append(lines, "to fill in, in documentation/deviations.md of the tree: how the model differs from closed; --deviations takes "+
			"a file that says so")
	}
	return lines
}

// list prints the commands that do the same.
func (o *submissionRunFlags) list(cmd *cobra.Command, stages []*compliance.Stage) error {
	if o.asJSON {
		return printJSON(cmd.OutOrStdout(), "submission-run", stages)
	}
	w := cmd.OutOrStdout()
	for _, line := range o.forecast(stages) {
		_ = say(w, "# %s\n", line)
	}
	for _, s := range stages {
		_ = say(w, "mlperf %s\n", report.CommandLine(o.command(cmd.Flags(), s)))
	}
	line := append([]string{"submission", "build", o.tree.Tree, o.tree.Runs[0], "--division", o.tree.Division},
		givenFlags(cmd.Flags(), newSubmissionBuild().Flags(), "division", "set")...) // whose --set is of the description
	return say(w, "mlperf %s\n", report.CommandLine(line))
}

// command is the command that makes one stage.
func (o *submissionRunFlags) command(flags *pflag.FlagSet, s *compliance.Stage) (list []string) {
	except := []string{"scenario", "output", "division", "force"}
	q := s.Request
	own := []string{"--scenario", q.Scenario, "--division", q.Division}
	if s.IsTest() {
		list = append(list, "audit", s.Part)
		own = append(own, "--performance-logs", q.Performance, "--accuracy-logs", q.Accuracy, "--output", q.Output)
		return append(append(list, own...), givenFlags(flags, newAudit().Flags(), except...)...)
	}
	own = append(own, "--mode", q.Mode, "--output", s.Folder)
	given, options := q.Request.Options, q.FromAccuracy()
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if given[name] == "" {
			own = append(own, "--"+name, options[name])
		}
	}
	for name := range given {
		if options[name] == "" { // accuracy runs do not take it
			except = append(except, name)
		}
	}
	if !q.AutoLatency { // an accuracy run has no bound to choose
		if f := flags.Lookup("target-latency"); f.Value.String() == autoLatency {
			except = append(except, f.Name)
		}
	}
	return append(append([]string{"run"}, own...), givenFlags(flags, newRun().Flags(), except...)...)
}

// explain shows the stages, and what to do about those that keep the tree from being made.
func (o *submissionRunFlags) explain(cmd *cobra.Command, stages []*compliance.Stage) error {
	if o.asJSON {
		if err := printJSON(cmd.OutOrStdout(), "submission-run", stages); err != nil {
			return err
		}
	}
	w, missing, status := cmd.ErrOrStderr(), 0, ExitInaccurate
	_ = say(w, "\n")
	err := printTable(w, tableRow{"scenario", "stage", "outcome", ""}, stages, func(s *compliance.Stage) tableRow {
		kept := ""
		if s.Kept {
			kept = "kept"
		}
		return tableRow{s.Scenario, s.Part, strings.TrimSpace(s.Outcome), kept}
	})
	for _, s := range stages {
		if s.Passed {
			continue
		}
		missing++
		text := s.Error
		switch {
		case s.Err != nil:
			status, text = ExitError, explainHopeless(s.Err).Error()
		case s.Error != "":
		default:
			if status != ExitError && (s.IsTest() || !s.Results.Valid()) {
				status = ExitInvalid
			}
			text = o.next(cmd.Flags(), s)
		}
		_ = say(w, "%s %s: %s\n", s.Scenario, s.Part, text)
	}
	undone := fmt.Errorf("%d of %d stages are not done, so the tree was not made: the same command makes these again and keeps the others", missing,
		len(stages))
	return statusError{status, errors.Join(err, undone)}
}

// next is what to try after a stage that has an outcome, which keeps the tree from being made: submission run of its scenario with the
// change that makes it VALID, if it is known.
func (o *submissionRunFlags) next(flags *pflag.FlagSet, s *compliance.Stage) string {
	if s.IsTest() {
		return "the verdict above has the causes; the same command makes the test again"
	}
	args := withFlag(withoutFlag(os.Args[1:], "force", false), "scenario", s.Scenario)
	if changes := changesFor(s.Results); len(changes) > 0 && changes[0].field == "mode" {
		args = withoutFlag(o.command(flags, s), "output", true)
	}
	return cmp.Or(nextCommand(args, s.Results, s.Folder), "mlperf "+report.CommandLine([]string{"explain", s.Folder})+" shows why")
}
