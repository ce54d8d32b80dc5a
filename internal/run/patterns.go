package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// patternTime is the traffic of each of the runs of Patterns, and patternMost that of slow models, unless one query takes longer.
const (
	patternTime = "3s"
	patternMost = 6 * time.Second
)

// Patterns runs a request under each of the four traffic patterns, about three seconds each. A setting holds for those that have it,
// and a bound that the user gave is never changed. A run that fails does not keep the others from running; an error is that of an
// interruption, or of all of them.
func Patterns(ctx context.Context, q Request, o Observer) (list []report.Pattern, err error) {
	q.Quick, q.Longest = true, patternMost
	q.Settings = append([]config.Override{{Key: "min_duration", Value: patternTime, Origin: config.QuickOrigin, Role: limitation.QuickRun}},
		q.Settings...)
	o = &Part{Observer: o, Noted: map[string]bool{}}
	output, settings, auto, failed := q.Output, q.Settings, q.AutoLatency, 0
	for _, s := range loadgen.Scenarios() {
		q.Scenario, q.AutoLatency, q.Settings = s.String(), auto && s == loadgen.Server, settingsOf(s, settings)
		if output != "" {
			q.Output = filepath.Join(output, strings.ToLower(q.Scenario))
		}
		p := report.Pattern{Scenario: q.Scenario}
		var resolved *Resolved
		given := false
		if resolved, err = Resolve(q); err == nil {
			given = !resolved.placeholder("target_qps")
			q.AutoLatency = s == loadgen.Server && (auto || resolved.placeholder("target_latency"))
			resolved.Request.AutoLatency = q.AutoLatency
			o.Note(fmt.Sprintf("%s: %s", resolved.ModelName(), resolved.ScenarioName()))
			p.Results, err = resolved.do(ctx, o)
			p.Folder = resolved.Request.Output
		}
		for tries := 0; err == nil && s == loadgen.Server && !given && tooFast(p.Results) && tries < 2; tries++ {
			again := slower(q, p.Results)
			o.Note(fmt.Sprintf("the rate was too high for the latency bound: running it again with %s queries/s", again.Settings[len(q.Settings)].Value))
			if resolved, err = Resolve(again); err == nil {
				p.Results, err = resolved.do(ctx, o)
				p.Folder = resolved.Request.Output
			}
		}
		if ctx.Err() != nil {
			return list, err
		}
		if err != nil {
			p.Results, p.Error, failed = nil, strings.Join(userinput.ErrorLines(err), "; "), failed+1
		} else if note := p.Note(); note != "" {
			o.Note(note)
		}
		if list = append(list, p); failed == 1 && len(list) == 1 { // the others would fail for the same reason
			return nil, err
		}
	}
	if failed == len(list) {
		return nil, errors.New(list[0].Error)
	}
	return list, nil
}

// settingsOf leaves out the settings that only other patterns have.
func settingsOf(scenario loadgen.Scenario, all []config.Override) []config.Override {
	table := loadgen.Settings()
	return slices.DeleteFunc(slices.Clone(all), func(o config.Override) bool {
		of := func(k *loadgen.Setting) bool { return k.Key == o.Key }
		return slices.ContainsFunc(table, of) && !slices.ContainsFunc(table, func(k *loadgen.Setting) bool { return of(k) && k.In(scenario) })
	})
}

// slower is the request again, at half the rate that a run of it that was too fast completed and under the same bound, which another
// measurement of a sample would change.
func slower(q Request, r *report.Results) Request {
	rate := units.Exact(units.Rounded(r.Performance.SamplesPerSecond/2, units.Digits))
	q.Force = q.Force || q.Output != ""
	q.Settings = append(slices.Clone(q.Settings), config.Override{Key: "target_qps", Value: rate, Origin: "half of what the run before completed"})
	bound := time.Duration(r.Constraints[slices.IndexFunc(r.Constraints, tooLate)].Required.Value) // the settings have it rounded
	q.AutoLatency = false
	q.Settings = append(q.Settings, config.Override{Key: "target_latency", Value: bound.String(), Origin: report.MadeBy(r.Settings, "target_latency").Origin})
	return q
}

// tooFast reports whether a run was INVALID because its rate was more than keeps the latency bound, which a lower one may keep.
func tooFast(r *report.Results) bool {
	return r.Performance != nil && r.Performance.SamplesPerSecond > 0 && !r.BelowOneSample() &&
		slices.ContainsFunc(r.Constraints, tooLate)
}

func tooLate(c report.Constraint) bool { return c.ID == loadgen.ConstraintLatency && !c.Met }

// A Part is the observer of one of several runs that follow each other.
type Part struct {
	Observer
	Title string          // before the names of phases
	Noted map[string]bool // of all parts: a note comes once, as the runs of one model have most in common
}

// Phase implements Observer.
func (p *Part) Phase(name string) { p.Observer.Phase(p.Title + name) }

// Note implements Observer.
func (p *Part) Note(text string) {
	if !p.Noted[text] {
		p.Observer.Note(text)
	}
	p.Noted[text] = true
}
