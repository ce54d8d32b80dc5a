package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
)

// keep writes a SingleStream run into a folder.
func keep(t *testing.T, dir string, change func(r *report.Results)) {
	t.Helper()
	began := time.Date(2026, 7, 8, 9, 10, 11, 0, time.UTC)
	const ms = int64(time.Millisecond)
	r := &report.Results{
		Schema: report.Schema, Program: "mlperf 1", Created: began, Model: "resnet50", Scenario: "SingleStream", Mode: "PerformanceOnly", Rules: "v6.1", Result: report.Valid,
		Metric:  &report.Metric{Name: "90th percentile latency", Value: 10, Unit: "ms"},
		Backend: report.Backend{Engine: "onnxruntime", Instances: 1, MaxBatch: 1}, Command: []string{"mlperf", "run", "--output", dir},
		Performance: &report.Performance{
			Queries: 100, Samples: 100, Began: &began, DurationNS: 1000 * ms, SamplesPerSecond: 100,
			LatencyNS: &report.Latencies{Min: 9 * ms, Mean: 10 * ms, P50: 10 * ms, P90: 10 * ms, P95: 10 * ms, P97: 10 * ms, P99: 11 * ms, P999: 11 * ms, Max: 11 * ms},
		},
	}
	change(r)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
}

// Five runs each, in turns, are enough for a limit.
func TestCompareFails(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 5 {
		for j, side := range []string{"base", "new"} {
			keep(t, fmt.Sprintf("%s/%d", side, i), func(r *report.Results) {
				p := r.Performance
				*p.Began = p.Began.Add(time.Duration(2*i+j) * time.Minute)
				r.Created = *p.Began
				p.LatencyNS.P50 += int64(time.Duration(i)*100*time.Microsecond + time.Duration(j)*5*time.Millisecond)
			})
		}
	}
	for _, c := range []struct {
		new    string
		status int
		want   []string
	}{
		{"new", ExitChanged, []string{"\nFAIL p50>+5%", "\nok p50<-5%", "  +49.03 %  ", "t over 5 pairs of runs in turns"}},
		{"base", 0, []string{"\nok p50>+5%", "\nok p50<-5%"}},
	} {
		o := mlperf(t, "compare", "--fail-if", "p50>+5%", "--fail-if", "p50<-5%", "base", "--", c.new)
		for _, want := range c.want {
			if text := "\n" + o.stderr + o.stdout; o.status != c.status || !strings.Contains(text, want) {
				t.Errorf("base -- %s: status %d, no %q in %s", c.new, o.status, want, text)
			}
		}
	}
}

// Results of others do not steer a terminal.
func TestResultsDoNotSteerTerminal(t *testing.T) {
	const hostile = "fast\x1b[2J\x1b[31m\u009b1A\r"
	t.Chdir(t.TempDir())
	for _, dir := range []string{"results/one", "results/two"} {
		keep(t, dir, func(r *report.Results) {
			r.Model, r.Rules, r.Program = hostile, hostile, hostile
			r.Notes, r.Problems, r.Warnings = []string{hostile}, []string{hostile}, []string{hostile}
			r.Backend.Engine, r.Backend.Devices, r.Input.Precision = hostile, map[string]int{hostile: 1}, hostile
			r.Settings = []report.Setting{{Key: hostile, Value: hostile, Origin: hostile}}
			r.Metric.Unit = hostile
		})
	}
	for _, args := range []string{"report", "report --format mlmark", "explain results/one", "compare results/one results/two"} {
		o := mlperf(t, strings.Fields(args)...)
		if text := o.stdout + o.stderr; strings.ContainsAny(text, "\x1b\u009b\r") || !strings.Contains(text, `fast\x1b[2J`) {
			t.Errorf("%s prints %q", args, text)
		}
	}
}

func TestDamagedChartsAndOutputs(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"results/[odd]", "results/two"} { // a name that is a pattern, too
		keep(t, dir, func(*report.Results) {})
		write(t, dir+"/charts.json", "{")
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"compare results/[odd] results/two", ExitDone, "without charts: reading results/two/charts.json: "},
		{"compare --fail-if ttft>5% results/[odd] results/two", ExitUsage, "--fail-if"},
		{"compare --format html --output - results/[odd] results/two", ExitDone, "<h1>resnet50 SingleStream: comparison</h1>"},
		{"report --format html results/two", ExitError, "reading results/two/charts.json: "},
		{"report --format html --output mine.html", ExitDone, "Written: mine.html\n"},
		{"report --format html --output nowhere/x.html", ExitError, "nowhere"},
	} {
		if o := mlperf(t, strings.Fields(c.args)...); o.status != c.status || !strings.Contains(o.stdout+o.stderr, c.want) {
			t.Errorf("%s: status %d: %s%s", c.args, o.status, o.stdout, o.stderr)
		}
	}
}
