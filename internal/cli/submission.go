package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/assemble"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/submission/description"
	"github.com/mlperf-go/mlperf/internal/submission/output"
	"github.com/mlperf-go/mlperf/internal/submission/truncate"
	"github.com/mlperf-go/mlperf/internal/units"
)

func newSubmission() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "submission",
		Short: "Check, shorten and summarise a tree of results for MLCommons",
		Long: `Check, shorten and summarise a tree of results for MLCommons, written by any program, for the
rounds v5.0 to v6.1. docs/submitting.md describes such a tree.`,
		Example: "  mlperf submission check submission",
	}
	cmd.AddCommand(newSubmissionRun(), newSubmissionBuild(), newSubmissionCheck(), newSubmissionPack(), newSubmissionReport())
	return cmd
}

// defineRound defines --rules of verbs about submissions; the default is the newest round.
func defineRound(cmd *cobra.Command, version *string) {
	versions := rounds.Versions()
	cmd.Flags().StringVar(version, "rules", versions[len(versions)-1], "round whose rules hold: "+strings.Join(versions, ", "))
	completeWith(cmd, "rules", versions...)
}

func newSubmissionCheck() *cobra.Command {
	var o checker.Options
	profile, asJSON := string(checker.Reference), false
	cmd := &cobra.Command{
		Use:   "check TREE",
		Short: "Check whether the official checker, or the rules, accept a tree, and what to fix",
		Long: `Check whether a tree of results passes. For each result that does not: the rule, the file
and line, the value found, the value wanted, and what to do.

--profile reference gives the official checker's verdicts. strict adds the rules that this
checker does not look at. The tree stays as it is.

Exit status: 0 the tree passes, 3 it does not, 1 it could not be judged, for instance
because it has no results.`,
		Example: "  mlperf submission check submission\n" +
			"  mlperf submission check submission --profile strict --submitter ExampleOrg\n" +
			"  mlperf submission check submission --rules v6.0 --json",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Tree, o.Profile = args[0], checker.Profile(profile)
			r, err := checker.Check(cmd.Context(), o)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), "submission-check", r)
			} else {
				err = output.Text(cmd.OutOrStdout(), r)
			}
			if err != nil {
				return err
			}
			if !r.Passes {
				return finished(ExitInvalid)
			}
			return nil
		},
	}
	defineRound(cmd, &o.Rules)
	cmd.Flags().StringVar(&profile, "profile", profile, "reference: the official checker's verdict; strict: the rules'")
	cmd.Flags().StringVar(&o.Submitter, "submitter", "", "look at this submitter only")
	jsonFlag(cmd.Flags(), &asJSON)
	completeWith(cmd, "profile", string(checker.Reference), string(checker.Strict))
	return cmd
}

