package compliance

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

// A Stage is a part of a submission: the performance run or the accuracy run of a scenario, or a compliance test with its run.
type Stage struct {
	Scenario string        `json:"scenario"`
	Part     string        `json:"part"`            // performance, accuracy, TEST01, …
	Folder   string        `json:"folder"`          // of the run
	Outcome  string        `json:"outcome"`         // the verdict on the run or the test; empty: it was not made
	Passed   bool          `json:"passed"`          // it may be a part of a result
	Kept     bool          `json:"kept"`            // an earlier call made the run
	Error    string        `json:"error,omitempty"` // why the outcome is missing
	Least    time.Duration `json:"least_ns"`        // of the traffic

	Request Request         `json:"-"` // of this stage alone
	Results *report.Results `json:"-"` // of a performance or accuracy run
	Verdict *Verdict        `json:"-"` // on a test
	Err     error           `json:"-"` // of the run or its verification
}

// The parts of a result that are not tests.
const (
	performancePart = "performance"
	accuracyPart    = "accuracy"
)

// IsTest reports whether a stage is a compliance test.
func (s *Stage) IsTest() bool { return s.Request.Test != "" }

// Stages lists what a submission of a model needs in some scenarios, in the order in which it is made: performance and accuracy (the other
// way round where performance reads what accuracy leaves), and the compliance tests that the division needs. Runs go to a folder for
// each scenario, below that of the request. Wrong requests are errors here, before anything runs.
func Stages(q Request, scenarios []string) (list []*Stage, err error) {
	for _, scenario := range scenarios {
		needs, err := Needs(q.Rules, q.Model, scenario)
		if err != nil {
			return nil, err
		}
		one := q
		one.Scenario, one.Mode, one.Keep, one.Force = needs[0].Scenario, "performance", !q.Force, true
		one.Output = filepath.Join(q.Output, q.Model, strings.ToLower(one.Scenario))
		folder := (&runner{Request: one}).folder
		parts := []string{performancePart, accuracyPart}
		if m, err := models.LookupAny(q.Model); err == nil && m.AfterAccuracy() {
			slices.Reverse(parts)
		}
		one.AccuracyRun = folder(accuracyPart)
		if q.Division != "open" {
			parts = append(parts, needs[0].Tests...)
		}
		for _, part := range parts {
			s := &Stage{Scenario: one.Scenario, Part: part, Folder: folder(part), Request: one}
			switch part {
			case performancePart:
			case accuracyPart:
				s.Request.Mode, s.Request.AutoLatency = accuracyPart, false
			default:
				s.Request.Test, s.Request.Performance, s.Request.Accuracy = part, folder(performancePart), folder(accuracyPart)
			}
			resolved, err := run.Resolve(s.Request.Request)
			if err == nil {
				s.Least, err = resolved.Estimate(0, 0)
			}
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", s.Scenario, part, err)
			}
			list = append(list, s)
		}
	}
	return list, nil
}

// RunStages makes stages, and calls tell after each. A stage that fails does not keep the others from being made, but for the tests
// that compare with it. An error is an interruption, or that of tell.
func RunStages(ctx context.Context, list []*Stage, o run.Observer, tell func(*Stage) error) error {
	noted := map[string]bool{}
	for i, s := range list {
		title := fmt.Sprintf("[%d/%d] %s %s: ", i+1, len(list), s.Scenario, s.Part)
		passed := func(part string) bool {
			return slices.ContainsFunc(list[:i], func(o *Stage) bool { return o.Scenario == s.Scenario && o.Part == part && o.Passed })
		}
		switch needs := kinds[s.Part]; {
		case needs.performance && !passed(performancePart):
			s.Error = "it compares with the performance run, which is not VALID"
		case needs.accuracy && !passed(accuracyPart):
			s.Error = "it compares with the accuracy run, which has not reached its target"
		default:
			if s.Err = s.run(ctx, &run.Part{Observer: o, Title: title, Noted: noted}); s.Err != nil {
				s.Error = s.Err.Error()
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		text := s.Outcome
		switch {
		case s.Error != "":
			text = "not made: " + s.Error
		case s.Kept:
			text += ", kept"
		}
		o.Note(title + text)
		if err := tell(s); err != nil {
			return err
		}
	}
	return nil
}

// run makes one stage.
func (s *Stage) run(ctx context.Context, o run.Observer) (err error) {
	r := &runner{Request: s.Request, observer: o}
	if !s.IsTest() {
		if err = r.run(ctx, s.Request.Request, s.Folder, ""); err != nil {
			return err
		}
		if s.Results, err = report.Read(s.Folder); err != nil {
			return err
		}
		s.Kept, s.Outcome = r.kept, s.Results.Verdict()
		s.Passed = s.Outcome == report.Valid || s.Outcome == report.BelowTarget && s.Request.Division == "open"
		return nil
	}
	s.Verdict, err = r.test(ctx)
	if err == nil && r.kept && !s.Verdict.Passed { // a run that is made again may pass
		r.Keep = false
		s.Verdict, err = r.test(ctx)
	}
	if err != nil {
		return err
	}
	s.Kept, s.Passed, s.Outcome = r.kept, s.Verdict.Passed, s.Verdict.Outcome()
	return nil
}
