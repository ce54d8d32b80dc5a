package run_test

import (
	"errors"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestAPlanSaysWhatTheRulesTake(t *testing.T) {
	p, err := run.PlanRuns(run.PlanRequest{Model: "resnet50", Rules: "v5.1", Speed: 100, ValueBytes: 4})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]run.PlannedScenario{}
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
	// An image of 3·224·224 numbers of 4 bytes, 100 times a second.
	if want := 100.0 * 3 * 224 * 224 * 4; p.Ingress != want {
		t.Errorf("the ingress is %v bytes per second, want %v", p.Ingress, want)
	}
	one, err := run.PlanRuns(run.PlanRequest{Model: "resnet50", Rules: "v5.1", Speed: 100, ValueBytes: 1})
	if err != nil || one.Ingress*4 != p.Ingress {
		t.Errorf("with one byte each the ingress is %+v, %v", one, err)
	}
}

func TestAPlanSaysWhichScenariosTheRulesDoNotHave(t *testing.T) {
	p, err := run.PlanRuns(run.PlanRequest{Model: "resnet50", Rules: "v1.1", Speed: 100, ValueBytes: 4})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Scenarios {
		if (s.Scenario == "MultiStream") != (s.Why == "rules v1.1 have no such scenario") || (s.Why == "") != (s.Queries > 0) {
			t.Errorf("%+v, want MultiStream alone not to be there", s)
		}
	}
}

func TestAPlanThatCannotBeMadeNamesItsField(t *testing.T) {
	good := run.PlanRequest{Model: "resnet50", Speed: 100, ValueBytes: 4}
	for _, c := range []struct {
		field  string
		change func(*run.PlanRequest)
	}{
		{"model", func(q *run.PlanRequest) { q.Model = "" }},
		{"model", func(q *run.PlanRequest) { q.Model = "alexnet" }},
		{"rules", func(q *run.PlanRequest) { q.Rules = "v9.9" }},
		{"value_bytes", func(q *run.PlanRequest) { q.ValueBytes = 0 }},
		{"samples_per_second", func(q *run.PlanRequest) { q.Speed = -1 }},
		{"samples_per_second", func(q *run.PlanRequest) { q.Speed = 1e-300 }},
	} {
		q := good
		c.change(&q)
		var of *userinput.Error
		if _, err := run.PlanRuns(q); !errors.As(err, &of) || of.Field != c.field {
			t.Errorf("PlanRuns(%+v) = %v, want an error of the field %s", q, err, c.field)
		}
	}
}
