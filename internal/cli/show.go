package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run/catalogue"
	"github.com/mlperf-go/mlperf/internal/units"
)

func newShow() *cobra.Command {
	rules, asJSON, readme := config.Newest, false, false
	cmd := &cobra.Command{
		Use:   "show MODEL",
		Short: "Show a model of the catalogue: its data, its target, its settings under the rules",
		Long: `Show what the catalogue knows of a model: its data, its target, its work, and its settings under
the rules. With --readme as Markdown, in the parts that the rules want the README of a reference
implementation to have: problem, publications, licences, layers, sets, targets, commands.`,
		Example: "  mlperf show resnet50\n  mlperf show --rules v0.5 mobilenet\n  mlperf show bert --readme",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notFile("show", args[0]); err != nil {
				return err
			}
			if readme {
				if asJSON {
					return usage("--readme is Markdown, and --json is not")
				}
				return sayDocument(cmd.OutOrStdout(), func(w io.Writer) error { return catalogue.Readme(w, args[0], rules) })
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
			fmt.Fprintf(&b, "data set  %s, %s in memory\n", c.Dataset, units.Count(c.PerformanceSamples, "sample"))
			fmt.Fprintf(&b, "target    %s: %s of the official %s\n", c.Target, units.Text(c.Fraction*100, "%"), units.Score(c.Reference))
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
			for _, work := range c.Work {
				fmt.Fprintf(&b, "work      %s\n", work)
			}
			for _, note := range c.Notes {
				fmt.Fprintf(&b, "note      %s\n", note)
			}
			fmt.Fprintf(&b, "official  %s\n", c.Source)
			fmt.Fprintf(&b, "built-in  %s", c.BuiltIn)
			if !strings.HasPrefix(c.BuiltIn, "none") {
				fmt.Fprintf(&b, " (mlperf synth model %s)", c.Name)
			}
			b.WriteString("\n")
			for _, s := range c.Scenarios {
				fmt.Fprintf(&b, "\n%s, rules %s\n  %-34s %s\n", s.Scenario, c.Rules, "result", s.Result)
				for _, row := range s.Settings {
					fmt.Fprintf(&b, "  %-34s %s %s\n", row.Key, row.Value, row.Unit)
				}
			}
			return sayText(cmd.OutOrStdout(), b.String())
		},
	}
	cmd.Flags().StringVar(&rules, "rules", rules, "rule set")
	cmd.Flags().BoolVar(&readme, "readme", false, "as Markdown: what the rules ask of a README")
	jsonFlag(cmd.Flags(), &asJSON)
	return cmd
}
