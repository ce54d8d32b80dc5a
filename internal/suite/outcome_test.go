package suite

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestFailures(t *testing.T) {
	reached, missed := &report.Accuracy{Metric: "accuracy", Met: true}, &report.Accuracy{Metric: "accuracy"}
	for _, c := range []struct {
		name  string
		score Score
		want  string // without a result, invalid, inaccurate
	}{
		{"as it should be", Score{Result: report.Valid, Accuracy: reached}, "0 0 0"},
		{"no accuracy was wanted", Score{Result: report.Valid}, "0 0 0"},
		{"too slow", Score{Result: report.Invalid, Accuracy: reached}, "0 1 0"},
		{"too slow and too wrong", Score{Result: report.Invalid, Accuracy: missed}, "0 1 1"},
		{"interrupted", Score{Result: report.Interrupted}, "0 1 0"},
		{"wrong", Score{Result: report.Valid, Accuracy: missed}, "0 0 1"},
		{"its accuracy could not be measured", Score{Result: report.Valid, AccuracyError: "no such file"}, "0 0 1"},
		{"failed", Score{Result: failed, AccuracyError: "no such file"}, "1 0 1"},
		{"not run, and neither was its accuracy", Score{Result: notRun, AccuracyError: notRun}, "1 0 0"},
		{"the catalogue lacks it", Score{Result: unsupported, AccuracyError: "no such file"}, "0 0 0"},
	} {
		none, invalid, inaccurate := (&Outcome{Scores: []Score{c.score}}).Failures()
		if got := fmt.Sprint(none, invalid, inaccurate); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestScoreBoundAndReason(t *testing.T) {
	rule := func(id loadgen.ConstraintID, met bool, required float64, unit string) report.Constraint {
		return report.Constraint{Constraint: loadgen.Constraint{ID: id, Met: met, Required: loadgen.Quantity{Value: required, Unit: unit}}}
	}
	met, late := rule(loadgen.ConstraintLatency, true, 15e6, "ns"), rule(loadgen.ConstraintLatency, false, 15e6, "ns")
	few, reference := rule(loadgen.ConstraintSamples, false, 100, "samples"), rule(loadgen.ConstraintQueries, false, 7, "queries")
	reference.ReferenceOnly = true
	for _, c := range []struct {
		name        string
		constraints []report.Constraint
		problems    []string
		before, why string
	}{
		{"it is valid", []report.Constraint{met}, nil, "", ""},
		{"the first that is broken", []report.Constraint{met, few, late}, nil, "", few.Sentence()},
		{"rules of the reference do not count", []report.Constraint{reference}, nil, "", ""},
		{"a problem, if no rule is broken", []report.Constraint{met}, []string{"overload", "second"}, "", "overload"},
		{"a broken rule comes before a problem", []report.Constraint{late}, []string{"overload"}, "", late.Sentence()},
		{"what ended the step comes first", []report.Constraint{late}, []string{"overload"}, "the disk is full", "the disk is full"},
	} {
		s := Score{Why: c.before}
		s.measured(&report.Results{Constraints: c.constraints, Problems: c.problems, Metric: &report.Metric{Value: 1}})
		if s.Why != c.why || s.Metric == nil {
			t.Errorf("%s: why is %q, want %q", c.name, s.Why, c.why)
		}
	}
	s := Score{}
	s.measured(&report.Results{Constraints: []report.Constraint{met, few}})
	if s.Bound != met.RequiredText() {
		t.Errorf("bound %q, want %q", s.Bound, met.RequiredText())
	}
	intervals := rule(loadgen.ConstraintIntervals, true, 1, "intervals")
	s.measured(&report.Results{Constraints: []report.Constraint{intervals}, Test: &report.Test{TargetLatency: 50_000_400}})
	if want := intervals.RequiredText() + ", each 50 ms"; s.Bound != want {
		t.Errorf("bound %q, want %q", s.Bound, want)
	}
}

// scored is a plan of an accuracy step and a performance step of two scenarios.
func scored(states ...State) *Plan {
	p := &Plan{Suite: &Suite{Name: "mine", Rules: "none"}, request: Request{Output: "out"}}
	for i, state := range states {
		mode, scenario := modePerformance, "Offline"
		if i == 0 {
			mode = modeAccuracy
		}
		if i == 2 {
			scenario = "Server"
		}
		s := &Step{Model: "m", Scenario: scenario, Mode: mode, State: state, Seconds: float64(10 * (i + 1)), Folder: fmt.Sprint(i)}
		if state == Done {
			s.Results = &report.Results{Result: report.Valid, Limitations: report.Limitations{{ID: limitation.SimulatedEngine}, {ID: limitation.PartOfData, Value: fmt.Sprint(i)}}, Metric: &report.Metric{Value: 5, Unit: "/s"}}
			if i == 0 {
				s.Results.Accuracy = &report.Accuracy{Value: 70, Met: true}
			}
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

func TestScoreAccuracy(t *testing.T) {
	for _, c := range []struct {
		name   string
		states []State
		change func(*Plan)
		first  Score
	}{
		{"both are done", []State{Done, Done}, nil, Score{Result: report.Valid, Seconds: 30, Accuracy: &report.Accuracy{Value: 70, Met: true}}},
		{"neither was run", []State{Planned, Planned}, nil, Score{Result: notRun, Seconds: 30, AccuracyError: notRun}},
		{"the accuracy failed", []State{Failed, Done}, func(p *Plan) { p.Steps[0].Error = "no such file" }, Score{Result: report.Valid, Seconds: 30, AccuracyError: "no such file"}},
		{"it failed and nobody knows why", []State{Failed, Done}, nil, Score{Result: report.Valid, Seconds: 30, AccuracyError: failed}},
		{"it was not scored", []State{Done, Done}, func(p *Plan) { p.Steps[0].Results.Accuracy = nil }, Score{Result: report.Valid, Seconds: 30, AccuracyError: report.Valid}},
		{"the speed failed", []State{Done, Failed}, func(p *Plan) { p.Steps[1].Error = "no room" }, Score{Result: failed, Why: "no room", Seconds: 30, Accuracy: &report.Accuracy{Value: 70, Met: true}}},
		{"an interrupted run has no speed", []State{Done, Planned}, func(p *Plan) {
			p.Steps[1].Results = &report.Results{Result: report.Interrupted, Metric: &report.Metric{Value: 5}}
		}, Score{Result: report.Interrupted, Seconds: 30, Accuracy: &report.Accuracy{Value: 70, Met: true}}},
	} {
		p := scored(c.states...)
		if c.change != nil {
			c.change(p)
		}
		got := p.score(p.Steps[1])
		c.first.Model, c.first.Scenario, c.first.Folder = "m", "Offline", "1"
		if c.first.Accuracy != nil {
			c.first.AccuracyFolder = "0"
		}
		if got.Result != report.Interrupted {
			got.Metric = nil
		}
		if diff := cmp.Diff(c.first, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	p := scored(Done, Done, Done)
	if other := p.score(p.Steps[2]); other.Accuracy == nil || other.Seconds != 30 {
		t.Errorf("a scenario without an accuracy of its own: %+v, want that of another, and its own 30 s only", other)
	}
}

func TestOutcomeCounts(t *testing.T) {
	p := scored(Done, Done, Planned)
	p.Steps[2].Estimate = time.Minute
	p.request.Base.Program = "mlperf test"
	out := p.outcome(true)
	want := report.LimitationCounts{
		{Limitation: limitation.Limitation{ID: limitation.SimulatedEngine}, Runs: 2}, {Limitation: limitation.Limitation{ID: limitation.PartOfData, Value: "0"}, Runs: 1}, {Limitation: limitation.Limitation{ID: limitation.PartOfData, Value: "1"}, Runs: 1},
	}
	if !cmp.Equal(out.Limitations, want) {
		t.Errorf("limitations %v, want %v", out.Limitations, want)
	}
	if out.Left.Steps != 1 || out.Left.Traffic != time.Minute || !out.Interrupted || len(out.Scores) != 2 || out.Schema != outcomeSchema || out.Program != "mlperf test" || out.Folder != "out" {
		t.Errorf("outcome %+v", out)
	}
	if want := "accuracy run … scenario … 1"; len(out.Missing) != 2 || !testenv.Tells(out.Missing[1], want) {
		t.Errorf("missing %q, want %q", out.Missing, want)
	}
	var b strings.Builder
	if err := out.Write(&b, strings.ToLower); err != nil || !strings.Contains(b.String(), "Not run yet: 1 run, 60 s\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestAccuracyCells(t *testing.T) {
	for _, c := range []struct {
		score                  Score
		accuracy, targetOfThat string
	}{
		{Score{}, "", ""},
		{Score{AccuracyError: notRun}, notRun, ""},
		{Score{AccuracyError: "no such file"}, "not known", ""},
		{Score{Accuracy: &report.Accuracy{Value: 76.4561, Unit: "%", Target: 75.7, Met: true}}, "76.4561 %", "75.7 reached"},
		{Score{Accuracy: &report.Accuracy{Value: 0.5, Target: 0.6}}, "0.5", "0.6 MISSED"},
		{Score{Accuracy: &report.Accuracy{Value: 0.5, Target: 0.6, NoTarget: "a part of the data"}}, "0.5", "none"},
	} {
		if accuracy, target := accuracyCells(c.score); accuracy != c.accuracy || target != c.targetOfThat {
			t.Errorf("%+v: %q, %q, want %q, %q", c.score, accuracy, target, c.accuracy, c.targetOfThat)
		}
	}
}

func TestStepSummary(t *testing.T) {
	for _, c := range []struct {
		step Step
		want string
	}{
		{Step{State: Failed, Error: "no room\nfor it"}, "FAILED: no room"},
		{Step{State: Done, Results: &report.Results{Result: report.Valid, Metric: &report.Metric{Value: 12.3456789, Unit: "samples/s"}}}, "VALID, 12.35 samples/s"},
		{Step{State: Done, Results: &report.Results{Result: report.Valid, Accuracy: &report.Accuracy{Metric: "accuracy", Value: 76.45678, Unit: "%", Met: true}}}, "VALID, accuracy 76.4568 %"},
		{Step{State: Done, Results: &report.Results{Result: report.Valid}}, "VALID"},
	} {
		if got := c.step.summary(); got != c.want {
			t.Errorf("summary = %q, want %q", got, c.want)
		}
	}
}

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// everything is an outcome with all that there can be in one.
func everything() *Outcome {
	latency := loadgen.Constraint{ID: loadgen.ConstraintLatency, Bound: loadgen.AtMost, Required: loadgen.Quantity{Value: 15e6, Unit: "ns"}}
	return &Outcome{
		Schema: outcomeSchema, Program: "mlperf test", Suite: "mine", Title: "Mine", Rules: "v6.1", Quick: true, Interrupted: true, Folder: "results/suites/mine",
		Scores: []Score{
			{Model: "resnet50", Scenario: "Server", Result: report.Valid, Seconds: 61.4, Metric: &report.Metric{Value: 1234.5678, Unit: "queries/s"}, Bound: report.Constraint{Constraint: latency}.RequiredText(),
				Accuracy: &report.Accuracy{Metric: "accuracy", Value: 76.456, Unit: "%", Target: 75.695, Met: true}, Folder: "resnet50/server/performance"},
			{Model: "resnet50", Precision: "int8", Scenario: "Offline", Result: report.Invalid, Why: "too few samples: 5 of 24576\nwant more", Seconds: 3600, Metric: &report.Metric{Value: 0.5, Unit: "samples/s"},
				Accuracy: &report.Accuracy{Metric: "accuracy", Value: 71, Unit: "%", Target: 75.695}, Folder: "resnet50-int8/offline/performance"},
			{Model: "bert", Scenario: "SingleStream", Result: failed, Why: "no room left", AccuracyError: "no such file", Folder: "bert/singlestream/performance"},
			{Model: "bert", Scenario: "Offline", Result: notRun, AccuracyError: "no such file", Folder: "bert/offline/performance"},
			{Model: "alexnet", Scenario: "Offline", Result: unsupported, Why: "not in the catalogue", Folder: "alexnet/offline/performance"},
		},
		Missing: []string{"resnet50 int8 Offline: a VALID performance run"},
		Limitations: report.LimitationCounts{
			{Limitation: limitation.Limitation{ID: limitation.SimulatedEngine}, Runs: 2},
			{Limitation: limitation.Limitation{ID: limitation.Setting, Key: "min_duration", Value: "10s", Want: "10m0s", Role: limitation.QuickRun}, Runs: 1},
		},
		Left: Estimate{Steps: 1, Traffic: 10 * time.Minute, Cooldown: time.Minute, Guessed: 1},
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestScreen(t *testing.T) {
	var b strings.Builder
	if err := everything().Write(&b, strings.ToLower); err != nil {
		t.Fatal(err)
	}
	golden(t, "screen.golden", b.String())
}

// terminal is one of so many columns.
type terminal struct {
	strings.Builder
	columns int
}

func (t *terminal) Columns() int { return t.columns }

// TestWidths has the screen as terminals of four widths show it.
func TestWidths(t *testing.T) {
	var b strings.Builder
	for _, columns := range []int{60, 80, 100, 160} {
		w := &terminal{columns: columns}
		if err := everything().Write(w, strings.ToLower); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "=== %d columns\n%s", columns, w.String())
	}
	golden(t, "widths.golden", b.String())
}

// The page has a row for each benchmark, with its state, its speed and its accuracy, and links to the pages that there are.
func TestPage(t *testing.T) {
	o := everything()
	o.Folder = t.TempDir()
	o.Scores[0].AccuracyFolder = "resnet50/server/accuracy"
	for _, folder := range []string{o.Scores[0].Folder, o.Scores[0].AccuracyFolder} {
		path := filepath.Join(o.Folder, folder, page.FileName)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for i, folder := range []string{o.Scores[0].Folder, o.Scores[1].Folder} { // both on a machine; one is simulated, one measured its energy
		r := report.Results{Schema: report.Schema, Model: "resnet50", Scenario: "Server", Result: report.Valid, Host: "lab1", Limitations: report.Limitations{{ID: limitation.BuiltInData}}}
		if r.Energy = (&report.Energy{JoulesPerSample: 0.25}); i > 0 {
			r.Energy, r.Limitations = nil, append(r.Limitations, limitation.Limitation{ID: limitation.SimulatedEngine})
		}
		folder = filepath.Join(o.Folder, folder)
		if err := errors.Join(os.MkdirAll(folder, 0o755), r.Write(folder)); err != nil {
			t.Fatal(err)
		}
	}
	file, err := o.WritePage()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<tbody>")
	rows := strings.Split(rest, "<tbody>")
	if len(rows) != len(o.Scores) {
		t.Fatalf("%d rows, want %d", len(rows), len(o.Scores))
	}
	for i, wants := range [][]string{
		{"resnet50<", "Server<", `<a href="resnet50/server/performance/report.html">VALID</a>`, "1,235 queries/s", "≤ 15 ms", `<a href="resnet50/server/accuracy/report.html">76.456 %</a>`, "75.695 reached", "0.25 J", "61 s"},
		{"resnet50 int8<", `<span class="n">INVALID</span>`, "0.5 samples/s", "71 %", `<span class="n">75.695 MISSED</span>`, `<td data-l="limitations">1</td>`, "too few samples: 5 of 24576"},
		{"bert<", "SingleStream<", "FAILED", "no room left", "accuracy: no such file"},
		{"bert<", "Offline<", "NOT RUN", "accuracy: no such file"},
		{"alexnet<", "NOT SUPPORTED", "not in the catalogue"},
	} {
		at := 0
		for _, want := range wants {
			found := strings.Index(rows[i][at:], want)
			if found < 0 {
				t.Fatalf("row %d has no %q after\n%s", i, want, rows[i][:at])
			}
			at += found
		}
	}
	if !strings.Contains(string(text), `<p class="sub">lab1</p>`) {
		t.Error("the head lacks the machine of all runs")
	}
	for _, want := range []string{"Not run yet: 1 run", "<li>the engine is simulated: it takes its time and computes nothing (1 of 2)</li>", "<li>the built-in data", "Missing for a submission"} {
		if !strings.Contains(rest, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestOutcomeJSON(t *testing.T) {
	text, err := json.MarshalIndent(everything(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "outcome.golden", string(text)+"\n")
}

// Names and errors come from files: of suites, of models, of results.
func TestScreenEscapesControlCharacters(t *testing.T) {
	const evil = "a\x1b[2J\rb\u202ec\a"
	o := everything()
	o.Suite, o.Rules = "s"+evil, "r"+evil
	for i := range o.Scores {
		s := &o.Scores[i]
		s.Model, s.Precision, s.Scenario, s.Result, s.Why, s.Bound = s.Model+evil, s.Precision+evil, s.Scenario+evil, s.Result+evil, s.Why+evil, s.Bound+evil
		if s.Metric != nil {
			s.Metric.Unit += evil
		}
		if s.Accuracy != nil {
			s.Accuracy.Unit += evil
		}
		s.AccuracyError += evil
	}
	o.Missing[0] += evil
	o.Limitations[1].Value += evil
	var b strings.Builder
	if err := o.Write(&b, func(verdict string) string { return "\x1b[31m" + verdict + "\x1b[0m" }); err != nil {
		t.Fatal(err)
	}
	own := strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "").Replace(b.String())
	for _, sign := range []string{"\x1b", "\r", "\a", "\u202e"} {
		if strings.Contains(own, sign) {
			t.Errorf("%q is on the screen:\n%q", sign, own)
		}
	}
	if !strings.Contains(b.String(), "\x1b[31mVALIDa\\x1b[2J") {
		t.Errorf("the verdict has no colour any more:\n%q", b.String())
	}
}

func TestScreenGroups(t *testing.T) {
	out := &Outcome{Suite: "mine", Rules: "v0.5", Scores: []Score{
		{Model: "a", Scenario: "SingleStream", Result: report.Valid, Seconds: 70, Metric: &report.Metric{Value: 3, Unit: "ms"}},
		{Model: "a", Scenario: "Offline", Result: notRun, Seconds: 12},
		{Model: "b", Precision: "int8", Scenario: "Server", Result: notRun, AccuracyError: "no such file\nlook for it"},
		{Model: "b", Precision: "int8", Scenario: "Offline", Result: notRun, AccuracyError: "no such file\nlook for it"},
		{Model: "c", Scenario: "Offline", Result: notRun, AccuracyError: notRun},
	}, Limitations: report.LimitationCounts{{Limitation: limitation.Limitation{ID: limitation.Older, Value: "quick"}, Runs: 3}, {Limitation: limitation.Limitation{ID: limitation.Older, Value: "made up"}, Runs: 1}}}
	out.Missing = (&Plan{Suite: &Suite{Rules: "none"}}).missing(out)
	var b strings.Builder
	if err := out.Write(&b, func(verdict string) string { return "<" + verdict + ">" }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 of 5 VALID, 4 without a result; it took 82 s\n", " <VALID> ", "made up (1 run)\n", "quick (3 runs)\n",
		"- a Offline: a VALID performance run\n", "- a SingleStream, Offline: an accuracy run\n", "- b int8 Server, Offline: a VALID performance run\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if n := strings.Count(b.String(), "- b int8 has no accuracy: no such file\n"); n != 1 || strings.Contains(b.String(), "c has no accuracy") {
		t.Errorf("why there is no accuracy is said %d times in\n%s", n, b.String())
	}
}

func TestMissingOfRound(t *testing.T) {
	const text = "rules: v5.1\ncategory: edge\naccuracy: none\nbenchmarks:\n  - {model: resnet50, scenarios: [Offline]}\n  - {model: resnet50, precision: int8, scenarios: [SingleStream]}\n  - {model: mobilenet, scenarios: [Offline]}\n  - {model: alexnet, scenarios: [Offline]}\n"
	p := mustPlan(t, text, Request{})
	got := strings.Join(p.missingOfRound(), "\n")
	for _, want := range []string{"resnet50 MultiStream: the round requires it of edge systems", "resnet50: compliance tests ", " in Offline, SingleStream", "mobilenet: round v5.1 has no such benchmark"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "resnet50 Offline") || strings.Contains(got, "alexnet") {
		t.Errorf("too much is missing:\n%s", got)
	}
}
