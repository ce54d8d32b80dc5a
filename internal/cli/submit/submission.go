package submit

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/submission/output"
	"github.com/mlperf-go/mlperf/internal/submission/truncate"
)

func newSubmission() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "submission",
		Short: "Check, shorten and summarise a tree of results for MLCommons",
		Long: `Check, shorten and summarise a tree of results for MLCommons: anybody's, of the rounds
v5.0 to v6.1. docs/submitting.md says what belongs into one.`,
		Example: "  mlperf submission check submission",
		Args:    cli.NoVerb,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSubmissionBuild(), newSubmissionCheck(), newSubmissionPack(), newSubmissionReport())
	return cmd
}

// newestRound is the default of --rules.
func newestRound() string {
	versions := rounds.Versions()
	return versions[len(versions)-1]
}

func newSubmissionCheck() *cobra.Command {
	var o checker.Options
	profile, asJSON := string(checker.Reference), false
	cmd := &cobra.Command{
		Use:   "check TREE",
		Short: "Say whether the official checker, or the rules, accept a tree, and what to mend",
		Long: `Say whether a tree of results passes, and of each result that does not: the rule, the
file and line, what was found, what is wanted, and what to do.

--profile reference says yes and no exactly where the official checker does. strict adds
what the rules ask for and that checker does not look at. Nothing in the tree is changed.

The exit status is 0 if the tree passes, 3 if it does not, and 1 if it could not be
judged, as where there are no results.`,
		Example: "  mlperf submission check submission\n" +
			"  mlperf submission check submission --profile strict --submitter ExampleOrg\n" +
			"  mlperf submission check submission --rules v6.0 --json",
		Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Tree, o.Profile = args[0], checker.Profile(profile)
			r, err := checker.Check(cmd.Context(), o)
			if err != nil {
				return err
			}
			write := output.Text
			if asJSON {
				write = output.JSON
			}
			if err := write(cmd.OutOrStdout(), r); err != nil {
				return err
			}
			if !r.Passes {
				return cli.Finished(cli.ExitInvalid)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&o.Rules, "rules", newestRound(), "round whose rules hold: v5.0, v5.1, v6.0 or v6.1")
	cmd.Flags().StringVar(&profile, "profile", profile, "reference: the official checker's verdict; strict: the rules'")
	cmd.Flags().StringVar(&o.Submitter, "submitter", "", "look at this submitter only")
	cli.JSONFlag(cmd.Flags(), &asJSON)
	cli.Completes(cmd, "rules", rounds.Versions()...)
	cli.Completes(cmd, "profile", string(checker.Reference), string(checker.Strict))
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
was cut without its hash, or that has another log's, is left alone and is an error. Keep
the backup: MLCommons may ask for it.`,
		Example: "  mlperf submission pack submission --backup originals",
		Args:    cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Tree = args[0]; o.Backup == "" {
				o.Backup = filepath.Clean(o.Tree) + ".originals"
			}
			logs, err := truncate.Tree(cmd.Context(), o)
			if asJSON {
				return errors.Join(cli.OrJSON(cmd.OutOrStdout(), "submission-pack", logs, nil), err)
			}
			if len(logs) > 0 {
				if err := cli.PrintTable(cmd.OutOrStdout(), cli.Row{"", "bytes", "log"}, logs,
					func(l truncate.Log) cli.Row { return cli.Row{l.What, l.Size, l.Path} }); err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "Originals are in %s.\n", o.Backup)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.Backup, "backup", "", "folder for the originals, outside of the tree (default TREE.originals)")
	cmd.Flags().StringVar(&o.Submitter, "submitter", "", "look at this submitter only")
	cli.JSONFlag(cmd.Flags(), &asJSON)
	return cmd
}

// reportFormats are the values of --format.
var reportFormats = []string{"summary", "csv", "markdown", "html", "json"}

func newSubmissionReport() *cobra.Command {
	var o checker.Options
	format, asJSON := "summary", false
	cmd := &cobra.Command{
		Use:   "report TREE",
		Short: "List the results that pass: the official summary.csv, or the final report's tables",
		Long: `List the results of a tree that pass the official checker: --format summary is its
summary.csv, column by column; csv, markdown and html are the tables of the final report,
one for each suite and division. Results that do not pass are left out and counted on
standard error.`,
		Example: "  mlperf submission report submission\n" +
			"  mlperf submission report submission --format markdown",
		Args: cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Tree = args[0]
			format, err := cli.FormatOf(cmd.Flags(), format, asJSON)
			if err != nil {
				return err
			}
			if !slices.Contains(reportFormats, format) {
				return cli.Usage("--format is %q, want summary, csv, markdown or html, or json", format)
			}
			r, err := checker.Check(cmd.Context(), o)
			if err != nil {
				return err
			}
			if _, fail := r.Counts(); fail > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "%d results do not pass and are left out: mlperf submission check says why\n", fail)
			}
			if format == "summary" {
				return cli.Document(cmd.OutOrStdout(), func(w io.Writer) error { return output.Summary(w, r) })
			}
			sheets, err := output.Final(r)
			if err != nil || format == "json" {
				return cli.OrJSON(cmd.OutOrStdout(), "submission-report", sheets, err)
			}
			return cli.Document(cmd.OutOrStdout(), func(w io.Writer) error { return output.Sheets(w, output.Format(format), sheets) })
		},
	}
	cmd.Flags().StringVar(&o.Rules, "rules", newestRound(), "round whose rules hold: v5.0, v5.1, v6.0 or v6.1")
	cmd.Flags().StringVar(&format, "format", format, "summary, csv, markdown, html or json")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the final report's tables as JSON")
	cli.Completes(cmd, "rules", rounds.Versions()...)
	cli.Completes(cmd, "format", reportFormats...)
	cmd.Flags().StringVar(&o.Submitter, "submitter", "", "look at this submitter only")
	return cmd
}
