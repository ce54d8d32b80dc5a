package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// newPeakSearch says what a load is in the scenario, and where to begin.
func (r *run) newPeakSearch() (peakSearch, error) {
	switch s := r.settings; {
	case s.Scenario == loadgen.Server:
		search := peakSearch{first: s.ServerTargetQPS}
		if !s.UseTokenLatencies {
			search.bound = s.ServerTargetLatency
		}
		return search, nil
	case s.Scenario == loadgen.MultiStream && s.MultiStreamQPS > 0:
		interval := time.Duration(float64(time.Second) / s.MultiStreamQPS)
		return peakSearch{first: float64(s.MultiStreamSamplesPerQuery), whole: true, bound: interval}, nil
	}
	return peakSearch{}, fmt.Errorf("there is no bound in %v by which to find a peak", r.settings.Scenario)
}

// try tries a load and keeps the outcome.
func (r *run) try(ctx context.Context, t trial, state *peakState, dir string) (*report.Results, error) {
	test, err := r.tryLoad(ctx, t, state.Unit, dir)
	if test == nil {
		return nil, err
	}
	results := r.results(test)
	if err := errors.Join(append(test.Faults, err, r.outcome(ctx, test, results, dir))...); err != nil {
		return results, err
	}
	state.Steps = append(state.Steps, peakStep(t, test, results.Queue))
	return results, state.write(r.cfg.OutputDir)
}

func (r *run) tryLoad(ctx context.Context, t trial, unit, dir string) (test *loadgen.Result, err error) {
	if t.full {
		r.cfg.Observer.Note(fmt.Sprintf("confirming %.5g %s at full length", t.load, unit))
		r.setLoad(t.load)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("making the folder of a test: %w", err)
		}
		return r.issue(ctx, dir)
	}
	r.cfg.Observer.Note(fmt.Sprintf("trying %.5g %s", t.load, unit))
	err = r.phase(ctx, "search", func() (err error) {
		test, err = r.traffic(ctx, r.short(t.load), nil, nil)
		return err
	})
	return test, err
}

// growing reports whether a queue grew without a break through the second half of a test.
func growing(queue *report.QueueStats, p *loadgen.Performance) bool {
	return queue != nil && queue.Backlog > 0 && queue.GrewSeconds < p.FinalQueryIssued.Seconds()/2
}

// peakStep says what came of a test. A short one need not satisfy early stopping, but its
// queue must not have grown without a break through its second half: that would go on.
func peakStep(t trial, test *loadgen.Result, queue *report.QueueStats) report.PeakStep {
	p := test.Performance
	step := report.PeakStep{Load: t.load, Full: t.full, Seconds: p.LastCompletion.Seconds(), LatencyNS: int64(p.SampleLatency.Target)}
	if p.Effective.Scenario == loadgen.MultiStream {
		step.LatencyNS = int64(p.QueryLatency.Target)
	}
	step.Met = test.Valid() || !t.full && metButStopping(p)
	if !t.full && growing(queue, p) {
		step.Met, step.Reason = false, fmt.Sprintf("the queue grew from %.3f s on", queue.GrewSeconds)
	}
	if !step.Met && step.Reason == "" {
		step.Reason = whyNot(test)
	}
	return step
}

// metButStopping reports whether a test keeps all bounds that are not those of early stopping.
func metButStopping(p *loadgen.Performance) bool {
	return p.PerfConstraintsMet && p.MinDurationMet && p.MinQueriesMet && p.GeneratorMet
}

// whyNot says why a test is not valid: the first error that was logged, or else the first problem.
func whyNot(test *loadgen.Result) string {
	for _, e := range test.Events {
		if e.IsError {
			return fmt.Sprint(e.Value)
		}
	}
	return test.Problems()[0]
}

// setLoad makes a load the run's own.
func (r *run) setLoad(load float64) {
	if r.settings.Scenario == loadgen.MultiStream {
		r.settings.MultiStreamSamplesPerQuery = uint64(load)
		r.set("samples_per_query", strconv.FormatUint(uint64(load), 10), "find-peak")
		return
	}
	r.settings.ServerTargetQPS = load
	r.set("target_qps", strconv.FormatFloat(load, 'g', 5, 64), "find-peak")
}

const (
	shortShare = 20 // of the full duration
	leastShort = 2 * time.Second
	// A queue that is about to break the bound needs many times the bound to gather.
	boundsShort = 40
	// A queue that holds this many times the queries that may be under way within the
	// latency bound does not get shorter again.
	pointlessFactor, pointlessLeast = 4, 64
	longestFactor                   = 8 // of the shortest duration
)

// short are the settings of a short test: long enough to know the percentile, and ended
// when the queue has grown beyond hope.
func (r *run) short(load float64) loadgen.TestSettings {
	s := r.settings
	percentile, rate := s.ServerTargetLatencyPercentile, load
	if s.Scenario == loadgen.MultiStream {
		s.MultiStreamSamplesPerQuery = uint64(load)
		percentile, rate = s.MultiStreamTargetLatencyPercentile, s.MultiStreamQPS
	} else {
		s.ServerTargetQPS = load
		if !s.UseTokenLatencies {
			s.ServerMaxAsyncQueries = uint64(pointlessFactor*load*s.ServerTargetLatency.Seconds()) + pointlessLeast
		}
	}
	s.MinDuration = min(s.MinDuration, max(leastShort, s.MinDuration/shortShare, boundsShort*s.ServerTargetLatency))
	s.MinQueryCount = min(s.MinQueryCount, loadgen.NeededQueries(1, percentile))
	s.MaxDuration = longestFactor * max(s.MinDuration, time.Duration(float64(s.MinQueryCount)/rate*float64(time.Second)))
	return s
}
