package suite

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// addAll adds the steps of all benchmarks that are wanted.
func (p *Plan) addAll() (err error) {
	benchmarks := p.Suite.Benchmarks
	if len(benchmarks) == 0 {
		if benchmarks, err = p.Suite.ofRound(); err != nil {
			return err
		}
	}
	for _, b := range benchmarks {
		for _, scenario := range b.Scenarios {
			p.add(b, scenario)
		}
	}
	for _, only := range p.request.Only {
		if !slices.ContainsFunc(p.Steps, func(s *Step) bool { return p.means(only, s.Model, s.Scenario) }) {
			return userinput.Invalid("only", only, "benchmarks of the suite, as MODEL or MODEL/SCENARIO")
		}
	}
	return p.twice()
}

// twice finds a step that is in the suite twice: the second would take the folder of the first.
func (p *Plan) twice() error {
	seen := map[string]bool{}
	for _, s := range p.Steps {
		if seen[s.Folder] {
			return fmt.Errorf("%v is in suite %s twice, and has one folder, %s: want each model, precision and scenario once", s, p.Suite.Name, s.Folder)
		}
		seen[s.Folder] = true
	}
	return nil
}

// add adds the steps of a benchmark in a scenario: the accuracy first.
func (p *Plan) add(b Benchmark, scenario string) {
	b.Model, scenario = p.nameOf(b.Model), scenarioName(scenario)
	if !p.wanted(b.Model, scenario) {
		return
	}
	s := p.step(b, scenario, cmp.Or(b.Mode, modePerformance))
	if _, err := p.lookup(b.Model); err != nil {
		s.State, s.Error = Lacking, "the catalogue has no such model yet"
	} else if p.measuresAccuracy(s) {
		p.Steps = append(p.Steps, p.step(b, scenario, modeAccuracy))
	}
	p.Steps = append(p.Steps, s)
}

// lookup finds a model among those that the engine of the suite can run.
func (p *Plan) lookup(name string) (workload.Model, error) {
	if p.request.Base.Engine.Name == run.OpenAI {
		return models.LookupAsked(name)
	}
	return models.Lookup(name)
}

// nameOf is the name of a model in the catalogue, or as it was written if it has none.
func (p *Plan) nameOf(model string) string {
	if m, err := p.lookup(model); err == nil {
		return m.Name
	}
	return model
}

// scenarioName is how the rules spell a scenario that check has seen.
func scenarioName(name string) string {
	switch s, interactive, err := config.ParseScenario(name); {
	case interactive:
		return "Interactive"
	case err == nil:
		return s.String()
	}
	return name
}

func (p *Plan) wanted(model, scenario string) bool {
	return len(p.request.Only) == 0 || slices.ContainsFunc(p.request.Only, func(only string) bool { return p.means(only, model, scenario) })
}

// means reports whether MODEL or MODEL/SCENARIO is a benchmark.
func (p *Plan) means(only, model, scenario string) bool {
	m, s, both := strings.Cut(only, "/")
	return userinput.Same(p.nameOf(m), model) && (!both || userinput.Same(s, scenario))
}

// measuresAccuracy: where once is enough, and in quick runs, the first scenario's counts for all.
func (p *Plan) measuresAccuracy(s *Step) bool {
	when := p.Suite.Accuracy
	if p.request.Base.Quick && when != accuracyNone {
		when = accuracyOnce
	}
	switch {
	case p.request.NoAccuracy || when == accuracyNone:
		return false
	case when == accuracyOnce:
		return p.accuracyElsewhere(s) == nil
	}
	return true
}

// accuracyOf finds the accuracy step of what a step measures, in its own scenario.
func (p *Plan) accuracyOf(s *Step) *Step {
	return p.accuracyStep(func(a *Step) bool { return a.answersAs(s) && a.Scenario == s.Scenario })
}

// accuracyElsewhere finds the accuracy step of what a step measures, in any scenario.
func (p *Plan) accuracyElsewhere(s *Step) *Step {
	return p.accuracyStep(func(a *Step) bool { return a.answersAs(s) })
}

func (p *Plan) accuracyStep(fits func(*Step) bool) *Step {
	i := slices.IndexFunc(p.Steps, func(s *Step) bool { return s.Mode == modeAccuracy && fits(s) })
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
	q.Options = map[string]string{}
	maps.Copy(q.Options, p.request.Base.Options)
	maps.Copy(q.Options, b.Options)
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
	return userinput.Same(scenario, "server") || err == nil && rules.MultiStream == config.FixedIntervalQueries && userinput.Same(scenario, "multistream")
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
