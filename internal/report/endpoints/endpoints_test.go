package endpoints

import (
	"context"
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
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// A system answers with five tokens: the first after 30 ms, and the others each 10 ms later. It fails
// one sample.
type system struct{ fails loadgen.ResponseID }

func (system) Name() string  { return "system" }
func (system) FlushQueries() {}
func (s system) IssueQuery(q loadgen.Query) {
	for _, sample := range q.Samples {
		go func() {
			time.Sleep(30 * time.Millisecond)
			if sample.ID == s.fails {
				q.Fail(sample.ID, errors.New("no"))
				return
			}
			q.FirstToken([]loadgen.QuerySampleResponse{{ID: sample.ID}})
			time.Sleep(40 * time.Millisecond)
			q.Complete([]loadgen.QuerySampleResponse{{ID: sample.ID, NTokens: 5}})
		}()
	}
}

type library struct{}

func (library) Name() string                                                       { return "library" }
func (library) TotalSampleCount() int                                              { return 8 }
func (library) PerformanceSampleCount() int                                        { return 8 }
func (library) LoadSamplesToRAM(context.Context, []loadgen.QuerySampleIndex) error { return nil }
func (library) UnloadSamplesFromRAM([]loadgen.QuerySampleIndex) error              { return nil }

// written runs a test in fake time and writes it.
func written(t *testing.T, s loadgen.Scenario, fails loadgen.ResponseID, change func(*loadgen.TestSettings), also func(*Run)) string {
	t.Helper()
	return writtenOf(t, system{fails}, s, change, also)
}

// writtenOf is written for any system.
func writtenOf(t *testing.T, sut loadgen.SUT, s loadgen.Scenario, change func(*loadgen.TestSettings), also func(*Run)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	synctest.Test(t, func(t *testing.T) {
		set := loadgen.DefaultSettings()
		set.Scenario, set.Mode, set.MinDuration, set.MinQueryCount = s, loadgen.PerformanceOnly, 10*time.Second, 700
		set.ServerTargetQPS, set.UseTokenLatencies, set.ServerTTFTLatency, set.ServerTPOTLatency = 70, true, time.Second, time.Second
		set.OfflineExpectedQPS, set.SingleStreamExpectedLatencyNS = 70, 70e6
		set.SampleIndexRNGSeed, set.ScheduleRNGSeed = 11, 12
		if change != nil {
			change(&set)
		}
		r, err := loadgen.Run(t.Context(), sut, library{}, set, loadgen.Options{NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} }})
		if err != nil {
			t.Fatal(err)
		}
		run := Run{Program: "mlperf 1", Model: "org/m", Data: "p.jsonl", Endpoints: []string{"http://host"}, Streams: true, Test: r, Results: &report.Results{
			Model: "m", Generation: &report.Generation{Finished: map[string]int64{"stop": 3, "eos": 2, "": 1}},
		}}
		if also != nil {
			also(&run)
		}
		if err := Write(dir, run); err != nil {
			t.Fatal(err)
		}
	})
	return dir
}

