package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// These tests take real time, because the pacers sleep in the kernel. They pass on a busy machine too.

func TestRun(t *testing.T) {
	testenv.SkipLong(t, "takes long")
	for _, scenario := range loadgen.Scenarios() {
		t.Run(scenario.String(), func(t *testing.T) {
			s := Test{Scenario: scenario, TargetQPS: 5000, Duration: 100 * time.Millisecond}
			r, err := s.Run(t.Context())
			testenv.Must(t, err)
			if r.Scenario != scenario.String() || r.Queries == 0 || r.DurationNS <= 0 || r.IssuedQPS <= 0 || r.PeakRSSBytes == 0 {
				t.Errorf("result %+v", r)
			}
			if r.LatencyMeanNS < 0 || r.LatencyP50NS > r.LatencyP99NS || r.IssueDelayP50NS > r.IssueDelayP99NS || r.PostRunNS < 0 {
				t.Errorf("times out of order: %+v", r)
			}
			if _, err := json.Marshal(r); err != nil {
				t.Error(err)
			}
			checkSelfTest(t, scenario, r)
		})
	}
}

func checkSelfTest(t *testing.T, scenario loadgen.Scenario, r *Result) {
	t.Helper()
	switch scenario {
	case loadgen.Offline:
		if r.Queries != 500 {
			t.Errorf("%d samples, want the target's: 500", r.Queries)
		}
	case loadgen.Server:
		if r.Queries < 400 || r.Queries > 600 || r.DurationNS < 90e6 || r.IssuedQPS > 6000 {
			t.Errorf("%d queries in %v, want about 500 in 100 ms", r.Queries, time.Duration(r.DurationNS))
		}
	default:
		if r.DurationNS < 100e6 || r.IssuedQPS < 5000 {
			t.Errorf("%d queries in %v: the generator is slow", r.Queries, time.Duration(r.DurationNS))
		}
	}
	if r.Queries > 10000 && r.AllocsPerQuery > 0.1 {
		t.Errorf("%v allocations for each of %d queries", r.AllocsPerQuery, r.Queries)
	}
}

func TestResponsesInACall(t *testing.T) {
	for _, test := range []struct{ responses, calls int }{{0, 4}, {100, 10}, {-1, 1}} {
		s := Test{Scenario: loadgen.Offline, TargetQPS: 10000, Duration: 100 * time.Millisecond, Responses: test.responses, OutputDir: t.TempDir()}
		if n := (1000 + s.responses() - 1) / s.responses(); n != test.calls {
			t.Errorf("%d responses: %d calls, want %d", test.responses, n, test.calls)
		}
		r, err := s.Run(t.Context())
		if err != nil || r.Queries != 1000 || r.DurationNS <= 0 || r.PostRunNS <= 0 {
			t.Errorf("%d responses: %+v, %v", test.responses, r, err)
		}
		d, err := mlperflog.ReadDetail(filepath.Join(s.OutputDir, mlperflog.DetailFile))
		testenv.Must(t, err)
		if valid, _, err := d.Valid(); err != nil || !valid {
			t.Errorf("the detail log says valid %v, %v", valid, err)
		}
	}
}

func TestAccuracyMode(t *testing.T) {
	s := Test{Scenario: loadgen.Offline, TargetQPS: 10000, Duration: 300 * time.Millisecond, Accuracy: true, OutputDir: t.TempDir()}
	r, err := s.Run(t.Context())
	if err != nil || r.Queries != 3000 || r.DurationNS <= 0 || r.PostRunNS < 0 {
		t.Errorf("%+v, %v", r, err)
	}
	log, err := os.ReadFile(filepath.Join(s.OutputDir, mlperflog.AccuracyFile))
	if n := bytes.Count(log, []byte(`"data" : "07000000"`)); err != nil || n != 3000 {
		t.Errorf("%d responses in the log, want 3000; %v", n, err)
	}
	s.OutputDir = filepath.Join(s.OutputDir, "missing")
	if _, err := s.Run(t.Context()); err == nil {
		t.Error("a folder that does not exist takes logs")
	}
}

func TestShortTests(t *testing.T) {
	for _, s := range []Test{
		{Scenario: loadgen.SingleStream, TargetQPS: 1e4, Accuracy: true},
		{Scenario: loadgen.MultiStream, TargetQPS: 1e4, Accuracy: true},
		{Scenario: loadgen.Server, TargetQPS: 1e4, Accuracy: true},
		{Scenario: loadgen.Offline, TargetQPS: 1e4, Accuracy: true},
		{Scenario: loadgen.Offline, TargetQPS: 100, Accuracy: true},
		{Scenario: loadgen.Offline, TargetQPS: 100},
	} {
		s.Duration = 10 * time.Millisecond
		r, err := s.Run(t.Context())
		testenv.Must(t, err)
		want := uint64(s.TargetQPS / 100) // MultiStream fills its last query
		if r.Queries < want || r.Queries >= want+8 || r.DurationNS <= 0 || r.DurationNS > 1e10 || r.PostRunNS < 0 || r.PostRunNS > 1e10 {
			t.Errorf("%v, accuracy %v: %d queries, %d ns and %d ns afterwards, want %d", s.Scenario, s.Accuracy, r.Queries, r.DurationNS, r.PostRunNS, want)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%v: %v", s.Scenario, err)
		}
	}
}

