package cli

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/compliance"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/build"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// submissionRunFlags are the flags of submission run: those of run and those of submission build.
type submissionRunFlags struct {
	runFlags
	tree buildFlags
}

func newSubmissionRun() *cobra.Command {
	o := &submissionRunFlags{}
	cmd := &cobra.Command{
		Use:   "run TREE",
		Short: "Make all runs of a benchmark and the tree from them",
		Long: `Make all runs that a benchmark needs in a submission, with the flags of run, and the tree
from them: for each scenario of the kind of system, performance, accuracy and the
compliance tests, then what submission build does. --scenario makes one scenario.

Runs go to --output, one folder for each scenario. A run that is INVALID, an accuracy below
its target or a test that fails ends it before the tree; submission build makes the tree
from runs that were repaired or made otherwise.`,
		Example: "  mlperf submission run tree --model resnet50 --model-path resnet50_v1.onnx --dataset-path imagenet --description board1.json --system board1",
		Args:    arguments(1, 1),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	o.define(f)
	for _, name := range []string{"mode", "audit-conf", "sweep-qps", "sweep-concurrency"} { // those of single runs
		f.Lookup(name).Hidden = true
	}
	f.Lookup("output").Usage = "`folder` for logs and results (default TREE.runs)"
	o.tree.system.defineSubmitter(f)
	o.tree.defineTexts(f)
	return cmd
}

func (o *submissionRunFlags) run(cmd *cobra.Command, tree string) error {
	if err := refuseFlags(cmd.Flags(), "is of single runs", "mode", "audit-conf", "sweep-qps", "sweep-concurrency"); err != nil {
		return err
	}
	if o.Model == "" {
		return usage("submission run needs --model")
	}
	request, err := o.requestFlags.build(cmd.Flags())
	if err != nil {
		return err
	}
	runs := request.Output
	if runs == "" {
		runs = filepath.Clean(tree) + ".runs"
	}
	t := &o.tree
	t.Tree, t.Runs, t.Force, t.asJSON, t.Rules = tree, []string{runs}, o.Force, o.asJSON, request.Rules
	t.system.Division, t.system.library = request.Division, request.Engine.Library
	if err := t.settle(cmd); err != nil {
		return err
	}
	if request.Division = t.Division; t.Submitter == "" || t.System == "" {
		return usage("submission run needs --system, and --submitter or a --description that has it")
	}
	if err := build.Check(t.Request); err != nil {
		return explainTree(err)
	}
	scenarios, err := o.scenarios(cmd)
	if err != nil {
		return err
	}
	passed := true
	display := newDisplay(cmd)
	defer display.Done()
	for _, scenario := range scenarios {
		q := compliance.Request{Request: request}
		q.Scenario, q.Output = scenario, filepath.Join(runs, request.Model, strings.ToLower(scenario))
		err := compliance.RunResult(cmd.Context(), q, display, func(v *compliance.Verdict) error {
			display.Done()
			passed = passed && v.Passed
			return printVerdict(cmd.ErrOrStderr(), v, false)
		})
		if err != nil {
			return explainHopeless(err)
		}
	}
	display.Done()
	if !passed {
		return errors.Join(finished(ExitInvalid), errors.New("a compliance test failed, so the tree was not made"))
	}
	return t.build(cmd)
}

// scenarios are those that the system's results need, without those that are inferred.
func (o *submissionRunFlags) scenarios(cmd *cobra.Command) ([]string, error) {
	if o.Scenario != "" {
		return []string{o.Scenario}, nil
	}
	round, err := rounds.Find(o.tree.Rules)
	if err != nil {
		return nil, err
	}
	kinds := strings.Split(o.tree.Description["system_type"], ",")
	var list []string
	for _, kind := range kinds {
		for _, s := range round.Model(round.ModelName(o.Model, "")).Required[kind] {
			inferred := o.tree.Infer && kind == "edge" && s != "SingleStream"
			if !slices.Contains(list, s) && !inferred {
				list = append(list, s)
			}
		}
	}
	if len(list) == 0 {
		return nil, userinput.Errorf("model", "rules %s have no scenarios of %s for a system of the kind %q", o.tree.Rules, o.Model, o.tree.Description["system_type"])
	}
	return list, nil
}
