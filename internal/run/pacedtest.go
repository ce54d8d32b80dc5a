package run

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/report"
)

// A PacedTest measures what the client of endpoints does under Poisson arrivals: a Server run of
// prompts that are made up, at a server that is another process.
type PacedTest struct {
	URL         string
	QPS         float64
	Tokens      int // of an answer
	Concurrency int // requests under way at most; 0: any number
	Duration    time.Duration
}

// PacedTestResult is what a PacedTest finds.
type PacedTestResult struct {
	Queries     uint64 `json:"queries"`
	Most        int64  `json:"most_under_way"`
	LateP50NS   int64  `json:"issue_delay_p50_ns"` // from the schedule to IssueQuery
	LateP99NS   int64  `json:"issue_delay_p99_ns"`
	Latency99NS int64  `json:"latency_p99_ns"`           // from the schedule
	Sent99NS    int64  `json:"latency_p99_from_send_ns"` // as clients count that have none
}

// Run runs the test. What it writes is removed.
func (t PacedTest) Run(ctx context.Context) (out *PacedTestResult, err error) {
	folder, err := os.MkdirTemp("", "mlperf-selftest-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	const origin = "self-test"
	q := Request{
		Program: origin, Scenario: "server", Output: folder, Force: true, NoReport: true,
		Engine:  Engine{Name: OpenAI, Remote: Remote{Endpoints: []string{t.URL}, Concurrency: t.Concurrency}},
		Prompts: Prompts{Synthetic: 256, Words: 16, Answer: t.Tokens},
		Settings: []config.Override{
			{Key: "target_qps", Value: strconv.FormatFloat(t.QPS, 'g', -1, 64), Origin: origin},
			{Key: "min_duration", Value: t.Duration.String(), Origin: origin}, {Key: "min_query_count", Value: "1", Origin: origin},
		},
	}
	r, err := runOnce(ctx, q, silent{})
	if err != nil {
		return nil, err
	}
	return pacedResult(r)
}

func pacedResult(r *report.Results) (*PacedTestResult, error) {
	p, g := r.Performance, r.Generation
	if p == nil || g == nil || p.LatencyNS == nil || p.IssueDelayNS == nil || g.LatencyFromSendNS == nil {
		return nil, errors.New("the self-test has no result")
	}
	if len(g.Failures) > 0 {
		return nil, errors.New("requests of the self-test failed: " + g.Failures[0].First)
	}
	return &PacedTestResult{
		Queries: p.Queries, Most: g.Most, LateP50NS: p.IssueDelayNS.P50, LateP99NS: p.IssueDelayNS.P99,
		Latency99NS: p.LatencyNS.P99, Sent99NS: g.LatencyFromSendNS.P99,
	}, nil
}
