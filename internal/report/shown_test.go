package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// lineWith returns the first line of a text that has a word.
func lineWith(text, word string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			return strings.TrimRight(line, "\n")
		}
	}
	return ""
}

func summary(t *testing.T, r *Results) string {
	t.Helper()
	var b strings.Builder
	if err := Summary(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAHeadlineSaysWhatRanOnWhat(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(r *Results)
		want   string
	}{
		{"a usual run", func(*Results) {}, "resnet50 Server, PerformanceOnly: VALID on onnxruntime 1.24.3, cpu+cuda"},
		{"with a precision", func(r *Results) { r.Input.Precision = "fp16" }, "resnet50 Server, PerformanceOnly: VALID on onnxruntime 1.24.3, cpu+cuda, fp16"},
		{"a simulated engine", func(r *Results) { r.Backend.Engine = "simulated 5ms" }, "resnet50 Server, PerformanceOnly: VALID on a SIMULATED engine"},
		{"logs of somebody", func(r *Results) { r.Model, r.Backend.Engine = NotKnown, NotKnown }, "a model that is not known, Server, PerformanceOnly: VALID on a system that is not known"},
		{"no engine", func(r *Results) { r.Backend = Backend{} }, "resnet50 Server, PerformanceOnly: VALID on -, -"},
		{"below its target", func(r *Results) { r.Accuracy = &Accuracy{Metric: "acc"} }, "resnet50 Server, PerformanceOnly: BELOW TARGET on onnxruntime 1.24.3, cpu+cuda"},
		{"without a target", func(r *Results) { r.Accuracy = &Accuracy{Metric: "acc", NoTarget: "a part"} }, "resnet50 Server, PerformanceOnly: VALID on onnxruntime 1.24.3, cpu+cuda"},
		{"INVALID and below", func(r *Results) { r.Result, r.Accuracy = Invalid, &Accuracy{} }, "resnet50 Server, PerformanceOnly: INVALID on onnxruntime 1.24.3, cpu+cuda"},
	} {
		r := filled(tested(passed(loadgen.Server)))
		c.change(r)
		if got, _, _ := strings.Cut(summary(t, r), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestScoresAreShownWithWhatTheyMiss(t *testing.T) {
	for _, c := range []struct {
		a    Accuracy
		want string
	}{
		{Accuracy{Metric: "acc", Value: 76.456789, Unit: "%", Target: 75.6954, Reference: 76.46, Met: true, Lines: []string{"accuracy=76.457%"}},
			"accuracy=76.457%\nacc: 76.4568 %, target 75.6954 %: reached (the FP32 reference has 76.46 %)\n"},
		{Accuracy{Metric: "F1", Value: 0.5, Target: 0.9, Reference: 0.91}, "F1: 0.5, target 0.9: MISSED (the FP32 reference has 0.91)\n"},
		{Accuracy{Metric: "F1", Value: 0.5, Met: true, Partial: true, Samples: 7}, "F1: 0.5, target 0: reached (the FP32 reference has 0); the log has 7 samples only\n"},
		{Accuracy{Metric: "F1", Value: 0.5, NoTarget: "a part of the data", Lines: []string{"a", "b"}}, "a\nb\nF1: 0.5, without a target: a part of the data\n"},
		{Accuracy{Metric: "\x1b[31mred", Value: 1, Met: true}, ""}, // nothing steers the terminal
	} {
		var b strings.Builder
		if err := Score(&b, &c.a); err != nil {
			t.Fatal(err)
		}
		if c.want != "" && b.String() != c.want {
			t.Errorf("%q, want %q", b.String(), c.want)
		}
		if strings.Contains(b.String(), "\x1b") {
			t.Errorf("%q has an escape", b.String())
		}
	}
}

func TestDelaysOfTheGeneratorAreTheSUTsWhereItStayed(t *testing.T) {
	own := summary(t, filled(tested(passed(loadgen.Server))))
	if line := lineWith(own, "the generator"); !strings.Contains(line, "late at p50") || strings.Contains(own, "still inside IssueQuery") {
		t.Errorf("%q in\n%s", line, own)
	}
	stayed := summary(t, filled(tested(staying(passed(loadgen.Server)))))
	if line := lineWith(stayed, "still inside IssueQuery"); !strings.HasPrefix(line, "  with the time that the SUT was still inside IssueQuery: ") {
		t.Errorf("no line about the SUT in\n%s", stayed)
	}
	if silent := summary(t, filled(tested(passed(loadgen.Offline)))); strings.Contains(silent, "the generator") {
		t.Errorf("Offline, which has no schedule, has delays:\n%s", silent)
	}
}

func TestThePeakThatWasFoundIsSaid(t *testing.T) {
	p := &Peak{Unit: "queries/s", Best: 120, UserConf: "a = 1\nb = 2", Steps: []PeakStep{
		{Load: 200, Reason: "p99 too high", LatencyNS: 20e6}, {Load: 120, Met: true, Full: true, LatencyNS: 9e6}, {Load: 100, Met: true},
	}}
	want := []string{"of 3 loads that were tried, 120 queries/s is the highest that kept the bound", "for user.conf: a = 1", "for user.conf: b = 2"}
	if got := peakLines(p); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, want %q", got, want)
	}
	if got := peakLines(&Peak{Steps: p.Steps[:1]}); len(got) != 1 || got[0] != "no load that was tried (1) kept the bound" {
		t.Errorf("of none: %q", got)
	}
	table := peakTable(p)
	order := []int{strings.Index(table, " 100 "), strings.Index(table, " 120 "), strings.Index(table, " 200 ")}
	if order[0] < 0 || order[0] > order[1] || order[1] > order[2] {
		t.Errorf("loads are not in their order:\n%s", table)
	}
	for word, want := range map[string]string{" 200 ": "p99 too high", " 120 ": "full", " 100 ": "short"} {
		if line := lineWith(table, word); !strings.Contains(line, want) {
			t.Errorf("%q has no %q", line, want)
		}
	}
	if line := lineWith(table, " 200 "); !strings.Contains(line, "NO") || !strings.Contains(line, "20ms") {
		t.Errorf("a load that failed is shown as %q", line)
	}
}

// One of something is said so.
func TestOneQueryIsNoQueries(t *testing.T) {
	r := filled(tested(passed(loadgen.Server)))
	r.Performance.Queries, r.Performance.Samples, r.Input.Samples, r.Queue = 1, 1, 1, &QueueStats{Peak: 1}
	var b strings.Builder
	if err := errors.Join(Explain(&b, r), Summary(&b, r)); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{", 1 sample\n", "at most 1 sample waited", "  1 query, 1 sample in "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestExplainSaysWhatToDoAndWhoSaidSo(t *testing.T) {
	p := passed(loadgen.Server)
	p.MinDurationMet = false
	r := filled(tested(p))
	r.Calibration = &Calibration{Chosen: Metric{"target_qps", 50, "queries/s"}, Reason: "nobody gave one"}
	r.Runs = []RunOutcome{{Folder: "run_1", Result: Valid, Metric: &Metric{"m", 7, "x"}}, {Folder: "run_2", Result: Interrupted}}
	r.Queue = &QueueStats{Peak: 9, PeakSeconds: 1.25}
	r.Energy = &Energy{NotMeasured: "no meter"}
	var b strings.Builder
	if err := Explain(&b, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"rules v6.1, run by mlperf 1.2.3 on 2026-07-08T09:10:11Z", "The result of this scenario is ", "What to do next:\n  - duration: the test ended early",
		"The target was chosen by measuring: target_qps = 50 queries/s, because nobody gave one.", "user.conf:2",
		"model    resnet50.onnx (sha256 4f33fb8e)", "data     imagenet, 1024 samples", "engine   onnxruntime 1.24.3 (/usr/lib/libonnxruntime.so.1)",
		"device   cpu (120 nodes), cuda", "queue    at most 9 samples waited, 1.250 s after the start", "energy   not measured: no meter",
		"time     data 0.125 s, model 1.500 s", "run_2", "INTERRUPTED",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	r.Backend.Engine = NotKnown
	b.Reset()
	if err := Explain(&b, r); err != nil || strings.Contains(b.String(), "model    ") {
		t.Errorf("a system that is not known: %v\n%s", err, b.String())
	}
}

func TestWhatSpeaksAgainstARunIsListedByWeight(t *testing.T) {
	r := filled(tested(passed(loadgen.Server)))
	r.Problems, r.Warnings, r.Caveats, r.Notes = []string{"p"}, []string{"w"}, []string{"c"}, []string{"n"}
	r.Accuracy = &Accuracy{Met: true, Warnings: []string{"of the score"}}
	text := summary(t, r)
	const want = "Why it is not valid:\n  - p\nWarnings:\n  - w\n  - of the score\nCaveats:\n  - c\nNotes:\n  - n\n"
	if !strings.HasSuffix(text, want) {
		t.Errorf("%s\nwant the end\n%s", text, want)
	}
	r.Problems, r.Warnings, r.Caveats, r.Notes, r.Accuracy = nil, nil, nil, nil, nil
	if text := summary(t, r); strings.Contains(text, "Warnings") || strings.Contains(text, "Notes") {
		t.Errorf("of nothing:\n%s", text)
	}
}

func TestLinesOfRunsHaveWhatTheirScenarioMeasures(t *testing.T) {
	for scenario, want := range map[loadgen.Scenario]float64{loadgen.Server: 8, loadgen.SingleStream: 8, loadgen.MultiStream: 32, loadgen.Offline: 0} {
		r := filled(tested(passed(scenario)))
		r.Energy = &Energy{JoulesPerSample: 0.25}
		l := newLine(Run{"f", r})
		if l.LatencyP95MS != want || l.SamplesPerSecond <= 0 || l.Metric == nil || l.JoulesPerSample != 0.25 || l.Batch != 8 || l.Concurrency != 2 || l.Device != "cpu+cuda" {
			t.Errorf("%v: %+v, want a p95 of %v ms", scenario, l, want)
		}
	}
	price := Lines([]Run{{"f", filled(tested(passed(loadgen.Server)))}}, nil, 200)[0]
	if want := price.SamplesPerSecond / 200; price.PerDollar != want {
		t.Errorf("%v samples/s per dollar, want %v", price.PerDollar, want)
	}
	accuracyOnly := base()
	if l := newLine(Run{"f", accuracyOnly}); l.SamplesPerSecond != 0 || l.LatencyP95MS != 0 {
		t.Errorf("of no performance: %+v", l)
	}
}

func TestRunsAreCollectedOnceAndByAge(t *testing.T) {
	root := t.TempDir()
	write := func(folder string, day int, model string) {
		t.Helper()
		dir := filepath.Join(root, folder)
		r := filled(tested(passed(loadgen.Server)))
		r.Model, r.Created = model, time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)
		if err := errors.Join(os.MkdirAll(dir, 0o755), r.Write(dir)); err != nil {
			t.Fatal(err)
		}
	}
	write("b/new", 2, "bert")
	write("b/old", 1, "bert")
	write("a", 9, "ant")
	write("a/inner", 1, "ant") // part of the run above it
	if err := os.WriteFile(filepath.Join(root, "b", "note"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(root, "bad"), 0o755), os.WriteFile(filepath.Join(root, "bad", FileName), []byte("{"), 0o644), os.Symlink("b/new", filepath.Join(root, "latest"))); err != nil {
		t.Fatal(err)
	}
	runs, problems, err := Collect([]string{root, filepath.Join(root, "b"), filepath.Join(root, "latest")}, Read)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range runs {
		rel, _ := filepath.Rel(root, r.Folder)
		got = append(got, fmt.Sprint(r.Results.Model, " ", rel))
	}
	if want := "ant a, bert b/old, bert b/new"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Error(), filepath.Join("bad", FileName)) {
		t.Errorf("problems %v, want the document that is cut", problems)
	}
	if _, _, err := Collect([]string{filepath.Join(root, "gone")}, Read); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "gone: file does not exist: nothing was run here yet") {
		t.Errorf("of what is not there: %v", err)
	}
}

func TestTablesOfRunsSayWhatIsMissing(t *testing.T) {
	lines := []Line{{Folder: "f", Model: "bert", Scenario: "Offline", Mode: "AccuracyOnly", Result: "VALID", Accuracy: &LineAccuracy{Value: 90.87431, Unit: "F1"}}}
	var b strings.Builder
	if err := Table(&b, lines); err != nil {
		t.Fatal(err)
	}
	if line := lineWith(b.String(), "bert"); !strings.Contains(line, " - ") || !strings.Contains(line, "90.8743 F1") {
		t.Errorf("%q, want dashes and the accuracy", line)
	}
	b.Reset()
	if err := MLMark(&b, lines); err != nil || strings.Contains(b.String(), "bert") {
		t.Errorf("MLMark shows a run without a speed: %v\n%s", err, b.String())
	}
	for want, a := range map[string]*LineAccuracy{
		"-": nil, "76.5 %": {Value: 76.46, Unit: "%", Met: true}, "76.5, partial": {Value: 76.46, Met: true, Partial: true}, "1.00, below target": {Value: 1}, "0.500 F1, partial, below target": {Value: 0.5, Unit: "F1", Partial: true},
	} {
		if got := a.three(); got != want {
			t.Errorf("%+v is %q, want %q", a, got, want)
		}
	}
}
