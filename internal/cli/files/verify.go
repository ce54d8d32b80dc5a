package files

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/download"
	"github.com/mlperf-go/mlperf/internal/report"
)

func newVerify() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check a data set or a model that is on this machine",
		Long: `Check a data set or a model that is on this machine: layout, counts, checksums where they
are published or were noted when it was downloaded, and whether the lists and
annotations agree with the files. Nothing is changed. If anything is wrong, the exit
status is 1, and the command is printed that repairs it.`,
		Example: "  mlperf verify dataset imagenet --dir imagenet --count 12",
		Args:    cli.NoVerb,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newVerifyItem(download.Dataset), newVerifyItem(download.Model))
	return cmd
}

func newVerifyItem(kind download.Kind) *cobra.Command {
	var o download.VerifyOptions
	asJSON := false
	cmd := &cobra.Command{
		Use:               string(kind) + " NAME",
		Args:              cli.Arguments(1, 1),
		ValidArgsFunction: itemNames(kind),
		RunE: func(cmd *cobra.Command, args []string) error {
			return verifyItem(cmd, kind, args[0], o, asJSON)
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", "", "folder (default: where mlperf download puts it)")
	cmd.Flags().IntVar(&o.MaxProblems, "max-problems", 10, "how many problems of each kind to print")
	cli.JSONFlag(cmd.Flags(), &asJSON)
	if kind == download.Dataset {
		cmd.Short = "Check a data set"
		cmd.Example = "  mlperf verify dataset imagenet --dir imagenet --count 12"
		cmd.Flags().IntVar(&o.Count, "count", 0, "how many samples there should be (default: as downloaded, or all)")
	} else {
		cmd.Short = "Check a model"
		cmd.Example = "  mlperf verify model mobilenet --dir models/mobilenet"
	}
	return cmd
}

func verifyItem(cmd *cobra.Command, kind download.Kind, name string, o download.VerifyOptions, asJSON bool) error {
	_, it, err := lookupItem(kind, name)
	if err != nil {
		return err
	}
	usual, err := it.UsualDir()
	if err != nil {
		return err
	}
	if o.Dir == "" {
		o.Dir = usual
	}
	display := cli.NewDisplay(cmd)
	defer display.Done()
	o.Observer = display
	found, err := download.Verify(cmd.Context(), it, o)
	display.Done()
	if errors.Is(err, download.ErrNotThere) {
		return fmt.Errorf("%w: %s gets it", err, repairCommand(it, &download.Report{Dir: o.Dir, Count: o.Count, Ours: true}, usual))
	}
	if err != nil {
		return wrongFlag(err)
	}
	if err := showReport(cmd.OutOrStdout(), it, found, remedy(it, found, usual), asJSON); err != nil || found.OK() {
		return err
	}
	return fmt.Errorf("%s %s in %s is not as it should be", it.Kind, it.Name, o.Dir)
}

// showReport prints what was found, and the command that repairs it if there is one.
func showReport(w io.Writer, it download.Item, found *download.Report, repair string, asJSON bool) error {
	if !asJSON {
		return printReport(w, it, found, repair)
	}
	return cli.PrintJSON(w, "verify", struct {
		*download.Report
		Repair string `json:"repair,omitempty"`
	}{found, repair})
}

// remedy is the command that repairs a folder; empty: nothing is wrong, or none does, as it is an enlarged copy.
func remedy(it download.Item, found *download.Report, usual string) string {
	enlarged := found.Of != "" && found.Of != it.Name
	if found.OK() || enlarged {
		return ""
	}
	return repairCommand(it, found, usual)
}

// repairCommand is the command that gets what is missing or damaged in a folder. A folder
// that download did not make has files that it replaces only by force.
func repairCommand(it download.Item, found *download.Report, usual string) string {
	words := []string{"mlperf", "download", string(it.Kind), it.Name}
	if found.Dir != usual {
		words = append(words, "--dir", found.Dir)
	}
	if found.Count > 0 {
		words = append(words, "--count", strconv.Itoa(found.Count), "--seed", strconv.FormatUint(found.Seed, 10))
	}
	if len(it.Steps) > 0 {
		words = append(words, "--from-file", "PATH")
	}
	if !found.Ours {
		words = append(words, "--force")
	}
	return report.CommandLine(words)
}

func printReport(w io.Writer, it download.Item, r *download.Report, repair string) error {
	_ = cli.Say(w, "%s %s in %s\n", it.Kind, it.Name, r.Dir)
	for _, text := range r.Fine {
		_ = cli.Say(w, "  fine     %s\n", text)
	}
	for _, text := range r.Unknown {
		_ = cli.Say(w, "  unknown  %s\n", text)
	}
	for _, text := range r.Problems {
		_ = cli.Say(w, "  wrong    %s\n", text)
	}
	if r.More > 0 {
		_ = cli.Say(w, "  wrong    … and %d more\n", r.More)
	}
	if repair != "" {
		_ = cli.Say(w, "  repair   %s\n", repair)
	}
	_, err := fmt.Fprintln(w, problems(len(r.Problems)+r.More))
	return err
}

// problems counts them in words.
func problems(n int) string {
	switch n {
	case 0:
		return "nothing is wrong"
	case 1:
		return "1 problem"
	}
	return fmt.Sprintf("%d problems", n)
}
