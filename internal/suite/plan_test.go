package suite

import (
	"fmt"
	"maps"
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
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// planOf plans a suite of these lines in an empty folder.
func planOf(t *testing.T, text string, q Request) (*Plan, error) {
	t.Helper()
	s, err := parse("mine", []byte("name: mine\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	q.Output = "out"
	return NewPlan(s, q)
}

func mustPlan(t *testing.T, text string, q Request) *Plan {
	t.Helper()
	p, err := planOf(t, text, q)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The second of two steps with one folder would be refused after the first has run, or take its place.
func TestRepeatedStepsAreRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a scenario twice", "benchmarks:\n  - {model: resnet50, scenarios: [Offline, offline]}\n", "resnet50 Offline accuracy is in suite mine twice, and has one folder, resnet50/offline/accuracy"},
		{"a model by two of its names", "accuracy: none\nbenchmarks:\n  - {model: resnet50, scenarios: [Offline]}\n  - {model: ResNet-50, scenarios: [Offline], count: 3}\n", "resnet50 Offline performance is in suite mine twice"},
		{"a precision twice", "accuracy: none\nbenchmarks:\n  - {model: resnet50, precision: int8, scenarios: [Offline]}\n  - {model: resnet50, precision: int8, scenarios: [Offline]}\n", "resnet50 int8 Offline performance is in suite mine twice"},
	} {
		if _, err := planOf(t, c.text, Request{}); err == nil || !strings.Contains(filepath.ToSlash(err.Error()), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	p := mustPlan(t, "accuracy: none\nbenchmarks:\n  - {model: resnet50, scenarios: [Offline]}\n  - {model: resnet50, precision: int8, scenarios: [Offline]}\n", Request{})
	if len(p.Steps) != 2 {
		t.Errorf("two precisions are %d steps", len(p.Steps))
	}
}

// Benchmarks that only servers of text answer are asked of the endpoints that are given; the others run here.
func TestModelsThatOnlyServersAnswer(t *testing.T) {
	const text = "accuracy: none\nrules: v6.0\nbenchmarks:\n  - {model: resnet50, scenarios: [Offline]}\n  - {model: deepseek-r1, scenarios: [Offline]}\n"
	servers := engine.Remote{Endpoints: []string{"http://127.0.0.1:1"}, Model: "m"}
	for _, c := range []struct {
		name   string
		engine engine.Config
		want   []string
	}{
		{"without servers", engine.Config{}, []string{"planned resnet50: , 0 endpoints", "unsupported deepseek-r1: only servers of text answer it, and no endpoint is given"}},
		{"with endpoints", engine.Config{Name: engine.Simulated, Latency: time.Millisecond, Remote: servers}, []string{"planned resnet50: simulated, 0 endpoints", "planned deepseek-r1: openai, 1 endpoints"}},
		{"at servers of text", engine.Config{Name: engine.OpenAI, Remote: servers}, []string{"unsupported resnet50: it takes no prompts: servers of text do not answer it", "planned deepseek-r1: openai, 1 endpoints"}},
		{"at servers of tensors", engine.Config{Name: engine.OIP, Remote: servers}, []string{"planned resnet50: oip, 1 endpoints", "unsupported deepseek-r1: only servers of text answer it, and those of the suite take tensors"}},
	} {
		p := mustPlan(t, text, Request{Base: run.Request{Engine: c.engine}})
		var got []string
		for _, s := range p.Steps {
			text := s.Error
			if s.State == Planned {
				text = fmt.Sprintf("%s, %d endpoints", s.request.Engine.Name, len(s.request.Engine.Remote.Endpoints))
			}
			got = append(got, string(s.State)+" "+s.Model+": "+text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
	}
}

// Endpoints of single models go before those of all: of text where the benchmark takes prompts, else of tensors.
func TestEndpointsOfModels(t *testing.T) {
	const text = "accuracy: none\nrules: v6.1\nbenchmarks:\n  - {model: resnet50, scenarios: [Offline]}\n  - {model: llama3.1-8b, scenarios: [Offline]}\n" +
		"  - {model: gpt-oss-120b, scenarios: [Offline]}\n  - {model: deepseek-r1, scenarios: [Offline]}\n  - {model: bert, scenarios: [Offline]}\n"
	p := mustPlan(t, text, Request{
		Endpoints: map[string][]string{"gpt-oss-120b": {"http://a:1", "http://b:1"}, "llama3_1-8b": {"http://c:1"}, "resnet": {"http://d:1"}},
		Command: func(q run.Request) []string {
			return append([]string{"mlperf", "run", q.Model, q.Engine.Name}, q.Engine.Remote.Endpoints...)
		},
	})
	var got []string
	for _, s := range p.Steps {
		got = append(got, strings.TrimSpace(strings.Join([]string{s.Model, s.request.Engine.Name, strings.Join(s.request.Engine.Remote.Endpoints, " "), s.Error}, " ")))
	}
	want := []string{
		"resnet50 oip http://d:1", "llama3.1-8b openai http://c:1", "gpt-oss-120b openai http://a:1 http://b:1",
		"deepseek-r1 openai only servers of text answer it, and no endpoint is given: mlperf run deepseek-r1 openai URL", "bert",
	}
	for i := range got {
		got[i] = strings.Join(strings.Fields(got[i]), " ")
		want[i] = strings.Join(strings.Fields(want[i]), " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err := planOf(t, text, Request{Endpoints: map[string][]string{"alexnet": {"http://d:1"}}})
	if !testenv.Names(err, "endpoint … alexnet … MODEL=URL") {
		t.Errorf("a model that the suite does not have: %v", err)
	}
}

func TestStepNames(t *testing.T) {
	p := mustPlan(t, "accuracy: none\nrules: v5.0\nbenchmarks:\n  - {model: ResNet_50, scenarios: [single-stream]}\n  - {model: llama-2-70b, scenarios: [INTERACTIVE]}\n  - {model: AlexNet, scenarios: [server]}\n", Request{})
	var got []string
	for _, s := range p.Steps {
		got = append(got, string(s.State)+" "+filepath.ToSlash(s.Folder)+": "+s.request.Model+" "+s.request.Scenario)
	}
	want := []string{
		"planned resnet50/singlestream/performance: resnet50 SingleStream",
		"planned llama2-70b/interactive/performance: llama2-70b Interactive",
		"unsupported alexnet/server/performance: AlexNet Server",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of Server and Interactive the checker of v6.1 wants one: the suite runs Server.
func TestServerOrInteractive(t *testing.T) {
	for version, want := range map[string]string{"v6.0": "Server Offline", "v6.1": "Server Offline"} {
		round, err := rounds.Find(version)
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range []string{"qwen3-vl-235b-a22b", "llama3.1-8b"} {
			if got := strings.Join(required(round, model, "datacenter"), " "); got != want {
				t.Errorf("%s, %s: %s, want %s", version, model, got, want)
			}
		}
	}
}

func TestModelsOfServers(t *testing.T) {
	const text = "accuracy: none\nbenchmarks:\n  - {model: gpt-oss-120b, scenarios: [Offline]}\n"
	if p := mustPlan(t, text, Request{}); p.Steps[0].State != Unsupported {
		t.Errorf("on this machine it is %s", p.Steps[0].State)
	}
	servers := engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{"http://127.0.0.1:1"}, Model: "m"}}
	if p := mustPlan(t, text, Request{Base: run.Request{Engine: servers}}); p.Steps[0].State != Planned {
		t.Errorf("at servers it is %s: %s", p.Steps[0].State, p.Steps[0].Error)
	}
}

func TestOnly(t *testing.T) {
	const text = "accuracy: none\nbenchmarks:\n  - {model: resnet50, scenarios: [Offline, Server]}\n  - {model: bert, scenarios: [Offline]}\n"
	for _, c := range []struct {
		only []string
		want string // steps, or the error
	}{
		{nil, "resnet50 Offline, resnet50 Server, bert Offline"},
		{[]string{"resnet"}, "resnet50 Offline, resnet50 Server"},
		{[]string{"bert", "resnet50/SERVER"}, "resnet50 Server, bert Offline"},
		{[]string{"resnet50", "gnmt"}, `only is "gnmt": must be benchmarks of the suite, as MODEL or MODEL/SCENARIO`},
		{[]string{"resnet50/multistream"}, `only is "resnet50/multistream": must be benchmarks`},
		{[]string{""}, `only is "": must be benchmarks`},
	} {
		p, err := planOf(t, text, Request{Only: c.only})
		var got []string
		switch {
		case err != nil:
			got = append(got, err.Error())
		default:
			for _, s := range p.Steps {
				got = append(got, s.Model+" "+s.Scenario)
			}
		}
		if text := strings.Join(got, ", "); !strings.HasPrefix(text, c.want) || err == nil && text != c.want {
			t.Errorf("only %q: %s, want %s", c.only, text, c.want)
		}
	}
}

// What is measured once counts for steps that answer in the same way, and for no others.
func TestSharedAccuracy(t *testing.T) {
	const base = "accuracy: once\nbenchmarks:\n  - {model: resnet50, scenarios: [Offline, SingleStream]}\n"
	for _, c := range []struct {
		name, second string
		own          bool
	}{
		{"another scenario", "{model: resnet50, scenarios: [Server]}", false},
		{"other settings of the traffic", "{model: resnet50, scenarios: [Server], settings: {min_duration: 5}}", false},
		{"another precision", "{model: resnet50, scenarios: [Server], precision: int8}", true},
		{"another part of the data", "{model: resnet50, scenarios: [Server], count: 3}", true},
		{"other data", "{model: resnet50, scenarios: [Server], dataset-path: mine}", true},
		{"another file", "{model: resnet50, scenarios: [Server], model-path: mine.onnx}", true},
		{"other options", "{model: resnet50, scenarios: [Server], options: {drop-last: true}}", true},
		{"another model", "{model: mobilenet, scenarios: [Server]}", true},
	} {
		s, err := parse("mine", []byte("name: mine\n"+base+"  - "+c.second+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		p := &Plan{Suite: s}
		if err := p.addAll(); err != nil {
			t.Fatal(err)
		}
		last := p.Steps[len(p.Steps)-1]
		if own := p.accuracyOf(last) != nil; own != c.own {
			t.Errorf("%s: it has an accuracy of its own: %v", c.name, own)
		}
		if p.accuracyElsewhere(last) == nil {
			t.Errorf("%s: it has no accuracy", c.name)
		}
		shared := fmt.Sprintf("an accuracy run in each scenario: %d have that of another one", map[bool]int{true: 1, false: 2}[c.own])
		if missing := p.missing(&Outcome{}); missing[0] != shared {
			t.Errorf("%s: missing %q, want %q", c.name, missing, shared)
		}
	}
}

// joined is a plan of which request, suite and benchmark say different things.
func joined(t *testing.T) *Plan {
	t.Helper()
	text := "division: open\nrules: v4.1\naccuracy: none\nsettings: {min_duration: 7, target_latency: 20}\n" +
		"benchmarks:\n  - {model: resnet50, scenarios: [Server], count: 3, dataset-path: theirs, options: {a: theirs}, settings: {target_qps: 9, min_duration: 8}}\n"
	s, err := parse("mine", []byte("name: mine\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	base := run.Request{
		Count: 5, ModelPath: "ours.onnx", DatasetPath: "ours", Precision: "fp16", Options: map[string]string{"a": "ours", "b": "ours"},
		Settings: []config.Override{{Key: "min_duration", Value: "9", Origin: "flag"}},
	}
	return &Plan{Suite: s, request: Request{Base: base, Output: "out", Command: func(q run.Request) []string { return []string{"run", q.Model, q.Output} }}}
}

// settingsOf lists who sets what in a step, in the order in which the later wins.
func settingsOf(s *Step) string {
	var list []string
	for _, o := range s.request.Settings {
		list = append(list, o.Key+" "+o.Value+" "+o.Origin)
	}
	return strings.Join(list, ", ")
}

func TestStepJoinsRequestSuiteAndBenchmark(t *testing.T) {
	p := joined(t)
	step, base := p.step(p.Suite.Benchmarks[0], "Server", modePerformance), p.request.Base
	q := step.request
	if q.Count != 3 || q.ModelPath != "ours.onnx" || q.DatasetPath != "theirs" || q.Precision != "fp16" || q.Division != "open" || q.Rules != "v4.1" {
		t.Errorf("request %+v", q)
	}
	if want := map[string]string{"a": "theirs", "b": "ours"}; !maps.Equal(q.Options, want) || base.Options["a"] != "ours" {
		t.Errorf("options %v, want %v, and those of the request are its own: %v", q.Options, want, base.Options)
	}
	// The later wins: the suite, the benchmark, the request.
	if got, want := settingsOf(step), "min_duration 7 suite mine, target_latency 20 suite mine, min_duration 8 suite mine, target_qps 9 suite mine, min_duration 9 flag"; got != want {
		t.Errorf("settings %s\nwant     %s", got, want)
	}
	if want := filepath.Join("out", "resnet50-fp16", "server", "performance"); q.Output != filepath.Join("out", step.Folder) || q.Output != want {
		t.Errorf("it goes to %s, want %s", q.Output, want)
	}
	if want := []string{"run", "resnet50", ""}; q.Command[0] != want[0] || q.Command[1] != want[1] {
		t.Errorf("command %q", q.Command)
	}
	if q.AutoLatency {
		t.Error("a bound is chosen though it is not quick")
	}
}

// A performance run knows the accuracy run before it, as far as that is done.
func TestStepsKnowTheirAccuracyRun(t *testing.T) {
	p := mustPlan(t, "rules: v6.1\naccuracy: each\nbenchmarks:\n  - {model: e2e-rag-qna, scenarios: [Offline]}\n", Request{
		Output: "out", Endpoints: map[string][]string{"e2e-rag-qna": {"http://server:8000"}},
	})
	accuracy, performance := p.Steps[0], p.Steps[1]
	want := filepath.Join("out", "e2e-rag-qna", "offline", "accuracy")
	for state, folder := range map[State]string{Planned: "", Failed: "", Done: want} {
		accuracy.State = state
		if got := p.afterAccuracy(performance).AccuracyRun; got != folder {
			t.Errorf("accuracy %s: the performance run has the accuracy run %q, want %q", state, got, folder)
		}
		if got := p.afterAccuracy(accuracy).AccuracyRun; got != want { // which leaves out options that are of performance
			t.Errorf("the accuracy run has %q, want %q", got, want)
		}
	}
}

func TestQuickStep(t *testing.T) {
	p := joined(t)
	p.request.Base.Quick, p.request.Base.Division = true, "closed"
	quick := p.step(p.Suite.Benchmarks[0], "Server", modePerformance)
	if got, want := settingsOf(quick), "target_latency 20 suite mine, target_qps 9 suite mine, min_duration 9 flag"; got != want {
		t.Errorf("quick: settings %s\nwant            %s", got, want)
	}
	if !quick.request.AutoLatency || quick.request.Division != "closed" || p.step(p.Suite.Benchmarks[0], "Server", modeAccuracy).request.AutoLatency {
		t.Errorf("quick: %+v", quick.request)
	}
}

func TestCooldownComesBeforeSpeed(t *testing.T) {
	const text = "cooldown: 1m\nbenchmarks:\n  - {model: resnet50, scenarios: [Offline, Server]}\n"
	long, none := 48*time.Hour, time.Duration(0)
	for _, c := range []struct {
		name  string
		q     Request
		text  string
		waits []bool
	}{
		{"the suite's", Request{}, text, []bool{false, true, false, true}},
		{"without accuracy the first waits for nothing", Request{NoAccuracy: true}, text, []bool{false, true}},
		{"a quick run waits for nothing", Request{Base: run.Request{Quick: true}}, text, []bool{false, false, false}},
		{"none is wanted", Request{Cooldown: &none}, text, []bool{false, false, false, false}},
		{"a temperature is waited for", Request{Cooldown: &none}, "temperature: 60\n" + text, []bool{false, true, false, true}},
		{"but not in a quick run", Request{Base: run.Request{Quick: true}}, "temperature: 60\n" + text, []bool{false, false, false}},
	} {
		p := mustPlan(t, c.text, c.q)
		var got []bool
		for _, s := range p.Steps {
			got = append(got, p.coolsBefore(s))
		}
		if !slices.Equal(got, c.waits) {
			t.Errorf("%s: %v, want %v", c.name, got, c.waits)
		}
	}
	if _, err := planOf(t, text, Request{Cooldown: &long}); !testenv.Names(err, "cooldown … 48h0m0s … 24h") {
		t.Errorf("two days: %v", err)
	}
	negative := -time.Second
	if _, err := planOf(t, text, Request{Cooldown: &negative}); !testenv.Names(err, "cooldown … -1s … 24h") {
		t.Errorf("a negative time: %v", err)
	}
}

func TestRulesOfTheRequestWin(t *testing.T) {
	p := mustPlan(t, "rules: v5.0\naccuracy: none\nbenchmarks:\n  - {model: resnet50, scenarios: [Offline]}\n", Request{Base: run.Request{Rules: "4.1"}})
	if p.Suite.Rules != "v4.1" || p.Steps[0].request.Rules != "v4.1" {
		t.Errorf("rules %s, and %s of the step", p.Suite.Rules, p.Steps[0].request.Rules)
	}
	if _, err := planOf(t, "category: edge\n", Request{Base: run.Request{Rules: "v9"}}); err == nil || !strings.HasPrefix(err.Error(), `rules: unknown rules "v9"`) {
		t.Errorf("unknown rules: %v", err)
	}
}

func TestBuiltInSuitesCanBePlanned(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range Names() {
		for _, quick := range []bool{false, true} {
			s, err := Load(name)
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewPlan(s, Request{Base: run.Request{Quick: quick}, Output: "out"})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if s.Name != name || s.Title == "" || p.Estimate().Total() == 0 {
				t.Errorf("%s is called %s, %q, and takes %v", name, s.Name, s.Title, p.Estimate())
			}
		}
	}
}

func TestAccuracyComesBeforeSpeed(t *testing.T) {
	t.Chdir(t.TempDir())
	text := "name: mine\nbenchmarks:\n  - {model: resnet50, scenarios: [offline, single-stream]}\n"
	for _, c := range []struct {
		name, accuracy string
		q              Request
		want           []string
	}{
		{"each scenario has its own", "each", Request{}, []string{"Offline accuracy", "Offline performance", "SingleStream accuracy", "SingleStream performance"}},
		{"once is enough", "once", Request{}, []string{"Offline accuracy", "Offline performance", "SingleStream performance"}},
		{"once is enough where it is quick", "each", Request{Base: run.Request{Quick: true}}, []string{"Offline accuracy", "Offline performance", "SingleStream performance"}},
		{"none is wanted", "none", Request{}, []string{"Offline performance", "SingleStream performance"}},
		{"the request wants none", "each", Request{NoAccuracy: true}, []string{"Offline performance", "SingleStream performance"}},
		{"one scenario is wanted", "each", Request{Only: []string{"ResNet-50/offline"}}, []string{"Offline accuracy", "Offline performance"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parse("mine", []byte(text+"accuracy: "+c.accuracy))
			if err != nil {
				t.Fatal(err)
			}
			c.q.Output = "out"
			p, err := NewPlan(s, c.q)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, step := range p.Steps {
				got = append(got, strings.TrimPrefix(step.String(), "resnet50 "))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestQuickBounds: MultiStream has one under the rules of the first rounds only.
func TestQuickBounds(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		rules string
		quick bool
		want  string
	}{
		{"v0.5", true, "MultiStream Server"}, {"v2.0", true, "Server"}, {"v0.5", false, ""},
	} {
		s, err := parse("mine", []byte("name: mine\naccuracy: none\nrules: "+c.rules+"\nbenchmarks:\n  - {model: resnet50, scenarios: [SingleStream, MultiStream, Server, Offline]}\n"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(s, Request{Base: run.Request{Quick: c.quick}, Output: "out"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, step := range p.Steps {
			if step.request.AutoLatency {
				got = append(got, step.Scenario)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("rules %s, quick %v: bounds are chosen in %v, want %s", c.rules, c.quick, got, c.want)
		}
	}
}

// TestMobileSuiteNamesUnsupportedModels: the rules have six models, of which two are here, and two more of
// earlier rounds.
func TestMobileSuiteNamesUnsupportedModels(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := Load("mobile")
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s, Request{NoAccuracy: true, Output: "out"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[State][]string{}
	for _, step := range p.Steps {
		got[step.State] = append(got[step.State], step.Model+" "+step.Scenario)
	}
	want := map[State][]string{
		Unsupported: {"mobiledet-ssd SingleStream", "mosaic SingleStream", "edsr SingleStream"},
		Planned:     {"mobilenet-edgetpu SingleStream", "mobilenet-edgetpu Offline", "ssd-mobilenet-v2 SingleStream", "deeplab-v3plus SingleStream", "mobilebert SingleStream"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if rules, err := config.Rules(s.Rules); err != nil || rules.EarlyStopping {
		t.Errorf("rules %s have early stopping, or %v: the result is the 90th percentile", s.Rules, err)
	}
	if p.cooldown != 5*time.Minute {
		t.Errorf("it cools down for %v", p.cooldown)
	}
}

func TestCategoryOfEveryRound(t *testing.T) {
	for _, version := range config.Versions() {
		round, err := rounds.Find(version)
		for _, category := range []string{"edge", "datacenter"} {
			s := &Suite{Name: "s", Rules: version, Category: category}
			list, ofRound := s.ofRound()
			if err != nil {
				if ofRound == nil || !strings.HasPrefix(ofRound.Error(), "a suite by category: ") {
					t.Errorf("%s, a round without tables: %v, %v", version, list, ofRound)
				}
				continue
			}
			if ofRound != nil || len(list) == 0 {
				t.Errorf("%s %s: %v, %v", version, category, list, ofRound)
			}
			seen := map[string]bool{}
			for _, b := range list {
				if seen[b.Model] || len(b.Scenarios) == 0 || !slices.Equal(b.Scenarios, rounds.InOrder(b.Scenarios)) {
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

// wantedBy counts the benchmarks that have a scenario which the category needs.
func wantedBy(round *rounds.Round, category string) (n int) {
	for _, m := range round.Models {
		if m.Listed && len(m.Required[category]) > 0 {
			n++
		}
	}
	return n
}

func TestNameInRound(t *testing.T) {
	for _, c := range []struct {
		version, model, want string // empty: the round has it not
	}{
		{"v5.1", "resnet50", "resnet"}, {"v5.1", "bert", "bert-99"}, {"v5.1", "llama2-70b", "llama2-70b-99"}, {"v5.1", "llama2-70b-99.9", "llama2-70b-99.9"}, {"v6.1", "llama2-70b", ""}, {"v6.1", "llama2-70b-99.9", "llama2-70b-99.9"}, {"v5.1", "mobilenet", ""},
	} {
		round, err := rounds.Find(c.version)
		if err != nil {
			t.Fatal(err)
		}
		m, err := models.LookupAny(c.model)
		if err != nil {
			t.Fatal(err)
		}
		name, ok := nameIn(round, m)
		if ok != (c.want != "") || ok && round.Models[name] == nil {
			t.Errorf("%s in %s: %q, %t, want %q", c.model, c.version, name, ok, c.want)
		}
	}
}

func TestUnknownSettingIsRefusedFirst(t *testing.T) {
	t.Chdir(t.TempDir())
	s, err := parse("mine", []byte("name: mine\nbenchmarks: [{model: resnet50, scenarios: [Offline], settings: {frequency: 3}}]"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewPlan(s, Request{Output: "out"})
	if err == nil || !strings.Contains(err.Error(), "resnet50 Offline performance") || !strings.Contains(err.Error(), "frequency") {
		t.Errorf("NewPlan = %v, want an error about the setting and where it is", err)
	}
	if _, err := os.Stat("out"); !os.IsNotExist(err) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestEstimateText(t *testing.T) {
	for _, c := range []struct {
		e    Estimate
		want string
	}{
		{Estimate{}, "0 runs, 0 s"},
		{Estimate{Steps: 1, Traffic: 1499 * time.Millisecond}, "1 run, 1 s"},
		{Estimate{Steps: 2, Traffic: time.Hour, Cooldown: 5 * time.Minute}, "2 runs, 65 min, 5 min of it to cool down"},
		{Estimate{Steps: 1, Traffic: time.Minute, Guessed: 1}, "1 run, at least 60 s (speed on this machine not known yet: 1 run)"},
		{Estimate{Steps: 3, Traffic: 2*time.Hour + 29*time.Second, Guessed: 2}, "3 runs, at least 2 h (speed on this machine not known yet: 2 runs)"},
	} {
		if got := c.e.String(); got != c.want {
			t.Errorf("%+v is %q, want %q", c.e, got, c.want)
		}
	}
}

func TestSpeedComesFromTheNewestRun(t *testing.T) {
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	runOf := func(days int, latency time.Duration, change func(*report.Results)) report.Run {
		r := &report.Results{Model: "m", Created: day.AddDate(0, 0, days), Input: report.Input{Samples: 100 + days, Precision: "int8"},
			Backend: report.Backend{Engine: "onnxruntime 1.24", Instances: 2, WarmUp: report.WarmUp{LatencyNS: int64(latency)}}}
		if change != nil {
			change(r)
		}
		return report.Run{Results: r}
	}
	step := &Step{Model: "m", request: run.Request{Engine: engine.Config{Name: engine.ONNXRuntime}}}
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

func TestEstimateFromEarlierRuns(t *testing.T) {
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
func TestEstimateFromThisSuite(t *testing.T) {
	p := mustPlan(t, "accuracy: none\nbenchmarks:\n  - {model: resnet50, scenarios: [SingleStream, Offline]}\n  - {model: resnet50, precision: int8, scenarios: [Offline]}\n  - {model: mobilenet, scenarios: [Offline]}\n",
		Request{Base: run.Request{Engine: engine.Config{Name: engine.Simulated}}})
	first, before := p.Steps[0], []time.Duration{}
	for _, s := range p.Steps {
		before = append(before, s.Estimate)
		if !s.Guessed {
			t.Fatalf("%v: it is known how fast it is", s)
		}
	}
	first.State = Done
	first.Results = &report.Results{Model: "resnet50", Input: report.Input{Precision: "fp32", Samples: 50}, Backend: report.Backend{Engine: "simulated", Instances: 1, WarmUp: report.WarmUp{LatencyNS: int64(time.Second)}}}
	p.estimateAgain(first)
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

// The parts of several machines have every step once, and a model on one machine alone.
func TestParts(t *testing.T) {
	text := "benchmarks:\n  - {model: resnet50, scenarios: [Offline, Server]}\n  - {model: bert, scenarios: [Offline]}\n" +
		"  - {model: resnet50, precision: int8, scenarios: [Offline]}\n  - {model: retinanet, scenarios: [Offline]}\n"
	all := len(mustPlan(t, text, Request{}).Steps)
	for _, n := range []int{1, 2, 3, 5} {
		steps, home := 0, map[string]int{}
		for i := range n {
			part, err := ParsePart(fmt.Sprintf("%d/%d", i, n))
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range mustPlan(t, text, Request{Part: part}).Steps {
				steps++
				if at, has := home[s.Model]; has && at != i {
					t.Errorf("%d parts: %s is in the parts %d and %d", n, s.Model, at, i)
				}
				home[s.Model] = i
			}
		}
		if steps != all {
			t.Errorf("%d parts have %d steps, want %d", n, steps, all)
		}
	}
	for _, text := range []string{"1", "4/4", "-1/4", "a/b", "0/0", "1/", "/2"} {
		if _, err := ParsePart(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
