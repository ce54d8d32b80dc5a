package suite

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run"
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
func TestAStepThatIsInASuiteTwiceIsRefused(t *testing.T) {
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

func TestStepsHaveTheNamesOfTheCatalogueAndTheRules(t *testing.T) {
	p := mustPlan(t, "accuracy: none\nrules: v5.0\nbenchmarks:\n  - {model: ResNet_50, scenarios: [single-stream]}\n  - {model: llama-2-70b, scenarios: [INTERACTIVE]}\n  - {model: AlexNet, scenarios: [server]}\n", Request{})
	var got []string
	for _, s := range p.Steps {
		got = append(got, string(s.State)+" "+filepath.ToSlash(s.Folder)+": "+s.request.Model+" "+s.request.Scenario)
	}
	want := []string{
		"planned resnet50/singlestream/performance: resnet50 SingleStream",
		"planned llama2-70b/interactive/performance: llama2-70b Interactive",
		"lacking alexnet/server/performance: AlexNet Server",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestModelsThatOnlyServersRunAreThereForServers(t *testing.T) {
	const text = "accuracy: none\nbenchmarks:\n  - {model: gpt-oss-120b, scenarios: [Offline]}\n"
	if p := mustPlan(t, text, Request{}); p.Steps[0].State != Lacking {
		t.Errorf("on this machine it is %s", p.Steps[0].State)
	}
	servers := run.Engine{Name: run.OpenAI, Remote: run.Remote{Endpoints: []string{"http://127.0.0.1:1"}, Model: "m"}}
	if p := mustPlan(t, text, Request{Base: run.Request{Engine: servers}}); p.Steps[0].State != Planned {
		t.Errorf("at servers it is %s: %s", p.Steps[0].State, p.Steps[0].Error)
	}
}

func TestWhatIsWantedHasToBeInTheSuite(t *testing.T) {
	const text = "accuracy: none\nbenchmarks:\n  - {model: resnet50, scenarios: [Offline, Server]}\n  - {model: bert, scenarios: [Offline]}\n"
	for _, c := range []struct {
		only []string
		want string // steps, or the error
	}{
		{nil, "resnet50 Offline, resnet50 Server, bert Offline"},
		{[]string{"resnet"}, "resnet50 Offline, resnet50 Server"},
		{[]string{"bert", "resnet50/SERVER"}, "resnet50 Server, bert Offline"},
		{[]string{"resnet50", "gnmt"}, `only is "gnmt", want benchmarks of the suite, as MODEL or MODEL/SCENARIO`},
		{[]string{"resnet50/multistream"}, `only is "resnet50/multistream", want benchmarks`},
		{[]string{""}, `only is "", want benchmarks`},
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
func TestAnAccuracyCountsForStepsThatAnswerTheSame(t *testing.T) {
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
		if want := map[bool]int{true: 1, false: 2}[c.own]; p.sharedAccuracy() != want {
			t.Errorf("%s: %d steps share an accuracy, want %d", c.name, p.sharedAccuracy(), want)
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

func TestAStepJoinsTheRequestTheSuiteAndTheBenchmark(t *testing.T) {
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

func TestAQuickStepIsShortAndItsBoundIsChosen(t *testing.T) {
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

func TestACooldownIsWaitedForBeforeSpeedButTheFirst(t *testing.T) {
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
	if _, err := planOf(t, text, Request{Cooldown: &long}); err == nil || err.Error() != "cooldown is 48h0m0s, want a time of up to 24h" {
		t.Errorf("two days: %v", err)
	}
	negative := -time.Second
	if _, err := planOf(t, text, Request{Cooldown: &negative}); err == nil || err.Error() != "cooldown is -1s, want a time of up to 24h" {
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
