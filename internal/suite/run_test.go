package suite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/testenv"
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
		Engine: engine.Config{Name: engine.Simulated, Latency: time.Millisecond},
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

func TestResumeAfterInterruption(t *testing.T) {
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

func TestResumeRunsNothingAgain(t *testing.T) {
	material(t)
	synctest.Test(t, func(t *testing.T) {
		if _, err := plan(t, twoScenarios, false).Run(t.Context(), &recorder{}); err != nil {
			t.Fatal(err)
		}
		again := &recorder{}
		out, err := plan(t, twoScenarios, true).Run(t.Context(), again)
		if err != nil || out.Interrupted || len(out.Scores) != 3 || out.Scores[2].Result != unsupported {
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

func TestResumeRunsOtherSettingsAgain(t *testing.T) {
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
		if want := []string{"[4/4] resnet50 Offline performance"}; !slices.Equal(ran, want) {
			t.Errorf("%q ran, want %q", ran, want)
		}
	})
}

func TestSuiteContinuesAfterAFailure(t *testing.T) {
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
		for _, want := range []string{"1 without a result", "resnet50 SingleStream is FAILED: ", "resnet50 SingleStream: a VALID performance run", "compliance tests TEST01, TEST04", "  failed\n",
			"resnet50 MultiStream: the round requires it of edge systems", "1 not supported"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("no %q in\n%s", want, text.String())
			}
		}
	})
}

// Results that lie in the folder of a step, from whatever run, count only for a suite that goes on.
func TestKeptResults(t *testing.T) {
	material(t)
	p := plan(t, twoScenarios, false)
	synctest.Test(t, func(t *testing.T) {
		if _, err := p.Run(t.Context(), &recorder{}); err != nil {
			t.Fatal(err)
		}
	})
	s := p.Steps[1]
	r := s.Results
	kept := func(fingerprint string) bool { return run.Earlier(filepath.Join("out", s.Folder), fingerprint) != nil }
	if !kept(r.Fingerprint) {
		t.Error("a suite that goes on does not take its own results")
	}
	if kept("another") {
		t.Error("results of other settings count")
	}
	path := filepath.Join("out", s.Folder, report.FileName)
	record := string(testenv.Read(t, path))
	for _, forged := range []string{
		regexp.MustCompile(`"value": [0-9.e+-]+`).ReplaceAllString(record, `"value": 99999`),
		regexp.MustCompile(`,\s*"seal": "[0-9a-f]+"`).ReplaceAllString(record, ""),
		regexp.MustCompile(`,\s*"seal": "[0-9a-f]+"`).ReplaceAllString(strings.Replace(record, report.Schema, "mlperf-go/results/2", 1), ""),
	} {
		testenv.Must(t, os.WriteFile(path, []byte(forged), 0o600))
		if forged == record || kept(r.Fingerprint) {
			t.Error("a record that was changed counts")
		}
	}
	testenv.Must(t, os.WriteFile(path, []byte(record), 0o600))
	r.Result = report.Interrupted
	if err := r.Write(filepath.Join("out", s.Folder)); err != nil || kept(r.Fingerprint) {
		t.Errorf("results of an interrupted run count: %v", err)
	}
	if err := os.WriteFile(filepath.Join("out", s.Folder, report.FileName), []byte("{"), 0o644); err != nil || kept(r.Fingerprint) {
		t.Errorf("half a file counts: %v", err)
	}
}

func TestFolderIsLockedAndOwned(t *testing.T) {
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
	if _, err := NewPlan(&other, p.request); !testenv.Names(err, "out … mine … other") {
		t.Errorf("another suite resumed: %v", err)
	}
}

