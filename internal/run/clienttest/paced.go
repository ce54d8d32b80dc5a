package clienttest

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/models/prompts"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
)

// A PacedTest measures the client under Poisson arrivals: a Server run of prompts that are made up.
type PacedTest struct {
	URL         string
	QPS         float64
	Tokens      int // of an answer
	Concurrency int // requests under way at most; 0: any number
	Duration    time.Duration
}

// A PacedResult is that of a PacedTest.
type PacedResult struct {
	Queries     uint64 `json:"queries"`
	Most        int64  `json:"most_under_way"`
	LateP50NS   int64  `json:"issue_delay_p50_ns"` // from the schedule to IssueQuery
	LateP99NS   int64  `json:"issue_delay_p99_ns"`
	Latency99NS int64  `json:"latency_p99_ns"`           // from the schedule
	Sent99NS    int64  `json:"latency_p99_from_send_ns"` // as clients without a schedule count
}

// Run runs the test and removes its files.
func (t PacedTest) Run(ctx context.Context) (out *PacedResult, err error) {
	folder, err := os.MkdirTemp("", "mlperf-selftest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	const origin = "self-test"
	q := run.Request{
		Program: origin, Scenario: "server", Output: folder, Force: true, NoReport: true,
		Engine:  engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{t.URL}, Concurrency: t.Concurrency}},
		Prompts: run.Prompts{Synthetic: 256, Words: "16", Answer: prompts.Lengths(strconv.Itoa(t.Tokens))},
		Settings: []config.Override{
			{Key: "target_qps", Value: strconv.FormatFloat(t.QPS, 'g', -1, 64), Origin: origin},
			{Key: "min_duration", Value: t.Duration.String(), Origin: origin}, {Key: "min_query_count", Value: "1", Origin: origin},
		},
	}
	r, err := run.Do(ctx, q, harness.Silent{})
	if err != nil {
		return nil, err
	}
	return pacedResult(r)
}

func pacedResult(r *report.Results) (*PacedResult, error) {
	p, g := r.Performance, r.Generation
	if p == nil || g == nil || p.LatencyNS == nil || p.IssueDelayNS == nil || g.LatencyFromSendNS == nil {
		return nil, errors.New("the self-test has no result")
	}
	if len(g.Failures) > 0 {
		return nil, errors.New("requests of the self-test failed: " + g.Failures[0].First)
	}
	return &PacedResult{
		Queries: p.Queries, Most: g.Most, LateP50NS: p.IssueDelayNS.P50, LateP99NS: p.IssueDelayNS.P99,
		Latency99NS: p.LatencyNS.P99, Sent99NS: g.LatencyFromSendNS.P99,
	}, nil
}

// A PacedMeasure is traffic of LoadGen's Server by which the client is judged.
type PacedMeasure struct {
	Name   string
	Server tokenserver.Options // which is a process of its own
	Test   PacedTest           // without its address and duration
	Late   bool                // judged by how late requests are issued; else by latencies, from the schedule and from sending
}

// PacedMeasures lists the traffic by which the client is judged under Poisson arrivals: whether it is on time beside many
// streams, and whether latencies count from the schedule even if requests wait for their turn.
func PacedMeasures() []PacedMeasure {
	slot := every(10 * time.Millisecond)
	slot.Slots = 1 // 100 ms for nine tokens: ten responses a second
	return []PacedMeasure{
		{"Poisson arrivals while 500 streams run: how late they are", every(20 * time.Millisecond), PacedTest{QPS: 195, Tokens: 128}, true},
		{"one slot at twice its rate, client that waits its turn", slot, PacedTest{QPS: 20, Tokens: 9, Concurrency: 1}, false},
		{"one slot at twice its rate, requests sent when due", slot, PacedTest{QPS: 20, Tokens: 9}, false},
	}
}
