package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/catalogue"
	"github.com/mlperf-go/mlperf/internal/units"
)

// traceFlags are the flags of trace.
type traceFlags struct {
	settings    loadgen.TestSettings
	mode        string
	qps         float64
	total, perf uint64 // samples
	asJSON      bool
	aggregation bool
	pairs       int
}

func newTrace() *cobra.Command {
	o := &traceFlags{settings: loadgen.DefaultSettings()}
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Print the traffic that a test issues, without running it",
		Long: `Print the exact queries that a test with these settings issues to a system that
answers at once: which samples it loads and issues, and, in the Server scenario,
when. It is the traffic of the reference LoadGen, number by number.

In accuracy mode a run begins the Server schedule anew with each loaded set; here
it goes on.

With --aggregation it is the trace by which the recommendation benchmarks make samples of
100 to 700 user-item pairs, as the reference publishes it.`,
		Example: "  mlperf trace --scenario server --target-qps 500 --min-duration 1s --json\n" +
			"  mlperf trace --scenario offline --total-sample-count 50000 --min-query-count 24576 --min-duration 0",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f, s, seeds := cmd.Flags(), &o.settings, config.NewestSeeds()
	f.Var((*scenarioFlag)(&s.Scenario), "scenario", "SingleStream, MultiStream, Server or Offline")
	f.StringVar(&o.mode, "mode", "performance", "performance, accuracy or submission")
	f.Uint64Var(&o.total, "total-sample-count", 50000, "samples in the data set")
	f.Uint64Var(&o.perf, "performance-sample-count", 1024, "samples that fit in memory together; 0: all")
	f.Float64Var(&o.qps, "target-qps", 0, "queries per second; in SingleStream and MultiStream the reciprocal of the expected latency")
	for _, row := range trafficFlags() {
		value := fmt.Sprint(loadgen.Value(row.Requested(s)))
		f.Var(&settingFlag{setting: row, value: strings.TrimPrefix(value, "0s")}, row.flag, row.Help)
	}
	f.Uint64Var(&s.QSLRNGSeed, "qsl-seed", seeds.QSL, "qsl_rng_seed")
	f.Uint64Var(&s.SampleIndexRNGSeed, "sample-seed", seeds.SampleIndex, "sample_index_rng_seed")
	f.Uint64Var(&s.ScheduleRNGSeed, "schedule-seed", seeds.Schedule, "schedule_rng_seed")
	f.BoolVar(&s.PerformanceIssueUnique, "issue-unique", false, "performance_issue_unique: no sample twice")
	f.BoolVar(&s.PerformanceIssueSame, "issue-same", false, "performance_issue_same: one sample again and again")
	f.Uint64Var(&s.PerformanceIssueSameIndex, "issue-same-index", 0, "which one, as a position in the loaded set")
	f.BoolVar(&s.SampleConcatenatePermutation, "permutation", false, "sample_concatenate_permutation: issue all samples equally often")
	f.BoolVar(&o.asJSON, "json", false, "print the whole trace as JSON")
	f.BoolVar(&o.aggregation, "aggregation", false, "print how user-item pairs make the samples of DLRM instead: first pair, end, count")
	f.IntVar(&o.pairs, "pairs", catalogue.CriteoPairs, "with --aggregation: pairs of the data set")
	completeWith(cmd, "mode", "performance", "accuracy", "submission")
	return cmd
}

// trafficFlags are those of settings that shape the traffic, but for the rate and the samples in memory, which have other flags here.
func trafficFlags() []setting {
	return slices.DeleteFunc(settingFlags(), func(s setting) bool {
		return slices.Contains([]string{"target_qps", "performance_sample_count_override", "target_latency", "ttft_latency", "tpot_latency"}, s.Key)
	})
}

func (o *traceFlags) run(cmd *cobra.Command) error {
	if o.aggregation {
		var others []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains([]string{"aggregation", "pairs", "progress"}, f.Name) {
				others = append(others, f.Name)
			}
		})
		if err := refuseFlags(cmd.Flags(), "is of the traffic of a test, and --aggregation prints something else", others...); err != nil {
			return err
		}
		return catalogue.WriteAggregation(cmd.OutOrStdout(), o.pairs)
	}
	err := refuseFlags(cmd.Flags(), "is of --aggregation, which is not given", "pairs")
	if err != nil {
		return err
	}
	if o.settings.Mode, err = config.ParseMode(o.mode); err != nil {
		return usage("%w", err)
	}
	for _, row := range trafficFlags() {
		if f := cmd.Flags().Lookup(row.flag); f.Changed {
			if err := config.Set(&o.settings, row.Setting, f.Value.String()); err != nil {
				return usage("--%s: %w", row.flag, err)
			}
		}
	}
	if cmd.Flags().Changed("target-qps") {
		o.settings.SetTargetQPS(o.qps)
	}
	if _, err := run.Replay(&o.settings, 0, false); err != nil {
		return err
	}
	if o.perf == 0 {
		o.perf = o.total
	}
	if err := o.checkSize(); err != nil {
		return err
	}
	trace, err := loadgen.NewTrace(cmd.Context(), o.settings, o.perf, o.total)
	if ctx := cmd.Context(); ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return usage("%w", err) // all of it comes from flags
	}
	if o.asJSON {
		return printJSONLine(cmd.OutOrStdout(), trace)
	}
	const shown = 8
	first := func(list []loadgen.QuerySampleIndex) string {
		if len(list) <= shown {
			return fmt.Sprint(list)
		}
		return fmt.Sprintf("%v…", list[:shown])
	}
	var b strings.Builder
	for i, load := range trace.Loads {
		fmt.Fprintf(&b, "loaded set %d: %d samples %s\n", i+1, len(load), first(load))
	}
	fmt.Fprintf(&b, "%d queries with %d samples %s\n", trace.Queries, len(trace.Samples), first(trace.Samples))
	if trace.Arrivals != "" {
		fmt.Fprintf(&b, "arrivals: %s, not of the rules\n", trace.Arrivals)
	}
	if n := len(trace.ScheduledNS); n > 0 {
		fmt.Fprintf(&b, "the last is scheduled at %v\n", time.Duration(trace.ScheduledNS[n-1]))
	}
	return sayText(cmd.OutOrStdout(), b.String())
}

// maxTraced is how many samples a trace may have: all of them are in memory at once, 8 bytes each and more.
const maxTraced = 100_000_000

// checkSize is an error if the trace would have too many samples.
func (o *traceFlags) checkSize() error {
	const why = "all samples of a trace are in memory at once"
	s := &o.settings
	if o.total > maxTraced {
		return usage("--total-sample-count is %d: must be at most %d: %s", o.total, maxTraced, why)
	}
	samples := max(1, float64(s.MinQueryCount), o.qps*s.MinDuration.Seconds())
	if s.Scenario == loadgen.MultiStream {
		samples *= float64(s.MultiStreamSamplesPerQuery)
	}
	if samples > maxTraced {
		return usage("--min-query-count, --min-duration, --target-qps and --samples-per-query ask for %s, expected at most %s: %s",
			units.Count(samples, "sample"), units.Number(maxTraced), why)
	}
	return nil
}
