package submit

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/build"
	"github.com/mlperf-go/mlperf/internal/submission/description"
	"github.com/mlperf-go/mlperf/internal/submission/output"
)

// buildFlags are the flags of submission build.
type buildFlags struct {
	build.Request
	system       systemFlags
	description  string
	measurements []string
	asJSON       bool
}

func newSubmissionBuild() *cobra.Command {
	o := &buildFlags{}
	cmd := &cobra.Command{
		Use:   "build TREE RUNS...",
		Short: "Make a tree from folders of runs",
		Long: `Make a tree of results for MLCommons from folders of runs: logs, the score with the hash
of the accuracy log, which is cut, compliance tests, and descriptions of the system, the
measurements and the numerics. RUNS are searched for runs and for tests, of this program
and of any LoadGen; --model says what the latter are of.

Runs that are not VALID, on a simulated engine, with built-in data or with a caveat never
enter a tree, and built-in models only that of the open division. What nobody knows is a
placeholder (FILL IN), which submission check --profile strict refuses. --infer adds what
the rules allow an edge system to infer: MultiStream from SingleStream, Offline from
MultiStream or SingleStream.

The tree appears as a whole or not at all. One that is there is an error, unless --add
adds results to it or --force replaces it, or with --add the results that it has. At the
end it is checked: the exit status is 0 if it passes the profile strict, and 3 if it does
not.`,
		Example: "  mlperf submission build tree results --submitter ExampleOrg --system board1 --division closed --system-type edge --status available\n" +
			"  mlperf submission build tree more --add --description board1.json --submitter ExampleOrg --system board1 --infer",
		Args: cli.Arguments(2, 1<<16),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := cmd.Flags()
	o.system.define(f)
	f.StringVar(&o.Rules, "rules", newestRound(), "round whose rules hold: v5.0, v5.1, v6.0 or v6.1")
	f.StringVar(&o.System, "system", "", "name for the system's folder")
	f.StringVar(&o.description, "description", "", "description of the system, of mlperf system (default: of this machine)")
	f.StringVar(&o.Model, "model", "", "benchmark of logs that do not say it")
	f.StringVar(&o.Name, "name", "", "open: your name of the model")
	f.StringVar(&o.Implementation, "implementation", "mlperf", "name for the code of the benchmark")
	f.StringArrayVar(&o.measurements, "measurement", nil, "FIELD=VALUE, a field of measurements.json (repeatable)")
	f.StringVar(&o.Calibration, "calibration", "", "file for documentation/calibration.md (default: what is known)")
	f.StringVar(&o.Source, "source", "", "folder with the code (default: a README that says which program it was)")
	f.StringVar(&o.Bandwidth, "bandwidth", "", "datacenter: how the bandwidth was provided or measured")
	f.BoolVar(&o.Infer, "infer", false, "infer results of scenarios without runs, where the rules allow it")
	f.BoolVar(&o.Newest, "newest", false, "of several runs of the same, take the newest (default: an error)")
	f.BoolVar(&o.Add, "add", false, "add to the tree that is there")
	f.BoolVar(&o.Force, "force", false, "replace the tree, or with --add the results that it has")
	cli.Completes(cmd, "rules", rounds.Versions()...)
	cli.JSONFlag(f, &o.asJSON)
	return cmd
}

func (o *buildFlags) run(cmd *cobra.Command, args []string) (err error) {
	o.Tree, o.Runs = args[0], args[1:]
	o.Submitter, o.Division = o.system.Submitter, o.system.Division
	if o.Measurements, err = assignments("measurement", o.measurements); err != nil {
		return err
	}
	if err := o.describe(cmd); err != nil {
		return err
	}
	built, err := build.Build(cmd.Context(), o.Request)
	var exists *build.ExistsError
	if errors.As(err, &exists) {
		return fmt.Errorf("%w: --add adds to a tree, --force replaces it or the results that it has", err)
	}
	if err != nil {
		return err
	}
	if o.asJSON {
		err = cli.PrintJSON(cmd.OutOrStdout(), "submission-build", built)
	} else {
		err = printBuilt(cmd.OutOrStdout(), built)
	}
	if err == nil && !built.Check.Passes {
		return cli.Finished(cli.ExitInvalid)
	}
	return err
}

// describe describes the system: as a file does, or this machine.
func (o *buildFlags) describe(cmd *cobra.Command) (err error) {
	if o.description != "" {
		return o.read(cmd)
	}
	o.Description, err = o.system.describe(cmd)
	return err
}

// read takes the description of the system from a file, and who submits what from it where
// no flag says.
func (o *buildFlags) read(cmd *cobra.Command) (err error) {
	if o.Description, err = description.Read(o.description); err != nil {
		return err
	}
	values, err := assignments("set", o.system.set)
	if err != nil {
		return err
	}
	for _, f := range []struct{ flag, field string }{{"submitter", "submitter"}, {"division", "division"}, {"status", "status"}, {"system-type", "system_type"}, {"system-name", "system_name"}} {
		if flag := cmd.Flags().Lookup(f.flag); flag.Changed {
			values[f.field] = flag.Value.String()
		}
	}
	for name, value := range values {
		o.Description[name] = value
	}
	o.Submitter, o.Division = o.Description["submitter"], o.Description["division"]
	return nil
}

func printBuilt(w io.Writer, built *build.Built) error {
	if err := cli.PrintTable(w, cli.Row{"benchmark", "scenario", "result", "unit", "accuracy", "inferred from"}, built.Results, func(p build.Placed) cli.Row {
		return cli.Row{p.Benchmark, p.Scenario, fmt.Sprintf("%.6g", p.Value), p.Unit, p.Accuracy, p.InferredFrom}
	}); err != nil {
		return err
	}
	for _, line := range built.LeftOut {
		_ = cli.Say(w, "Left out: %s\n", line)
	}
	if len(built.Unfinished) > 0 {
		_ = cli.Say(w, "To fill in: %s\n", strings.Join(built.Unfinished, ", "))
	}
	_ = cli.Say(w, "The tree is %s.\n\n", built.Tree)
	return output.Text(w, built.Check)
}