func newSubmissionPack() *cobra.Command {
	var o truncate.Options
	asJSON := false
	cmd := &cobra.Command{
		Use:   "pack TREE",
		Short: "Make accuracy logs short, with their hashes in accuracy.txt and the originals in a backup",
		Long: `Make the accuracy logs of a tree short, as the rules ask: the first and last 4096 bytes
stay, and the SHA-256 of the whole log goes into accuracy.txt. The original is in the
backup, and compared, before anything changes. A second call changes nothing; a log that
was cut without its hash, or with another log's, stays as it is and is an error. Keep the
backup: MLCommons may ask for it.`,
		Example: "  mlperf submission pack submission --backup originals",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Tree = args[0]; o.Backup == "" {
				o.Backup = filepath.Clean(o.Tree) + ".originals"
			}
			logs, err := truncate.Tree(cmd.Context(), o)
			if asJSON {
				return errors.Join(printJSON(cmd.OutOrStdout(), "submission-pack", logs), err)
			}
			if len(logs) > 0 {
				if err := printTable(cmd.OutOrStdout(), tableRow{"", "bytes", "log"}, logs,
					func(l truncate.Log) tableRow { return tableRow{l.What, l.Size, l.Path} }); err != nil {
					return err
				}
				_ = say(cmd.OutOrStdout(), "Originals are in %s.\n", o.Backup)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.Backup, "backup", "", "folder for the originals, outside of the tree (default TREE.originals)")
	cmd.Flags().StringVar(&o.Submitter, "submitter", "", "look at this submitter only")
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newSubmissionReport() *cobra.Command {
	var o checker.Options
	format, asJSON := "", false
	formats := []string{"summary", "csv", "markdown", "html", "json"}
	cmd := &cobra.Command{
		Use:   "report TREE",
		Short: "List the results that pass: the official summary.csv, or the final report's tables",
		Long: `List the results of a tree that pass the official checker: --format summary is its
summary.csv, column by column; csv and markdown are the tables of the final report, one for
each suite and division, and html is a page of them that sorts. Results that do not pass are
left out; standard error has their number.`,
		Example: "  mlperf submission report submission\n" +
			"  mlperf submission report submission --format markdown",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Tree = args[0]
			format, err := chosenFormat(cmd.Flags(), formats, format, asJSON)
			if err != nil {
				return err
			}
			r, err := checker.Check(cmd.Context(), o)
			if err != nil {
				return err
			}
			if _, fail := r.Counts(); fail > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "%d results do not pass and are left out: mlperf submission check says why\n", fail)
			}
			if format == "summary" {
				return sayDocument(cmd.OutOrStdout(), func(w io.Writer) error { return output.Summary(w, r) })
			}
			sheets, err := output.Final(r)
			if err != nil {
				return err
			}
			if format == "json" {
				return printJSON(cmd.OutOrStdout(), "submission-report", sheets)
			}
			if format == "html" {
				return sayDocument(cmd.OutOrStdout(), func(w io.Writer) error { return output.Page(w, r, sheets, program()) })
			}
			return sayDocument(cmd.OutOrStdout(), func(w io.Writer) error { return output.Sheets(w, output.Format(format), sheets) })
		},
	}
	defineRound(cmd, &o.Rules)
	defineFormat(cmd, &format, formats)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the final report's tables as JSON")
	cmd.Flags().StringVar(&o.Submitter, "submitter", "", "look at this submitter only")
	return cmd
}

