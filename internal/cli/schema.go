package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/report"
)

func newSchema() *cobra.Command {
	schemas := report.JSONSchemas()
	names := slices.Sorted(maps.Keys(schemas))
	return &cobra.Command{
		Use:   "schema " + strings.Join(names, "|"),
		Short: "Print the JSON Schema of results.json, sweep.json or requests.jsonl.gz",
		Long: `Print the JSON Schema of the results.json that every run writes, of the sweep.json of sweeps, or
of the lines of requests.jsonl.gz (--save-detailed) behind the first. The schema field of a file,
or of its first line, names the version that it keeps; fields may be added without another.`,
		Example:   "  mlperf schema results",
		ValidArgs: names,
		Args:      arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			schema, ok := schemas[args[0]]
			if !ok {
				return usage("unknown document %q: must be %s", args[0], strings.Join(names, ", "))
			}
			_, err := cmd.OutOrStdout().Write(schema)
			return err
		},
	}
}
