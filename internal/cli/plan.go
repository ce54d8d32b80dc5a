package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run/catalogue"
	"github.com/mlperf-go/mlperf/internal/units"
)

func newPlan() *cobra.Command {
	var q catalogue.PlanRequest
	var percentile, confidence, margin float64
	var network, asJSON bool
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Estimate runs under the rules: queries, time, network bandwidth",
		Long: `For each scenario: how many queries the rules ask for, how long they take on a system
that answers the given number of samples per second, and which network bandwidth a
datacenter result needs. With --percentile: how many queries it takes to know a tail
latency with a given confidence.`,
		Example: "  mlperf plan --model resnet50 --samples-per-second 60\n" +
			"  mlperf plan --percentile 99 --confidence 99",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, w := cmd.Flags(), cmd.OutOrStdout()
			if p := rankOf(roleOf(f, "percentile")); p > 0 && p >= rankOf(roleOf(f, "model")) {
				if err := refuseFlags(f, "is of the runs of a model, and --percentile asks for numbers of queries", "model", "rules",
					"samples-per-second", "value-bytes", "network"); err != nil {
					return err
				}
				return planQueries(w, percentile, confidence, margin, asJSON)
			}
			if err := refuseFlags(f, "is of --percentile, which is not given", "confidence", "margin"); err != nil {
				return err
			}
			if q.Model == "" {
				return usage("plan needs --model, or --percentile")
			}
			p, err := catalogue.PlanRuns(q)
			switch {
			case err != nil:
				return err
			case asJSON:
				return printJSON(w, "plan", p)
			case network:
				return printLinks(w, p)
			}
			return printPlan(w, p)
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Model, "model", "", "model of the catalogue")
	f.StringVar(&q.Rules, "rules", config.Newest, "rule set")
	f.Float64Var(&q.Speed, "samples-per-second", 100, "how fast the system is")
	f.IntVar(&q.ValueBytes, "value-bytes", 1, "bytes of a number of the input, for the bandwidth")
	f.Float64Var(&percentile, "percentile", 99, "tail latency percentile, in %")
	f.Float64Var(&confidence, "confidence", config.PlanConfidence*100, "confidence, in %")
	f.Float64Var(&margin, "margin", 0, "margin of error, in %; 0: a twentieth of the part above the percentile")
	f.BoolVar(&network, "network", false, "how many such systems a link feeds with samples (docs/clusters.md)")
	jsonFlag(f, &asJSON)
	return cmd
}

// printLinks prints how many systems a link can feed.
func printLinks(w io.Writer, p *catalogue.Plan) error {
	if len(p.Links) == 0 {
		return fmt.Errorf("the rules do not say how large samples of %s are", p.Model)
	}
	fmt.Fprintf(w, "%s, %s a sample, systems that answer %s:\n", p.Model, units.Bytes(int64(p.Ingress/p.Speed)), units.Text(p.Speed, "samples/s"))
	return printTable(w, tableRow{"link", "samples/s", "systems"}, p.Links, func(l catalogue.Link) tableRow {
		return tableRow{fmt.Sprintf("%g GbE", l.Gigabits), l.Samples, l.Machines}
	})
}

// planQueries prints a number of queries for a confidence; all numbers are in %.
func planQueries(w io.Writer, percentile, confidence, margin float64, asJSON bool) error {
	if margin == 0 {
		margin = config.Margin(percentile/100) * 100
	}
	n, err := config.NumQueries(percentile/100, confidence/100, margin/100)
	if err != nil {
		return usage("%w", err)
	}
	if asJSON {
		return printJSON(w, "plan-queries", map[string]any{
			"percentile": percentile, "confidence": confidence, "margin": margin, "queries": n, "rounded": config.RoundedQueries(n),
		})
	}
	_, err = fmt.Fprintf(w, "%s, rounded up to a multiple of 8,192: %s\n"+
		"(to know the %g %% tail latency with a confidence of %g %% and a margin of %s %%)\n",
		units.Count(n, "query"), units.Number(float64(config.RoundedQueries(n))), percentile, confidence, units.Number(margin))
	return err
}

func printPlan(w io.Writer, p *catalogue.Plan) error {
	fmt.Fprintf(w, "%s under rules %s on a system that answers %s:\n", p.Model, p.Rules, units.Text(p.Speed, "samples/s"))
	err := printTable(w, tableRow{"scenario", "queries", "samples", "early stopping from", "runs", "time"}, p.Scenarios,
		func(r catalogue.PlannedScenario) tableRow {
			if r.Why != "" {
				return tableRow{r.Scenario, r.Why}
			}
			return tableRow{r.Scenario, r.Queries, r.Samples, r.EarlyStopping, r.Runs, r.Duration.Round(time.Second)}
		})
	if err != nil {
		return err
	}
	if p.Ingress+p.Egress > 0 {
		fmt.Fprintf(w, "\nnetwork of a datacenter result: at least %s/s in, %s/s out\n", units.Bytes(int64(p.Ingress)), units.Bytes(int64(p.Egress)))
	}
	for _, note := range p.Notes {
		fmt.Fprintf(w, "\nnote: %s\n", note)
	}
	fmt.Fprintln(w, "\nqueries that a tail latency needs at a confidence of 99 % (rules before v2.0):")
	return printTable(w, tableRow{"percentile", "margin", "queries", "rounded"}, p.Counts, func(c config.QueryCount) tableRow {
		return tableRow{units.Text(c.Percentile*100, "%"), units.Text(c.Margin*100, "%"), c.Inferences, c.Rounded}
	})
}
