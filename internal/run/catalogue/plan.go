package catalogue

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A PlanRequest asks how long runs under the rules take.
type PlanRequest struct {
	Model      string
	Rules      string
	Speed      float64 // samples per second of the system
	ValueBytes int     // of a number of the input, for the bandwidth
}

// A Plan says how long runs under the rules take.
type Plan struct {
	Model     string              `json:"model"`
	Rules     string              `json:"rules"`
	Speed     float64             `json:"samples_per_second"`
	Scenarios []PlannedScenario   `json:"scenarios"`
	Ingress   float64             `json:"ingress_bytes_per_second"`
	Egress    float64             `json:"egress_bytes_per_second"`
	Links     []Link              `json:"links,omitempty"` // of models whose sample size the rules know
	Counts    []config.QueryCount `json:"query_counts"`
	Notes     []string            `json:"notes,omitempty"` // of the model
}

// A Link is a network between LoadGen and a system under test.
type Link struct {
	Gigabits float64 `json:"gigabits_per_second"`
	Samples  float64 `json:"samples_per_second"` // that the link carries
	Machines float64 `json:"machines"`           // of the plan's speed that the link feeds
}

// usable is the share of a link that samples have; frames, acknowledgements and answers take the rest.
const usable = 0.94

// A PlannedScenario has the length of a scenario's runs.
type PlannedScenario struct {
	Scenario      string        `json:"scenario"`
	Queries       uint64        `json:"queries"`
	Samples       uint64        `json:"samples"`
	EarlyStopping uint64        `json:"early_stopping_queries"`
	Runs          int           `json:"runs"`
	Duration      time.Duration `json:"duration_ns"`
	Why           string        `json:"why,omitempty"` // the rules do not have the scenario
}

// leastSpeed is one sample in some days; the durations of slower systems overflow.
const leastSpeed = 1e-6

// PlanRuns says for each scenario how many queries the rules ask for and how long they take, and which network a
// datacenter result needs.
func PlanRuns(q PlanRequest) (*Plan, error) {
	switch {
	case q.Model == "":
		return nil, userinput.Missing("model", "give a model of the catalogue")
	case q.Speed > 0 && q.Speed < leastSpeed:
		return nil, userinput.Invalid("samples_per_second", q.Speed, fmt.Sprintf("at least %g", leastSpeed))
	case q.ValueBytes < 1:
		return nil, userinput.Invalid("value_bytes", q.ValueBytes, "at least 1")
	}
	m, err := models.LookupAny(q.Model)
	if err != nil {
		return nil, userinput.Wrap("model", err)
	}
	rules, err := config.Rules(q.Rules)
	if err != nil {
		return nil, userinput.Wrap("rules", err)
	}
	m = models.InRound(rules.Version, q.Model, m)
	p := &Plan{Model: m.Name, Rules: rules.Version, Speed: q.Speed, Counts: config.QueryCounts(), Notes: m.Notes}
	for _, s := range loadgen.Scenarios() {
		row, err := planScenario(m, s, rules, q.Speed)
		if err != nil {
			return nil, err
		}
		p.Scenarios = append(p.Scenarios, row)
	}
	if b, err := config.MinBandwidth(rules.Version, m.Rules, q.Speed, q.ValueBytes); err == nil {
		p.Ingress, p.Egress = b.Ingress, b.Egress
		for _, gigabits := range []float64{1, 10, 25, 100} {
			if b.Ingress > 0 && q.Speed > 0 {
				machines := usable * gigabits * 1e9 / 8 / b.Ingress
				p.Links = append(p.Links, Link{gigabits, machines * q.Speed, machines})
			}
		}
	}
	return p, nil
}

func planScenario(m workload.Model, s loadgen.Scenario, rules *config.RuleSet, speed float64) (PlannedScenario, error) {
	row := PlannedScenario{Scenario: s.String()}
	if !rules.HasScenario(m.Rules, s) {
		row.Why = fmt.Sprintf("rules %s have no %v of %s", rules.Version, s, m.Name)
		return row, nil
	}
	c := config.Request{Model: m.Rules, Scenario: s, Rules: rules}
	if s == loadgen.Server || s == loadgen.Offline {
		c.Options = []config.Override{{Key: "target_qps", Value: fmt.Sprint(speed)}}
	}
	r, err := config.Resolve(c)
	if err != nil {
		return row, userinput.Wrap("samples_per_second", err)
	}
	n := uint64(m.PerformanceSampleCount)
	p, err := config.NewPlan(r, speed, n, n)
	if err != nil {
		return row, userinput.Wrap("samples_per_second", err)
	}
	row.Queries, row.Samples, row.EarlyStopping, row.Runs, row.Duration = p.Queries, p.Samples, p.EarlyStopping, p.Runs, p.Duration
	return row, nil
}
