package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

func TestFailuresAreCountedByWhatIsWrong(t *testing.T) {
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
		{"the catalogue lacks it", Score{Result: lacking, AccuracyError: "no such file"}, "0 0 0"},
	} {
		none, invalid, inaccurate := (&Outcome{Scores: []Score{c.score}}).Failures()
		if got := fmt.Sprint(none, invalid, inaccurate); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTheHeadlineSaysHowItWent(t *testing.T) {
	score := func(result string) Score { return Score{Result: result, Seconds: 30} }
	for _, c := range []struct {
		out  Outcome
		want string
	}{
		{Outcome{Suite: "edge", Rules: "v6.1"}, "suite edge, rules v6.1: 0 of 0 VALID"},
		{Outcome{Suite: "edge", Rules: "v6.1", Quick: true, Scores: []Score{score(report.Valid), score(report.Valid)}}, "suite edge, quick, rules v6.1: 2 of 2 VALID; it took 1m0s"},
		{
			Outcome{Suite: "edge", Rules: "v6.1", Interrupted: true, Scores: []Score{score(report.Invalid), score(failed), score(lacking), {Result: report.Valid, AccuracyError: "x"}}},
			"suite edge, rules v6.1: 1 of 3 VALID, 1 INVALID, 1 without a result, 1 whose accuracy misses the target or is not known, 1 not in the catalogue; it took 1m30s; INTERRUPTED",
		},
	} {
		if got := c.out.headline(); got != c.want {
			t.Errorf("headline\n%s, want\n%s", got, c.want)
		}
	}
}

func TestAScoreSaysItsBoundAndWhyItIsNotValid(t *testing.T) {
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
	s.measured(&report.Results{Constraints: []report.Constraint{intervals}, Test: &report.Test{TargetLatencyNS: 50_000_400}})
	if want := intervals.RequiredText() + ", each 50ms"; s.Bound != want {
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
			s.Results = &report.Results{Result: report.Valid, Caveats: []string{"quick", fmt.Sprint("of step ", i)}, Metric: &report.Metric{Value: 5, Unit: "/s"}}
			if i == 0 {
				s.Results.Accuracy = &report.Accuracy{Value: 70, Met: true}
			}
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

func TestAScoreHasItsAccuracyOrWhyThereIsNone(t *testing.T) {
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
		{"an interrupted run is none", []State{Done, Planned}, func(p *Plan) { p.Steps[1].Results = &report.Results{Result: report.Interrupted} }, Score{Result: notRun, Seconds: 30, Accuracy: &report.Accuracy{Value: 70, Met: true}}},
	} {
		p := scored(c.states...)
		if c.change != nil {
			c.change(p)
		}
		got := p.score(p.Steps[1])
		c.first.Model, c.first.Scenario, c.first.Folder = "m", "Offline", "1"
		got.Metric = nil
		if diff := cmp.Diff(c.first, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	p := scored(Done, Done, Done)
	if other := p.score(p.Steps[2]); other.Accuracy == nil || other.Seconds != 30 {
		t.Errorf("a scenario without an accuracy of its own: %+v, want that of another, and its own 30 s only", other)
	}
}

func TestAnOutcomeCountsCaveatsAndWhatIsLeft(t *testing.T) {
	p := scored(Done, Done, Planned)
	p.Steps[2].Estimate = time.Minute
	p.request.Base.Program = "mlperf test"
	out := p.outcome(true)
	if want := []Caveat{{"quick", 2}, {"of step 0", 1}, {"of step 1", 1}}; !cmp.Equal(out.Caveats, want) {
		t.Errorf("caveats %v, want %v", out.Caveats, want)
	}
	if out.Left.Steps != 1 || out.Left.Traffic != time.Minute || !out.Interrupted || len(out.Scores) != 2 || out.Schema != Schema || out.Program != "mlperf test" || out.Folder != "out" {
		t.Errorf("outcome %+v", out)
	}
	if want := "an accuracy run in each scenario: 1 have that of another one"; len(out.Missing) != 2 || out.Missing[1] != want {
		t.Errorf("missing %q, want %q", out.Missing, want)
	}
	var b strings.Builder
	if err := out.Write(&b, strings.ToLower); err != nil || !strings.Contains(b.String(), "Not run yet: 1 run, 1m0s\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestAccuraciesAreShownWithTheirTarget(t *testing.T) {
	for _, c := range []struct {
		score                  Score
		accuracy, targetOfThat string
	}{
		{Score{}, "", ""},
		{Score{AccuracyError: notRun}, notRun, ""},
		{Score{AccuracyError: "no such file"}, "not known", ""},
		{Score{Accuracy: &report.Accuracy{Value: 76.4561, Unit: "%", Target: 75.7, Met: true}}, "76.456 %", "75.7 reached"},
		{Score{Accuracy: &report.Accuracy{Value: 0.5, Target: 0.6}}, "0.5", "0.6 MISSED"},
		{Score{Accuracy: &report.Accuracy{Value: 0.5, Target: 0.6, NoTarget: "a part of the data"}}, "0.5", "none"},
	} {
		if accuracy, target := accuracyCells(c.score); accuracy != c.accuracy || target != c.targetOfThat {
			t.Errorf("%+v: %q, %q, want %q, %q", c.score, accuracy, target, c.accuracy, c.targetOfThat)
		}
	}
}

func TestTheSummaryOfAStepIsALine(t *testing.T) {
	for _, c := range []struct {
		step Step
		want string
	}{
		{Step{State: Failed, Error: "no room\nfor it"}, "FAILED: no room"},
		{Step{State: Done, Results: &report.Results{Result: report.Valid, Metric: &report.Metric{Value: 12.3456789, Unit: "samples/s"}}}, "VALID, 12.346 samples/s"},
		{Step{State: Done, Results: &report.Results{Result: report.Valid, Accuracy: &report.Accuracy{Metric: "accuracy", Value: 76.45678, Unit: "%", Met: true}}}, "VALID, accuracy 76.457 %"},
		{Step{State: Done, Results: &report.Results{Result: report.Valid}}, "VALID"},
	} {
		if got := c.step.summary(); got != c.want {
			t.Errorf("summary = %q, want %q", got, c.want)
		}
	}
}

func TestEstimatesAreSaidAsFarAsTheyAreKnown(t *testing.T) {
	for _, c := range []struct {
		e    Estimate
		want string
	}{
		{Estimate{}, "0 runs, 0s"},
		{Estimate{Steps: 1, Traffic: 1499 * time.Millisecond}, "1 run, 1s"},
		{Estimate{Steps: 2, Traffic: time.Hour, Cooldown: 5 * time.Minute}, "2 runs, 1h5m, of which 5m0s to cool down"},
		{Estimate{Steps: 1, Traffic: time.Minute, Guessed: 1}, "1 run, at least 1m0s (of 1 it is not known yet how fast their models are here)"},
		{Estimate{Steps: 3, Traffic: 2*time.Hour + 29*time.Second, Guessed: 2}, "3 runs, at least 2h0m (of 2 it is not known yet how fast their models are here)"},
	} {
		if got := c.e.String(); got != c.want {
			t.Errorf("%+v is %q, want %q", c.e, got, c.want)
		}
	}
}

func TestTheNewestRunOfTheModelOnTheEngineTellsItsSpeed(t *testing.T) {
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	runOf := func(days int, latency time.Duration, change func(*report.Results)) report.Run {
		r := &report.Results{Model: "m", Created: day.AddDate(0, 0, days), Input: report.Input{Samples: 100 + days, Precision: "int8"},
			Backend: report.Backend{Engine: "onnxruntime 1.24", Instances: 2, WarmUp: report.WarmUp{LatencyNS: int64(latency)}}}
		if change != nil {
			change(r)
		}
		return report.Run{Results: r}
	}
	step := &Step{Model: "m", request: run.Request{Engine: run.Engine{Name: run.ONNXRuntime}}}
	for _, c := range []struct {
		name    string
		runs    []report.Run
		speed   float64
		samples int
	}{
		{"none", nil, 0, 0},
		{"one", []report.Run{runOf(0, time.Second, nil)}, 2, 100},
		{"the newest", []report.Run{runOf(1, time.Second/2, nil), runOf(3, time.Second/4, nil), runOf(2, time.Second, nil)}, 8, 103},
		{"another model", []report.Run{runOf(0, time.Second, func(r *report.Results) { r.Model = "n" })}, 0, 0},
		{"another engine", []report.Run{runOf(0, time.Second, func(r *report.Results) { r.Backend.Engine = "simulated" })}, 0, 0},
		{"one that was not warmed up", []report.Run{runOf(0, 0, nil)}, 0, 0},
		{"one whose time cannot be", []report.Run{runOf(0, -5, nil)}, 0, 0},
		{"one that does not say its workers", []report.Run{runOf(0, time.Second, func(r *report.Results) { r.Backend.Instances = 0 })}, 1, 100},
	} {
		p := &Plan{request: Request{Earlier: c.runs}, Steps: []*Step{step, {Model: "x"}}}
		if speed, samples := p.speedOf(step); speed != c.speed || samples != c.samples {
			t.Errorf("%s: %g of %d, want %g of %d", c.name, speed, samples, c.speed, c.samples)
		}
	}
	exact := &Step{Model: "m", Precision: "fp32", request: step.request}
	p := &Plan{request: Request{Earlier: []report.Run{runOf(0, time.Second, nil)}}}
	if speed, _ := p.speedOf(exact); speed != 0 {
		t.Errorf("a run in int8 tells the speed of fp32: %g", speed)
	}
}

func TestAnUnfinishedSuiteIsFoundAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := UnfinishedFolder("mine", true); err == nil || !strings.Contains(err.Error(), "there is no unfinished run of suite mine, quick below "+filepath.Join("results", "suites", "mine-quick")) {
		t.Errorf("nothing is there: %v", err)
	}
	write := func(folder, name string, quick bool, state State) {
		t.Helper()
		p := &Plan{Suite: &Suite{Name: name}, Steps: []*Step{{State: state}}, request: Request{Output: filepath.Join(kept, "mine", folder), Base: run.Request{Quick: quick}}}
		if err := os.MkdirAll(p.request.Output, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := p.save(); err != nil {
			t.Fatal(err)
		}
	}
	write("20260101-000000", "mine", false, Planned)
	write("20260102-000000", "mine", false, Planned)
	write("20260103-000000", "mine", false, Done)
	write("20260104-000000", "theirs", false, Planned)
	write("20260105-000000", "mine", true, Planned)
	if err := os.WriteFile(filepath.Join(kept, "mine", "20260106-000000"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(kept, "mine", "20260107-000000", fileName), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := UnfinishedFolder("mine", false); err != nil || filepath.Base(got) != "20260102-000000" {
		t.Errorf("%s, %v, want the newest that has something to run", got, err)
	}
	if new := NewFolder("mine", true); filepath.Dir(new) != filepath.Join("results", "suites", "mine-quick") {
		t.Errorf("a new one is %s", new)
	}
}

func TestAStateThatCannotBeReadIsNamed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"{", "unexpected end"},
		{"null", `schema is "", this program reads "mlperf-go/suite/1"`},
		{`{"schema":"mlperf-go/suite/9"}`, `schema is "mlperf-go/suite/9"`},
		{`{"schema":"mlperf-go/suite/1"}`, "suite is missing"},
		{`{"schema":"mlperf-go/suite/1","suite":{"name":1}}`, "cannot unmarshal"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, fileName)
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readState(dir); err == nil || !strings.HasPrefix(err.Error(), "reading "+path+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
		s, err := Load("edge")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewPlan(s, Request{Output: dir, Resume: true}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("a suite goes on in it: %v", err)
		}
	}
}

func TestAFolderThatCannotBeMadeIsAnError(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("out", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p := &Plan{Suite: &Suite{Name: "mine"}, request: Request{Output: "out"}}
	if _, err := p.Run(t.Context(), &recorder{}); err == nil || !strings.HasPrefix(err.Error(), "making the folder of the suite: ") {
		t.Errorf("Run in a file: %v", err)
	}
}

// TestSuitesThatBeginInTheSameSecondHaveFoldersOfTheirOwn where nobody gave one.
func TestSuitesThatBeginInTheSameSecondHaveFoldersOfTheirOwn(t *testing.T) {
	t.Chdir(t.TempDir())
	folders := map[string]bool{}
	for range 4 {
		folder := NewFolder("mine", false)
		if err := os.MkdirAll(folder, 0o755); err != nil { // as the suite does
			t.Fatal(err)
		}
		folders[folder] = true
	}
	if len(folders) != 4 {
		t.Errorf("four suites have the folders %v", folders)
	}
}
