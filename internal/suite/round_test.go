package suite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/run"
)

// contextWithEnd is a context that the user ends after some time.
func contextWithEnd(t *testing.T, d time.Duration) (context.Context, func()) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	timer := time.AfterFunc(d, func() { cancel(errors.New("the user has enough")) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

func TestASuiteByCategoryKnowsEveryRound(t *testing.T) {
	for _, version := range config.Versions() {
		round, err := rounds.Find(version)
		for _, category := range []string{"edge", "datacenter"} {
			s := &Suite{Name: "s", Rules: version, Category: category}
			list, ofRound := s.ofRound()
			if err != nil {
				if ofRound == nil || !strings.HasPrefix(ofRound.Error(), "a suite by category: ") {
					t.Errorf("%s, of which no tables are known: %v, %v", version, list, ofRound)
				}
				continue
			}
			if ofRound != nil || len(list) == 0 {
				t.Errorf("%s %s: %v, %v", version, category, list, ofRound)
			}
			seen := map[string]bool{}
			for _, b := range list {
				if seen[b.Model] || len(b.Scenarios) == 0 || !inOrder(b.Scenarios) {
					t.Errorf("%s %s: %+v is there twice, or in nothing, or in no order", version, category, b)
				}
				seen[b.Model] = true
			}
			if want := wantedBy(round, category); len(list) != want {
				t.Errorf("%s %s: %d benchmarks, the round wants %d", version, category, len(list), want)
			}
		}
	}
}

func inOrder(scenarios []string) bool {
	return slices.IsSortedFunc(scenarios, func(a, b string) int { return slices.Index(scenarioOrder, a) - slices.Index(scenarioOrder, b) })
}

// wantedBy counts the benchmarks that have a scenario which the category needs.
func wantedBy(round *rounds.Round, category string) (n int) {
	for _, m := range round.Models {
		if m.Listed && len(m.Required[category]) > 0 {
			n++
		}
	}
	return n
}

func TestAModelOfTheCatalogueHasTheRoundsName(t *testing.T) {
	for _, c := range []struct {
		version, model, want string // empty: the round has it not
	}{
		{"v5.1", "resnet50", "resnet"}, {"v5.1", "bert", "bert-99"}, {"v5.1", "llama2-70b", "llama2-70b-99"}, {"v5.1", "mobilenet", ""},
	} {
		round, err := rounds.Find(c.version)
		if err != nil {
			t.Fatal(err)
		}
		m, err := models.LookupAsked(c.model)
		if err != nil {
			t.Fatal(err)
		}
		name, ok := nameIn(round, m)
		if ok != (c.want != "") || ok && round.Models[name] == nil {
			t.Errorf("%s in %s: %q, %t, want %q", c.model, c.version, name, ok, c.want)
		}
	}
}

func TestWhatTheRoundWantsBesideIsSaid(t *testing.T) {
	const text = "rules: v5.1\ncategory: edge\naccuracy: none\nbenchmarks:\n  - {model: resnet50, scenarios: [Offline]}\n  - {model: resnet50, precision: int8, scenarios: [SingleStream]}\n  - {model: mobilenet, scenarios: [Offline]}\n  - {model: alexnet, scenarios: [Offline]}\n"
	p := mustPlan(t, text, Request{})
	scenarios, order := p.measured()
	if diff := cmp.Diff(map[string][]string{"resnet50": {"Offline", "SingleStream"}, "mobilenet": {"Offline"}}, scenarios); diff != "" || !slices.Equal(order, []string{"resnet50", "mobilenet"}) {
		t.Errorf("measured in the order %q (-want +got):\n%s", order, diff)
	}
	got := strings.Join(p.missingOfRound(), "\n")
	for _, want := range []string{"resnet50 MultiStream: the round wants it of edge systems", "resnet50: compliance tests ", " in Offline, SingleStream", "mobilenet: round v5.1 has no such benchmark"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "resnet50 Offline") || strings.Contains(got, "alexnet") {
		t.Errorf("too much is missing:\n%s", got)
	}
	p.Suite.Rules = "v0.5"
	if _, err := rounds.Find("v0.5"); err != nil && p.missingOfRound() != nil {
		t.Errorf("of a round without tables: %q", p.missingOfRound())
	}
}

func TestBuiltInSuitesAreListedWithWhatTheyAre(t *testing.T) {
	list, err := List()
	if err != nil || len(list) != len(Names()) {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, l := range list {
		if l.Name != Names()[i] || l.Title == "" {
			t.Errorf("suite %d is %+v", i, l)
		}
	}
}

// A suite that is written and read again is the same, with every one of its fields.
func TestASuiteSurvivesItsFile(t *testing.T) {
	const text = `name: mine
title: 'Mine: all of it'
rules: v5.1
division: open
category: edge
accuracy: once
cooldown: 1m30s
temperature: 61.5
settings:
  min_duration: "7"
benchmarks:
  - model: resnet50
    scenarios: [SingleStream, Offline]
    mode: find-peak
    precision: int8
    model-path: m.onnx
    dataset-path: data
    count: 3
    options:
      drop-last: "true"
    settings:
      target_qps: "0x10"
`
	dir := t.TempDir()
	path := filepath.Join(dir, "mine.yaml")
	for range 2 {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		want := &Suite{
			Name: "mine", Title: "Mine: all of it", Rules: "v5.1", Division: "open", Category: "edge", Accuracy: accuracyOnce, Cooldown: duration(90 * time.Second), Temperature: 61.5,
			Settings: settings{"min_duration": "7"},
			Benchmarks: []Benchmark{{
				Model: "resnet50", Scenarios: []string{"SingleStream", "Offline"}, Mode: run.FindPeak, Precision: "int8", ModelPath: "m.onnx", DatasetPath: "data", Count: 3,
				Options: map[string]string{"drop-last": "true"}, Settings: settings{"target_qps": "0x10"},
			}},
		}
		if diff := cmp.Diff(want, s); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		again, err := s.Format()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, again, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFileOfASuiteMayComeFromWindows(t *testing.T) {
	for name, text := range map[string]string{
		"lines of Windows":  "name: mine\r\ncategory: edge\r\n",
		"a byte order mark": "\uFEFFname: mine\ncategory: edge\n",
		"marks of YAML":     "%YAML 1.1\n---\nname: mine\ncategory: edge\n...\n",
		"comments":          "# mine\nname: mine # yes\ncategory: edge\n",
	} {
		if s, err := parse("mine.yaml", []byte(text)); err != nil || s.Name != "mine" || s.Category != "edge" {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestANameOfASuiteIsOneOfAFolder(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "v0.5": true, "my_suite-2": true, "A.b": true, strings.Repeat("a", 64): true,
		"": false, ".a": false, "-a": false, "a/b": false, "..": false, "a b": false, "ä": false, "a\n": false, strings.Repeat("a", 65): false,
	} {
		if err := (&Suite{Name: name, Category: "edge"}).check(); (err == nil) != ok || err != nil && !strings.HasPrefix(err.Error(), "name is ") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAWrongBenchmarkIsToldFromTheOthers(t *testing.T) {
	good := Benchmark{Model: "resnet50", Scenarios: []string{"Offline"}}
	for want, change := range map[string]func(*Benchmark){
		"benchmark 2 (no model): model is missing":                                                                                     func(b *Benchmark) { b.Model = "" },
		"benchmark 2 (resnet50): scenarios is missing, want a list such as [SingleStream, Offline]":                                    func(b *Benchmark) { b.Scenarios = nil },
		`benchmark 2 (resnet50): mode is "submission", want performance or find-peak; accuracy runs follow from accuracy of the suite`: func(b *Benchmark) { b.Mode = "submission" },
		"benchmark 2 (resnet50): count is -3, want a number of samples":                                                                func(b *Benchmark) { b.Count = -3 },
	} {
		b := good
		change(&b)
		if err := (&Suite{Name: "s", Benchmarks: []Benchmark{good, b, good}}).check(); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestAFolderIsHeldByOneProcessAtATime(t *testing.T) {
	dir := t.TempDir()
	release, err := hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hold(dir); err == nil || err.Error() != dir+": another process runs a suite there: wait for it, or choose another folder" {
		t.Errorf("a second one: %v", err)
	}
	release()
	if again, err := hold(dir); err != nil {
		t.Errorf("after it was released: %v", err)
	} else {
		again()
	}
	if _, err := hold(filepath.Join(dir, "nowhere")); err == nil || !strings.HasPrefix(err.Error(), "locking the folder of the suite: ") {
		t.Errorf("in a folder that is not there: %v", err)
	}
}

func TestAStateThatCannotBeWrittenEndsTheSuite(t *testing.T) {
	p := mustPlan(t, "accuracy: none\nbenchmarks:\n  - {model: alexnet, scenarios: [Offline]}\n", Request{})
	if err := os.MkdirAll(filepath.Join("out", fileName, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := p.save(); err == nil || !strings.HasPrefix(err.Error(), "writing the state of the suite: ") || !strings.Contains(err.Error(), fileName) {
		t.Errorf("save = %v", err)
	}
	if _, err := p.Run(t.Context(), &recorder{}); err == nil || !strings.Contains(err.Error(), fileName) {
		t.Errorf("Run = %v", err)
	}
}

func TestAnObserverSaysWhichStepItIsAboutAndNothingTwice(t *testing.T) {
	seen, told := &recorder{}, map[string]bool{}
	one, two := &observer{seen, "[1/2] a: ", told}, &observer{seen, "[2/2] b: ", told}
	for _, o := range []*observer{one, two} {
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

func TestWhatAStepTookBeforeIsKept(t *testing.T) {
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
	if _, err := NewPlan(p.Suite, p.request); err == nil || err.Error() != "out has suite mine, this is mine, quick: choose another folder" {
		t.Errorf("a quick one in its folder: %v", err)
	}
}
