package importlog

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
)

func TestQueriesThatACriterionNeedsAreCalculatedWhereThatCanBe(t *testing.T) {
	for _, c := range []struct {
		name          string
		queries, over uint64
		percentile    float64
		withoutCount  bool
		want          bool
	}{
		{"a usual test", 1000, 10, 0.99, false, true},
		{"all above the limit", 1000, 1000, 0.99, false, true},
		{"more above the limit than there are", 1000, 1001, 0.99, false, false},
		{"the most queries", 1 << 40, 1, 0.99, false, true},
		{"more than anybody can issue", 1<<40 + 1, 1, 0.99, false, false},
		{"no percentile", 1000, 1, 0, false, false},
		{"the highest percentile", 1000, 1, 0.99999, false, true},
		{"a higher one", 1000, 1, 0.999999, false, false},
		{"no count", 1000, 10, 0.99, true, false},
	} {
		f := &figures{performance: &loadgen.Performance{QueryCount: c.queries}, withoutCount: c.withoutCount}
		f.performance.Effective.TargetLatencyPercentile = c.percentile
		if got := f.calculable(c.over); got != c.want {
			t.Errorf("%s: calculable(%d) = %v, want %v", c.name, c.over, got, c.want)
		}
	}
}

// TestTheEstimateOfEarlyStoppingIsInEitherLog takes it out of the detail log, whose summary has it in its texts.
func TestTheEstimateOfEarlyStoppingIsInEitherLog(t *testing.T) {
	for _, scenario := range []loadgen.Scenario{loadgen.SingleStream, loadgen.MultiStream} {
		dir := t.TempDir()
		test := tested(t, shortSettings(scenario), 2*time.Millisecond)
		if err := mlperflog.WriteFiles(dir, test, mlperflog.About{Version: "5.1"}); err != nil {
			t.Fatal(err)
		}
		want, err := Read(dir, About{})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, mlperflog.DetailFile)
		detail, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		less := without(without(string(detail), "early_stopping_latency_ss"), "early_stopping_latency_ms")
		if err := os.WriteFile(path, []byte(less), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := Read(dir, About{})
		if err != nil || len(less) == len(detail) || got.Metric == nil || *got.Metric != *want.Metric || !strings.Contains(got.Metric.Name, "estimate") {
			t.Errorf("%v: the metric is %+v, %v, want %+v", scenario, got.Metric, err, want.Metric)
		}
	}
}

// TestWhyAResultIsInvalidIsSaidOnce has both logs say it, one of them, and none.
func TestWhyAResultIsInvalidIsSaidOnce(t *testing.T) {
	detail, summary := published(t, "v5.1-offline-invalid")
	advice := changed(t, detail, "Increase expected QPS", "The detail log says so")
	mute := without(detail, "result_invalid_reason")
	for _, c := range []struct {
		name, detail, summary string
		want                  string // how the last problem begins
	}{
		{"both", advice, summary, "the logs say: Increase expected QPS"},
		{"the detail log", advice, "", "the logs say: The detail log says so"},
		{"none", mute, "", "duration: 9m48s, want at least 10m0s"},
		{"none, and all is met", changed(t, mute, `"result_min_duration_met", "value": false`, `"result_min_duration_met", "value": true`), "", "the logs do not say why"},
	} {
		r, err := Read(folder(t, "logs", c.detail, c.summary), About{Model: "resnet50"})
		if err != nil {
			t.Fatal(err)
		}
		if last := r.Problems[len(r.Problems)-1]; r.Result != report.Invalid || !strings.HasPrefix(last, c.want) {
			t.Errorf("%s: %s, %q, want %q", c.name, r.Result, r.Problems, c.want)
		}
		if said := len(slices.DeleteFunc(slices.Clone(r.Problems), func(p string) bool { return !strings.HasPrefix(p, "the logs say") })); said > 1 {
			t.Errorf("%s: the logs say it %d times: %q", c.name, said, r.Problems)
		}
	}
}

// TestRatesThatAreMissingLeaveTheDurationToTheTimesOfDay takes the rate out of a log of SingleStream.
func TestRatesThatAreMissingLeaveTheDurationToTheTimesOfDay(t *testing.T) {
	detail, _ := published(t, "v2.0-multistream")
	const note = "the observed duration is that between power_begin and power_end"
	observed := func(detail string) (string, []string) {
		r, err := Read(folder(t, "logs", detail, ""), About{Model: "ssd-resnet34"})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Constraints, func(c report.Constraint) bool { return c.ID == loadgen.ConstraintDuration })
		if r.Constraints[i].Words != nil {
			return r.Constraints[i].Words.Observed, r.Notes
		}
		return r.Constraints[i].ObservedText(), r.Notes
	}
	if text, notes := observed(detail); text != "11m44s" || !slices.Contains(notes, note) {
		t.Errorf("the test lasted %s, notes %q", text, notes)
	}
	if text, notes := observed(without(detail, "power_end")); text != missing || slices.Contains(notes, note) {
		t.Errorf("without its end it lasted %s, notes %q", text, notes)
	}
	line := detail[strings.Index(detail, `"key": "power_end"`):]
	_, end, _ := strings.Cut(line, `"value": "`)
	end, _, _ = strings.Cut(end, `"`)
	if text, _ := observed(changed(t, detail, `"`+end+`"`, `"`+strings.Replace(end, "202", "201", 1)+`"`)); text != missing {
		t.Errorf("with an end before its beginning it lasted %s", text)
	}
}