func TestCooldownWaits(t *testing.T) {
	for _, c := range []struct {
		name    string
		celsius []float64 // at each look; the last stays
		limit   float64
		waits   time.Duration
		note    string
	}{
		{"as long as the suite says", []float64{50}, 60, time.Minute, ""},
		{"longer if it is hot", []float64{90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 90, 50}, 60, 62 * time.Second, ""},
		{"not for ever", []float64{90}, 60, time.Minute + extraCooldown, "90 °C"},
		{"without a thermometer", nil, 60, time.Minute, "no temperature sensor can be read"},
		{"without a limit", nil, 0, time.Minute, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				p := &Plan{Suite: &Suite{Temperature: c.limit}, cooldown: time.Minute, celsius: func() (float64, bool) {
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

func TestUnwritableStateEndsTheSuite(t *testing.T) {
	p := mustPlan(t, "accuracy: none\nbenchmarks:\n  - {model: alexnet, scenarios: [Offline]}\n", Request{})
	if err := os.MkdirAll(filepath.Join("out", fileName, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := p.save(); err == nil || !strings.HasPrefix(err.Error(), "writing the state of the suite: ") || !strings.Contains(err.Error(), fileName) {
		t.Errorf("save = %v", err)
	}
	if _, err := p.Run(t.Context(), &recorder{}); !testenv.Names(err, fileName) {
		t.Errorf("Run = %v", err)
	}
}

func TestObserver(t *testing.T) {
	seen, noted := &recorder{}, map[string]bool{}
	one, two := &run.Part{Observer: seen, Title: "[1/2] a: ", Noted: noted}, &run.Part{Observer: seen, Title: "[2/2] b: ", Noted: noted}
	for _, o := range []*run.Part{one, two} {
		o.Phase("traffic")
		o.Note("the machine is hot")
	}
	two.Note("the machine is cool")
	if want := []string{"[1/2] a: traffic", "[2/2] b: traffic"}; !slices.Equal(seen.phases, want) {
		t.Errorf("phases %q, want %q", seen.phases, want)
	}
	if want := []string{"the machine is hot", "the machine is cool"}; !slices.Equal(seen.notes, want) {
		t.Errorf("notes %q, want %q", seen.notes, want)
	}
}

func TestResumeKeepsTimes(t *testing.T) {
	const text = "accuracy: none\nbenchmarks:\n  - {model: alexnet, scenarios: [Offline, Server]}\n"
	p := mustPlan(t, text, Request{})
	if err := os.MkdirAll("out", 0o755); err != nil {
		t.Fatal(err)
	}
	p.Steps[0].Seconds = 12.5
	if err := p.save(); err != nil {
		t.Fatal(err)
	}
	p.request.Resume = true
	again, err := NewPlan(p.Suite, p.request)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.took[again.Steps[0].Folder]; got != 12.5 || again.took[again.Steps[1].Folder] != 0 {
		t.Errorf("it took %v", again.took)
	}
	p.request.Base.Quick = true
	if _, err := NewPlan(p.Suite, p.request); !testenv.Names(err, "out … mine … mine, quick") {
		t.Errorf("a quick one in its folder: %v", err)
	}
}

// contextWithEnd is a context that the user ends after some time.
func contextWithEnd(t *testing.T, d time.Duration) (context.Context, func()) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	timer := time.AfterFunc(d, func() { cancel(errors.New("the user has enough")) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

// MLPerf Mobile wants ten minutes before its benchmarks run again.
func TestPauseBetweenSuites(t *testing.T) {
	for _, c := range []struct {
		name    string
		ago     time.Duration // since the other suite; 0: none ran
		request Request
		waits   time.Duration
	}{
		{"the first", 0, Request{}, 0},
		{"after another", 4 * time.Minute, Request{}, 6 * time.Minute},
		{"long after another", 11 * time.Minute, Request{}, 0},
		{"a quick one", time.Minute, Request{Base: run.Request{Quick: true}}, 0},
		{"one that goes on", time.Minute, Request{Resume: true}, 0},
		{"the user chooses the pause", time.Minute, Request{Cooldown: new(time.Duration)}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			synctest.Test(t, func(t *testing.T) {
				if c.ago > 0 {
					other := &Plan{Suite: &Suite{Name: "other"}, request: Request{Output: "first"}}
					testenv.Must(t, os.Mkdir("first", 0o755))
					testenv.Must(t, other.save())
					time.Sleep(c.ago)
				}
				c.request.Output = "second"
				p := &Plan{Suite: &Suite{Name: "mobile", Between: duration(10 * time.Minute)}, request: c.request}
				begin := time.Now()
				testenv.Must(t, p.restAfter(t.Context(), &recorder{}))
				if waited := time.Since(begin); waited != c.waits {
					t.Errorf("waited %v, want %v", waited, c.waits)
				}
			})
		})
	}
}

func TestCooldownEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Plan{Suite: &Suite{}, cooldown: time.Hour, celsius: func() (float64, bool) { return 0, false }}
		ctx, cancel := contextWithEnd(t, 7*time.Second)
		defer cancel()
		begin := time.Now()
		if err := p.coolDown(ctx, &Step{}, &recorder{}); !testenv.Names(err, "the user has enough") {
			t.Errorf("coolDown = %v", err)
		}
		if waited := time.Since(begin); waited != 7*time.Second {
			t.Errorf("it went on for %v", waited)
		}
	})
}

func TestUnfinishedFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := UnfinishedFolder("mine", true); !testenv.Names(err, "mine, quick … "+filepath.Join("results", "suites", "mine-quick")) {
		t.Errorf("nothing is there: %v", err)
	}
	write := func(folder, name string, quick bool, state State) {
		t.Helper()
		p := &Plan{Suite: &Suite{Name: name}, Steps: []*Step{{State: state}}, request: Request{Output: filepath.Join("results", "suites", "mine", folder), Base: run.Request{Quick: quick}}}
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
	if err := os.WriteFile(filepath.Join("results", "suites", "mine", "20260106-000000"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join("results", "suites", "mine", "20260107-000000", fileName), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := UnfinishedFolder("mine", false); err != nil || filepath.Base(got) != "20260102-000000" {
		t.Errorf("%s, %v, want the newest that has something to run", got, err)
	}
	if new := NewFolder("mine", true); filepath.Dir(new) != filepath.Join("results", "suites", "mine-quick") {
		t.Errorf("a new one is %s", new)
	}
}

func TestUnreadableStateIsNamed(t *testing.T) {
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
		if _, err := NewPlan(s, Request{Output: dir, Resume: true}); !testenv.Names(err, path) {
			t.Errorf("a suite goes on in it: %v", err)
		}
	}
}

func TestFolderCannotBeMade(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("out", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p := &Plan{Suite: &Suite{Name: "mine"}, request: Request{Output: "out"}}
	if _, err := p.Run(t.Context(), &recorder{}); err == nil || !strings.HasPrefix(err.Error(), "making the folder of the suite: ") {
		t.Errorf("Run in a file: %v", err)
	}
}

// TestNewFoldersOfTheSameSecond where nobody gave one.
func TestNewFoldersOfTheSameSecond(t *testing.T) {
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

func FuzzState(f *testing.F) {
	f.Add([]byte(`{"schema":"mlperf-go/suite/1","suite":{"name":"a"},"steps":[{"state":"planned"},null]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseState(text)
		if (s == nil) != (err != nil) {
			t.Errorf("%v, %v", s, err)
		}
	})
}
