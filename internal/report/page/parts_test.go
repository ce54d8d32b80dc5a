package page

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/report/compare"
)

// facts writes pairs as name=value (note), the deciding ones with a star.
func facts(list []pair) string {
	var parts []string
	for _, p := range list {
		text := p.Name + "=" + p.Value
		if p.Note != "" {
			text += " (" + p.Note + ")"
		}
		if p.Key {
			text += "*"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

func TestTheNumbersThatAreLookedForFirst(t *testing.T) {
	latency := &report.Latencies{P50: 5e6, P90: 8e6, P99: 9e6}
	for _, c := range []struct {
		name  string
		r     report.Results
		price float64
		want  string
	}{
		{"nothing was measured", report.Results{}, 5, ""},
		{"a stream", report.Results{Scenario: "SingleStream", Performance: &report.Performance{Samples: 1234, SamplesPerSecond: 200, LatencyNS: latency}}, 0,
			"median latency=5 ms; p90 latency=8 ms; p99 latency=9 ms; answered samples/s=200; samples=1,234"},
		{"with a price", report.Results{Scenario: "Offline", Performance: &report.Performance{Samples: 10, SamplesPerSecond: 200, LatencyNS: latency}}, 50,
			"answered samples/s=200; samples/s per dollar=4; samples=10"},
		{"queries of several samples", report.Results{Scenario: "MultiStream", Performance: &report.Performance{Samples: 8, LatencyNS: &report.Latencies{}, QueryLatencyNS: latency}}, 9,
			"median latency=5 ms; p90 latency=8 ms; p99 latency=9 ms; samples=8"},
		{"tokens, a queue and a late generator", report.Results{Scenario: "Offline", Queue: &report.QueueStats{Peak: 7}, Performance: &report.Performance{
			Samples: 8, FirstTokenNS: &report.Latencies{P99: 2e9}, TimePerOutputTokenNS: &report.Latencies{P99: 3e6}, IssueDelayNS: &report.Latencies{P99: 4e3}}}, 0,
			"p99 time to first token=2 s; p99 time per token=3 ms; samples=8; most waiting=7; p99 issue delay=4 µs"},
		{"the generator's own delay goes first", report.Results{Scenario: "Offline", Performance: &report.Performance{
			Samples: 8, GeneratorDelayNS: &report.Latencies{P99: 1e3}, IssueDelayNS: &report.Latencies{P99: 4e3}}}, 0, "samples=8; p99 issue delay=1 µs"},
		{"energy of a sample", report.Results{Scenario: "Offline", Performance: &report.Performance{Samples: 8}, Energy: &report.Energy{Joules: 16, JoulesPerSample: 2, MeanWatts: 4}}, 0,
			"samples=8; energy per sample=2 J; mean power=4 W"},
		{"energy of nobody knows what", report.Results{Scenario: "Offline", Performance: &report.Performance{Samples: 8}, Energy: &report.Energy{Joules: 16, MeanWatts: 4}}, 0,
			"samples=8; energy=16 J; mean power=4 W"},
		{"energy that was not measured", report.Results{Scenario: "Offline", Performance: &report.Performance{Samples: 8}, Energy: &report.Energy{NotMeasured: "no meter"}}, 0,
			"samples=8; energy=not measured"},
	} {
		if got := facts(cards(&c.r, c.price)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestThePercentileThatDecidesIsMarked(t *testing.T) {
	l := &report.Latencies{Min: 1e6, Mean: 2e6, P50: 2e6, P90: 3e6, P95: 4e6, P97: 5e6, P99: 6e6, P999: 7e6, Max: 8e6}
	c := &charts.Charts{Percentiles: []charts.Percentile{{Percentile: 0.9, LowerNS: 25e5, UpperNS: 35e5}, {Percentile: 0.99}}}
	r := &report.Results{Scenario: "Server", Performance: &report.Performance{LatencyNS: l}, Test: &report.Test{TargetLatencyPercentile: 0.9}}
	want := "min=1 ms; mean=2 ms; p50=2 ms; p90=3 ms (decides, 2.5 ms to 3.5 ms)*; p95=4 ms; p97=5 ms; p99=6 ms (too short a run for an interval); p99.9=7 ms; max=8 ms"
	if got := facts(percentiles(r, c)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.Test, r.Performance.QueryLatencyNS = nil, &report.Latencies{Min: 9e6}
	if got := facts(percentiles(r, nil)); !strings.HasPrefix(got, "min=9 ms; mean=0 s; ") || strings.Contains(got, "*") {
		t.Errorf("of queries, without a test: %s", got)
	}
	for name, r := range map[string]*report.Results{
		"no performance": {Scenario: "Server"},
		"Offline":        {Scenario: "Offline", Performance: &report.Performance{LatencyNS: l}},
		"no latency":     {Scenario: "Server", Performance: &report.Performance{}},
	} {
		if got := percentiles(r, c); got != nil {
			t.Errorf("%s: %s", name, facts(got))
		}
	}
}

func TestWhatAnsweredIsSaidAsFarAsItIsKnown(t *testing.T) {
	if got := facts(system(&report.Results{})); got != "" {
		t.Errorf("nothing is known: %s", got)
	}
	r := &report.Results{
		Host: "box", Program: "mlperf 1", Phases: []report.PhaseTime{{Name: "traffic", Seconds: 1.5}, {Name: "warm-up", Seconds: 0.25}},
		System:      map[string]any{"os": "Linux", "kernel": "6.1", "cpu": map[string]any{"model": "Z80", "cores": 3.0}, "memory": map[string]any{"total_bytes": float64(1511 << 30)}},
		Backend:     report.Backend{Engine: "onnxruntime 1.24.3", Devices: map[string]int{"cuda": 8, "cpu": 1, "other": -1}, Instances: 2, Threads: 3, MaxBatch: 4, MaxDelay: "5ms"},
		Input:       report.Input{ModelPath: "my.onnx", ModelSHA256: strings.Repeat("0123456789abcdef", 4), DatasetPath: "imagenet"},
		Performance: &report.Performance{IssuePriority: "SCHED_FIFO"}, Energy: &report.Energy{NotMeasured: "no meter"},
	}
	got := facts(system(r))
	for _, want := range []string{
		"host=box; processor=Z80, 3 cores; memory=1.48 TiB; system=Linux, 6.1; engine=onnxruntime 1.24.3; device=cpu (1 node), cuda (8 nodes), other; workers=2 × 3 threads, batches of up to 4, delay 5 ms",
		"; model=my.onnx, sha256 0123456789abcdef; data=imagenet; priority=SCHED_FIFO; energy=", "; time=traffic 1.5 s, warm-up 250 ms; program=mlperf 1",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// TestADescriptionOfAMachineMayBeAnything: it comes from a file.
func TestADescriptionOfAMachineMayBeAnything(t *testing.T) {
	for _, c := range []struct {
		name      string
		system    any
		processor string
		memory    string
	}{
		{"nothing", nil, "", ""},
		{"a text", "Linux", "", ""},
		{"a list", []any{1.0}, "", ""},
		{"a processor that is a text", map[string]any{"cpu": "Z80"}, "", ""},
		{"cores alone", map[string]any{"cpu": map[string]any{"cores": 2.0}}, ", 2 cores", ""},
		{"a model that is a number", map[string]any{"cpu": map[string]any{"model": 6502.0}}, "6,502", ""},
		{"a model that is a list", map[string]any{"cpu": map[string]any{"model": []any{}}}, "", ""},
		{"memory below nothing", map[string]any{"memory": map[string]any{"total_bytes": -5.0}}, "", ""},
		{"no memory at all", map[string]any{"memory": map[string]any{"total_bytes": 0.0}}, "", ""},
		{"memory as a text", map[string]any{"memory": map[string]any{"total_bytes": "many"}}, "", ""},
	} {
		if got := processor(c.system); got != c.processor {
			t.Errorf("%s: processor %q, want %q", c.name, got, c.processor)
		}
		if got := memory(c.system); got != c.memory {
			t.Errorf("%s: memory %q, want %q", c.name, got, c.memory)
		}
	}
}

func TestWorkersAreThoseThatThereAre(t *testing.T) {
	for n, want := range map[int]string{-1: "", 0: "", 1: "1 × 2 threads, batches of up to 3, delay 4 ms", 2: "2 × 2 threads, batches of up to 3, delay 4 ms"} {
		if got := workers(report.Backend{Instances: n, Threads: 2, MaxBatch: 3, MaxDelay: "4ms"}); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestAMeterIsAsLongAsWhatWasUsedOfTheBound(t *testing.T) {
	bound := func(id loadgen.ConstraintID, observed float64, met bool) report.Constraint {
		return report.Constraint{Constraint: loadgen.Constraint{
			ID: id, Bound: loadgen.AtMost, Percentile: 0.57, Met: met, Required: loadgen.Quantity{Value: 10e6, Unit: "ns"}, Observed: &loadgen.Quantity{Value: observed, Unit: "ns"},
		}}
	}
	for _, c := range []struct {
		name string
		c    report.Constraint
		p    *report.Performance
		want meter
	}{
		{"half", bound("latency", 5e6, true), &report.Performance{Samples: 3, Overlatency: 1},
			meter{Observed: "p57 5 ms", Of: "of 10 ms allowed", Below: "66.66 % of the samples within the bound, 57 % required", Label: "p57 5 ms is 50 percent of the bound", Width: 490, Bound: 979, Met: true}},
		{"twice", bound("latency", 20e6, false), &report.Performance{Samples: 2, Overlatency: 5},
			meter{Observed: "p57 20 ms", Of: "of 10 ms allowed, 2 times the bound", Below: "0 % of the samples within the bound, 57 % required", Label: "p57 20 ms is 200 percent of the bound", Width: 1000, Bound: 499}},
		{"half as much again", bound("latency", 15e6, false), nil,
			meter{Observed: "p57 15 ms", Of: "of 10 ms allowed", Label: "p57 15 ms is 150 percent of the bound", Width: 1000, Bound: 665}},
		{"a little above", bound("latency", 10.5e6, false), nil,
			meter{Observed: "p57 10.5 ms", Of: "of 10 ms allowed", Label: "p57 10.5 ms is 105 percent of the bound", Width: 1000, Bound: 951}},
		{"no samples", bound("latency", 10e6, true), &report.Performance{},
			meter{Observed: "p57 10 ms", Of: "of 10 ms allowed", Label: "p57 10 ms is 100 percent of the bound", Width: 980, Bound: 979, Met: true}},
		{"of tokens", bound("time_per_output_token", 10e6, true), &report.Performance{Samples: 3},
			meter{Observed: "p57 10 ms", Of: "of 10 ms allowed, " + loadgen.ConstraintPerToken.String(), Label: "p57 10 ms is 100 percent of the bound", Width: 980, Bound: 979, Met: true}},
		{"below nothing", bound("latency", -5, true), nil,
			meter{Observed: "p57 -5 ns", Of: "of 10 ms allowed", Label: "p57 -5 ns is 0 percent of the bound", Width: 0, Bound: 979, Met: true}},
	} {
		if c.name == "of tokens" {
			c.c.ID = loadgen.ConstraintPerToken
		}
		got := newMeter(&report.Results{Performance: c.p}, c.c)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestARowOfTheConstraints(t *testing.T) {
	c := loadgen.Constraint{ID: loadgen.ConstraintQueries, Required: loadgen.Quantity{Value: 100, Unit: "queries"}, Observed: &loadgen.Quantity{Value: 90, Unit: "queries"}}
	required, observed := (report.Constraint{Constraint: c}).RequiredText(), (report.Constraint{Constraint: c}).ObservedText()
	met, reference := c, c
	met.Met, reference.ReferenceOnly = true, true
	named := c
	named.Origin = "user.conf:3"
	words := report.Constraint{Constraint: named, Words: &report.ConstraintWords{Required: "more", Observed: "less"}}
	want := []constraint{
		{Name: c.ID.String(), Required: required, Observed: observed, Origin: "follows from the measurement", Word: "not met"},
		{Name: c.ID.String(), Required: required, Observed: observed, Origin: "follows from the measurement", Word: "not met", Met: true},
		{Name: c.ID.String(), Required: required, Observed: observed, Origin: "follows from the measurement", Word: "not for the reference"},
		{Name: c.ID.String(), Required: "more", Observed: "less", Origin: "user.conf:3", Word: "not met"},
	}
	got := constraints(&report.Results{Constraints: []report.Constraint{{Constraint: c}, {Constraint: met}, {Constraint: reference}, words}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAVerdictHasAToneAndASign(t *testing.T) {
	for verdict, want := range map[string][2]string{
		report.Valid: {"", "✓"}, report.Invalid: {"bad", "✕"}, report.Interrupted: {"warn", "!"}, report.BelowTarget: {"warn", "!"}, "what": {"bad", "✕"}, "": {"bad", "✕"},
	} {
		if class, sign := tone(verdict); class != want[0] || sign != want[1] {
			t.Errorf("%q: %q %q, want %q", verdict, class, sign, want)
		}
	}
}

func TestASubtitleSaysWhatWasMeasuredOnWhat(t *testing.T) {
	r := &report.Results{Host: "box", Rules: "v6.1", Mode: "PerformanceOnly", Created: time.Date(2026, 7, 8, 9, 10, 0, 0, time.FixedZone("", 3600)),
		System: map[string]any{"cpu": map[string]any{"model": "Z80"}}, Backend: report.Backend{Engine: "ort"}, Input: report.Input{Precision: "int8"},
		Metric: &report.Metric{Name: "samples"}, Performance: &report.Performance{DurationNS: 5e9}}
	if got, want := subtitle(r), "Z80 · ort · int8 · rules v6.1 · 8 July 2026, 08:10 UTC · box"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := what(r), "samples, PerformanceOnly, 5 s"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.Metric, r.Accuracy, r.Performance = nil, &report.Accuracy{Metric: "mAP"}, nil
	if got, want := what(r), "mAP, PerformanceOnly"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := subtitle(&report.Results{}) + what(&report.Results{}); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

func TestLimitationsOfManyRunsAreCounted(t *testing.T) {
	var runs []report.Run
	quick := func(key string) limitation.Limitation {
		return limitation.Limitation{ID: limitation.Setting, Key: key, Value: "1", Want: "2", Role: limitation.QuickRun}
	}
	all := limitation.Limitation{ID: limitation.Older, Value: "built-in"}
	for _, list := range []report.Limitations{{quick("a"), quick("b"), all}, {all}, {all, {ID: limitation.Older, Value: "other"}}} {
		runs = append(runs, report.Run{Results: &report.Results{Limitations: list}})
	}
	for i := range runs {
		runs[i].Folder = string('a' + rune(i))
	}
	shared, others, marks := limitations(runs)
	got := []any{shared, others, map[string]string{"a": marks("a"), "b": marks("b"), "c": marks("c")}}
	want := []any{[]string{"built-in"}, []string{"quick run: a is 1 instead of 2, b is 1 instead of 2 (1 of 3)", "other (1 of 3)"}, map[string]string{"a": "1", "b": "", "c": "2"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if shared, others, _ := limitations(nil); len(shared)+len(others) != 0 {
		t.Errorf("of no runs: %q, %q", shared, others)
	}
}

func TestVerdictsOfManyRunsAreCounted(t *testing.T) {
	lines := []report.Line{{Result: "VALID"}, {Result: "INVALID"}, {Result: "VALID"}}
	if got, want := summary(lines), "1 INVALID · 2 VALID"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestColumnsWithoutNumbersAreLeftOut(t *testing.T) {
	heads := func(lines ...report.Line) string {
		var names []string
		for _, c := range used(lines, lines, column{head: "metric", of: func(report.Line) cell { return cell{} }}) {
			names = append(names, c.head)
		}
		return strings.Join(append(names, shared(lines)...), " ")
	}
	if got, want := heads(report.Line{Model: "m", Result: "VALID"}), "result"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := heads(report.Line{Result: "VALID", Engine: "ort"}, report.Line{Result: "VALID", Engine: "ort", Precision: "int8", LatencyP95MS: 2, Batch: 3}), "result precision batch ort"; got != want {
		t.Errorf("%s, want %s: what all runs share is said above the table", got, want)
	}
}

func TestCellsSortByTheirNumbers(t *testing.T) {
	l := report.Line{Result: "VALID", LatencyP95MS: 1.5, SamplesPerSecond: 1e6, Accuracy: &report.LineAccuracy{Value: 76.5, Unit: "%"}}
	want := map[string]cell{
		"result":   {Text: "VALID", Class: "y"},
		"accuracy": {Text: "76.5 %", Sort: "76.5", Number: true, Class: "n"},
		"Top-5":    {Text: "–", Number: true},
		"batch":    {Text: "–", Number: true},
		"device":   {},
	}
	for _, c := range columns {
		if w, ok := want[c.head]; ok {
			if diff := cmp.Diff(w, c.of(l)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.head, diff)
			}
		}
	}
	l.Result, l.Accuracy.Met = "INVALID", true
	if got := columns[0].of(l); got.Class != "n" {
		t.Errorf("%+v", got)
	}
	if got := columns[5].of(l); got.Class != "" {
		t.Errorf("an accuracy that is met: %+v", got)
	}
	l.Accuracy = &report.LineAccuracy{Unit: "%", Top5: new(0.0)}
	for _, i := range []int{5, 6} {
		if got, want := columns[i].of(l).Text, "0 %"; got != want {
			t.Errorf("%s where no answer is right: %q, want %q", columns[i].head, got, want)
		}
	}
}

// TestBarsReachAsFarAsTheWidestChange but never beyond a doubling, where they are cut off.
func TestBarsReachAsFarAsTheWidestChange(t *testing.T) {
	metric := func(lower, upper float64) compare.Metric {
		return compare.Metric{Name: "p99", Unit: "ns", Base: 1e6, New: 1e6, Interval: &compare.Interval{Lower: lower, Upper: upper}}
	}
	points := metric(-50, 50)
	points.Points = true
	for _, c := range []struct {
		name        string
		m           compare.Metric
		scale       string
		from, width int
		drawn       bool
	}{
		{"up", metric(0, 0.2), "±20 %", 500, 500, true},
		{"down", metric(-0.2, -0.1), "±20 %", 0, 250, true},
		{"beyond", metric(-5, 3), "±100 %", 0, 1000, true},
		{"next to nothing", metric(0, 0.0001), "±1 %", 500, 5, true},
		{"nothing", metric(0, 0), "±1 %", 500, 4, true},
		{"points", points, "±1 %", 0, 0, false},
		{"not known", compare.Metric{}, "±1 %", 0, 0, false},
	} {
		got := newComparison(compare.Comparison{Metrics: []compare.Metric{c.m}, Base: []string{"a"}, New: []string{"b", "c"}})
		row := got.Rows[0]
		if c.scale != got.Scale || row.From != c.from || row.Width != c.width || row.Drawn != c.drawn || got.Runs != "2 new against 1 of the base" {
			t.Errorf("%s: %s, from %d, width %d, drawn %v, %s", c.name, got.Scale, row.From, row.Width, row.Drawn, got.Runs)
		}
	}
	needed := metric(-0.1, 0.2)
	needed.Method, needed.Needed, needed.Change = "t", 7, 0.05
	if got, want := newComparison(compare.Comparison{Metrics: []compare.Metric{needed}}).Rows[0].How, "t; 7 would show +5 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAPageOfComparisonsIsNamedAfterItsBenchmarkIfThereIsOne(t *testing.T) {
	c := compare.Comparison{Model: "bert", Scenario: "Offline", Mode: "PerformanceOnly"}
	for want, list := range map[string][]compare.Comparison{"<h1>bert Offline: comparison</h1>": {c}, "<h1>Comparison</h1>": {c, c}} {
		if page := written(t, func(w io.Writer) error { return Compare(w, list, "mlperf 1") }); !strings.Contains(page, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestAPageOfSeveralRunsOfOneListsThem: a run of several repeats has a row for each.
func TestAPageOfSeveralRunsOfOneListsThem(t *testing.T) {
	r, c := simulated(100, 100)
	r.Runs = []report.RunOutcome{{Folder: "run_1", Result: "VALID", Metric: &report.Metric{Value: 5, Unit: "ms"}}, {Folder: "run_2", Result: "INVALID"}}
	page := written(t, func(w io.Writer) error { return Run(w, r, c, 0) })
	for _, want := range []string{"run_1", "VALID, 5 ms", "run_2", ">INVALID<"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestNothingIsWrittenOfAPageThatFails(t *testing.T) {
	var out strings.Builder
	if err := render(&out, "run.html", 5); err == nil || !strings.HasPrefix(err.Error(), "writing a page: ") || out.Len() > 0 {
		t.Errorf("%v, written %q", err, out.String())
	}
	if err := render(&out, "nothing.html", nil); err == nil || !strings.HasPrefix(err.Error(), "the template of a page: ") {
		t.Errorf("%v", err)
	}
	full := errors.New("the disk is full")
	r, c := simulated(100, 100)
	if err := Run(broken{full}, r, c, 0); !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
}

// broken is a file that takes nothing.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }
