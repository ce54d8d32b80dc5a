package survey

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/run"
)

func TestAPlanSaysWhatRunsTake(t *testing.T) {
	alone(t)
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "a model", Args: []string{"plan", "--model", "resnet50", "--samples-per-second", "60"}, Want: []string{
			"resnet50 under rules v6.1 on a system that answers 60 samples/s:", "Offline ", "24576", "network of a datacenter result: at least ", "270336"}},
		{Name: "links", Args: []string{"plan", "--model", "resnet50", "--network"}, Want: []string{"resnet50, 150.5 kB a sample, systems that answer 100 samples/s:", "10 GbE"}},
		{Name: "queries of a percentile", Args: []string{"plan", "--percentile", "99"}, Want: []string{
			"262742 queries, rounded up to a multiple of 8192: 270336\n(to know the 99 % tail latency with a confidence of 99 % and a margin of 0.05 %)\n"}},
		{Name: "queries of a margin", Args: []string{"plan", "--percentile", "90", "--margin", "0.5"}, Want: []string{"23886 queries, rounded up to a multiple of 8192: 24576\n"}},
		{Name: "neither", Args: []string{"plan"}, Status: cli.ExitUsage, Want: []string{"plan needs --model, or --percentile"}},
		{Name: "a model that is none", Args: []string{"plan", "--model", "alexnet", "--json"}, Status: cli.ExitUsage, Want: []string{"alexnet"}, Not: []string{"{"}},
		{Name: "a speed of nothing", Args: []string{"plan", "--model", "resnet50", "--samples-per-second", "0"}, Status: cli.ExitUsage, Want: []string{"--samples-per-second", "above 0"}},
		{Name: "a speed that is no number", Args: []string{"plan", "--model", "resnet50", "--samples-per-second", "NaN"}, Status: cli.ExitUsage, Want: []string{"--samples-per-second"}},
		{Name: "a percentile of all", Args: []string{"plan", "--percentile", "100"}, Status: cli.ExitUsage, Want: []string{"percentile must be a fraction between 0 and 1"}},
		{Name: "a percentile that is no number", Args: []string{"plan", "--percentile", "NaN"}, Status: cli.ExitUsage, Want: []string{"percentile must be a fraction"}},
		{Name: "a margin that is no number", Args: []string{"plan", "--percentile", "99", "--margin", "NaN"}, Status: cli.ExitUsage, Want: []string{"margin must be a fraction"}},
		{Name: "a confidence without end", Args: []string{"plan", "--percentile", "99", "--confidence", "Inf"}, Status: cli.ExitUsage, Want: []string{"confidence must be a fraction"}},
	})
}

func TestQueriesOfAPercentileAsJSON(t *testing.T) {
	alone(t)
	o := clitest.Run(t, Commands(), "plan", "--percentile", "99", "--json")
	var d struct {
		Schema                         string
		Percentile, Confidence, Margin float64
		Queries, Rounded               uint64
	}
	if err := json.Unmarshal([]byte(o.Stdout), &d); err != nil {
		t.Fatalf("%v: %s%s", err, o.Stdout, o.Err)
	}
	if d.Schema != "mlperf-go/plan-queries/1" || d.Percentile != 99 || d.Confidence != 99 || d.Margin < 0.0499 || d.Margin > 0.0501 || d.Queries != 262742 || d.Rounded != 270336 {
		t.Errorf("%+v", d)
	}
}

func TestAPlanWithoutNetworkOrLinksSaysNothingOfThem(t *testing.T) {
	var b strings.Builder
	p := &run.Plan{Model: "m", Rules: "v1", Speed: 5, Scenarios: []run.PlannedScenario{
		{Scenario: "Offline", Queries: 1, Samples: 24576, Runs: 1, Duration: 90*time.Minute + 400*time.Millisecond}, {Scenario: "Server", Why: "there is none"},
	}}
	if err := printPlan(&b, p); err != nil || strings.Contains(b.String(), "network") || !strings.Contains(b.String(), "1h30m0s") || !strings.Contains(b.String(), "there is none") {
		t.Errorf("%s, %v", b.String(), err)
	}
	if err := printLinks(&b, p); err == nil || err.Error() != "the rules do not say how large samples of m are" {
		t.Errorf("links: %v", err)
	}
}

// traced is what trace prints as JSON.
func traced(t *testing.T, args ...string) *loadgen.Trace {
	t.Helper()
	o := clitest.Run(t, Commands(), append([]string{"trace", "--json"}, args...)...)
	var trace loadgen.Trace
	if err := json.Unmarshal([]byte(o.Stdout), &trace); err != nil {
		t.Fatalf("%q: status %d, %v: %s", args, o.Status, err, o.Err)
	}
	return &trace
}

