package suite

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The modes of steps, beside run.FindPeak.
const (
	modeAccuracy    = "accuracy"
	modePerformance = "performance"
)

// A Request asks for a suite to be run.
type Request struct {
	// Base has what is the same for all benchmarks: engine, device, workers, Quick. Its
	// Settings win over those of the suite.
	Base run.Request
	// Only are the benchmarks that are wanted, as MODEL or MODEL/SCENARIO; none: all.
	Only       []string
	NoAccuracy bool
	Cooldown   *time.Duration // instead of the suite's
	Output     string         // folder; empty: nothing is run
	Resume     bool           // go on with what is in the folder
	Earlier    []report.Run   // they say how fast models are on this machine
	// Command is what makes a run of a request alone, argument by argument; nil: nobody can say.
	Command func(run.Request) []string
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
	rules, err := config.Rules(cmp.Or(q.Base.Rules, s.Rules))
	if err != nil {
		return nil, userinput.Wrap("rules", err)
	}
	if d := q.Cooldown; d != nil && (*d < 0 || *d > mostCooldown) {
		return nil, userinput.Invalid("cooldown", *d, wantCooldown)
	}
	ofRules := *s
	ofRules.Rules = rules.Version
	p := &Plan{Suite: &ofRules, request: q, clock: machineTemperature}
	if err := p.restore(); err != nil {
		return nil, err
	}
	p.chooseCooldown()
	if err := p.addAll(); err != nil {
		return nil, err
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

// resolve has the session look at every step before the first one runs.
func (p *Plan) resolve() error {
	var errs []error
	for _, s := range p.Steps {
		if s.State == Lacking {
			continue
		}
		s.request.Force = p.request.Resume
		resolved, err := run.Resolve(s.request)
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
