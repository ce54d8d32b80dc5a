package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/home"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/workload"
)

func newShow() *cobra.Command {
	version := config.Newest
	cmd := &cobra.Command{
		Use:     "show MODEL",
		Short:   "Show a model of the catalogue: its data, its target, its settings under the rules",
		Example: "  mlperf show resnet50\n  mlperf show --rules v0.5 mobilenet",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := models.Lookup(args[0])
			if err != nil {
				return usage("%w", err)
			}
			rules, err := config.Rules(version)
			if err != nil {
				return usage("%w", err)
			}
			return showModel(cmd.OutOrStdout(), m, rules)
		},
	}
	cmd.Flags().StringVar(&version, "rules", version, "rule set")
	return cmd
}

func showModel(w io.Writer, m workload.Model, rules *config.RuleSet) error {
	q := m.Quality
	fmt.Fprintf(w, "%s: %s\n", m.Name, m.Title)
	fmt.Fprintf(w, "task      %s\n", m.Task)
	fmt.Fprintf(w, "data set  %s, %d samples in memory\n", m.Dataset, m.PerformanceSampleCount)
	fmt.Fprintf(w, "target    %s ≥ %.6g: %g %% of the official %.6g\n", q.Metric, q.Reference*q.Fraction, q.Fraction*100, q.Reference)
	fmt.Fprintf(w, "official  %s\n", m.Source)
	if cache, err := home.CacheDir(); err == nil {
		state := "made when first used (mlperf synth model " + m.Name + ")"
		if builtin.HasModel(cache, m) {
			state = "present"
		}
		fmt.Fprintf(w, "built-in  %s\n", state)
	}
	for _, s := range loadgen.Scenarios() {
		r, err := config.Resolve(config.Request{Model: m.Rules, Scenario: s, Rules: rules})
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "\n%s, rules %s\n", s, rules.Version)
		for _, made := range r.Made {
			if made.Origin != config.Default && made.Key != "mode" {
				if _, ok := r.Setting(made.Key); ok {
					fmt.Fprintf(w, "  %-34s %s %s\n", made.Key, made.Value, made.Unit)
				}
			}
		}
	}
	return nil
}
