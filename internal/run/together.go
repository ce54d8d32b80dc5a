package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Together runs benchmarks at the same time on this machine (multitenancy): each has its own traffic, rules and verdict, and all
// begin their traffic when the last of them is ready. No rules of MLPerf know such a test, which every result says. The results
// are in the order of the requests; nil: that run failed. If one fails before the traffic, none has traffic.
func Together(ctx context.Context, list []*Resolved, o Observer) ([]*report.Results, error) {
	var prepared []*Prepared
	var errs []error
	var mu sync.Mutex
	noted := map[string]bool{}
	for _, r := range list { // before anything is opened
		if q := r.Request; r.Settings.Mode != loadgen.PerformanceOnly || q.Mode == FindPeak || q.Power != "" || q.Ranging {
			return nil, userinput.Errorf("with", "benchmarks at the same time are performance runs without a power measurement, and %s is not", r.title())
		}
	}
	for _, r := range list {
		p, err := r.Provide(ctx, &tenant{to: o, mu: &mu, noted: noted, prefix: r.title() + ": "})
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.title(), err))
			break
		}
		prepared = append(prepared, p)
	}
	results := make([]*report.Results, len(prepared))
	if len(errs) == 0 {
		errs = make([]error, len(prepared))
		starting, abort := context.WithCancelCause(ctx) // until all are ready
		var preparing, running sync.WaitGroup
		preparing.Add(len(prepared))
		ready := make(chan struct{})
		go func() { preparing.Wait(); close(ready) }()
		for i, p := range prepared {
			for j, other := range prepared {
				if j != i {
					p.beside = append(p.beside, other.title())
				}
			}
			p.config.SystemNote = report.Sentence(besideOthers(p.beside))
			p.config.CPUTime = nil // it is of all of them
			arrive := sync.OnceFunc(preparing.Done)
			p.config.Ready = func() error {
				arrive()
				select {
				case <-ready:
					return context.Cause(starting)
				case <-starting.Done():
					return context.Cause(starting)
				}
			}
			running.Go(func() {
				var err error
				if results[i], err = p.Run(ctx); err != nil {
					errs[i] = fmt.Errorf("%s: %w", p.title(), err)
					abort(errs[i])
				}
				arrive()
			})
		}
		running.Wait()
		abort(nil)
	}
	for _, p := range prepared {
		errs = append(errs, p.Close())
	}
	return results, errors.Join(errs...)
}

// title names a benchmark.
func (r *Resolved) title() string { return r.ModelName() + " " + r.ScenarioName() }

// Overlap returns how long all runs had traffic at the same time.
func Overlap(list []*report.Results) time.Duration {
	var begin, end time.Time
	for i, r := range list {
		if r == nil || r.Performance == nil || r.Performance.Began == nil {
			return 0
		}
		began := *r.Performance.Began
		ended := began.Add(time.Duration(r.Performance.DurationNS))
		if i == 0 || began.After(begin) {
			begin = began
		}
		if i == 0 || ended.Before(end) {
			end = ended
		}
	}
	return max(0, end.Sub(begin))
}

// A tenant is the observer of one of several runs at the same time. Progress of the traffic is not shown: there would be
// several.
type tenant struct {
	harness.Silent
	to     Observer
	mu     *sync.Mutex     // of all tenants
	noted  map[string]bool // of all tenants: a note comes once
	prefix string
}

// Phase implements Observer.
func (t *tenant) Phase(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.to.Phase(t.prefix + name)
}

// Note implements Observer.
func (t *tenant) Note(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.noted[text] {
		t.to.Note(t.prefix + text)
	}
	t.noted[text] = true
}
