package cli

import (
	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/report"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema results",
		Short: "Print the JSON Schema of results.json",
		Long: `Print the JSON Schema of the results.json that every run writes. The schema field of a file
names the version that it keeps; fields may be added without another version.`,
		Example: "  mlperf schema results",
		Args:    arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "results" {
				return usage("unknown document %q: must be results", args[0])
			}
			_, err := cmd.OutOrStdout().Write(report.JSONSchema())
			return err
		},
	}
}
