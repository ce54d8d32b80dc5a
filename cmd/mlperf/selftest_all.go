package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/mlperf-go/mlperf/internal/bench"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A measure is a row of the table of selftest --all.
type measure struct {
	name     string
	scenario loadgen.Scenario
	qps      float64 // for the peer in SingleStream and MultiStream: what it should prepare for
	seconds  float64
	of       func(*bench.SelfTestResult) float64
	unit     string
	least    bool // less is better
}

// measures are what the generator is judged by.
func measures() []measure {
	rate := func(r *bench.SelfTestResult) float64 { return r.IssuedQPS }
	mean := func(r *bench.SelfTestResult) float64 { return float64(r.LatencyMeanNS) }
	p50 := func(r *bench.SelfTestResult) float64 { return float64(r.LatencyP50NS) }
	p99 := func(r *bench.SelfTestResult) float64 { return float64(r.LatencyP99NS) }
	memory := func(r *bench.SelfTestResult) float64 { return float64(r.PeakRSSBytes) / float64(r.Queries) }
	post := func(r *bench.SelfTestResult) float64 { return float64(r.PostRunNS) / float64(r.Queries) * 5e6 / 1e9 }
	return []measure{
		{"SingleStream, queries per second", loadgen.SingleStream, 2e6, 3, rate, "/s", false},
		{"SingleStream, peak memory per query", loadgen.SingleStream, 2e6, 3, memory, "B", true},
		{"SingleStream, after the last of 5 M queries", loadgen.SingleStream, 2e6, 3, post, "s", true},
		{"Server at 1,000 QPS, latency p50", loadgen.Server, 1e3, 3, p50, "ns", true},
		{"Server at 1,000 QPS, latency p99", loadgen.Server, 1e3, 3, p99, "ns", true},
		{"Server at 10,000 QPS, latency p50", loadgen.Server, 1e4, 3, p50, "ns", true},
		{"Server at 10,000 QPS, latency p99", loadgen.Server, 1e4, 3, p99, "ns", true},
		{"Server at 400,000 QPS, mean latency", loadgen.Server, 4e5, 3, mean, "ns", true},
		{"Server at 400,000 QPS, peak memory per query", loadgen.Server, 4e5, 3, memory, "B", true},
		{"Offline, 11 M samples per second", loadgen.Offline, 11e6, 1, rate, "/s", false},
		{"Offline, peak memory per sample", loadgen.Offline, 11e6, 1, memory, "B", true},
	}
}

// selftestRounds is how often each measure is taken; the median counts.
const selftestRounds = 3

// selftestAll measures everything, each in a process of its own so that memory is that
// of one run, and in turn with a peer if there is one.
func selftestAll(ctx context.Context, w io.Writer, peer string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	header := table.Row{"measure (SUT that answers at once)", "mlperf"}
	if peer != "" {
		header = append(header, "peer", "ratio")
	}
	t := newTable(header)
	cache := map[string][]*bench.SelfTestResult{}
	for _, m := range measures() {
		var ours, theirs []float64
		key := fmt.Sprint(m.scenario, m.qps)
		if cache[key] == nil {
			for range selftestRounds {
				r, err := runSelftest(ctx, self, "selftest", "--scenario", m.scenario.String(), "--target-qps", fmt.Sprint(m.qps),
					"--duration", time.Duration(m.seconds*1e9).String(), "--json")
				if err != nil {
					return err
				}
				var p *bench.SelfTestResult
				if peer != "" {
					if p, err = runSelftest(ctx, peer, m.scenario.String(), fmt.Sprint(m.qps), fmt.Sprint(m.seconds)); err != nil {
						return err
					}
				}
				cache[key] = append(cache[key], r, p)
			}
		}
		for i, r := range cache[key] {
			if r != nil && i%2 == 0 {
				ours = append(ours, m.of(r))
			} else if r != nil {
				theirs = append(theirs, m.of(r))
			}
		}
		t.AppendRow(m.row(ours, theirs))
	}
	_, err = fmt.Fprintln(w, t.Render())
	return err
}

func (m measure) row(ours, theirs []float64) table.Row {
	row := table.Row{m.name, fmt.Sprintf("%.4g %s", middle(ours), m.unit)}
	if len(theirs) == 0 {
		return row
	}
	ratio := middle(ours) / middle(theirs)
	text := fmt.Sprintf("%.3g× as many", ratio)
	if m.least {
		text = fmt.Sprintf("1/%.3g", 1/ratio)
	}
	return append(row, fmt.Sprintf("%.4g %s", middle(theirs), m.unit), text)
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// runSelftest runs a program that prints a SelfTestResult.
func runSelftest(ctx context.Context, program string, args ...string) (*bench.SelfTestResult, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %v: %w", program, args, err)
	}
	r := &bench.SelfTestResult{}
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("%s %v printed no result: %w", program, args, err)
	}
	return r, nil
}