// buildFlags are the flags of submission build.
type buildFlags struct {
	assemble.Request
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
and of any LoadGen; --model names the benchmark of the latter.

Runs that are not VALID, on a simulated engine, with built-in data or with a limitation never
enter a tree, and built-in models only that of the open division. A fact that is not known
becomes a placeholder (FILL IN), which submission check --profile strict refuses. --infer
adds the results that an edge system may infer under the rules: MultiStream from
SingleStream, Offline from MultiStream or SingleStream.

The tree appears as a whole or not at all. If TREE exists, that is an error, unless --add
adds results to it or --force replaces it, or with --add the results that it has. At the
end it is checked: the exit status is 0 if it passes the profile strict, and 3 if it does
not.`,
		Example: "  mlperf submission build tree results --submitter ExampleOrg --system board1 --division closed --system-type edge --status available\n" +
			"  mlperf submission build tree more --add --description board1.json --submitter ExampleOrg --system board1 --infer",
		Args: arguments(2, 1<<16),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	f := cmd.Flags()
	o.system.define(f)
	defineRound(cmd, &o.Rules)
	o.defineTexts(f)
	f.StringVar(&o.Model, "model", "", "benchmark of logs that do not name it")
	f.BoolVar(&o.Newest, "newest", false, "of several runs of the same, take the newest (default: an error)")
	f.BoolVar(&o.Add, "add", false, "add to the tree that is there")
	f.BoolVar(&o.Force, "force", false, "replace the tree, or with --add the results that it has")
	jsonFlag(f, &o.asJSON)
	return cmd
}

// defineTexts defines the flags of what a tree has besides logs.
func (o *buildFlags) defineTexts(f *pflag.FlagSet) {
	f.StringVar(&o.System, "system", "", "name for the system's folder")
	f.StringVar(&o.description, "description", "", "description of the system, from mlperf system (default: of this machine)")
	f.StringVar(&o.Name, "name", "", "open: your name of the model")
	f.StringVar(&o.Implementation, "implementation", "mlperf", "name for the code of the benchmark")
	f.StringArrayVar(&o.measurements, "measurement", nil, "[MODEL/]FIELD=VALUE, a field of measurements.json, of one benchmark or all (repeatable)")
	f.StringVar(&o.Calibration, "calibration", "", "file for documentation/calibration.md (default: the facts that are known)")
	f.StringVar(&o.ModelSource, "model-source", "", "where model files of unknown source come from, for the README of their results")
	f.StringVar(&o.Source, "source", "", "folder with the code (default: a README that says which program it was)")
	f.StringVar(&o.Network, "network", "",
		"division network: file for documentation/network_SYSTEM.md, with the diagram (default: the facts that are known)")
	f.StringVar(&o.Bandwidth, "bandwidth", "", "datacenter: how the bandwidth was provided or measured")
	f.StringVar(&o.Readme, "readme", "", "file that says how the benchmark was run, for the README of each result (default: the commands of the runs)")
	f.StringVar(&o.Deviations, "deviations", "",
		"division open: file for documentation/deviations.md, how the model differs from closed (default: its facts, to be completed)")
	f.StringVar(&o.Logs, "logs", "",
		"of results on servers of text that v6.1 takes either way: endpoints (the files of mlcommons/endpoints, the default) or loadgen")
	f.BoolVar(&o.Infer, "infer", false, "infer results of scenarios without runs, where the rules allow it")
}

func (o *buildFlags) run(cmd *cobra.Command, args []string) error {
	o.Tree, o.Runs = args[0], args[1:]
	if err := o.settle(cmd); err != nil {
		return err
	}
	return o.build(cmd)
}

// settle reads the description and the fields that flags give.
func (o *buildFlags) settle(cmd *cobra.Command) (err error) {
	o.Submitter, o.Division = o.system.Submitter, o.system.Division
	if o.Measurements, err = assignments("measurement", o.measurements); err != nil {
		return err
	}
	given, err := assignments("set", o.system.set)
	if err != nil {
		return err
	}
	if o.description == "" {
		o.Assumed = slices.DeleteFunc([]string{"framework", "sw_notes"}, func(field string) bool { return given[field] != "" })
		o.Description, err = o.system.describe(cmd)
		return err
	}
	// The file also says who submits, where no flag does.
	if o.Description, err = description.Read(o.description); err != nil {
		return err
	}
	for _, name := range []string{"submitter", "division", "status", "system-type", "system-name"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed {
			given[strings.ReplaceAll(name, "-", "_")] = flag.Value.String()
		}
	}
	maps.Copy(o.Description, given)
	o.Submitter, o.Division = o.Description["submitter"], o.Description["division"]
	return nil
}

// build makes the tree and prints what is in it.
func (o *buildFlags) build(cmd *cobra.Command) error {
	built, err := assemble.Build(cmd.Context(), o.Request)
	if err != nil {
		return explainTree(err)
	}
	if o.asJSON {
		err = printJSON(cmd.OutOrStdout(), "submission-build", built)
	} else {
		err = printBuilt(cmd.OutOrStdout(), built)
	}
	if err == nil && !built.Check.Passes {
		return finished(ExitInvalid)
	}
	return err
}

// explainTree names the flags for a tree that is there.
func explainTree(err error) error {
	if errors.As(err, new(*assemble.ExistsError)) {
		return fmt.Errorf("%w: --add adds to a tree, --force replaces it or the results that it has", err)
	}
	return err
}

func printBuilt(w io.Writer, built *assemble.Built) error {
	if err := printTable(w, tableRow{"benchmark", "scenario", "result", "unit", "accuracy", "inferred from"}, built.Results,
		func(p assemble.Placed) tableRow {
			return tableRow{p.Benchmark, p.Scenario, units.Number(p.Value), p.Unit, p.Accuracy, p.InferredFrom}
		}); err != nil {
		return err
	}
	for _, line := range built.LeftOut {
		_ = say(w, "Left out: %s\n", line)
	}
	if len(built.Unfinished) > 0 {
		_ = say(w, "To fill in: %s\n", strings.Join(built.Unfinished, ", "))
	}
	_ = say(w, "The tree is %s.\n", built.Tree)
	if built.Former != "" {
		_ = say(w, "The former tree has files that this one does not have: it is %s now.\n", built.Former)
	}
	_ = say(w, "\n")
	return output.Text(w, built.Check)
}
