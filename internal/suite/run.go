package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

// Run runs what is planned. An error of a step is kept in it, and the next step follows; the
// error of Run is what interrupted it, or what kept it from writing its state. There is an
// outcome of what was run even then.
func (p *Plan) Run(ctx context.Context, o run.Observer) (*Outcome, error) {
	release, err := p.begin()
	if err != nil {
		return nil, err
	}
	defer release()
	told := map[string]bool{}
	for i, s := range p.Steps {
		if s.State != Planned {
			continue
		}
		err = p.runStep(ctx, s, &observer{o, fmt.Sprintf("[%d/%d] %v: ", i+1, len(p.Steps), s), told})
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), p.save())
			break
		}
		if err != nil {
			s.State, s.Error = Failed, err.Error()
		}
		p.learn(s)
		o.Note(fmt.Sprintf("[%d/%d] %v: %s; left: %v", i+1, len(p.Steps), s, s.summary(), p.Estimate()))
		if err = p.save(); err != nil {
			break
		}
	}
	return p.outcome(ctx.Err() != nil), err
}

// begin makes the folder, takes it for this process, and finds out what is done already.
func (p *Plan) begin() (release func(), err error) {
	if err := os.MkdirAll(p.request.Output, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the suite: %w", err)
	}
	if release, err = hold(p.request.Output); err != nil {
		return nil, err
	}
	if err = p.restore(); err == nil {
		err = p.save()
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// runStep prepares a step and runs it, unless the folder has its results already.
func (p *Plan) runStep(ctx context.Context, s *Step, o run.Observer) (err error) {
	began := time.Now()
	resolved, err := run.Resolve(s.request)
	if err != nil {
		return err
	}
	prepared, err := resolved.Provide(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, prepared.Close()) }()
	if earlier := p.kept(s, prepared.Fingerprint.String()); earlier != nil {
		s.State, s.Results, s.Seconds = Done, earlier, p.took[s.Folder]
		return nil
	}
	if p.coolsBefore(s) {
		if err := p.coolDown(ctx, s, o); err != nil {
			return err
		}
	}
	s.Results, err = prepared.Run(ctx)
	s.Seconds = time.Since(began).Seconds()
	if s.Results != nil && ctx.Err() == nil {
		s.State = Done
	}
	if s.Results != nil && err != nil {
		s.Error, err = err.Error(), nil // the results say so too
	}
	return err
}

// kept returns the results of a step that was done before, if they are those of what would run
// now.
func (p *Plan) kept(s *Step, fingerprint string) *report.Results {
	if !p.request.Resume {
		return nil
	}
	r, err := report.Read(filepath.Join(p.request.Output, s.Folder))
	if err != nil || r.Result == report.Interrupted || r.Fingerprint != fingerprint {
		return nil
	}
	return r
}

// summary says in a line what came out of a step.
func (s *Step) summary() string {
	text := verdict(s)
	switch r := s.Results; {
	case r == nil:
		return text + ": " + firstLine(s.Error)
	case r.Accuracy != nil:
		text += fmt.Sprintf(", %s %.5g %s", r.Accuracy.Metric, r.Accuracy.Value, r.Accuracy.Unit)
	case r.Metric != nil:
		text += ", " + metricCell(r.Metric)
	}
	return strings.TrimSpace(text)
}

// An observer says which step it is about, and says nothing twice.
type observer struct {
	run.Observer
	prefix string
	told   map[string]bool
}

// Note implements run.Observer.
func (o *observer) Note(text string) {
	if !o.told[text] {
		o.Observer.Note(text)
	}
	o.told[text] = true
}

// Phase implements run.Observer.
func (o *observer) Phase(name string) { o.Observer.Phase(o.prefix + name) }