func read[T any](t *testing.T, dir, name string) (v T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSummary(t *testing.T) {
	s := read[Summary](t, written(t, loadgen.Server, math.MaxUint32, nil, nil), "performance/result_summary.json")
	if s.Issued < 700 || s.Completed != s.Issued || s.Failed != 0 || s.State != "complete" || !s.Complete {
		t.Errorf("%+v", s)
	}
	if c := s.RunConfig; c.SchedulerSeed != 12 || c.DataSeed != 11 || c.LoadPattern.Type != "poisson" {
		t.Errorf("%+v", c)
	}
	rate := float64(s.Completed-1) / time.Duration(*s.Window).Seconds()
	if math.Abs(*s.QPS-rate) > 1e-9 || math.Abs(*s.TPS-5*float64(s.Completed)/time.Duration(*s.Window).Seconds()) > 1e-6 {
		t.Errorf("%g requests/s, %g tokens/s in %v", *s.QPS, *s.TPS, time.Duration(*s.Window))
	}
	if diff := cmp.Diff(map[string]int64{"stop": 3, "length": 0, "tool_calls": 0, "content_filter": 0, "function_call": 0, "other": 3}, s.Finished); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every answer takes as long as the others, so that all statistics are the same number.
func TestStatistics(t *testing.T) {
	s := read[Summary](t, written(t, loadgen.Server, math.MaxUint32, nil, nil), "performance/result_summary.json")
	for what, c := range map[string]struct {
		s    Series
		want float64
	}{"TTFT": {s.TTFT, 30e6}, "TPOT": {s.TPOT, 10e6}, "latency": {s.Latency, 70e6}, "tokens": {s.Output, 5}} {
		numbers := []float64{c.s.Min, c.s.Max, c.s.Avg, c.s.Median, c.s.Percentiles["99.9"]}
		if !slices.Equal(numbers, slices.Repeat([]float64{c.want}, 5)) || c.s.StdDev != 0 || len(c.s.Percentiles) != 12 {
			t.Errorf("%s: %+v, want %g", what, c.s, c.want)
		}
		if e := c.s.EarlyStopping; (what == "tokens") != (e == nil) || e != nil && (e["99.9"] != nil || e["99.0"] == nil || *e["99.0"] != c.want || len(e) != 8) {
			t.Errorf("%s: early stopping %v", what, e)
		}
	}
}

func TestLoadPatterns(t *testing.T) {
	for s, want := range map[loadgen.Scenario][2]string{loadgen.Offline: {"max_throughput", "type: offline\n"}, loadgen.SingleStream: {"concurrency", "target_concurrency: 1\n"}, loadgen.Server: {"poisson", "target_qps: 70\n"}} {
		dir := written(t, s, math.MaxUint32, nil, nil)
		r := read[Summary](t, dir, "performance/result_summary.json")
		if r.RunConfig.LoadPattern.Type != want[0] || (r.Window != nil) != (s == loadgen.Server) || *r.QPS <= 0 {
			t.Errorf("%v: %+v", s, r.RunConfig)
		}
		text, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
		for _, part := range []string{want[1], "dataloader_random_seed: 11\n", "scheduler_random_seed: 12\n", "name: \"org/m\"\n", "- \"http://host\"\n", "min_duration_ms: 10000\n"} {
			if err != nil || !strings.Contains(string(text), part) {
				t.Errorf("%v: %v, %s lacks %q", s, err, text, part)
			}
		}
	}
}

func TestEvents(t *testing.T) {
	dir := written(t, loadgen.Server, 3, nil, nil)
	if s := read[Summary](t, dir, "performance/result_summary.json"); s.Failed != 1 || s.Completed != s.Issued-1 {
		t.Errorf("%d of %d failed", s.Failed, s.Issued)
	}
	text, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var times []int64
	count := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		times, count[e.Type] = append(times, e.Timestamp), count[e.Type]+1
	}
	n := count["sample.issued"]
	if !slices.IsSorted(times) || n < 700 || count["sample.complete"] != n-1 || count["sample.recv_first"] != n-1 || count["error.generic"] != 1 || count["session.ended"] != 1 {
		t.Errorf("%v, in order: %v", count, slices.IsSorted(times))
	}
	if ids := read[map[string]map[string]uint64](t, dir, "sample_idx_map.json")["performance"]; len(ids) != n {
		t.Errorf("%d samples have an index", len(ids))
	}
}

// The lists are what msgspec writes of PromptData and ErrorData (array_like, tag, omit_defaults).
func TestPrompts(t *testing.T) {
	list := []backend.Prompt{
		{Text: "a \"b\"", Told: 4}, {Text: "known by its ids", IDs: []int32{5, 6, 7}}, {Messages: []backend.Message{{Role: "user", Content: "hi"}}, Told: 12}, {Text: "not counted"},
	}
	dir := written(t, loadgen.Server, 3, nil, func(r *Run) { r.Prompt = func(i int) *backend.Prompt { return &list[i%4] } })
	text, err := os.ReadFile(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var e struct {
			Type string          `json:"event_type"`
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		seen[e.Type+" "+string(e.Data)]++
	}
	for _, want := range []string{
		`sample.issued ["PromptData","a \"b\"",null,null,null,null,null,null]`, `sample.issued ["PromptData",null,[5,6,7],null,null,null,null,null]`,
		`sample.issued ["PromptData",null,null,[{"role":"user","content":"hi"}],null,null,null,null]`,
		`sample.issued ["PromptData","not counted",null,null,null,null,null,null]`, `error.generic ["ErrorData","the request failed"]`, "sample.complete null",
	} {
		if seen[want] == 0 {
			t.Errorf("no event is %s: %v", want, seen)
		}
	}
	type inputs struct {
		Input Series `json:"input_sequence_lengths"`
	}
	if s := read[inputs](t, dir, "performance/result_summary.json").Input; s.Min != 3 || s.Max != 12 || s.Median != 4 {
		t.Errorf("prompts have %g to %g tokens, median %g, want 3 to 12 and 4", s.Min, s.Max, s.Median)
	}
}

func TestAccuracy(t *testing.T) {
	dir := written(t, loadgen.Offline, math.MaxUint32, func(s *loadgen.TestSettings) { s.Mode = loadgen.AccuracyOnly }, func(r *Run) {
		r.Results.Accuracy = &report.Accuracy{Metric: "rouge1", Value: 38.5, Samples: 8}
	})
	type scores struct {
		Scores []map[string]any `json:"accuracy_scores"`
	}
	got := read[scores](t, dir, "accuracy/accuracy_results.json").Scores
	if len(got) != 1 || got[0]["score"] != 38.5 || got[0]["total_samples"] != 8. || got[0]["complete"] != true || got[0]["dataset_type"] != "accuracy" {
		t.Errorf("%v", got)
	}
	if ids := read[map[string]map[string]uint64](t, dir, "sample_idx_map.json")["m"]; len(ids) != 8 {
		t.Errorf("%v", ids)
	}
}

// The values are numpy's: percentile(…, method="lower"), std(ddof=1).
func TestSeriesEqualsNumpy(t *testing.T) {
	s := newSeries([]float64{40, 10, 20, 30, 1000}, false)
	if s.Median != 30 || s.Percentiles["75.0"] != 40 || s.Percentiles["99.0"] != 40 || s.Percentiles["25.0"] != 20 || s.Percentiles["1.0"] != 10 || s.Avg != 220 || math.Abs(s.StdDev-436.1765697513) > 1e-9 {
		t.Errorf("%+v", s)
	}
	sum := 0
	for _, n := range s.Histogram.Counts {
		sum += n
	}
	if sum != 5 || len(s.Histogram.Buckets) != 30 || s.Histogram.Counts[29] != 1 || math.Abs(s.Histogram.Buckets[29][1]-1000) > 1e-9 {
		t.Errorf("%+v", s.Histogram)
	}
}

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

// A plain count of what each bucket should hold.
func TestBuckets(t *testing.T) {
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
		h := newSeries(values, false).Histogram
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

// Times of a request count from its issue; one without an answer, or without tokens, has none.
func TestTallyOmitsFailures(t *testing.T) {
	run := &Run{Results: &report.Results{Generation: &report.Generation{}}, Test: &loadgen.Result{}}
	if run.failed(loadgen.SampleRecord{Completed: 1}) {
		t.Error("without token latencies no tokens are recorded")
	}
	run.Test.Effective.UseTokenLatencies = true
	all := tally{failed: run.failed}
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

func TestNoTimeHasNoRate(t *testing.T) {
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
func TestWindowOfTheRates(t *testing.T) {
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
	s := read[Summary](t, dir, "performance/result_summary.json")
	if want := slices.Max(slices.Collect(maps.Values(completed))); *s.Duration != want || want == completed[last.Sample] {
		t.Errorf("the duration is %d, want %d; the last request was answered at %d", *s.Duration, want, completed[last.Sample])
	}
	if want := completed[last.Sample]; s.Window == nil || *s.Window != want { // the first one is issued at 0
		t.Errorf("the window is %v, want %d", s.Window, want)
	}
}

func TestInterrupted(t *testing.T) {
	dir := written(t, loadgen.SingleStream, math.MaxUint32, nil, func(r *Run) { r.Test.Interrupted = errors.New("stopped by the user") })
	s := read[Summary](t, dir, "performance/result_summary.json")
	if s.State != "interrupted" || s.Complete || *s.QPS <= 0 {
		t.Errorf("%+v", s)
	}
}

func TestNoAnswers(t *testing.T) {
	r := Run{Test: &loadgen.Result{StartTime: time.Unix(7, 5)}, Results: &report.Results{}}
	var b strings.Builder
	if err := indented(&b, r.summary()); err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal([]byte(b.String()), &s); err != nil {
		t.Fatal(err)
	}
	if s["qps"] != nil || s["tps"] != nil || s["duration_ns"] != nil || s["test_started_at"] != 0. || fmt.Sprint(s["ttft"], s["output_sequence_lengths"]) != "map[] map[]" {
		t.Errorf("%v", s)
	}
	if fmt.Sprint(s["finish_reason_counts"]) != "map[content_filter:0 function_call:0 length:0 other:0 stop:0 tool_calls:0]" {
		t.Errorf("%v", s["finish_reason_counts"])
	}
}

// keysOf lists the paths of a document, without those in a histogram and those that are named. Numbers in names stand for all.
func keysOf(v any, prefix string, list *[]string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if *list = append(*list, prefix+key); key != "histogram" {
				keysOf(v[key], prefix+key+".", list)
			}
		}
	case []any:
		for _, one := range v {
			keysOf(one, prefix, list)
		}
	}
}

// The files have the keys of the official client's own, key by key.
func TestKeysAreTheOfficialOnes(t *testing.T) {
	for _, c := range []struct {
		folder, file string
		scenario     loadgen.Scenario
		also         func(*Run)
		lacks        []string // keys that the official file has, of what is not known here
	}{
		{"out_online", SummaryFile, loadgen.Server, nil, nil},
		{"out_offline", SummaryFile, loadgen.Offline, func(r *Run) { r.Streams = false }, nil},
		{"out_online", ScoresFile, loadgen.Offline, func(r *Run) {
			r.Benchmark = "qwen3-vl-235b-a22b"
			r.Results.Accuracy = &report.Accuracy{Metric: "f1", Value: 0.79, Samples: 8}
		}, []string{"osl_tokenization_s", "accuracy_scores.osl_tokenize_s"}}, // the tokens are counted while answers come
	} {
		var sut loadgen.SUT = system{math.MaxUint32}
		if c.file == SummaryFile && c.scenario == loadgen.Offline {
			sut = whole{}
		}
		got := []string{}
		keysOf(read[any](t, writtenOf(t, sut, c.scenario, func(s *loadgen.TestSettings) {
			if c.file == ScoresFile {
				s.Mode = loadgen.AccuracyOnly
			}
		}, c.also), c.file), "", &got)
		official := []string{}
		keysOf(read[any](t, filepath.Join("testdata", c.folder), c.file), "", &official)
		official = slices.DeleteFunc(official, func(key string) bool { return slices.Contains(c.lacks, key) })
		if diff := cmp.Diff(official, got); diff != "" {
			t.Errorf("%s of %s (-official +ours):\n%s", c.file, c.folder, diff)
		}
	}
}

// whole answers after 20 ms, without a first token.
type whole struct{ system }

func (whole) IssueQuery(q loadgen.Query) {
	for _, sample := range q.Samples {
		go func() {
			time.Sleep(20 * time.Millisecond)
			q.Complete([]loadgen.QuerySampleResponse{{ID: sample.ID, NTokens: 5}})
		}()
	}
}

// Scores are in the scale of the official client: fractions of some benchmarks, texts by name of ROUGE, each data set of a benchmark of
// several, and its own value where it computes another.
func TestScoresOfBenchmarks(t *testing.T) {
	sets := []report.ScoredSet{{Name: "aime25", Score: 0.5, Samples: 240, Repeats: 8}, {Name: "gpqa", Score: 0.75, Samples: 990, Repeats: 5}}
	other := 0.4372
	for name, c := range map[string]struct {
		benchmark string
		accuracy  report.Accuracy
		want      string
	}{
		"percent as a fraction": {"qwen3.6-27b", report.Accuracy{Value: 86.25, Unit: "%", Samples: 995}, "map[:0.8625/995/1]"},
		"percent":               {"deepseek-r1", report.Accuracy{Value: 81.5, Unit: "%", Samples: 4388, Sets: sets}, "map[:81.5/4388/1 aime25:50 gpqa:75]"},
		"data sets":             {"gpt-oss-120b", report.Accuracy{Value: 70, Unit: "%", Samples: 1230, Sets: sets}, "map[aime25:0.5/30/8 gpqa:0.75/198/5]"},
		"another value":         {"qwen3-vl-235b-a22b", report.Accuracy{Value: 0.4417, Samples: 44, Endpoints: &other}, "map[:0.4372/44/1]"},
		"ROUGE": {"llama3.1-8b", report.Accuracy{Metric: "rouge1", Value: 38.7, Samples: 13368,
			Lines: []string{"{'rouge1': '38.7', 'rouge2': '15.9', 'rougeL': '24.4', 'rougeLsum': '35.7', 'gen_len': 8167644, 'gen_num': 13368}"}},
			"map[:map[gen_len:8167644 rouge1:38.7 rouge2:15.9 rougeL:24.4 rougeLsum:35.7]/13368/1]"},
	} {
		var b strings.Builder
		if err := WriteScores(&b, c.benchmark, &report.Results{Rules: "v6.1", Accuracy: &c.accuracy}, nil, nil); err != nil {
			t.Fatal(err)
		}
		var file struct {
			Sets []struct {
				Dataset   string `json:"dataset_name"`
				Score     any
				Units     int `json:"unit_samples"`
				Repeats   int `json:"num_repeats"`
				Breakdown struct {
					Subsets map[string]float64 `json:"subset_scores"`
				}
				Counts responses `json:"response_counts"`
			} `json:"accuracy_scores"`
		}
		if err := json.Unmarshal([]byte(b.String()), &file); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, set := range file.Sets {
			name := set.Dataset
			if name == c.benchmark {
				name = ""
			}
			got[name] = fmt.Sprintf("%v/%d/%d", set.Score, set.Units, set.Repeats)
			for subset, v := range set.Breakdown.Subsets {
				got[subset] = fmt.Sprint(v)
			}
			if set.Counts.Issued != set.Units*set.Repeats {
				t.Errorf("%s: %+v", name, set.Counts)
			}
		}
		if text := fmt.Sprint(got); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

// Videos have no tokens: their rates are of requests, and there are no lengths.
func TestVideosHaveNoTokens(t *testing.T) {
	dir := writtenOf(t, film{}, loadgen.Offline, func(s *loadgen.TestSettings) { s.UseTokenLatencies = false }, func(r *Run) { r.Streams, r.Results.Generation = false, &report.Generation{Videos: 700} })
	s := read[Summary](t, dir, SummaryFile)
	if s.Failed != 0 || s.Completed != s.Issued || s.QPS == nil || s.TPS != nil || s.Output.Spread != nil || s.Latency.Spread == nil {
		t.Errorf("%+v", s)
	}
	official := read[Summary](t, filepath.Join("testdata", "out_wan"), SummaryFile)
	if official.TPS != nil || official.Output.Spread != nil || official.TTFT.EarlyStopping != nil {
		t.Errorf("the official client has %+v", official)
	}
}

// film answers after 20 ms, without tokens.
type film struct{ system }

func (film) IssueQuery(q loadgen.Query) {
	for _, sample := range q.Samples {
		go func() {
			time.Sleep(20 * time.Millisecond)
			q.Complete([]loadgen.QuerySampleResponse{{ID: sample.ID}})
		}()
	}
}
