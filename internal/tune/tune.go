package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// Config says what to search.
type Config struct {
	Settings loadgen.TestSettings
	Budget   time.Duration
	Axes     Axes
	Facts    Facts // Scenario, FixedBatch, SamplesPerQuery and Bound are filled in

	// Open opens the model in the way of a point. Zero fields are chosen as a run does; the
	// variant is always one of the axes.
	Open func(context.Context, Point) (Opened, error)

	Header   Header // of the journal; Engine, Bound and Base are filled in
	Journal  string // file that keeps the measurements
	Fresh    bool   // forget those that are there
	Observer Observer
}

// An Observer is told how a search goes on.
type Observer interface {
	// Begin says what will be compared: how many points, and how many measurements an
	// earlier search left.
	Begin(o Objective, points, kept int)
	// Measured says what came of a measurement, and how much of the budget is left.
	Measured(m Measurement, left time.Duration)
}

// An Outcome is a search that is over, or was interrupted.
type Outcome struct {
	Search
	Done     []Measurement
	Bound    time.Duration // of Server
	Found    bool          // a point gave a value
	Winner   Measurement
	Finished bool // not interrupted
}

// Run searches until the search is over or ctx ends. It returns what is known even then,
// with the error that ended it.
func Run(ctx context.Context, cfg Config) (out *Outcome, err error) {
	begin := time.Now()
	fixed, err := openBase(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	journal, err := openJournal(cfg.Journal, cfg.Header, cfg.Fresh)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	cfg.Settings.ServerTargetLatency = journal.Header.Bound
	cfg.Facts.Scenario, cfg.Facts.FixedBatch, cfg.Facts.Bound = cfg.Settings.Scenario, fixed, journal.Header.Bound
	cfg.Facts.SamplesPerQuery = int(cfg.Settings.MultiStreamSamplesPerQuery)
	out = &Outcome{Bound: journal.Header.Bound, Search: Search{
		Scenario: cfg.Settings.Scenario,
		Points:   cfg.Axes.Points(journal.Header.Base, cfg.Facts), Objective: objectiveOf(cfg.Settings), Budget: cfg.Budget, Setup: time.Since(begin),
	}}
	cfg.Observer.Begin(out.Objective, len(out.Points), len(journal.Done))
	err = out.search(ctx, cfg, journal)
	out.Done = journal.Done
	out.Winner, out.Found = out.Best(out.Done)
	return out, err
}

// openBase completes the header with what a run without a profile would choose, and returns
// how many samples the model takes in one run.
func openBase(ctx context.Context, cfg *Config) (fixed int, err error) {
	base := Point{}
	a := cfg.Axes
	if len(a.Variants) > 0 {
		base.Variant = a.Variants[0]
	}
	base.Instances, base.Threads, base.MaxBatch = only(a.Instances), only(a.Threads), only(a.Batches)
	model, err := cfg.Open(ctx, base)
	if err != nil {
		return 0, err
	}
	instances, threads, batch := model.Shape()
	base.Instances, base.Threads, base.MaxBatch = within(a.Instances, instances), within(a.Threads, threads), within(a.Batches, batch)
	cfg.Header.Base, cfg.Header.Engine = base, model.Engine()
	if cfg.Settings.Scenario == loadgen.Server {
		cfg.Header.Bound = model.LatencyBound()
	}
	return model.FixedBatch(), model.Close()
}

// only is the value of an axis that has one; 0 if the value is open.
func only(axis []int) int {
	if len(axis) == 1 {
		return axis[0]
	}
	return 0
}

// within is a value that is on an axis: the given one if it is.
func within(axis []int, value int) int {
	if len(axis) == 0 || slices.Contains(axis, value) {
		return value
	}
	return axis[0]
}

func (o *Outcome) search(ctx context.Context, cfg Config, journal *Journal) error {
	for {
		trial, more := o.Next(journal.Done)
		if !more {
			o.Finished = true
			return nil
		}
		m, err := try(ctx, cfg, trial)
		if err != nil {
			return err
		}
		if err := journal.Append(m); err != nil {
			return err
		}
		spent, _ := o.spent(journal.Done)
		cfg.Observer.Measured(m, max(o.Budget-spent, 0))
	}
}

// try measures a point. That it cannot be measured is an outcome too, unless ctx has ended.
func try(ctx context.Context, cfg Config, t Trial) (Measurement, error) {
	m := Measurement{Point: t.Point, Stage: t.Stage, Length: t.Length}
	begin := time.Now()
	model, err := cfg.Open(ctx, t.Point)
	if err == nil {
		m.Value, err = meter{model, t.Point, cfg.Settings}.measure(ctx, t.Stage, t.Length)
		err = errors.Join(err, model.Close())
	}
	if ctx.Err() != nil {
		return m, context.Cause(ctx)
	}
	if err != nil {
		m.Err, m.Value = fmt.Sprint(err), 0
	}
	m.Took = time.Since(begin)
	return m, nil
}

// Profile is the winner as a profile. There must be one. Which file its variant is, the
// caller knows.
func (o *Outcome) Profile(s profile.Subject) *profile.Profile {
	w := o.Winner
	p := &profile.Profile{
		Schema: profile.Schema, Subject: s,
		Instances: w.Instances, Threads: w.Threads, MaxBatch: w.MaxBatch, MaxDelay: w.MaxDelay.String(),
		Objective: profile.Objective(o.Objective), Value: w.Value, Points: o.measured(),
	}
	if base, ok := o.Base(o.Done, w.Stage); ok {
		p.Default = base.Value
	}
	return p
}

// measured counts the points that were measured.
func (o *Outcome) measured() int {
	n := 0
	for _, p := range o.Points {
		if measured(o.Done, p, 0) {
			n++
		}
	}
	return n
}
