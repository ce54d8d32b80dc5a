package importlog

import (
	gocontext "context"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

// emptySamples are samples without content.
type emptySamples struct{}

func (emptySamples) Name() string                { return "twenty samples" }
func (emptySamples) TotalSampleCount() int       { return 20 }
func (emptySamples) PerformanceSampleCount() int { return 10 }
func (emptySamples) LoadSamplesToRAM(gocontext.Context, []loadgen.QuerySampleIndex) error {
	return nil
}
func (emptySamples) UnloadSamplesFromRAM([]loadgen.QuerySampleIndex) error { return nil }

// A sleeper answers after a time that is longer for later samples, with ten tokens.
type sleeper struct {
	latency time.Duration
	tokens  bool
}

func (sleeper) Name() string  { return "a sleeper" }
func (sleeper) FlushQueries() {}

func (s sleeper) IssueQuery(q loadgen.Query) {
	responses := make([]loadgen.QuerySampleResponse, len(q.Samples))
	for i, sample := range q.Samples {
		responses[i] = loadgen.QuerySampleResponse{ID: sample.ID, Data: []byte{1, 0, 0, 0}}
		if s.tokens {
			responses[i].NTokens = 10
		}
	}
	latency := s.latency + 10*time.Microsecond*time.Duration(q.Samples[0].Index)
	time.Sleep(latency / 4)
	if s.tokens {
		q.FirstToken(responses)
	}
	time.Sleep(latency - latency/4)
	q.Complete(responses)
}

// tested runs a test in fake time.
func tested(t *testing.T, s loadgen.TestSettings, latency time.Duration) *loadgen.Result {
	t.Helper()
	var r *loadgen.Result
	synctest.Test(t, func(t *testing.T) {
		var err error
		sut := sleeper{latency, s.UseTokenLatencies && s.Scenario != loadgen.Offline}
		r, err = loadgen.Run(t.Context(), sut, emptySamples{}, s, loadgen.Options{
			NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} },
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return r
}

// shortSettings are those of a test of a second.
func shortSettings(scenario loadgen.Scenario) loadgen.TestSettings {
	s := loadgen.DefaultSettings()
	s.Scenario, s.Mode = scenario, loadgen.PerformanceOnly
	s.MinDuration, s.MinQueryCount = time.Second, 700
	s.SingleStreamExpectedLatencyNS, s.MultiStreamExpectedLatencyNS = 2e6, 2e6
	s.ServerTargetQPS, s.OfflineExpectedQPS, s.ServerTargetLatency = 300, 300, 10*time.Millisecond
	if scenario == loadgen.Offline {
		s.MinQueryCount = 1
	}
	return s
}

// TestOwnLogsRoundTrip writes the logs of tests and reads them as if another program had written them: the verdict,
// the metric and what is said of each constraint have to be those of the test, to the six digits that logs have.
func TestOwnLogsRoundTrip(t *testing.T) {
	for _, c := range []struct {
		name     string
		scenario loadgen.Scenario
		latency  time.Duration
		change   func(s *loadgen.TestSettings)
		result   string
	}{
		{"SingleStream", loadgen.SingleStream, 2 * time.Millisecond, nil, report.Valid},
		{"SingleStream that is too short", loadgen.SingleStream, 100 * time.Microsecond, func(s *loadgen.TestSettings) { s.MaxQueryCount = 800 }, report.Invalid},
		{"SingleStream of few queries", loadgen.SingleStream, 20 * time.Millisecond, func(s *loadgen.TestSettings) { s.MinQueryCount, s.MaxQueryCount = 50, 60 }, report.Invalid},
		{"MultiStream", loadgen.MultiStream, 2 * time.Millisecond, nil, report.Valid},
		{"MultiStream of four samples", loadgen.MultiStream, 3 * time.Millisecond, func(s *loadgen.TestSettings) { s.MultiStreamSamplesPerQuery = 4 }, report.Valid},
		{"MultiStream at fixed intervals", loadgen.MultiStream, 2 * time.Millisecond, func(s *loadgen.TestSettings) {
			s.MultiStreamQPS, s.WithoutEarlyStopping = 20, true
			s.MinQueryCount = 30
		}, report.Valid},
		{"MultiStream that skips intervals", loadgen.MultiStream, 60 * time.Millisecond, func(s *loadgen.TestSettings) {
			s.MultiStreamQPS, s.WithoutEarlyStopping = 20, true
			s.MinQueryCount = 10
		}, report.Invalid},
		{"Server", loadgen.Server, 500 * time.Microsecond, nil, report.Valid},
		{"Server that is too slow", loadgen.Server, 12 * time.Millisecond, nil, report.Invalid},
		{"Server before early stopping", loadgen.Server, 500 * time.Microsecond, func(s *loadgen.TestSettings) { s.WithoutEarlyStopping = true }, report.Valid},
		{"Server of few queries before early stopping", loadgen.Server, 500 * time.Microsecond, func(s *loadgen.TestSettings) {
			s.WithoutEarlyStopping, s.MinQueryCount = true, 300
		}, report.Valid},
		{"SingleStream of few queries before early stopping", loadgen.SingleStream, 100 * time.Millisecond, func(s *loadgen.TestSettings) {
			s.WithoutEarlyStopping, s.MinQueryCount = true, 10
		}, report.Valid},
		{"SingleStream with tokens", loadgen.SingleStream, 2 * time.Millisecond, func(s *loadgen.TestSettings) { s.UseTokenLatencies = true }, report.Valid},
		{"MultiStream of few queries", loadgen.MultiStream, 20 * time.Millisecond, func(s *loadgen.TestSettings) { s.MinQueryCount, s.MaxQueryCount = 50, 60 }, report.Invalid},
		{"Server with tokens", loadgen.Server, 500 * time.Microsecond, func(s *loadgen.TestSettings) {
			s.UseTokenLatencies, s.ServerTTFTLatency, s.ServerTPOTLatency = true, 20*time.Millisecond, time.Millisecond
		}, report.Valid},
		{"Server whose first tokens are late", loadgen.Server, 500 * time.Microsecond, func(s *loadgen.TestSettings) {
			s.UseTokenLatencies, s.ServerTTFTLatency, s.ServerTPOTLatency = true, 100*time.Microsecond, time.Millisecond
		}, report.Invalid},
		{"Server whose other tokens are late", loadgen.Server, 500 * time.Microsecond, func(s *loadgen.TestSettings) {
			s.UseTokenLatencies, s.ServerTTFTLatency, s.ServerTPOTLatency = true, 20*time.Millisecond, 20*time.Microsecond
		}, report.Invalid},
		{"Offline", loadgen.Offline, 1100 * time.Millisecond, nil, report.Valid},
		{"Offline that is too short", loadgen.Offline, 900 * time.Millisecond, nil, report.Invalid},
		{"Offline with equal issue", loadgen.Offline, 1100 * time.Millisecond, func(s *loadgen.TestSettings) { s.SampleConcatenatePermutation = true }, report.Valid},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := shortSettings(c.scenario)
			if c.change != nil {
				c.change(&s)
			}
			test := tested(t, s, c.latency)
			dir := t.TempDir()
			if _, err := mlperflog.WriteFiles(dir, test, mlperflog.About{Version: "5.1"}); err != nil {
				t.Fatal(err)
			}
			got, err := Read(dir, About{})
			if err != nil {
				t.Fatal(err)
			}
			want := &report.Results{Rules: got.Rules}
			want.Fill(test, func(string) string { return "" })
			if want.Result != c.result {
				t.Fatalf("the test is %s (%q), want %s: it tests something else", want.Result, want.Problems, c.result)
			}
			compareRuns(t, got, want)
		})
	}
}

// compareRuns compares what logs say with what the test itself does.
func compareRuns(t *testing.T, got, want *report.Results) {
	t.Helper()
	if got.Result != want.Result || got.Scenario != want.Scenario || got.Mode != want.Mode {
		t.Errorf("%s %s is %s, want %s %s that is %s", got.Scenario, got.Mode, got.Result, want.Scenario, want.Mode, want.Result)
	}
	if got.Metric == nil || got.Metric.Name != want.Metric.Name || got.Metric.Unit != want.Metric.Unit || !near(got.Metric.Value, want.Metric.Value) {
		t.Errorf("the metric is %+v, want %+v", got.Metric, want.Metric)
	}
	g, w := got.Performance, want.Performance
	if g.Queries != w.Queries || g.Samples != w.Samples || g.Overlatency != w.Overlatency {
		t.Errorf("%d queries, %d samples, %d above the limit, want %d, %d, %d", g.Queries, g.Samples, g.Overlatency, w.Queries, w.Samples, w.Overlatency)
	}
	sameLatencies(t, "latency", g.LatencyNS, w.LatencyNS)
	sameLatencies(t, "query latency", g.QueryLatencyNS, w.QueryLatencyNS)
	sameLatencies(t, "first token", g.FirstTokenNS, w.FirstTokenNS)
	sameLatencies(t, "time per output token", g.TimePerOutputTokenNS, w.TimePerOutputTokenNS)
	if len(got.Constraints) > len(want.Constraints) {
		t.Errorf("there are %d constraints, want %d", len(got.Constraints), len(want.Constraints))
	}
	compareConstraints(t, got.Scenario, got.Constraints, want.Constraints)
	for _, p := range want.Problems {
		if place, _, _ := strings.Cut(p, ":"); got.Result == report.Invalid && !slices.ContainsFunc(got.Problems, func(q string) bool { return strings.HasPrefix(q, place) }) {
			t.Errorf("%q is not among the problems %q", p, got.Problems)
		}
	}
	for _, text := range got.Warnings {
		if !strings.Contains(text, "of the test: ") { // which has warnings of its own
			t.Errorf("warning %q of logs in which nothing is wrong", text)
		}
	}
}

// sameLatencies compares statistics, of which the extremes of the time per output token are under other names in logs.
func sameLatencies(t *testing.T, name string, got, want *report.Latencies) {
	t.Helper()
	if (got == nil) != (want == nil) {
		t.Errorf("%s is %+v, want %+v", name, got, want)
		return
	}
	if got != nil && (got.P50 != want.P50 || got.P999 != want.P999 || got.P90 != want.P90) {
		t.Errorf("%s is %+v, want %+v", name, *got, *want)
	}
}

// compareConstraints wants the same, those that logs do not have anything of aside.
func compareConstraints(t *testing.T, scenario string, got, want []report.Constraint) {
	t.Helper()
	for _, w := range want {
		if w.ID == loadgen.ConstraintGenerator {
			continue // the reference has none
		}
		i := slices.IndexFunc(got, func(c report.Constraint) bool { return c.ID == w.ID })
		if i < 0 {
			t.Errorf("no constraint %v", w.ID)
			continue
		}
		g := got[i]
		if g.Met != w.Met || (g.Advice == "") != (w.Advice == "") {
			t.Errorf("%v: met is %v with advice %q, want %v with %q", w.ID, g.Met, g.Advice, w.Met, w.Advice)
		}
		if g.Words != nil {
			continue // the logs do not have the numbers
		}
		if w.ID == loadgen.ConstraintDuration && scenario == loadgen.MultiStream.String() {
			g.Observed = w.Observed // it is that between two times of day
		}
		if !near(g.Required.Value, w.Required.Value) || g.Required.Unit != w.Required.Unit || g.Observed == nil || w.Observed == nil ||
			!near(g.Observed.Value, w.Observed.Value) {
			t.Errorf("%v: %v of %v, want %v of %v", w.ID, g.Observed, g.Required, w.Observed, w.Required)
		}
	}
}

// near allows for the six digits of numbers in logs.
func near(a, b float64) bool { return a == b || math.Abs(a-b) <= 2e-5*math.Abs(b) }
