package suite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

// A recorder keeps what an observer is told.
type recorder struct {
	mu      sync.Mutex
	phases  []string
	notes   []string
	traffic func()
}

func (r *recorder) Phase(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phases = append(r.phases, name)
	if strings.HasSuffix(name, ": traffic") && r.traffic != nil {
		r.traffic()
	}
}
func (r *recorder) Loading(int, int)         {}
func (r *recorder) Items(int, int)           {}
func (r *recorder) Traffic(loadgen.Progress) {}
func (r *recorder) Note(text string)         { r.notes = append(r.notes, text) }

const twoScenarios = "name: mine\nrules: v6.1\ncategory: edge\nbenchmarks:\n  - {model: resnet50, scenarios: [SingleStream, Offline]}\n" +
	"  - {model: nothing, scenarios: [Offline]}\n"

// plan is a plan of a tiny model on a simulated engine.
func plan(t *testing.T, text string, resume bool) *Plan {
	t.Helper()
	s, err := parse("mine", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s, Request{Output: "out", Resume: resume, Base: run.Request{
		Program: "mlperf test", ModelPath: "tiny.onnx", DatasetPath: "imagenet",
		Engine: run.Engine{Name: run.Simulated, Latency: time.Millisecond},
		Settings: []config.Override{
			{Key: "min_duration", Value: "20ms"}, {Key: "min_query_count", Value: "5"},
		},
		NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} },
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// material makes a folder with a tiny model and data, and goes there.
func material(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(dir, "data"))
	spec := synth.ImageNetSpec{Seed: 1, Images: 4, Classes: 3, Jitter: 0.1}
	if err := synth.WriteImageNet(t.Context(), "imagenet", spec, nil); err != nil {
		t.Fatal(err)
	}
	b := arch.NewBuilder("tiny", 1)
	x := b.Input("image", onnx.Float32, onnx.Batched(3, 224, 224))
	x = b.MaxPool("grid", x, arch.Pool{Kernel: arch.Axes{56}, Strides: arch.Axes{56}})
	b.Output(b.ArgMax("class", b.Dense("scores", b.Flatten("features", x), arch.Dense{Units: 1000}), 1))
	model, _, err := b.Model()
	if err == nil {
		err = model.WriteFile(t.Context(), "tiny.onnx")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// interrupted runs a suite up to its accuracy run of Offline.
func interrupted(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	seen := &recorder{}
	seen.traffic = func() {
		if strings.Contains(seen.phases[len(seen.phases)-1], "Offline accuracy") {
			cancel(stopped)
		}
	}
	out, err := plan(t, twoScenarios, false).Run(ctx, seen)
	if !errors.Is(err, stopped) || !out.Interrupted || out.Scores[0].Result == notRun || out.Scores[1].Result != notRun || out.Scores[1].Metric != nil {
		t.Fatalf("interrupted: %v, %+v", err, out)
	}
}

func TestASuiteGoesOnAfterAnInterruption(t *testing.T) {
	material(t)
	synctest.Test(t, func(t *testing.T) {
		interrupted(t)
		if !unfinished("out", "mine", false) {
			t.Error("the suite is not unfinished")
		}
		if _, err := plan(t, twoScenarios, true).Run(t.Context(), &recorder{}); err != nil {
			t.Fatal(err)
		}
		if unfinished("out", "mine", false) {
			t.Error("the suite is unfinished after it was resumed")
		}
	})
}

func TestASuiteThatIsOverRunsNothingAgain(t *testing.T) {
	material(t)
	synctest.Test(t, func(t *testing.T) {
		if _, err := plan(t, twoScenarios, false).Run(t.Context(), &recorder{}); err != nil {
			t.Fatal(err)
		}
		again := &recorder{}
		out, err := plan(t, twoScenarios, true).Run(t.Context(), again)
		if err != nil || out.Interrupted || len(out.Scores) != 3 || out.Scores[2].Result != lacking {
			t.Fatalf("%v, %+v", err, out)
		}
		if n := len(slices.Compact(slices.Sorted(slices.Values(again.notes)))); n != len(again.notes) {
			t.Errorf("of %d notes %d are different", len(again.notes), n)
		}
		for _, phase := range again.phases {
			if strings.HasSuffix(phase, ": traffic") {
				t.Errorf("it was run again: %s", phase)
			}
		}
		for _, s := range out.Scores[:2] {
			if s.Accuracy == nil || s.Metric == nil || s.Seconds == 0 {
				t.Errorf("%s has no accuracy, no metric or no time: %+v", s.name(), s)
			}
		}
	})
}

func TestOtherSettingsRunAgain(t *testing.T) {
	material(t)
	synctest.Test(t, func(t *testing.T) {
		if _, err := plan(t, twoScenarios, false).Run(t.Context(), &recorder{}); err != nil {
			t.Fatal(err)
		}
		p := plan(t, twoScenarios, true)
		for _, s := range p.Steps {
			if s.Mode == modePerformance && s.Scenario == "Offline" {
				s.request.MaxBatch = 3
			}
		}
		seen := &recorder{}
		if _, err := p.Run(t.Context(), seen); err != nil {
			t.Fatal(err)
		}
		var ran []string
		for _, phase := range seen.phases {
			if before, ok := strings.CutSuffix(phase, ": traffic"); ok {
				ran = append(ran, before)
			}
		}
		if want := []string{"[4/5] resnet50 Offline performance"}; !slices.Equal(ran, want) {
			t.Errorf("%q ran, want %q", ran, want)
		}
	})
}

func TestAStepThatFailsDoesNotEndTheSuite(t *testing.T) {
	material(t)
	synctest.Test(t, func(t *testing.T) {
		p := plan(t, twoScenarios, false)
		p.Steps[1].request.ModelPath = "gone.onnx"
		out, err := p.Run(t.Context(), &recorder{})
		if err != nil || out.Scores[0].Result != failed || !strings.Contains(out.Scores[0].Why, "gone.onnx") || out.Scores[1].Metric == nil {
			t.Errorf("%v, %+v", err, out)
		}
		var text strings.Builder
		if err := out.Write(&text, strings.ToLower); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"1 without a result", "resnet50 SingleStream is FAILED: ", "resnet50 SingleStream: a VALID performance run", "compliance tests TEST01, TEST04", " │ failed ",
			"resnet50 MultiStream: the round wants it of edge systems", "1 not in the catalogue"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("no %q in\n%s", want, text.String())
			}
		}
	})
}

// Results that lie in the folder of a step, from whatever run, count only for a suite that goes on.
func TestResultsCountOnlyForASuiteThatGoesOn(t *testing.T) {
	material(t)
	p := plan(t, twoScenarios, false)
	synctest.Test(t, func(t *testing.T) {
		if _, err := p.Run(t.Context(), &recorder{}); err != nil {
			t.Fatal(err)
		}
	})
	s := p.Steps[1]
	r := s.Results
	p.request.Resume = true
	if p.kept(s, r.Fingerprint) == nil {
		t.Error("a suite that goes on does not take its own results")
	}
	if p.kept(s, "another") != nil {
		t.Error("results of other settings count")
	}
	p.request.Resume = false
	if p.kept(s, r.Fingerprint) != nil {
		t.Error("results count for a new suite")
	}
	p.request.Resume = true
	r.Result = report.Interrupted
	if err := r.Write(filepath.Join("out", s.Folder)); err != nil || p.kept(s, r.Fingerprint) != nil {
		t.Errorf("results of an interrupted run count: %v", err)
	}
	if err := os.WriteFile(filepath.Join("out", s.Folder, report.FileName), []byte("{"), 0o644); err != nil || p.kept(s, r.Fingerprint) != nil {
		t.Errorf("half a file counts: %v", err)
	}
}

func TestTheScreenAddsUpAndGroups(t *testing.T) {
	out := &Outcome{Suite: "mine", Rules: "v0.5", Scores: []Score{
		{Model: "a", Scenario: "SingleStream", Result: report.Valid, Seconds: 70, Metric: &report.Metric{Value: 3, Unit: "ms"}},
		{Model: "a", Scenario: "Offline", Result: notRun, Seconds: 12},
		{Model: "b", Precision: "int8", Scenario: "Server", Result: notRun, AccuracyError: "no such file\nlook for it"},
		{Model: "b", Precision: "int8", Scenario: "Offline", Result: notRun, AccuracyError: "no such file\nlook for it"},
		{Model: "c", Scenario: "Offline", Result: notRun, AccuracyError: notRun},
	}, Caveats: []Caveat{{"made up", 1}, {"quick", 3}}}
	out.Missing = (&Plan{Suite: &Suite{Rules: "none"}}).missing(out)
	var b strings.Builder
	if err := out.Write(&b, func(verdict string) string { return "<" + verdict + ">" }); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 of 5 VALID, 4 without a result; it took 1m22s\n", " <VALID> ", "made up (1 run)\n", "quick (3 runs)\n",
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

func TestAFolderWithASuiteIsNotTakenForANewOne(t *testing.T) {
	material(t)
	p := plan(t, twoScenarios, false)
	release, err := p.begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan(t, twoScenarios, true).Run(t.Context(), &recorder{}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second process: %v", err)
	}
	release()
	var exists *ExistsError
	if _, err := NewPlan(p.Suite, p.request); !errors.As(err, &exists) {
		t.Errorf("not resumed: %v", err)
	}
	other := *p.Suite
	other.Name, p.request.Resume = "other", true
	if _, err := NewPlan(&other, p.request); err == nil || !strings.Contains(err.Error(), "out has suite mine, this is other") {
		t.Errorf("another suite resumed: %v", err)
	}
}

func TestTheMachineCoolsDownBeforeSpeedIsMeasured(t *testing.T) {
	for _, c := range []struct {
		name    string
		celsius []float64 // at each look; the last stays
		limit   float64
		waits   time.Duration
		note    string
	}{
		{"as long as the suite says", []float64{50}, 60, time.Minute, ""},
		{"longer if it is hot", []float64{90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 50}, 60, 62 * time.Second, ""},
		{"not for ever", []float64{90}, 60, time.Minute + thermalPatience, "90 °C"},
		{"without a thermometer", nil, 60, time.Minute, "cannot be read"},
		{"without a limit", nil, 0, time.Minute, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				p := &Plan{Suite: &Suite{Temperature: c.limit}, cooldown: time.Minute, clock: func() (float64, bool) {
					if len(c.celsius) == 0 {
						return 0, false
					}
					looks++
					return c.celsius[min(looks, len(c.celsius))-1], true
				}}
				seen, begin := &recorder{}, time.Now()
				if err := p.coolDown(t.Context(), &Step{}, seen); err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(begin); waited != c.waits {
					t.Errorf("waited %v, want %v", waited, c.waits)
				}
				if got := strings.Join(seen.notes, ""); (c.note == "") != (got == "") || !strings.Contains(got, c.note) {
					t.Errorf("notes %q, want %q", got, c.note)
				}
			})
		})
	}
}

