package survey

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run"
)

func newPlan() *cobra.Command {
	q := &run.PlanRequest{}
	percentile, confidence, margin, asJSON, network := 99.0, config.PlanConfidence*100, 0.0, false, false
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Say what runs under the rules will take: queries, time, network bandwidth",
		Long: `Say for each scenario how many queries the rules ask for, how long that takes on a
system that answers the given number of samples per second, and which network
bandwidth a datacenter result needs. With --percentile, say how many queries it takes
to know a tail latency with a confidence.`,
		Example: "  mlperf plan --model resnet50 --samples-per-second 60\n" +
			"  mlperf plan --percentile 99 --confidence 99",
		RunE: func(cmd *cobra.Command, _ []string) error {
			counts, err := countsQueries(cmd.Flags())
			if err != nil {
				return err
			}
			if counts {
				return planQueries(cmd.OutOrStdout(), percentile, confidence, margin, asJSON)
			}
			if q.Model == "" {
				return cli.Usage("plan needs --model, or --percentile")
			}
			p, err := run.PlanRuns(*q)
			if err != nil || asJSON {
				return cli.OrJSON(cmd.OutOrStdout(), "plan", p, err)
			}
			if network {
				return printLinks(cmd.OutOrStdout(), p)
			}
			return printPlan(cmd.OutOrStdout(), p)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Model, "model", "", "model of the catalogue")
	f.StringVar(&q.Rules, "rules", config.Newest, "rule set")
	f.Float64Var(&q.Speed, "samples-per-second", 100, "how fast the system is")
	f.IntVar(&q.ValueBytes, "value-bytes", 1, "bytes of a number of the input, for the bandwidth")
	f.Float64Var(&percentile, "percentile", percentile, "tail latency percentile, in %")
	f.Float64Var(&confidence, "confidence", confidence, "confidence, in %")
	f.Float64Var(&margin, "margin", margin, "margin of error, in %; 0: a twentieth of what the percentile leaves")
	f.BoolVar(&network, "network", false, "say how many such systems links feed with samples (docs/clusters.md)")
	cli.JSONFlag(f, &asJSON)
	return cmd
}

// countsQueries reports whether plan is asked for the queries that a percentile needs, and not for the runs of a model: the flag
// that goes before decides, and what is of the other is not on the command line.
func countsQueries(f *pflag.FlagSet) (bool, error) {
	percentile, model := cli.Rank(cli.OriginOf(f, "percentile")), cli.Rank(cli.OriginOf(f, "model"))
	if percentile > 0 && percentile >= model {
		return true, cli.Pointless(f, "is of the runs of a model, and --percentile asks for numbers of queries", "model", "rules", "samples-per-second", "value-bytes", "network")
	}
	return false, cli.Pointless(f, "is of --percentile, which is not given", "confidence", "margin")
}

// printLinks prints what links carry.
func printLinks(w io.Writer, p *run.Plan) error {
	if len(p.Links) == 0 {
		return fmt.Errorf("the rules do not say how large samples of %s are", p.Model)
	}
	fmt.Fprintf(w, "%s, %.4g kB a sample, systems that answer %g samples/s:\n", p.Model, p.Ingress/p.Speed/1e3, p.Speed)
	return cli.PrintTable(w, cli.Row{"link", "samples/s", "systems"}, p.Links, func(l run.Link) cli.Row {
		return cli.Row{fmt.Sprintf("%g GbE", l.Gigabits), cli.Digits(l.Samples), cli.Digits(l.Machines)}
	})
}

// planQueries prints a number of queries for a confidence.
func planQueries(w io.Writer, percentile, confidence, margin float64, asJSON bool) error {
	if margin == 0 {
		margin = config.Margin(percentile/100) * 100
	}
	n, err := config.NumQueries(percentile/100, confidence/100, margin/100)
	if err != nil {
		return cli.Usage("%w", err)
	}
	if asJSON {
		return cli.PrintJSON(w, "plan-queries", map[string]any{
			"percentile": percentile, "confidence": confidence, "margin": margin, "queries": n, "rounded": config.RoundedQueries(n),
		})
	}
	_, err = fmt.Fprintf(w, "%d queries, rounded up to a multiple of 8192: %d\n"+
		"(to know the %g %% tail latency with a confidence of %g %% and a margin of %.4g %%)\n",
		n, config.RoundedQueries(n), percentile, confidence, margin)
	return err
}

func printPlan(w io.Writer, p *run.Plan) error {
	fmt.Fprintf(w, "%s under rules %s on a system that answers %g samples/s:\n", p.Model, p.Rules, p.Speed)
	err := cli.PrintTable(w, cli.Row{"scenario", "queries", "samples", "early stopping from", "runs", "time"}, p.Scenarios, func(r run.PlannedScenario) cli.Row {
		if r.Why != "" {
			return cli.Row{r.Scenario, r.Why}
		}
		return cli.Row{r.Scenario, r.Queries, r.Samples, r.EarlyStopping, r.Runs, r.Duration.Round(time.Second)}
	})
	if err != nil {
		return err
	}
	if p.Ingress+p.Egress > 0 {
		fmt.Fprintf(w, "\nnetwork of a datacenter result: at least %.4g MB/s in, %.4g MB/s out\n", p.Ingress/1e6, p.Egress/1e6)
	}
	fmt.Fprintln(w, "\nqueries that a tail latency needs at a confidence of 99 % (rules before v2.0):")
	return cli.PrintTable(w, cli.Row{"percentile", "margin", "queries", "rounded"}, p.Counts, func(c config.QueryCount) cli.Row {
		return cli.Row{fmt.Sprintf("%g %%", c.Percentile*100), fmt.Sprintf("%.3g %%", c.Margin*100), c.Inferences, c.Rounded}
	})
}
