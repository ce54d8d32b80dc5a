package suite

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/run"
)

func TestEveryBuiltInSuiteCanBePlanned(t *testing.T) {
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

func TestASuiteByCategoryHasWhatTheRoundAsksFor(t *testing.T) {
	t.Chdir(t.TempDir())
	round, err := rounds.Find("v6.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, category := range []string{"edge", "datacenter"} {
		want := 0
		for _, m := range round.Models {
			if m.Listed {
				want += len(m.Required[category])
			}
		}
		s, err := Load(category)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(s, Request{NoAccuracy: true, Output: "out"})
		if err != nil || len(p.Steps) != want {
			t.Errorf("%s: %d steps, %v, want %d", category, len(p.Steps), err, want)
		}
		// The catalogue's come first, in its order and by its names.
		var order []int
		for _, step := range p.Steps {
			at := slices.IndexFunc(models.All(), func(m workload.Model) bool { return m.Name == step.Model })
			if at < 0 {
				at = len(models.All())
			}
			order = append(order, at)
		}
		if !slices.IsSorted(order) {
			t.Errorf("%s: the order is %v", category, order)
		}
		for _, step := range p.Steps {
			if _, err := models.Lookup(step.Model); (err != nil) != (step.State == Lacking) {
				t.Errorf("%v is %s, though the catalogue says %v", step, step.State, err)
			}
		}
	}
}

// TestTheMobileSuiteNamesWhatItLacks: the rules have six models, of which two are here, and two more of
// earlier rounds.
func TestTheMobileSuiteNamesWhatItLacks(t *testing.T) {
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
		Lacking: {"mobiledet-ssd SingleStream", "mosaic SingleStream", "edsr SingleStream"},
		Planned: {"mobilenet-edgetpu SingleStream", "mobilenet-edgetpu Offline", "ssd-mobilenet-v2 SingleStream", "deeplab-v3plus SingleStream", "mobilebert SingleStream"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p.cooldown != 10*time.Minute {
		t.Errorf("it cools down for %v", p.cooldown)
	}
}

func TestAccuracyComesBeforeTheSpeed(t *testing.T) {
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

// TestAQuickSuiteChoosesBoundsThatCanBeKept: MultiStream has one under the rules of the first rounds only.
func TestAQuickSuiteChoosesBoundsThatCanBeKept(t *testing.T) {
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

func TestAWrongSuiteIsRefusedWithItsPlace(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "empty, want a suite"},
		{"name: a\nbenchmarks: [{model: x, scenarios: [Offline]}]\n---\nname: b\n", "second document"},
		{"name: a\nbenchmark: []\n", "line 2: unknown key benchmark"},
		{"name: ../a\ncategory: edge\n", `name is "../a"`},
		{"name: a\n", "benchmarks is"},
		{"name: a\ncategory: cloud\n", `category is "cloud", want edge or datacenter`},
		{"name: a\nrules: v9\ncategory: edge\n", `rules is "v9", want one of v0.5`},
		{"name: a\nbenchmarks: [{scenarios: [Offline]}]\n", "benchmark 1 (no model): model is missing"},
		{"name: a\nbenchmarks: [{model: x}]\n", "benchmark 1 (x): scenarios is missing"},
		{"name: a\nbenchmarks: [{model: x, scenarios: [Ofline]}]\n", `unknown scenario "Ofline"`},
		{"name: a\nbenchmarks: [{model: x, scenarios: [Offline], mode: accuracy}]\n", `mode is "accuracy", want performance or find-peak`},
		{"name: a\nbenchmarks: [{model: x, scenarios: [Offline], count: -1}]\n", "count is -1"},
		{"name: a\ncooldown: soon\ncategory: edge\n", `line 2: "soon" is not a time`},
		{"name: a\ntemperature: .nan\ncategory: edge\n", "temperature is"},
		{"name: a\naccuracy: twice\ncategory: edge\n", "want each, once or none"},
		{"name: a\nname: b\ncategory: edge\n", "already defined"},
	} {
		_, err := parse("mine.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "mine.yaml: ") {
			t.Errorf("Parse(%q) = %v, want %q", c.text, err, c.want)
		}
	}
}

func TestASettingThatNoRunKnowsIsRefusedBeforeAnythingRuns(t *testing.T) {
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

func TestANameThatIsNoSuite(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, want string }{
		{"edgy", `suite is "edgy", want v0.5, edge, datacenter, mobile, mlmark or a YAML file; did you mean edge?`},
		{"nothing-like-it", `mlmark or a YAML file`}, {"v0.6", `suite is "v0.6", want v0.5, edge`}, {"mine.yaml", "no such file"},
		{filepath.Join(dir, "none.yaml"), "no such file"},
		{dir + "/", "is a folder"},
	} {
		if _, err := Load(c.name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Load(%q) = %v, want %q", c.name, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		text, err := builtIn.ReadFile("suites/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parse("fuzz", text)
		if err != nil {
			return
		}
		out, err := s.Format()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse("again", out)
		if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Error(diff)
		}
	})
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