func TestEarlierRunsTellHowLongItTakes(t *testing.T) {
	material(t)
	p := plan(t, twoScenarios, false)
	if e := p.Estimate(); e.Guessed != 4 {
		t.Errorf("nothing is known, and %d of 4 are guessed", e.Guessed)
	}
	r := &report.Results{Model: "resnet50", Backend: report.Backend{Engine: "simulated", Instances: 2, WarmUp: report.WarmUp{LatencyNS: 1e9}}, Input: report.Input{Samples: 100}}
	p.request.Earlier = []report.Run{{Results: r}}
	if err := p.resolve(); err != nil {
		t.Fatal(err)
	}
	if e := p.Estimate(); e.Guessed != 0 || p.Steps[0].Estimate != 50*time.Second+overhead {
		t.Errorf("two samples a second: %+v, the accuracy takes %v, want 50 s and %v", e, p.Steps[0].Estimate, overhead)
	}
}

// What was measured of a model tells how long its other runs take, and nothing of other models and precisions.
func TestARunTellsHowLongTheOthersOfItsModelTake(t *testing.T) {
	p := mustPlan(t, "accuracy: none\nbenchmarks:\n  - {model: resnet50, scenarios: [SingleStream, Offline]}\n  - {model: resnet50, precision: int8, scenarios: [Offline]}\n  - {model: mobilenet, scenarios: [Offline]}\n",
		Request{Base: run.Request{Engine: run.Engine{Name: run.Simulated}}})
	first, before := p.Steps[0], []time.Duration{}
	for _, s := range p.Steps {
		before = append(before, s.Estimate)
		if !s.Guessed {
			t.Fatalf("%v: it is known how fast it is", s)
		}
	}
	first.State = Done
	first.Results = &report.Results{Model: "resnet50", Input: report.Input{Precision: "fp32", Samples: 50}, Backend: report.Backend{Engine: "simulated", Instances: 1, WarmUp: report.WarmUp{LatencyNS: int64(time.Second)}}}
	p.learn(first)
	for i, c := range []struct{ guessed, same bool }{{true, true}, {false, false}, {true, true}, {true, true}} {
		s := p.Steps[i]
		if s.Guessed != c.guessed || (s.Estimate == before[i]) != c.same {
			t.Errorf("%v: guessed %t, %v after %v", s, s.Guessed, s.Estimate, before[i])
		}
	}
	// 24,576 samples at one a second.
	if got := p.Steps[1].Estimate; got < 24576*time.Second || got > 24600*time.Second {
		t.Errorf("%v takes %v", p.Steps[1], got)
	}
}
