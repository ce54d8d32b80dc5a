package measure

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/suite"
)

func newSuiteList() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the suites that are built in",
		Example: "  mlperf suite list",
		Args:    cli.Arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.ListSuites(cmd.OutOrStdout(), asJSON)
		},
	}
	cli.JSONFlag(cmd.Flags(), &asJSON)
	return cmd
}

func newSuiteShow() *cobra.Command {
	o := &suiteFlags{}
	asYAML := false
	cmd := &cobra.Command{
		Use:   "show SUITE",
		Short: "Show the runs of a suite in their order, and how long they will take",
		Long: `Show the runs of a suite in their order, and how long they will take: as far as earlier
runs in results tell how fast the models are here.

--yaml prints the file of the suite, to make another one from it: suite run takes files too.`,
		Example: "  mlperf suite show v0.5\n  mlperf suite show mobile --yaml",
		Args:    cli.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := suite.Load(args[0])
			if err != nil {
				return err
			}
			if asYAML {
				text, err := s.Format()
				if err == nil {
					_, err = cmd.OutOrStdout().Write(text)
				}
				return err
			}
			plan, err := o.plan(cmd.Flags(), s, "")
			if err != nil {
				return err
			}
			return o.showPlan(cmd.OutOrStdout(), plan)
		},
	}
	o.define(cmd.Flags())
	cmd.Flags().BoolVar(&asYAML, "yaml", false, "print the file of the suite")
	return cmd
}

func (o *suiteFlags) showPlan(w io.Writer, p *suite.Plan) error {
	if o.asJSON {
		return report.JSON(w, map[string]any{"schema": suite.Schema, "suite": p.Suite, "steps": p.Steps, "estimate": p.Estimate()})
	}
	s := p.Suite
	title := s.Title
	if title != "" {
		title = ": " + title
	}
	_ = cli.Say(w, "%s%s, rules %s\n", s.Name, title, s.Rules)
	err := cli.PrintTable(w, cli.Row{"model", "scenario", "run", "time"}, p.Steps, func(s *suite.Step) cli.Row {
		took := s.Estimate.Round(time.Second).String()
		switch {
		case s.State == suite.Unsupported:
			took = s.Error
		case s.Guessed:
			took = "≥ " + took
		}
		return cli.Row{strings.TrimSpace(s.Model + " " + s.Precision), s.Scenario, s.Mode, took}
	})
	if err == nil {
		_, err = fmt.Fprintf(w, "%v\n", p.Estimate())
	}
	return err
}
