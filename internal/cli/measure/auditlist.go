package measure

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/compliance"
	"github.com/mlperf-go/mlperf/internal/config"
)

func newAuditList() *cobra.Command {
	model, scenario, rules, asJSON := "", "", config.Newest, false
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the compliance tests that a result needs",
		Long: `List the compliance tests that results of the closed and the network division need; in the
open division there are none.`,
		Example: "  mlperf audit list --model resnet50 --scenario offline\n  mlperf audit list --rules v4.1",
		Args:    cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			needs, err := compliance.Needs(rules, model, scenario)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), "audit-list", needs)
			}
			return cli.PrintTable(cmd.OutOrStdout(), cli.Row{"model", "scenario", "tests"}, needs, func(n compliance.Need) cli.Row {
				return cli.Row{n.Model, n.Scenario, strings.Join(n.Tests, " ")}
			})
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "benchmark (default: all of the round)")
	cmd.Flags().StringVar(&scenario, "scenario", "", "scenario (default: all)")
	cmd.Flags().StringVar(&rules, "rules", rules, "rule set")
	cli.JSONFlag(cmd.Flags(), &asJSON)
	return cmd
}
