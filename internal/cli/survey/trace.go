package survey

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/run"
)

// traceOptions are the flags of trace.
type traceOptions struct {
	settings    loadgen.TestSettings
	mode        string
	qps         float64
	total, perf uint64 // samples
	asJSON      bool
	aggregation bool
	pairs       int
}

func newTrace() *cobra.Command {
	o := &traceOptions{settings: loadgen.DefaultSettings()}
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Print the traffic that a test issues, without running it",
		Long: `Print the exact queries that a test with these settings issues to a system that
answers at once: which samples are loaded, which are issued, and, in the Server
scenario, when. It is the traffic of the reference LoadGen, number by number.

In accuracy mode a run begins the Server schedule anew with each loaded set; here
it goes on.

With --aggregation it is the trace by which the recommendation benchmarks make samples of
100 to 700 user-item pairs, as the reference publishes it.`,
		Example: "  mlperf trace --scenario server --target-qps 500 --min-duration 1s --json\n" +
			"  mlperf trace --scenario offline --total-sample-count 50000 --min-query-count 24576 --min-duration 0",
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.define(cmd.Flags())
	cli.Completes(cmd, "mode", "performance", "accuracy", "submission")
	return cmd
}

func (o *traceOptions) define(f *pflag.FlagSet) {
	s, seeds := &o.settings, config.NewestSeeds()
	cli.ScenarioVar(f, &s.Scenario, "scenario", "SingleStream, MultiStream, Server or Offline")
	f.StringVar(&o.mode, "mode", "performance", "performance, accuracy or submission")
	f.Uint64Var(&o.total, "total-sample-count", 50000, "samples in the data set")
	f.Uint64Var(&o.perf, "performance-sample-count", 1024, "samples that fit in memory together; 0: all")
	f.Float64Var(&o.qps, "target-qps", 0, "queries per second; in SingleStream and MultiStream the reciprocal of the expected latency")
	cli.DurationVar(f, &s.MinDuration, "min-duration", s.MinDuration, "shortest test")
	cli.DurationVar(f, &s.MaxDuration, "max-duration", 0, "longest test; 0: no limit")
	f.Uint64Var(&s.MinQueryCount, "min-query-count", s.MinQueryCount, "fewest queries; in Offline fewest samples")
	f.Uint64Var(&s.MaxQueryCount, "max-query-count", 0, "most queries; 0: no limit")
	f.Uint64Var(&s.MultiStreamSamplesPerQuery, "samples-per-query", s.MultiStreamSamplesPerQuery, "samples of a MultiStream query")
	f.Uint64Var(&s.QSLRNGSeed, "qsl-seed", seeds.QSL, "qsl_rng_seed")
	f.Uint64Var(&s.SampleIndexRNGSeed, "sample-seed", seeds.SampleIndex, "sample_index_rng_seed")
	f.Uint64Var(&s.ScheduleRNGSeed, "schedule-seed", seeds.Schedule, "schedule_rng_seed")
	f.BoolVar(&s.PerformanceIssueUnique, "issue-unique", false, "performance_issue_unique: no sample twice")
	f.BoolVar(&s.PerformanceIssueSame, "issue-same", false, "performance_issue_same: one sample again and again")
	f.Uint64Var(&s.PerformanceIssueSameIndex, "issue-same-index", 0, "which one, as a position in the loaded set")
	f.BoolVar(&s.SampleConcatenatePermutation, "permutation", false, "sample_concatenate_permutation: issue all samples equally often")
	f.BoolVar(&o.asJSON, "json", false, "print the whole trace as JSON")
	f.BoolVar(&o.aggregation, "aggregation", false, "print how user-item pairs make the samples of DLRM instead: first pair, end, count")
	f.IntVar(&o.pairs, "pairs", run.CriteoPairs, "with --aggregation: pairs of the data set")
}

func (o *traceOptions) run(cmd *cobra.Command) error {
	if err := o.pointless(cmd.Flags()); err != nil {
		return err
	}
	if o.aggregation {
		return run.WriteAggregation(cmd.OutOrStdout(), o.pairs)
	}
	var err error
	if o.settings.Mode, err = config.ParseMode(o.mode); err != nil {
		return cli.Usage("%w", err)
	}
	if cmd.Flags().Changed("target-qps") {
		o.settings.SetTargetQPS(o.qps)
	}
	if o.perf == 0 {
		o.perf = o.total
	}
	if err := o.tooMuch(); err != nil {
		return err
	}
	trace, err := loadgen.NewTrace(o.settings, o.perf, o.total)
	if err != nil {
		return cli.Usage("%w", err) // all of it comes from flags
	}
	if o.asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(trace)
	}
	return describeTrace(cmd.OutOrStdout(), trace)
}

// pointless finds flags that would be passed over without a word.
func (o *traceOptions) pointless(f *pflag.FlagSet) error {
	if !o.aggregation {
		return cli.Pointless(f, "is of --aggregation, which is not given", "pairs")
	}
	var others []string
	f.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"aggregation", "pairs", "progress"}, flag.Name) {
			others = append(others, flag.Name)
		}
	})
	return cli.Pointless(f, "is of the traffic of a test, and --aggregation prints something else", others...)
}

// mostTraced is how many samples a trace may have: all of them are in memory at once, 8 bytes each and more.
const mostTraced = 100_000_000

// tooMuch is an error if the trace would have more samples than memory is for.
func (o *traceOptions) tooMuch() error {
	s := &o.settings
	for _, c := range []struct {
		flag string
		n    uint64
	}{{"total-sample-count", o.total}, {"samples-per-query", s.MultiStreamSamplesPerQuery}} {
		if c.n > mostTraced {
			return cli.Usage("--%s is %d, want at most %d: all samples of a trace are in memory at once", c.flag, c.n, mostTraced)
		}
	}
	queries, perQuery := max(float64(s.MinQueryCount), o.qps*s.MinDuration.Seconds()), 1.0
	if s.Scenario == loadgen.MultiStream {
		perQuery = float64(s.MultiStreamSamplesPerQuery)
	}
	if samples := queries * perQuery; samples > mostTraced {
		return cli.Usage("--min-query-count, --min-duration and --target-qps ask for %.3g samples, want at most %d: all samples of a trace are in memory at once", samples, mostTraced)
	}
	return nil
}

// describeTrace says in words what the JSON has in numbers.
func describeTrace(w io.Writer, t *loadgen.Trace) error {
	const shown = 8
	first := func(list []loadgen.QuerySampleIndex) string {
		if len(list) <= shown {
			return fmt.Sprint(list)
		}
		return fmt.Sprintf("%v…", list[:shown])
	}
	for i, load := range t.Loads {
		if _, err := fmt.Fprintf(w, "loaded set %d: %d samples %s\n", i+1, len(load), first(load)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d queries with %d samples %s\n", t.Queries, len(t.Samples), first(t.Samples))
	if n := len(t.ScheduledNS); n > 0 && err == nil {
		_, err = fmt.Fprintf(w, "the last is scheduled at %v\n", time.Duration(t.ScheduledNS[n-1]))
	}
	return err
}
