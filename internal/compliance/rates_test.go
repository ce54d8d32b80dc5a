package compliance

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A rate is a golden of testdata/make_rates.py.
type rate struct {
	Test, Scenario string
	Ref, Run       float64
	Scores         []float64
	Passes         bool
}

var printedScore = regexp.MustCompile(`score = (\S+)`)

func TestRatesAreJudgedAsTheReferencesScriptsJudgeThem(t *testing.T) {
	data, err := os.ReadFile("testdata/rates.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []rate
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	dirs := [3]string{}
	for i := range dirs {
		dirs[i] = fakeRun{scenario: "Offline", metric: 1, responses: []string{"0 00"}}.write(t)
	}
	for _, r := range all {
		ref := fakeRun{scenario: r.Scenario, metric: r.Ref, responses: []string{"0 00"}}
		acc, run := ref, ref
		acc.mode, run.metric, run.settings = "AccuracyOnly", r.Run, settingsOf(r.Test, nil)
		for i, f := range []fakeRun{ref, acc, run} {
			f.rewrite(t, dirs[i])
		}
		v, err := Verify(t.Context(), r.Test, Logs{Performance: dirs[0], Accuracy: dirs[1], Audit: dirs[2]}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v.Passed != r.Passes {
			t.Errorf("%+v: passed %v: %q", r, v.Passed, v.Facts)
		}
		for i, m := range printedScore.FindAllStringSubmatch(v.texts[performanceFile], -1) {
			if score, err := strconv.ParseFloat(m[1], 64); err != nil || score != r.Scores[i] {
				t.Errorf("%+v: score %d is %s, the reference's %v", r, i, m[1], r.Scores[i])
			}
		}
	}
}

func TestNumbersAreWrittenAsPythonWritesThem(t *testing.T) {
	for v, want := range map[float64]string{1: "1.0", 0.5: "0.5", 1e6: "1000000.0", 123456.789: "123456.789", 1e-5: "0.00001"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %s, want %s", v, got, want)
		}
	}
	for pair, want := range map[[2]float64]string{{100, 110}: "+10.0 %", {100, 89.9}: "-10.1 %", {3, 3}: "+0.0 %"} {
		if got := percent(pair[0], pair[1]); got != want {
			t.Errorf("percent(%v) = %s, want %s", pair, got, want)
		}
	}
}

// The limits are those of verify_performance.py: fast streams have noise.
func TestFastStreamsMayDifferByMore(t *testing.T) {
	for _, c := range []struct {
		scenario    loadgen.Scenario
		score, want float64
	}{
		{loadgen.SingleStream, 200_000, 0.2}, {loadgen.SingleStream, 200_001, 0.1}, {loadgen.MultiStream, 1_600_000, 0.2}, {loadgen.MultiStream, 1_600_001, 0.1},
		{loadgen.Offline, 1, 0.1}, {loadgen.Server, 1, 0.1},
	} {
		if got := tolerance(c.scenario, c.score, 0.1, true); got != c.want {
			t.Errorf("tolerance(%v, %v) = %v, want %v", c.scenario, c.score, got, c.want)
		}
	}
}

func TestServersAreComparedUnderTheSameBound(t *testing.T) {
	f := fakeRun{scenario: "Server", metric: 100, responses: []string{"0 00"}, settings: map[string]any{"effective_target_latency_ns": 15000000}}
	acc, run := f, f
	acc.mode = "AccuracyOnly"
	run.settings = settingsOf(Test01, map[string]any{"effective_target_latency_ns": 20000000})
	l := Logs{Performance: f.write(t), Accuracy: acc.write(t), Audit: run.write(t)}
	_, err := Verify(t.Context(), Test01, l, Options{})
	want := l.Audit + "/mlperf_log_detail.txt:"
	if err == nil || !regexp.MustCompile("^"+regexp.QuoteMeta(want)+`\d+: effective_target_latency_ns is 20000000, want 15000000: the bound of `).MatchString(err.Error()) {
		t.Errorf("error %v, want the line of the other bound", err)
	}
}
