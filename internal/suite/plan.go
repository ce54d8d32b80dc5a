package suite

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/field"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/names"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/session"
)

// The modes of steps, beside session.FindPeak.
const (
	modeAccuracy    = "accuracy"
	modePerformance = "performance"
)

// A Request asks for a suite to be run.
type Request struct {
	// Base has what is the same for all benchmarks: engine, device, workers, Quick. Its
	// Settings win over those of the suite.
	Base session.Request
	// Only are the benchmarks that are wanted, as MODEL or MODEL/SCENARIO; none: all.
	Only       []string
	NoAccuracy bool
	Cooldown   *time.Duration // instead of the suite's
	Output     string         // folder; empty: nothing is run
	Resume     bool           // go on with what is in the folder
	Earlier    []report.Run   // they say how fast models are on this machine
	// Command is what makes a run of a request alone, argument by argument; nil: nobody can say.
	Command func(session.Request) []string
}

// A Plan is a suite with a step for each run.
type Plan struct {
	Suite *Suite
	Steps []*Step

	request  Request
	cooldown time.Duration
	clock    thermometer
	took     map[string]float64 // seconds of steps that were run before, by folder
}

// NewPlan makes the steps of a suite. What cannot be right in it, or in what is the same for
// all, is an error; a model that the catalogue lacks is not.
func NewPlan(s *Suite, q Request) (*Plan, error) {
	p := &Plan{Suite: s, request: q, clock: machineTemperature}
	if rules, err := config.Rules(cmp.Or(q.Base.Rules, s.Rules)); err == nil {
		copied := *s
		copied.Rules, p.Suite = rules.Version, &copied
	} else {
		return nil, field.Wrap("rules", err)
	}
	benchmarks := s.Benchmarks
	if len(benchmarks) == 0 {
		var err error
		if benchmarks, err = p.Suite.ofRound(); err != nil {
			return nil, err
		}
	}
	if err := p.restore(); err != nil {
		return nil, err
	}
	p.chooseCooldown()
	for _, b := range benchmarks {
		for _, scenario := range b.Scenarios {
			p.add(b, scenario)
		}
	}
	if len(p.Steps) == 0 {
		return nil, field.Invalid("only", strings.Join(q.Only, ","), "benchmarks of the suite, as MODEL or MODEL/SCENARIO")
	}
	return p, p.resolve()
}

// chooseCooldown: a quick run does not wait for the machine to cool down.
func (p *Plan) chooseCooldown() {
	switch {
	case p.request.Cooldown != nil:
		p.cooldown = *p.request.Cooldown
	case !p.request.Base.Quick:
		p.cooldown = time.Duration(p.Suite.Cooldown)
	}
}

// add adds the steps of a benchmark in a scenario: the accuracy first.
func (p *Plan) add(b Benchmark, scenario string) {
	if s, interactive, err := config.ParseScenario(scenario); err == nil && !interactive {
		scenario = s.String()
	}
	if !p.wanted(b.Model, scenario) {
		return
	}
	if _, err := models.Lookup(b.Model); err != nil {
		s := p.step(b, scenario, modePerformance)
		s.State, s.Error = Lacking, "the catalogue has no such model yet"
		p.Steps = append(p.Steps, s)
		return
	}
	if p.measuresAccuracy(b) {
		p.Steps = append(p.Steps, p.step(b, scenario, modeAccuracy))
	}
	p.Steps = append(p.Steps, p.step(b, scenario, cmp.Or(b.Mode, modePerformance)))
}

func (p *Plan) wanted(model, scenario string) bool {
	return len(p.request.Only) == 0 || slices.ContainsFunc(p.request.Only, func(only string) bool {
		m, s, both := strings.Cut(only, "/")
		return names.Same(m, model) && (!both || names.Same(s, scenario))
	})
}

