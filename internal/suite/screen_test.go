package suite

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

// everything is an outcome with all that there can be in one.
func everything() *Outcome {
	latency := loadgen.Constraint{ID: loadgen.ConstraintLatency, Bound: loadgen.AtMost, Required: loadgen.Quantity{Value: 15e6, Unit: "ns"}}
	return &Outcome{
		Schema: Schema, Program: "mlperf test", Suite: "mine", Title: "Mine", Rules: "v6.1", Quick: true, Interrupted: true, Folder: "results/suites/mine",
		Scores: []Score{
			{Model: "resnet50", Scenario: "Server", Result: report.Valid, Seconds: 61.4, Metric: &report.Metric{Value: 1234.5678, Unit: "queries/s"}, Bound: report.Constraint{Constraint: latency}.RequiredText(),
				Accuracy: &report.Accuracy{Metric: "accuracy", Value: 76.456, Unit: "%", Target: 75.695, Met: true}, Folder: "resnet50/server/performance"},
			{Model: "resnet50", Precision: "int8", Scenario: "Offline", Result: report.Invalid, Why: "too few samples: 5 of 24576\nwant more", Seconds: 3600, Metric: &report.Metric{Value: 0.5, Unit: "samples/s"},
				Accuracy: &report.Accuracy{Metric: "accuracy", Value: 71, Unit: "%", Target: 75.695}, Folder: "resnet50-int8/offline/performance"},
			{Model: "bert", Scenario: "SingleStream", Result: failed, Why: "no room left", AccuracyError: "no such file", Folder: "bert/singlestream/performance"},
			{Model: "bert", Scenario: "Offline", Result: notRun, AccuracyError: "no such file", Folder: "bert/offline/performance"},
			{Model: "alexnet", Scenario: "Offline", Result: lacking, Why: "the catalogue has no such model yet", Folder: "alexnet/offline/performance"},
		},
		Missing: []string{"resnet50 int8 Offline: a VALID performance run"},
		Caveats: []Caveat{{"the engine is simulated", 2}, {"quick run: min_duration is 10s instead of 10m0s", 1}},
		Left:    Estimate{Steps: 1, Traffic: 10 * time.Minute, Cooldown: time.Minute, Guessed: 1},
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

func TestTheScreenOfASuite(t *testing.T) {
	var b strings.Builder
	if err := everything().Write(&b, strings.ToLower); err != nil {
		t.Fatal(err)
	}
	golden(t, "screen.golden", b.String())
}

func TestTheOutcomeForPrograms(t *testing.T) {
	text, err := json.MarshalIndent(everything(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "outcome.golden", string(text)+"\n")
}

// Names and errors come from files: of suites, of models, of results.
func TestNothingOnTheScreenSteersTheTerminal(t *testing.T) {
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
	o.Caveats[0].Text += evil
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

// broken is a writer that has no room.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestAScreenThatCannotBeWrittenIsAnError(t *testing.T) {
	if err := everything().Write(broken{}, strings.ToLower); err == nil || err.Error() != "no room" {
		t.Errorf("Write = %v", err)
	}
}

func TestTimesAreRoundedToWhatMatters(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 400 * time.Millisecond: "0s", 600 * time.Millisecond: "1s", 59*time.Minute + 59*time.Second: "59m59s", time.Hour: "1h0m", time.Hour + 29*time.Second: "1h0m",
		time.Hour + 31*time.Second: "1h1m", 25*time.Hour + 10*time.Minute: "25h10m",
	} {
		if got := coarse(d); got != want {
			t.Errorf("coarse(%v) = %s, want %s", d, got, want)
		}
	}
	for seconds, want := range map[float64]string{0: "", 0.4: "0s", 61.4: "1m1s", 3600: "1h0m0s"} {
		if got := timeCell(seconds); got != want {
			t.Errorf("timeCell(%g) = %q, want %q", seconds, got, want)
		}
	}
}

func TestASumOfTimesIsNeverNegative(t *testing.T) {
	const most = time.Duration(1<<63 - 1)
	p := &Plan{Suite: &Suite{}, cooldown: 24 * time.Hour}
	for range 3 {
		p.Steps = append(p.Steps, &Step{State: Planned, Mode: modePerformance, Estimate: most / 2})
	}
	if e := p.Estimate(); e.Traffic < most/2 || e.Total() < e.Traffic || strings.Contains(e.String(), "-") {
		t.Errorf("three steps of centuries: %+v, %v", e, e)
	}
	if e := (Estimate{Steps: 1, Traffic: most, Cooldown: time.Hour}); e.Total() != most {
		t.Errorf("the longest time and an hour are %v", e.Total())
	}
}

func TestGapsAreToldByModelAndByWhatIsMissing(t *testing.T) {
	var g gaps
	for _, s := range []struct{ model, precision, scenario, what string }{
		{"a", "", "Offline", "x"}, {"a", "", "Server", "x"}, {"a", "", "Server", "y"}, {"a", "int8", "Offline", "x"}, {"b", "", "Offline", "x"}, {"a", "", "SingleStream", "x"},
	} {
		g.add(&Score{Model: s.model, Precision: s.precision, Scenario: s.scenario}, s.what)
	}
	want := []string{"a Offline, Server, SingleStream: x", "a Server: y", "a int8 Offline: x", "b Offline: x"}
	if diff := cmp.Diff(want, g.texts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCoolingDownEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Plan{Suite: &Suite{}, cooldown: time.Hour, clock: func() (float64, bool) { return 0, false }}
		ctx, cancel := contextWithEnd(t, 7*time.Second)
		defer cancel()
		begin := time.Now()
		if err := p.coolDown(ctx, &Step{}, &recorder{}); err == nil || err.Error() != "the user has enough" {
			t.Errorf("coolDown = %v", err)
		}
		if waited := time.Since(begin); waited != 7*time.Second {
			t.Errorf("it went on for %v", waited)
		}
	})
}
