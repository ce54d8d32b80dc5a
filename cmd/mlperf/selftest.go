package main

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

func newSelftest() *cobra.Command {
	var (
		scenario = loadgen.Server
		opts     bench.SelfTest
		pace     pacerFlags
		asJSON   bool
		all      bool
		peer     string
		rounds   int
	)
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Measure the load generator itself, with a system that answers at once",
		Long: `Run the load generator against a system under test that answers every query at once
and does nothing. What is measured then is the generator on this machine: how fast
it can issue, how late, and how much memory a query takes.`,
		Example: "  mlperf selftest --scenario server --target-qps 1000 --duration 300ms",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if all {
				return selftestAll(cmd.Context(), cmd.OutOrStdout(), peer, max(1, rounds))
			}
			opts.Scenario, opts.NewPacer = scenario, pace.newPacer
			r, err := opts.Run(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			}
			return describeSelftest(cmd.OutOrStdout(), r)
		},
	}
	f := cmd.Flags()
	f.Var((*scenarioFlag)(&scenario), "scenario", "SingleStream, MultiStream, Server or Offline")
	f.Float64Var(&opts.TargetQPS, "target-qps", 1000, "rate of the Server scenario; in Offline samples per second of duration; else the rate to prepare queries for")
	durationVar(f, &opts.Duration, "duration", 3*time.Second, "how long")
	f.IntVar(&opts.Responses, "responses", 0, "samples that one call of the system answers; 0: 256; -1: all of the query")
	f.BoolVar(&opts.Accuracy, "accuracy", false, "issue target-qps × duration samples in accuracy mode, with responses that are logged")
	f.StringVar(&opts.OutputDir, "output", "", "existing folder for the logs of the test; empty: none are written")
	pace.define(f)
	f.BoolVar(&asJSON, "json", false, "print the result as JSON")
	f.BoolVar(&all, "all", false, "measure every scenario and print a table")
	f.StringVar(&peer, "peer", "", "with --all: program to compare with, called with the same flags (docs/loadgen.md)")
	f.IntVar(&rounds, "rounds", 3, "with --all: how often each measure is taken; the median counts")
	return cmd
}

func describeSelftest(w io.Writer, r *bench.SelfTestResult) error {
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
