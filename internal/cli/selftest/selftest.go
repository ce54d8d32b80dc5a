package selftest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// selftestFlags are those of selftest.
type selftestFlags struct {
	scenario  loadgen.Scenario
	opts      harness.SelfTest
	pace      cli.PacerFlags
	server    tokenServer
	endpoints bool
	all       bool
	peer      string
	rounds    int
	asJSON    bool
}

func newSelftest() *cobra.Command {
	o := selftestFlags{scenario: loadgen.Server}
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Measure the load generator itself, with a system that answers at once",
		Long: `Run the load generator against a system under test that answers every query at once
and does nothing. What is measured then is the generator on this machine: how fast
it can issue, how late, and how much memory a query takes.`,
		Example: "  mlperf selftest --scenario server --target-qps 1000 --duration 300ms",
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.define(cmd.Flags())
	return cmd
}

func (o *selftestFlags) define(f *pflag.FlagSet) {
	cli.ScenarioVar(f, &o.scenario, "scenario", "SingleStream, MultiStream, Server or Offline")
	f.Float64Var(&o.opts.TargetQPS, "target-qps", 1000, "rate of the Server scenario; in Offline samples per second of duration; else the rate to prepare queries for")
	cli.DurationVar(f, &o.opts.Duration, "duration", 3*time.Second, "how long")
	f.IntVar(&o.opts.Responses, "responses", 0, "samples that one call of the system answers; 0: 256; -1: all of the query")
	f.BoolVar(&o.opts.Accuracy, "accuracy", false, "issue target-qps × duration samples in accuracy mode, with responses that are logged")
	f.StringVar(&o.opts.OutputDir, "output", "", "existing folder for the logs of the test; empty: none are written")
	o.pace.Define(f)
	o.server.define(f)
	f.BoolVar(&o.endpoints, "endpoint", false, "measure the client of endpoints instead: what it can take before it is the bottleneck")
	f.BoolVar(&o.asJSON, "json", false, "print the result as JSON")
	f.BoolVar(&o.all, "all", false, "measure every scenario and print a table")
	f.StringVar(&o.peer, "peer", "", "with --all and --endpoint: program to compare with, called with the same flags (docs/loadgen.md, docs/endpoints.md)")
	f.IntVar(&o.rounds, "rounds", 3, "with --all: how often each measure is taken; the median counts")
}

func (o *selftestFlags) run(cmd *cobra.Command) error {
	if err := o.check(cmd.Flags()); err != nil {
		return err
	}
	switch {
	case o.server.address != "":
		return o.server.serve(cmd.Context(), cmd.OutOrStdout())
	case o.endpoints:
		return o.endpointTest(cmd)
	case o.all:
		return o.selftestAll(cmd)
	}
	return o.single(cmd.Context(), cmd.OutOrStdout())
}

// single runs one test.
func (o *selftestFlags) single(ctx context.Context, w io.Writer) error {
	o.opts.Scenario, o.opts.NewPacer = o.scenario, o.pace.NewPacer
	if err := o.opts.Check(); err != nil {
		return cli.Usage("%w", err) // all of it comes from flags
	}
	r, err := o.opts.Run(ctx)
	if err != nil {
		return err
	}
	if o.asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	return describeSelftest(w, r)
}

func describeSelftest(w io.Writer, r *harness.SelfTestResult) error {
	ns := func(n int64) time.Duration { return time.Duration(n) }
	_, err := fmt.Fprintf(w, `%s: %d queries in %v, %.6g queries/s
latency      mean %v, p50 %v, p99 %v
issue delay  p50 %v, p99 %v
memory       %.1f bytes and %.4f allocations per query, %d MiB peak in all
afterwards   %v from the last completion to the result
`, r.Scenario, r.Queries, ns(r.DurationNS), r.IssuedQPS,
		ns(r.LatencyMeanNS), ns(r.LatencyP50NS), ns(r.LatencyP99NS),
		ns(r.IssueDelayP50NS), ns(r.IssueDelayP99NS),
		r.BytesPerQuery, r.AllocsPerQuery, r.PeakRSSBytes>>20, ns(r.PostRunNS))
	return err
}
