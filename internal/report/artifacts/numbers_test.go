package artifacts

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// A reader of YAML 1.1 takes 1e+06 for a text: its numbers with an exponent have a point.
func TestRatesAreNumbersInYAML(t *testing.T) {
	for rate, want := range map[float64]string{1e6: "1000000", 1e-7: "0.0000001", 70.5: "70.5", 123456789: "123456789"} {
		r := Run{Test: &loadgen.Result{}, Results: &report.Results{}}
		r.Test.Effective.Scenario, r.Test.Effective.TargetQPS = loadgen.Server, rate
		var b strings.Builder
		if err := r.config(&b); err != nil || !strings.Contains(b.String(), "    target_qps: "+want+"\n") {
			t.Errorf("%v, config of %g queries/s:\n%s", err, rate, b.String())
		}
	}
}

func TestTextsOfAConfigStayWhatTheyAre(t *testing.T) {
	odd := "a: \"b\"\n# c\\ é 😀"
	r := Run{Program: odd, Model: odd, Data: odd, Endpoints: []string{odd, "http://two"}, Test: &loadgen.Result{}, Results: &report.Results{}}
	var b strings.Builder
	if err := r.config(&b); err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"version: ", "  name: ", "  path: ", "  - "} {
		found := false
		for line := range strings.SplitSeq(b.String(), "\n") {
			text, ok := strings.CutPrefix(line, prefix)
			var got string
			found = found || ok && json.Unmarshal([]byte(text), &got) == nil && got == odd
		}
		if !found {
			t.Errorf("no line %q with the text in\n%s", prefix, b.String())
		}
	}
	if strings.Count(b.String(), "\n") != 24 || !strings.Contains(b.String(), "streaming: 'off'\n") {
		t.Errorf("%d lines:\n%s", strings.Count(b.String(), "\n"), b.String())
	}
}

// A plain count of what each bucket should hold.
func TestBucketsHoldAllValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name   string
		values func() float64
	}{
		{"of many sizes", func() float64 { return math.Exp(20 * rng.Float64()) }},
		{"all alike", func() float64 { return 5 }},
		{"below 1", rng.Float64},
		{"zeros", func() float64 { return 0 }},
		{"below zero", func() float64 { return -rng.Float64() }},
	} {
		values := make([]float64, 500)
		for i := range values {
			values[i] = c.values()
		}
		s := newSeries(values, false)
		h := s.Histogram
		total := 0
		for i, n := range h.Counts {
			want := 0
			for _, v := range values {
				if (i == 0 || v >= h.Buckets[i][0]) && (i == len(h.Counts)-1 || v < h.Buckets[i][1]) {
					want++
				}
			}
			if n != want {
				t.Errorf("%s: bucket %v has %d values, want %d", c.name, h.Buckets[i], n, want)
			}
			if i > 0 && h.Buckets[i][0] != h.Buckets[i-1][1] {
				t.Errorf("%s: bucket %v follows on %v", c.name, h.Buckets[i], h.Buckets[i-1])
			}
			total += n
		}
		if total != len(values) || len(h.Counts) != 30 {
			t.Errorf("%s: %d of %d values in %d buckets", c.name, total, len(values), len(h.Counts))
		}
	}
}

// By the definition of "lower": the greatest value that is not above the place p·(n−1).
func TestPercentilesAreValuesThatOccurred(t *testing.T) {
	for n := 1; n <= 120; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(n - i) // the greatest first
		}
		s := newSeries(values, true)
		for p, name := range map[int]string{1: "1.0", 25: "25.0", 50: "50.0", 75: "75.0", 99: "99.0"} {
			if want := float64(1 + p*(n-1)/100); s.Percentiles[name] != want {
				t.Errorf("percentile %s of 1 to %d is %g, want %g", name, n, s.Percentiles[name], want)
			}
		}
		if s.Min != 1 || s.Max != float64(n) || s.Total != float64(n*(n+1)/2) || s.Avg != float64(n+1)/2 {
			t.Errorf("1 to %d: %+v", n, s)
		}
		if want := math.Sqrt(float64(n*(n+1)) / 12); n > 1 && math.Abs(s.StdDev-want) > 1e-9 || n == 1 && s.StdDev != 0 {
			t.Errorf("the deviation of 1 to %d is %g, want %g", n, s.StdDev, want)
		}
		for name, v := range s.EarlyStopping {
			if v != nil && (*v < s.Percentiles[name] || !slices.Contains(values, *v)) {
				t.Errorf("1 to %d: %s is at most %g, and is %g", n, name, *v, s.Percentiles[name])
			}
		}
	}
}

func TestKeysAreWrittenAsPythonWritesThem(t *testing.T) {
	for p, want := range map[float64]string{99.9: "99.9", 50: "50.0", 100: "100.0", 99.99: "99.99", 1: "1.0"} {
		if got := key(p); got != want {
			t.Errorf("key(%g) = %s, want %s", p, got, want)
		}
	}
}