// measuresAccuracy: where once is enough, and in quick runs, the first scenario's counts for all.
func (p *Plan) measuresAccuracy(b Benchmark) bool {
	when := p.Suite.Accuracy
	if p.request.Base.Quick && when != accuracyNone {
		when = accuracyOnce
	}
	switch {
	case p.request.NoAccuracy || when == accuracyNone:
		return false
	case when == accuracyOnce:
		return p.accuracyOf(b.Model, cmp.Or(b.Precision, p.request.Base.Precision), "") == nil
	}
	return true
}

// accuracyOf finds the accuracy step of a model in a scenario; empty: in any.
func (p *Plan) accuracyOf(model, precision, scenario string) *Step {
	i := slices.IndexFunc(p.Steps, func(s *Step) bool {
		return s.Mode == modeAccuracy && s.Model == model && s.Precision == precision && (scenario == "" || s.Scenario == scenario)
	})
	if i < 0 {
		return nil
	}
	return p.Steps[i]
}

// step makes a run of a benchmark.
func (p *Plan) step(b Benchmark, scenario, mode string) *Step {
	s := &Step{Model: b.Model, Scenario: scenario, Mode: mode, Precision: cmp.Or(b.Precision, p.request.Base.Precision), State: Planned}
	folder := strings.ToLower(b.Model)
	if s.Precision != "" {
		folder += "-" + s.Precision
	}
	s.Folder = filepath.Join(folder, strings.ToLower(scenario), mode)
	q := p.request.Base
	q.Model, q.Scenario, q.Mode, q.Precision = b.Model, scenario, mode, s.Precision
	q.Rules, q.Division = p.Suite.Rules, cmp.Or(q.Division, p.Suite.Division)
	q.ModelPath, q.DatasetPath = cmp.Or(b.ModelPath, q.ModelPath), cmp.Or(b.DatasetPath, q.DatasetPath)
	q.Count = cmp.Or(b.Count, q.Count)
	q.Options = maps.Clone(q.Options)
	for k, v := range b.Options {
		if q.Options == nil {
			q.Options = map[string]string{}
		}
		q.Options[k] = v
	}
	q.Settings = slices.Concat(p.overrides(p.Suite.Settings), p.overrides(b.Settings), q.Settings)
	// A bound that no rate can meet would end the run, and an interval that no query keeps make it
	// endless: in a quick one, that is not worth it.
	q.AutoLatency = (q.AutoLatency || q.Quick) && p.bounded(scenario) && mode != modeAccuracy
	if p.request.Command != nil {
		q.Command = p.request.Command(q)
	}
	q.Output = filepath.Join(p.request.Output, s.Folder)
	s.request = q
	return s
}

// bounded reports whether a scenario has a bound that may be chosen: that of Server, or the
// intervals of MultiStream in the first rounds.
func (p *Plan) bounded(scenario string) bool {
	rules, err := config.Rules(p.Suite.Rules)
	return names.Same(scenario, "server") || err == nil && rules.MultiStream == config.FixedIntervalQueries && names.Same(scenario, "multistream")
}

// lengths are the settings that make runs as long as they are. Quick runs have their own.
var lengths = []string{"min_duration", "max_duration", "min_query_count", "max_query_count", "target_latency_percentile"}

// overrides are settings in the order of their names, so that equal suites make equal tests.
func (p *Plan) overrides(s settings) []config.Override {
	var list []config.Override
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if !p.request.Base.Quick || !slices.Contains(lengths, key) {
			list = append(list, config.Override{Key: key, Value: s[key], Origin: "suite " + p.Suite.Name})
		}
	}
	return list
}

// resolve has the session look at every step before the first one runs.
func (p *Plan) resolve() error {
	var errs []error
	for _, s := range p.Steps {
		if s.State == Lacking {
			continue
		}
		s.request.Force = p.request.Resume
		resolved, err := session.Resolve(s.request)
		if err != nil {
			errs = append(errs, fmt.Errorf("%v: %w", s, err))
			continue
		}
		if err := p.estimate(s, resolved); err != nil {
			errs = append(errs, fmt.Errorf("%v: %w", s, err))
		}
	}
	return errors.Join(errs...)
}
