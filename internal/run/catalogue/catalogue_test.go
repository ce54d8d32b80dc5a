package catalogue

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestLists(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	models, err := Models()
	testenv.Must(t, err)
	i := slices.IndexFunc(models, func(m Model) bool { return m.Name == "resnet50" })
	if i < 0 || models[i].Dataset != "imagenet" || models[i].BuiltIn != "made when first used" {
		t.Errorf("models %+v, want resnet50, not made yet", models)
	}
	sets, err := Datasets()
	testenv.Must(t, err)
	n := 0
	for _, d := range sets {
		if n += len(d.Models); d.Dir != "" {
			t.Errorf("%s lies in %s, where nothing was made", d.Name, d.Dir)
		}
	}
	if n != len(models) {
		t.Errorf("the data sets have %d models, the catalogue %d", n, len(models))
	}
	for i, b := range Backends() {
		if b.Name != engine.Names()[i] || b.State == "" || len(b.Devices) == 0 {
			t.Errorf("engine %d is %+v, want %s", i, b, engine.Names()[i])
		}
	}
	for _, list := range [][]Option{ModelOptions(), RunOptions(), ScoreOptions(), ReaderOptions()} {
		seen := map[string]bool{}
		for _, o := range list {
			if seen[o.Name] {
				t.Errorf("option %+v is listed twice", o)
			}
			seen[o.Name] = true
		}
		if len(list) == 0 {
			t.Error("a list of options is empty")
		}
	}
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "MLPERF_CACHE_DIR"} {
		t.Setenv(name, "")
	}
	for name, list := range map[string]func() error{
		"Models":   func() error { _, err := Models(); return err },
		"Datasets": func() error { _, err := Datasets(); return err },
		"Describe": func() error { _, err := Describe("resnet50", ""); return err },
	} {
		if err := list(); err == nil || !strings.HasSuffix(err.Error(), "; set MLPERF_CACHE_DIR") {
			t.Errorf("%s without a home: %v, want an error that asks for MLPERF_CACHE_DIR", name, err)
		}
	}
}

func TestCard(t *testing.T) {
	card, err := Describe("resnet50", "v5.1")
	testenv.Must(t, err)
	for _, s := range card.Scenarios {
		if s.Scenario == "Server" && !slices.Contains(s.Settings, CardRow{Key: "target_latency", Value: "15", Unit: "ms"}) {
			t.Errorf("Server has %+v, want a target_latency of 15 ms", s.Settings)
		}
	}
	if card.Reference != 76.46 || card.Fraction != 0.99 || card.PerformanceSamples != 1024 {
		t.Errorf("the card is %+v", card)
	}
	for rules, want := range map[string]bool{"v6.0": false, "v6.1": true} { // Interactive is of its checker
		card, err := Describe("qwen3-vl-235b-a22b", rules)
		testenv.Must(t, err)
		i := slices.IndexFunc(card.Scenarios, func(s ScenarioCard) bool { return s.Scenario == "Interactive" })
		if (i >= 0) != want || card.Target != "f1 ≥ 0.782397" {
			t.Errorf("%s: %+v", rules, card)
		}
		for _, row := range []CardRow{{Key: "target", Value: "f1 ≥ 0.779922"}, {Key: "target_latency", Value: "1500", Unit: "ms"}} {
			if want && !slices.Contains(card.Scenarios[i].Settings, row) {
				t.Errorf("Interactive has %+v, want %+v", card.Scenarios[i].Settings, row)
			}
		}
	}
	for _, c := range []struct{ model, rules, field string }{{"alexnet", "", "model"}, {"resnet50", "v9.9", "rules"}} {
		of := &userinput.Error{}
		if _, err := Describe(c.model, c.rules); !errors.As(err, &of) || of.Field != c.field {
			t.Errorf("Describe(%s, %s) = %v, want an error of the field %s", c.model, c.rules, err, c.field)
		}
	}
}

