package survey

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// listable are what can be listed.
var listable = []string{"models", "datasets", "backends", "suites"}

func newList() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:       "list [models|datasets|backends|suites]",
		Short:     "List the catalogue, and what of it is present on this machine",
		Example:   "  mlperf list\n  mlperf list backends",
		ValidArgs: listable,
		Args:      cli.Arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			what := append(args, listable[0])[0]
			switch w := cmd.OutOrStdout(); what {
			case "models":
				return listModels(w, asJSON)
			case "datasets":
				return listDatasets(w, asJSON)
			case "backends":
				return listBackends(w, asJSON)
			case "suites":
				return cli.ListSuites(w, asJSON)
			}
			return cli.Usage("cannot list %q, want models, datasets, backends or suites%s", what, userinput.Meant(what, listable))
		},
	}
	cli.JSONFlag(cmd.Flags(), &asJSON)
	return cmd
}

func listModels(w io.Writer, asJSON bool) error {
	rows, err := run.Models()
	if err != nil || asJSON {
		return cli.OrJSON(w, "list", rows, err)
	}
	return cli.PrintTable(w, cli.Row{"model", "title", "task", "data set", "built-in model"}, rows,
		func(r run.Model) cli.Row { return cli.Row{r.Name, r.Title, r.Task, r.Dataset, r.BuiltIn} })
}

func listDatasets(w io.Writer, asJSON bool) error {
	rows, err := run.Datasets()
	if err != nil || asJSON {
		return cli.OrJSON(w, "list", rows, err)
	}
	return cli.PrintTable(w, cli.Row{"data set", "models", "built-in data", "folder"}, rows,
		func(r run.Dataset) cli.Row {
			return cli.Row{r.Name, strings.Join(r.Models, ", "), r.BuiltIn, r.Dir}
		})
}

func listBackends(w io.Writer, asJSON bool) error {
	rows := run.Backends()
	if asJSON {
		return cli.PrintJSON(w, "list", rows)
	}
	return cli.PrintTable(w, cli.Row{"backend", "state", "devices that it knows (mlperf doctor: which work)"}, rows,
		func(r run.Backend) cli.Row { return cli.Row{r.Name, r.State, strings.Join(r.Devices, " ")} })
}

func newShow() *cobra.Command {
	version, asJSON := config.Newest, false
	cmd := &cobra.Command{
		Use:     "show MODEL",
		Short:   "Show a model of the catalogue: its data, its target, its settings under the rules",
		Example: "  mlperf show resnet50\n  mlperf show --rules v0.5 mobilenet",
		Args:    cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			card, err := run.Describe(args[0], version)
			if err != nil || asJSON {
				return cli.OrJSON(cmd.OutOrStdout(), "model", card, err)
			}
			return showCard(cmd.OutOrStdout(), card)
		},
	}
	cmd.Flags().StringVar(&version, "rules", version, "rule set")
	cli.JSONFlag(cmd.Flags(), &asJSON)
	return cmd
}

func showCard(w io.Writer, c *run.Card) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", c.Name, c.Title)
	fmt.Fprintf(&b, "task      %s\n", c.Task)
	fmt.Fprintf(&b, "data set  %s, %d samples in memory\n", c.Dataset, c.PerformanceSamples)
	fmt.Fprintf(&b, "target    %s ≥ %.6g: %g %% of the official %.6g\n", c.Metric, c.Reference*c.Fraction, c.Fraction*100, c.Reference)
	for _, bound := range c.Also {
		fmt.Fprintf(&b, "and       %s\n", bound)
	}
	fmt.Fprintf(&b, "official  %s\n", c.Source)
	how := fmt.Sprintf(" (mlperf synth model %s)", c.Name)
	if strings.HasPrefix(c.BuiltIn, "none") {
		how = ""
	}
	fmt.Fprintf(&b, "built-in  %s%s\n", c.BuiltIn, how)
	for _, s := range c.Scenarios {
		fmt.Fprintf(&b, "\n%s, rules %s\n", s.Scenario, c.Rules)
		for _, row := range s.Settings {
			fmt.Fprintf(&b, "  %-34s %s %s\n", row.Key, row.Value, row.Unit)
		}
	}
	return cli.Say(w, "%s", b.String())
}