// Times of a request count from its issue; one without an answer, or without tokens, has none.
func TestATallyLeavesFailuresOut(t *testing.T) {
	var all tally
	for _, s := range []loadgen.SampleRecord{
		{Issued: 10, FirstToken: 30, Completed: 90, Tokens: 4},
		{Issued: 20, FirstToken: 60, Completed: 60, Tokens: 1},
		{Issued: 30, FirstToken: -1, Completed: 70, Tokens: 2},
		{Issued: 40, FirstToken: 50, Completed: -1, Tokens: 3},
		{Issued: 50, FirstToken: -1, Completed: 80, Tokens: 0},
	} {
		all.add(s)
	}
	got := fmt.Sprint(all.issued, all.ttft, all.tpot, all.latency, all.output, int64(all.first), int64(all.last), int64(all.lastIssued))
	if want := "5 [20 40] [20] [80 40 40] [4 1 2] 10 90 0"; got != want {
		t.Errorf("the tally is %s, want %s", got, want)
	}
}

// instant answers in no time at all.
type instant struct{ system }

func (instant) IssueQuery(q loadgen.Query) {
	for _, sample := range q.Samples {
		q.FirstToken([]loadgen.QuerySampleResponse{{ID: sample.ID}})
		q.Complete([]loadgen.QuerySampleResponse{{ID: sample.ID, NTokens: 2}})
	}
}

func TestARunThatTookNoTimeHasNoRate(t *testing.T) {
	dir := writtenOf(t, instant{}, loadgen.Offline, nil, nil)
	s := read[map[string]any](t, dir, "performance/result_summary.json")
	if s["qps"] != nil || s["tps"] != nil || s["duration_ns"] != 0. || s["n_samples_completed"].(float64) < 700 {
		t.Errorf("%v", s)
	}
}

// uneven answers after 1.4, 2.1 or 2.8 s.
type uneven struct{ system }

func (uneven) IssueQuery(q loadgen.Query) {
	for _, sample := range q.Samples {
		go func() {
			time.Sleep(time.Duration(2+sample.ID%3) * 700 * time.Millisecond)
			q.FirstToken([]loadgen.QuerySampleResponse{{ID: sample.ID}})
			q.Complete([]loadgen.QuerySampleResponse{{ID: sample.ID, NTokens: 2}})
		}()
	}
}

// The duration is that of the test; rates of requests that arrive by themselves are over the time until the one is
// answered that was issued last.
func TestTheDurationIsNotTheWindowOfTheRates(t *testing.T) {
	dir := writtenOf(t, uneven{}, loadgen.Server, nil, nil)
	text, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var last event // issued
	completed := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "sample.issued":
			last = e
		case "sample.complete":
			completed[e.Sample] = e.Timestamp
		}
	}
	s := read[read1](t, dir, "performance/result_summary.json")
	if want := slices.Max(slices.Collect(maps.Values(completed))); s.Duration != want || want == completed[last.Sample] {
		t.Errorf("the duration is %d, want %d; the last request was answered at %d", s.Duration, want, completed[last.Sample])
	}
	if want := completed[last.Sample]; s.Window == nil || *s.Window != want { // the first one is issued at 0
		t.Errorf("the window is %v, want %d", s.Window, want)
	}
}

func TestAnInterruptedRunSaysSo(t *testing.T) {
	dir := written(t, loadgen.SingleStream, math.MaxUint32, nil, func(r *Run) { r.Test.Interrupted = errors.New("stopped by the user") })
	s := read[read1](t, dir, "performance/result_summary.json")
	if s.State != "interrupted" || s.Complete || s.QPS <= 0 {
		t.Errorf("%+v", s)
	}
}

func TestARunWithoutAnswersHasNoNumbers(t *testing.T) {
	r := Run{Test: &loadgen.Result{StartTime: time.Unix(7, 5)}, Results: &report.Results{}}
	var b strings.Builder
	if err := indented(&b, r.summary()); err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal([]byte(b.String()), &s); err != nil {
		t.Fatal(err)
	}
	if s["qps"] != nil || s["tps"] != nil || s["duration_ns"] != nil || s["test_started_at"] != 7e9+5 || fmt.Sprint(s["ttft"], s["latency"]) != "map[] map[]" {
		t.Errorf("%v", s)
	}
	if fmt.Sprint(s["finish_reason_counts"]) != "map[content_filter:0 function_call:0 length:0 other:0 stop:0 tool_calls:0]" {
		t.Errorf("%v", s["finish_reason_counts"])
	}
}

func TestPromptsAreWhatTheyAre(t *testing.T) {
	for _, c := range []struct {
		prompt *backend.Prompt
		want   string
		length int
	}{
		{&backend.Prompt{Text: "hello"}, `["PromptData","hello"]`, 0},
		{&backend.Prompt{Text: "hello", IDs: []int32{3, 4}}, `["PromptData",null,[3,4]]`, 2},
		{&backend.Prompt{Text: "hello", Told: 7}, `["PromptData","hello"]`, 7},
	} {
		got, err := json.Marshal(promptOf(c.prompt))
		if err != nil || string(got) != c.want || lengthOf(c.prompt) != c.length {
			t.Errorf("%s of %d tokens, %v, want %s of %d", got, lengthOf(c.prompt), err, c.want, c.length)
		}
	}
}

func TestFilesThatAreThereAreReplaced(t *testing.T) {
	dir := written(t, loadgen.Offline, math.MaxUint32, nil, nil)
	path := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(path, []byte(strings.Repeat("old\n", 10_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, Run{Program: "new", Test: &loadgen.Result{}, Results: &report.Results{}}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "old") || !strings.Contains(string(text), `version: "new"`) {
		t.Errorf("%v:\n%s", err, text)
	}
}
