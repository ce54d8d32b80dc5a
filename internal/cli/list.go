package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run/catalogue"
	"github.com/mlperf-go/mlperf/internal/suite"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func newList() *cobra.Command {
	asJSON := false
	kinds := []string{"models", "datasets", "backends", "suites"}
	cmd := &cobra.Command{
		Use:       "list [models|datasets|backends|suites]",
		Short:     "List the catalogue, and which of it is present on this machine",
		Example:   "  mlperf list\n  mlperf list backends",
		ValidArgs: kinds,
		Args:      arguments(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind := append(args, kinds[0])[0]
			switch w := cmd.OutOrStdout(); kind {
			case "models":
				models, err := catalogue.Models()
				if err != nil {
					return err
				}
				return printList(w, "list", asJSON, tableRow{"model", "title", "task", "data set", "built-in model"}, models,
					func(m catalogue.Model) tableRow { return tableRow{m.Name, m.Title, m.Task, m.Dataset, m.BuiltIn} })
			case "datasets":
				datasets, err := catalogue.Datasets()
				if err != nil {
					return err
				}
				return printList(w, "list", asJSON, tableRow{"data set", "models", "built-in data", "folder"}, datasets,
					func(d catalogue.Dataset) tableRow {
						return tableRow{d.Name, strings.Join(d.Models, ", "), d.BuiltIn, d.Dir}
					})
			case "backends":
				return printList(w, "list", asJSON, tableRow{"backend", "state", "devices that it knows (mlperf doctor: which work)"}, catalogue.Backends(),
					func(b catalogue.Backend) tableRow { return tableRow{b.Name, b.State, strings.Join(b.Devices, " ")} })
			case "suites":
				return listSuites(w, asJSON)
			}
			return usage("cannot list %q%s", kind, userinput.Want(kind, kinds, strings.Join(kinds, ", ")))
		},
	}
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}

// listSuites is also mlperf suite list.
func listSuites(w io.Writer, asJSON bool) error {
	suites, err := suite.List()
	if err != nil {
		return err
	}
	return printList(w, "suite-list", asJSON, tableRow{"suite", "purpose", "rules"}, suites,
		func(s suite.Listed) tableRow { return tableRow{s.Name, s.Title, s.Rules} })
}

func printList[T any](w io.Writer, form string, asJSON bool, header tableRow, rows []T, columns func(T) tableRow) error {
	if asJSON {
		return printJSON(w, form, rows)
	}
	return printTable(w, header, rows, columns)
}

func newShow() *cobra.Command {
	rules, asJSON := config.Newest, false
	cmd := &cobra.Command{
		Use:     "show MODEL",
		Short:   "Show a model of the catalogue: its data, its target, its settings under the rules",
		Example: "  mlperf show resnet50\n  mlperf show --rules v0.5 mobilenet",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notFile("show", args[0]); err != nil {
				return err
			}
			c, err := catalogue.Describe(args[0], rules)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), "model", c)
			}
			var b strings.Builder
			fmt.Fprintf(&b, "%s: %s\n", c.Name, c.Title)
			fmt.Fprintf(&b, "task      %s\n", c.Task)
			fmt.Fprintf(&b, "data set  %s, %d samples in memory\n", c.Dataset, c.PerformanceSamples)
			fmt.Fprintf(&b, "target    %s ≥ %.6g: %g %% of the official %.6g\n", c.Metric, c.Reference*c.Fraction, c.Fraction*100, c.Reference)
			for _, bound := range c.Also {
				fmt.Fprintf(&b, "and       %s\n", bound)
			}
			for _, category := range c.Categories {
				scenarios := strings.Join(category.Required, ", ")
				if len(category.Optional) > 0 {
					scenarios += "; may have " + strings.Join(category.Optional, ", ")
				}
				fmt.Fprintf(&b, "%-9s needs %s\n", category.Name, scenarios)
			}
			fmt.Fprintf(&b, "official  %s\n", c.Source)
			fmt.Fprintf(&b, "built-in  %s", c.BuiltIn)
			if !strings.HasPrefix(c.BuiltIn, "none") {
				fmt.Fprintf(&b, " (mlperf synth model %s)", c.Name)
			}
			b.WriteString("\n")
			for _, s := range c.Scenarios {
				fmt.Fprintf(&b, "\n%s, rules %s\n", s.Scenario, c.Rules)
				for _, row := range s.Settings {
					fmt.Fprintf(&b, "  %-34s %s %s\n", row.Key, row.Value, row.Unit)
				}
			}
			return sayText(cmd.OutOrStdout(), b.String())
		},
	}
	cmd.Flags().StringVar(&rules, "rules", rules, "rule set")
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}
