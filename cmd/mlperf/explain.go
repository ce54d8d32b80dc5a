package main

import (
	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/report"
)

func newExplain() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "explain RUN_DIR",
		Short: "Show every constraint of a run: required, observed, verdict, which file set it, what to do",
		Example: "  mlperf explain results/resnet50/server/performance/latest\n" +
			"  mlperf explain --json results/resnet50/server/performance/latest",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := report.Read(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return report.JSON(cmd.OutOrStdout(), r)
			}
			return report.Explain(cmd.OutOrStdout(), r)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole of results.json")
	return cmd
}