func TestPlan(t *testing.T) {
	p, err := PlanRuns(PlanRequest{Model: "resnet50", Rules: "v5.1", Speed: 100, ValueBytes: 4})
	testenv.Must(t, err)
	rows := map[string]PlannedScenario{}
	for _, s := range p.Scenarios {
		rows[s.Scenario] = s
	}
	// 100 samples per second: ten minutes of Offline have 60,000, Server as many queries.
	if got := rows["Offline"]; got.Queries != 1 || got.Samples < 60_000 || got.Duration < 10*time.Minute {
		t.Errorf("Offline is %+v", got)
	}
	if got := rows["Server"]; got.Queries < 60_000 || got.Samples != got.Queries || got.EarlyStopping == 0 {
		t.Errorf("Server is %+v", got)
	}
	// An image of 3·224·224 numbers of 4 bytes, 100 times a second, at 94 % of a gigabit per second.
	const ingress = 100.0 * 3 * 224 * 224 * 4
	if got, want := p.Links[0], 0.94e9/8/ingress; p.Ingress != ingress || len(p.Links) != 4 || got.Gigabits != 1 || math.Abs(got.Machines-want) > 1e-9 || math.Abs(got.Samples-100*want) > 1e-6 {
		t.Errorf("the ingress is %v bytes per second, want %v; links %+v", p.Ingress, ingress, p.Links)
	}
	if p, err := PlanRuns(PlanRequest{Model: "resnet50", Rules: "v2.0", Speed: 100, ValueBytes: 1}); err != nil || p.Ingress*4 != ingress {
		t.Errorf("with one byte each the ingress is %+v, %v", p, err)
	}

	models, err := Models()
	testenv.Must(t, err)
	for _, version := range []string{"v0.5", "v1.1", config.Newest} {
		for _, m := range models {
			p, err := PlanRuns(PlanRequest{Model: m.Name, Rules: version, Speed: 12.5, ValueBytes: 2})
			if err != nil || len(p.Scenarios) != len(loadgen.Scenarios()) || (p.Ingress > 0) != (len(p.Links) > 0) {
				t.Errorf("%s of %s: %+v, %v", m.Name, version, p, err)
				continue
			}
			for _, s := range p.Scenarios {
				missing := s.Why == fmt.Sprintf("rules %s have no %s of %s", version, s.Scenario, p.Model)
				if missing != (s.Why != "") || version == "v1.1" && s.Scenario == "MultiStream" && !missing || !missing && (s.Queries == 0 || s.Samples < s.Queries || s.Runs < 1 || s.Duration <= 0) {
					t.Errorf("%s of %s: %+v", m.Name, version, s)
				}
			}
		}
	}

	for _, c := range []struct {
		rules, model, scenario string
		missing                bool
	}{{config.Newest, "3d-unet", "Server", true}, {config.Newest, "3d-unet", "Offline", false}, {"v0.5", "gnmt", "MultiStream", false}} {
		p, err := PlanRuns(PlanRequest{Model: c.model, Rules: c.rules, Speed: 1, ValueBytes: 1})
		testenv.Must(t, err)
		for _, s := range p.Scenarios {
			if s.Scenario == c.scenario && (s.Why != "") != c.missing {
				t.Errorf("%+v: %+v", c, s)
			}
		}
	}
	// With equal issue the least number of queries follows from the speed, and not from the 10 ms of the conf.
	p, err = PlanRuns(PlanRequest{Model: "3d-unet", Rules: config.Newest, Speed: 1, ValueBytes: 1})
	testenv.Must(t, err)
	if s := p.Scenarios[0]; s.Scenario != "SingleStream" || s.Duration < 10*time.Minute || s.Duration > 25*time.Minute {
		t.Errorf("3d-unet at 1 sample/s: %+v", s)
	}

	for want, q := range map[string]PlanRequest{
		"model: is missing: give a model of the catalogue":                         {Speed: 1, ValueBytes: 1},
		"model: unknown model":                                                     {Model: "alexnet", Speed: 1, ValueBytes: 1},
		"value_bytes is 0: must be at least 1":                                     {Model: "resnet50", Speed: 1},
		"samples_per_second is 1e-07: must be at least 1e-06":                      {Model: "resnet50", Speed: 1e-7, ValueBytes: 1},
		"samples_per_second: the speed must be above 0 samples per second, is 0":   {Model: "resnet50", ValueBytes: 1},
		"samples_per_second: the speed must be above 0 samples per second, is NaN": {Model: "resnet50", Speed: math.NaN(), ValueBytes: 1},
		"rules: unknown rules":                                                     {Model: "resnet50", Speed: 1, ValueBytes: 1, Rules: "v9"},
	} {
		if p, err := PlanRuns(q); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v, %v, want %s", p, err, want)
		}
	}
	if _, err := PlanRuns(PlanRequest{Model: "resnet50", Speed: leastSpeed, ValueBytes: 1}); err != nil {
		t.Errorf("the least speed: %v", err)
	}
}

func TestWriteAggregation(t *testing.T) {
	var b bytes.Buffer
	if err := WriteAggregation(&b, 300); err != nil || b.Len() == 0 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
	of := &userinput.Error{}
	if err := WriteAggregation(&b, 0); !errors.As(err, &of) || of.Field != "pairs" {
		t.Errorf("of no pairs: %v, want an error about pairs", err)
	}
}