// TestATraceIsThatOfItsSettings compares what the flags make with what the settings make.
func TestATraceIsThatOfItsSettings(t *testing.T) {
	alone(t)
	seeds := config.NewestSeeds()
	for _, c := range []struct {
		name, args  string
		total, perf uint64
		change      func(s *loadgen.TestSettings)
	}{
		{"a rate", "--scenario server --target-qps 200 --min-duration 500ms --min-query-count 30", 50000, 1024, func(s *loadgen.TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount = loadgen.Server, 500*time.Millisecond, 30
			s.SetTargetQPS(200)
		}},
		{"all samples in memory", "--scenario offline --total-sample-count 100 --performance-sample-count 0 --min-query-count 100 --min-duration 0", 100, 100, func(s *loadgen.TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount = loadgen.Offline, 0, 100
		}},
		{"seeds of one's own, in order of permutations", "--scenario single-stream --qsl-seed 1 --sample-seed 2 --schedule-seed 3 --total-sample-count 40 --performance-sample-count 10 --min-query-count 25 --min-duration 0 --permutation", 40, 10, func(s *loadgen.TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount, s.SampleConcatenatePermutation = loadgen.SingleStream, 0, 25, true
			s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = 1, 2, 3
		}},
		{"one sample again and again", "--scenario single-stream --issue-same --issue-same-index 3 --min-query-count 5 --min-duration 0", 50000, 1024, func(s *loadgen.TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount, s.PerformanceIssueSame, s.PerformanceIssueSameIndex = loadgen.SingleStream, 0, 5, true, 3
		}},
		{"queries of several samples, and not more than so many", "--scenario multi-stream --samples-per-query 3 --max-query-count 4 --min-duration 0 --min-query-count 9", 50000, 1024, func(s *loadgen.TestSettings) {
			s.Scenario, s.MinDuration, s.MinQueryCount, s.MaxQueryCount, s.MultiStreamSamplesPerQuery = loadgen.MultiStream, 0, 9, 4, 3
		}},
		{"accuracy", "--scenario offline --mode accuracy --total-sample-count 30 --performance-sample-count 7", 30, 7, func(s *loadgen.TestSettings) {
			s.Scenario, s.Mode = loadgen.Offline, loadgen.AccuracyOnly
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := loadgen.DefaultSettings()
			s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = seeds.QSL, seeds.SampleIndex, seeds.Schedule
			c.change(&s)
			want, err := loadgen.NewTrace(s, c.perf, c.total)
			if err != nil {
				t.Fatal(err)
			}
			got := traced(t, strings.Fields(c.args)...)
			if got.Queries != want.Queries || !slices.Equal(got.Samples, want.Samples) || !slices.Equal(got.ScheduledNS, want.ScheduledNS) || len(got.Loads) != len(want.Loads) || got.Queries == 0 {
				t.Errorf("%d queries, %d samples, %d loads, want %d, %d, %d", got.Queries, len(got.Samples), len(got.Loads), want.Queries, len(want.Samples), len(want.Loads))
			}
		})
	}
}

func TestATraceThatNoMemoryHoldsIsRefused(t *testing.T) {
	alone(t)
	for _, c := range []struct{ name, args, want string }{
		{"samples that no number of them is", "--scenario offline --total-sample-count 18446744073709551615 --performance-sample-count 0", "--total-sample-count is 18446744073709551615, want at most 100000000: all samples of a trace are in memory at once"},
		{"just too many samples", "--scenario offline --total-sample-count 100000001", "--total-sample-count is 100000001"},
		{"queries that are too large", "--scenario multi-stream --samples-per-query 1000000000", "--samples-per-query is 1000000000"},
		{"too many queries", "--scenario single-stream --min-query-count 1000000000000", "ask for 1e+12 samples, want at most 100000000"},
		{"too high a rate for so long", "--scenario server --target-qps 1000 --min-duration 1000h", "ask for 3.6e+09 samples"},
		{"queries that are too many together", "--scenario multi-stream --samples-per-query 1000 --min-query-count 200000", "ask for 2e+08 samples"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if o := clitest.Run(t, Commands(), append([]string{"trace"}, strings.Fields(c.args)...)...); o.Status != cli.ExitUsage || !strings.Contains(o.Err, c.want) {
				t.Errorf("status %d: %s, want %s", o.Status, o.Err, c.want)
			}
		})
	}
}

func TestATraceInWordsHasTheFirstSamples(t *testing.T) {
	for _, c := range []struct {
		name  string
		trace loadgen.Trace
		want  string
	}{
		{"a few", loadgen.Trace{Queries: 2, Loads: [][]loadgen.QuerySampleIndex{{3, 1}}, Samples: []loadgen.QuerySampleIndex{1, 3}},
			"loaded set 1: 2 samples [3 1]\n2 queries with 2 samples [1 3]\n"},
		{"as many as are shown, and more", loadgen.Trace{Queries: 9, Loads: [][]loadgen.QuerySampleIndex{{1, 2, 3, 4, 5, 6, 7, 8}, {9}}, Samples: []loadgen.QuerySampleIndex{1, 2, 3, 4, 5, 6, 7, 8, 9}, ScheduledNS: []int64{0, 1_500_000_000}},
			"loaded set 1: 8 samples [1 2 3 4 5 6 7 8]\nloaded set 2: 1 samples [9]\n9 queries with 9 samples [1 2 3 4 5 6 7 8]…\nthe last is scheduled at 1.5s\n"},
		{"nothing", loadgen.Trace{}, "0 queries with 0 samples []\n"},
	} {
		var b strings.Builder
		if err := describeTrace(&b, &c.trace); err != nil || b.String() != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, b.String(), err, c.want)
		}
	}
}

func TestTracesOfPairsAndOfNothing(t *testing.T) {
	alone(t)
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "pairs", Args: []string{"trace", "--aggregation", "--pairs", "1000"}, Want: []string{"0, "}},
		{Name: "no pairs", Args: []string{"trace", "--aggregation", "--pairs", "-1"}, Status: cli.ExitUsage, Want: []string{"pairs"}},
		{Name: "a mode that is none", Args: []string{"trace", "--mode", "fast"}, Status: cli.ExitUsage, Want: []string{`unknown mode "fast"`}},
		{Name: "a scenario that is none", Args: []string{"trace", "--scenario", "Servers"}, Status: cli.ExitUsage, Want: []string{`"Servers"`}},
		{Name: "a rate of nothing", Args: []string{"trace", "--scenario", "server", "--target-qps", "0"}, Status: cli.ExitUsage, Want: []string{"target_qps"}},
		{Name: "a rate that is no number", Args: []string{"trace", "--scenario", "server", "--target-qps", "NaN"}, Status: cli.ExitUsage, Want: []string{"target_qps"}},
	})
}