func TestRunFails(t *testing.T) {
	if _, err := (Test{Scenario: loadgen.Server, Duration: time.Second}).Run(t.Context()); err == nil {
		t.Error("no rate is accepted")
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	s := Test{Scenario: loadgen.Server, TargetQPS: 100, Duration: time.Minute}
	if _, err := s.Run(ctx); !errors.Is(err, stopped) {
		t.Errorf("error %v, want the interruption", err)
	}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name string
		s    Test
		want string
	}{
		{"no rate", Test{Scenario: loadgen.Server, Duration: time.Second}, "target_qps"},
		{"more samples than a test can have", Test{Scenario: loadgen.Offline, TargetQPS: 1e12, Duration: time.Second}, "samples a test can have"},
		{"more than the memory holds", Test{Scenario: loadgen.Offline, TargetQPS: 4.2e9, Duration: time.Second}, "GiB"},
		{"more responses than the memory holds", Test{Scenario: loadgen.Offline, TargetQPS: 4.2e9, Duration: time.Second, Accuracy: true}, "GiB"},
	} {
		if err := c.s.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one about %s", c.name, err, c.want)
		}
	}
	for _, scenario := range loadgen.Scenarios() {
		needs := scenario == loadgen.Server || scenario == loadgen.Offline
		if err := (Test{Scenario: scenario, Duration: time.Second}).Check(); (err != nil) != needs {
			t.Errorf("%v without a rate: %v", scenario, err)
		}
		if err := (Test{Scenario: scenario, TargetQPS: 1000, Duration: time.Second}).Check(); err != nil {
			t.Errorf("%v: %v", scenario, err)
		}
	}
}

func TestPercentiles(t *testing.T) {
	p := &loadgen.Performance{QueryCount: 10, LastCompletion: time.Second}
	for i, percentile := range loadgen.Percentiles() {
		p.SampleLatency.Percentiles[i] = time.Duration(1000 * percentile)
		p.IssueDelay.Percentiles[i] = time.Duration(2000 * percentile)
	}
	r := Test{Scenario: loadgen.Server}.measured(&loadgen.Result{Performance: p}, &nullSUT{})
	if r.LatencyP50NS != 500 || r.LatencyP99NS != 990 || r.IssueDelayP50NS != 1000 || r.IssueDelayP99NS != 1980 || r.IssuedQPS != 10 {
		t.Errorf("%+v", r)
	}
}

func TestMeasures(t *testing.T) {
	r := &Result{
		Queries: 1000, DurationNS: 2e9, PostRunNS: 5e8, IssuedQPS: 500,
		LatencyMeanNS: 30, LatencyP50NS: 20, LatencyP99NS: 90, PeakRSSBytes: 64000,
	}
	want := map[string]float64{
		"SingleStream, queries per second":                              500,
		"SingleStream, peak memory per query":                           64,
		"SingleStream, until the logs of a million queries are written": 500,
		"Server at 1,000 QPS, latency p50":                              20,
		"Server at 1,000 QPS, latency p99":                              90,
		"Server at 400,000 QPS, mean latency":                           30,
		"Offline, 256 responses in a call: until the last call":         500,
		"Offline, 256 responses in a call: until the logs are written":  400,
		"Server at 500 QPS while all cores compute, latency p99":        90,
	}
	for _, m := range Measures() {
		if err := m.Test.Check(); err != nil && !strings.Contains(err.Error(), "GiB") {
			t.Errorf("%s: %v", m.Name, err)
		}
		if w, ok := want[m.Name]; ok {
			if got := m.Of(r); got != w {
				t.Errorf("%s: %g %s, want %g", m.Name, got, m.Unit, w)
			}
			delete(want, m.Name)
		}
	}
	if len(want) > 0 {
		t.Errorf("there is no measure %v", want)
	}
}

func TestFigure(t *testing.T) {
	m := Measure{Of: (*Result).p99}
	for _, c := range []struct {
		values []int64
		want   Figure
	}{{[]int64{7}, Figure{7, 7, 7}}, {[]int64{90, 10, 20}, Figure{20, 10, 90}}, {[]int64{4, 1, 3, 2}, Figure{3, 1, 4}}} {
		var results []*Result
		for _, v := range c.values {
			results = append(results, &Result{LatencyP99NS: v})
		}
		if got := m.Figure(results); got != c.want {
			t.Errorf("the figure of %v is %v, want %v", c.values, got, c.want)
		}
	}
}
