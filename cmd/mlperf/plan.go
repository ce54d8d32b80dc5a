package main

import (
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// planOptions are the flags of plan.
type planOptions struct {
	model, rules string
	speed        float64
	valueBytes   int
	confidence   float64
	percentile   float64
	margin       float64
	asJSON       bool
}

// A planRow is what a scenario takes.
type planRow struct {
	Scenario      string        `json:"scenario"`
	Queries       uint64        `json:"queries"`
	Samples       uint64        `json:"samples"`
	EarlyStopping uint64        `json:"early_stopping_queries"`
	Runs          int           `json:"runs"`
	Duration      time.Duration `json:"duration_ns"`
	Why           string        `json:"why,omitempty"` // there is no such scenario, for instance
}

// A plan is what plan prints.
type plan struct {
	Model   string              `json:"model"`
	Rules   string              `json:"rules"`
	Speed   float64             `json:"samples_per_second"`
	Rows    []planRow           `json:"scenarios"`
	Ingress float64             `json:"ingress_bytes_per_second"`
	Egress  float64             `json:"egress_bytes_per_second"`
	Counts  []config.QueryCount `json:"query_counts"`
}

func newPlan() *cobra.Command {
	o := &planOptions{}
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
			if cmd.Flags().Changed("percentile") {
				return o.queries(cmd.OutOrStdout())
			}
			return o.run(cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.model, "model", "", "model of the catalogue")
	f.StringVar(&o.rules, "rules", config.Newest, "rule set")
	f.Float64Var(&o.speed, "samples-per-second", 100, "how fast the system is")
	f.IntVar(&o.valueBytes, "value-bytes", 1, "bytes of a number of the input, for the bandwidth")
	f.Float64Var(&o.percentile, "percentile", 99, "tail latency percentile, in %")
	f.Float64Var(&o.confidence, "confidence", config.PlanConfidence*100, "confidence, in %")
	f.Float64Var(&o.margin, "margin", 0, "margin of error, in %; 0: a twentieth of what the percentile leaves")
	f.BoolVar(&o.asJSON, "json", false, "print as JSON")
	return cmd
}

// queries prints a number of queries for a confidence.
func (o *planOptions) queries(w io.Writer) error {
	p := o.percentile / 100
	margin := o.margin / 100
	if margin == 0 {
		margin = config.Margin(p)
	}
	n, err := config.NumQueries(p, o.confidence/100, margin)
	if err != nil {
		return usage("%w", err)
	}
	_, err = fmt.Fprintf(w, "%d queries, rounded up to a multiple of 8192: %d\n"+
		"(to know the %g %% tail latency with a confidence of %g %% and a margin of %.4g %%)\n",
		n, config.RoundedQueries(n), o.percentile, o.confidence, margin*100)
	return err
}

func (o *planOptions) run(w io.Writer) error {
	if o.model == "" {
		return usage("plan needs --model, or --percentile")
	}
	m, err := models.Lookup(o.model)
	if err != nil {
		return usage("%w", err)
	}
	rules, err := config.Rules(o.rules)
	if err != nil {
		return usage("%w", err)
	}
	p := plan{Model: m.Name, Rules: rules.Version, Speed: o.speed, Counts: config.QueryCounts()}
	for _, s := range loadgen.Scenarios() {
		row, err := planScenario(m, s, rules, o.speed)
		if err != nil {
			return err
		}
		p.Rows = append(p.Rows, row)
	}
	if b, err := config.MinBandwidth(m.Rules, o.speed, o.valueBytes); err == nil {
		p.Ingress, p.Egress = b.Ingress, b.Egress
	}
	if o.asJSON {
		return report.JSON(w, p)
	}
	return p.print(w)
}

func planScenario(m workload.Model, s loadgen.Scenario, rules *config.RuleSet, speed float64) (planRow, error) {
	row := planRow{Scenario: s.String()}
	if s == loadgen.MultiStream && rules.MultiStream == config.NoMultiStream {
		row.Why = "rules " + rules.Version + " have no such scenario"
		return row, nil
	}
	overrides := []config.Override{}
	if s == loadgen.Server || s == loadgen.Offline {
		overrides = append(overrides, config.Override{Key: "target_qps", Value: fmt.Sprint(speed), Origin: "flag --samples-per-second"})
	}
	r, err := config.Resolve(config.Request{Model: m.Rules, Scenario: s, Rules: rules, Options: overrides})
	if err != nil {
		return row, err
	}
	n := uint64(m.PerformanceSampleCount)
	p, err := config.NewPlan(r, speed, n, n)
	if err != nil {
		return row, usage("%w", err)
	}
	row.Queries, row.Samples, row.EarlyStopping, row.Runs, row.Duration = p.Queries, p.Samples, p.EarlyStopping, p.Runs, p.Duration
	return row, nil
}

func (p plan) print(w io.Writer) error {
	fmt.Fprintf(w, "%s under rules %s on a system that answers %g samples/s:\n", p.Model, p.Rules, p.Speed)
	err := printTable(w, table.Row{"scenario", "queries", "samples", "early stopping from", "runs", "time"}, p.Rows, func(r planRow) table.Row {
		if r.Why != "" {
			return table.Row{r.Scenario, r.Why}
		}
		return table.Row{r.Scenario, r.Queries, r.Samples, r.EarlyStopping, r.Runs, r.Duration.Round(time.Second)}
	})
	if err != nil {
		return err
	}
	if p.Ingress+p.Egress > 0 {
		fmt.Fprintf(w, "\nnetwork of a datacenter result: at least %.4g MB/s in, %.4g MB/s out\n", p.Ingress/1e6, p.Egress/1e6)
	}
	fmt.Fprintln(w, "\nqueries that a tail latency needs at a confidence of 99 % (rules before v2.0):")
	return printTable(w, table.Row{"percentile", "margin", "queries", "rounded"}, p.Counts, func(c config.QueryCount) table.Row {
		return table.Row{fmt.Sprintf("%g %%", c.Percentile*100), fmt.Sprintf("%.3g %%", c.Margin*100), c.Inferences, c.Rounded}
	})
}
