package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/harness/peak"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// PeakFile is where a search for the highest load keeps the loads that it tried, in the folder of the run.
const PeakFile = peak.File

// findPeak searches the highest load that keeps the bound, and returns the full-length test at that load, or the last test if no load
// keeps it. It keeps the test of each load that is confirmed.
func (r *run) findPeak(ctx context.Context) (*Test, error) {
	s, dir := r.cfg.Settings, r.cfg.OutputDir
	search, unit := peak.Search{First: s.ServerTargetQPS, Tests: r.cfg.Runs}, "queries/s"
	switch {
	case s.Scenario == loadgen.MultiStream && s.MultiStreamQPS > 0:
		interval := time.Duration(float64(time.Second) / s.MultiStreamQPS)
		search, unit = peak.Search{First: float64(s.MultiStreamSamplesPerQuery), Whole: true, Bound: interval}, "samples per query"
	case s.Scenario != loadgen.Server:
		return nil, fmt.Errorf("%v has no bound by which to find a peak", s.Scenario)
	case s.UseTokenLatencies:
		search.FirstToken, search.PerToken = s.ServerTTFTLatency, s.ServerTPOTLatency
	default:
		search.Bound = s.ServerTargetLatency
	}
	r.qsl.keep = true
	state, earlier, err := search.Open(dir, r.peakKey(), unit)
	if err != nil {
		return nil, err
	}
	if n := len(state.Steps); n > 0 {
		r.cfg.Observer.Note(fmt.Sprintf("the search continues after %d loads", n))
	}
	if procedure := search.Procedure(); procedure != "" {
		r.cfg.Observer.Note(fmt.Sprintf("rules %s confirm a load by %s", r.cfg.Rules, procedure))
	}
	var best *Test // nil: no load is confirmed
	if earlier != nil {
		best = &Test{Dir: dir, Earlier: earlier, Kept: true}
	}
	last := best // nil: no test yet
	for trial, more := search.Next(state.Steps); more; trial, more = search.Next(state.Steps) {
		to := dir
		if best != nil {
			to = filepath.Join(dir, peak.HigherDir)
		}
		last, err = r.tryLoad(ctx, trial, state, to)
		if err == nil && state.Confirmed() == len(state.Steps)-1 {
			best = last
			best.Peak, best.Kept = r.peakOf(state), true
			err = r.keep(best)
			if err == nil && to != dir {
				if err = state.TakeHigher(); err == nil {
					best.Dir = dir
				}
			}
		}
		switch {
		case err != nil && best != nil:
			return best, err // which was kept when the load was confirmed
		case err != nil && last != nil:
			last.Peak = r.peakOf(state)
			return last, err
		case err != nil:
			return nil, err
		}
	}
	switch {
	case best != nil:
		best.Peak, best.Kept = r.peakOf(state), false
		return best, fileio.RemoveFolderIn(dir, peak.HigherDir, peak.TestFiles()...)
	case last != nil:
		last.Peak = r.peakOf(state)
		return last, nil
	}
	found, err := report.Read(dir) // an earlier process finished the search, and confirmed no load
	if err != nil {
		return nil, err
	}
	return &Test{Dir: dir, Earlier: found, Peak: found.Peak, Kept: true}, nil
}

// tryLoad tests a load and keeps the outcome in the state: at full length in a folder, or briefly.
func (r *run) tryLoad(ctx context.Context, trial peak.Trial, state *peak.State, dir string) (*Test, error) {
	var traffic *loadgen.Result
	var err error
	if trial.Full {
		r.cfg.Observer.Note(fmt.Sprintf("confirming %s at full length", units.Text(trial.Load, state.Unit)))
		if r.cfg.Settings.Scenario == loadgen.MultiStream {
			r.cfg.Settings.MultiStreamSamplesPerQuery = uint64(trial.Load)
			r.set("samples_per_query", strconv.FormatUint(uint64(trial.Load), 10), "find-peak", "")
		} else {
			r.cfg.Settings.ServerTargetQPS = trial.Load
			r.set("target_qps", units.Exact(units.Rounded(trial.Load, 5)), "find-peak", "")
		}
		if dir != r.cfg.OutputDir {
			if err := fileio.MkdirIn(r.cfg.OutputDir, peak.HigherDir); err != nil {
				return nil, fmt.Errorf("making the folder of a test: %w", err)
			}
		}
		traffic, err = r.issue(ctx, dir)
		if err == nil && lacksQueries(traffic) {
			least := r.cfg.Settings.MinQueryCount
			r.cfg.Settings.MinQueryCount = 2 * traffic.Performance.EarlyStopping.Processed
			r.cfg.Observer.Note(fmt.Sprintf("%s kept the bound, but for the number of queries: testing it with twice as many",
				units.Text(trial.Load, state.Unit)))
			traffic, err = r.issue(ctx, dir)
			r.cfg.Settings.MinQueryCount = least
		}
	} else {
		err = r.phase(ctx, "search", func() (err error) {
			traffic, err = r.traffic(ctx, shortTest(r.cfg.Settings, trial.Load), nil, nil)
			return err
		})
	}
	if traffic == nil {
		return nil, err
	}
	t := r.measured(ctx, traffic, dir)
	if err := errors.Join(append(traffic.Faults, err, r.score(ctx, t))...); err != nil {
		return t, err
	}
	step, how := peakStep(trial, traffic, t.Queue), "trying %s: %s"
	if trial.Full {
		how = "%s at full length: %s"
	}
	r.cfg.Observer.Note(fmt.Sprintf(how, units.Text(trial.Load, state.Unit), step))
	return t, state.Add(step)
}

// lacksQueries reports whether a test at full length kept its bound, and lacks only the queries by which early stopping is sure.
func lacksQueries(test *loadgen.Result) bool {
	p := test.Performance
	return p != nil && !test.Valid() && test.Interrupted == nil && len(test.Faults) == 0 && p.PerfConstraintsMet && p.MinDurationMet &&
		p.MinQueriesMet && p.GeneratorMet
}

// peakStep is the outcome of a test. A short one need not satisfy early stopping, but its latency must not have risen from its
// beginning to its end, nor its queue have grown through its second half: they would go on.
func peakStep(t peak.Trial, test *loadgen.Result, queue *report.QueueStats) report.PeakStep {
	p := test.Performance
	step := report.PeakStep{Load: t.Load, Full: t.Full, Seconds: p.LastCompletion.Seconds(), LatencyNS: int64(p.SampleLatency.Target)}
	if p.Effective.Scenario == loadgen.MultiStream {
		step.LatencyNS = int64(p.QueryLatency.Target)
	}
	if p.Effective.UseTokenLatencies {
		step.FirstTokenNS, step.PerTokenNS = int64(p.FirstToken.Target), int64(p.TimePerOutputToken.Target)
	}
	trend := report.TrendOf(p)
	step.Grew = trend != nil && trend.Grew
	step.Met = test.Valid() || !t.Full && p.PerfConstraintsMet && p.MinDurationMet && p.MinQueriesMet && p.GeneratorMet
	if !t.Full && queue != nil && queue.Backlog > 0 && queue.GrewSeconds < p.FinalQueryIssued.Seconds()/2 {
		step.Met, step.Reason = false, fmt.Sprintf("the queue grew from %s on", units.Text(queue.GrewSeconds, "s"))
	}
	if !t.Full && step.Met && step.Grew {
		step.Met, step.Reason = false, "the queue grew: "+trend.String()
	}
	if step.Met || step.Reason != "" {
		return step
	}
	for _, e := range test.Events {
		if e.IsError { // the first error that was logged
			step.Reason = fmt.Sprint(e.Value)
			return step
		}
	}
	step.Reason = test.Problems()[0]
	return step
}

// shortTest has the settings of a short test of a load: long enough to know the percentile, and ended
// when the queue has grown so much that the bound is lost.
func shortTest(s loadgen.TestSettings, load float64) loadgen.TestSettings {
	const (
		share       = 20 // of the full duration
		leastTime   = 2 * time.Second
		bounds      = 40    // a queue that breaks the bound needs many times the bound to gather
		lost, least = 4, 64 // a queue with this many times the queries that fit into the bound, and some, stays
		longest     = 8     // times the shortest duration
	)
	percentile, rate := s.ServerTargetLatencyPercentile, load
	if s.Scenario == loadgen.MultiStream {
		s.MultiStreamSamplesPerQuery = uint64(load)
		percentile, rate = s.MultiStreamTargetLatencyPercentile, s.MultiStreamQPS
	} else {
		s.ServerTargetQPS = load
		if !s.UseTokenLatencies {
			s.ServerMaxAsyncQueries = uint64(lost*load*s.ServerTargetLatency.Seconds()) + least
		}
	}
	fullTime := s.MinDuration
	s.MinDuration = min(s.MinDuration, max(leastTime, s.MinDuration/share, bounds*s.ServerTargetLatency))
	s.MinQueryCount = min(s.MinQueryCount, loadgen.NeededQueries(1, percentile))
	if s.Scenario == loadgen.Server { // where a trend shows, if a test at full length has as many
		s.MinQueryCount = max(s.MinQueryCount, min(report.TrendQueries, uint64(rate*fullTime.Seconds())))
	}
	s.MaxDuration = longest * max(s.MinDuration, time.Duration(float64(s.MinQueryCount)/rate*float64(time.Second)))
	return s
}

// peakOf is the search so far.
func (r *run) peakOf(state *peak.State) *report.Peak {
	found := &report.Peak{Unit: state.Unit, Procedure: state.Procedure(), Bounds: r.peakBounds(), Steps: slices.Clone(state.Steps)}
	if i := state.Confirmed(); i >= 0 {
		found.Best = state.Steps[i].Load
		found.UserConf = userinput.Text(r.userConf(found.Best))
	}
	return found
}

// peakBounds are what a load has to keep.
func (r *run) peakBounds() (list []report.Objective) {
	s := r.cfg.Settings
	percentile := s.ServerTargetLatencyPercentile
	bounds := []report.Objective{{Of: report.OfLatency, BoundNS: int64(s.ServerTargetLatency)}}
	switch {
	case s.Scenario == loadgen.MultiStream:
		percentile = s.MultiStreamTargetLatencyPercentile
		bounds[0].BoundNS = int64(float64(time.Second) / s.MultiStreamQPS)
	case s.UseTokenLatencies:
		bounds = []report.Objective{{Of: report.OfFirstToken, BoundNS: int64(s.ServerTTFTLatency)},
			{Of: report.OfPerToken, BoundNS: int64(s.ServerTPOTLatency)}}
	}
	for _, b := range bounds {
		if b.Percentile = units.Percentile(percentile); b.BoundNS > 0 {
			list = append(list, b)
		}
	}
	return list
}

// peakKey names everything that decides which load can be reached, and leaves out the first load.
func (r *run) peakKey() string {
	if r.cfg.Fingerprint != "" {
		return r.cfg.Fingerprint
	}
	s, b := r.cfg.Settings, r.cfg.Backend
	s.ServerTargetQPS, s.MultiStreamSamplesPerQuery = 0, 0
	key, _ := json.Marshal([]any{s, b.ModelPath, b.Device, b.DeviceOptions, b.Config, r.cfg.DatasetDir, r.cfg.Model.Name, r.cfg.Rules,
		len(r.model.predictors), r.model.shape.batch, r.cfg.MaxDelay, r.model.info().Engine})
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:16])
}

// userConf has the lines that make a load the target of later runs, with the bound and the
// percentile that it was found with if they are not the rules'. The load is rounded down:
// the load itself was confirmed.
func (r *run) userConf(load float64) string {
	s := r.cfg.Settings
	line := func(key string, value float64) string {
		return fmt.Sprintf("%s.%v.%s = %s", r.cfg.Model.Name, s.Scenario, key, units.Exact(value))
	}
	key, bound, boundValue, percentile := "target_qps", "target_latency", float64(s.ServerTargetLatency)/float64(time.Millisecond),
		s.ServerTargetLatencyPercentile
	if s.Scenario == loadgen.MultiStream {
		key, bound, boundValue, percentile = "samples_per_query", "target_qps", s.MultiStreamQPS, s.MultiStreamTargetLatencyPercentile
	}
	digits := math.Pow(10, 3-math.Floor(math.Log10(load)))
	text := line(key, math.Floor(load*digits)/digits)
	own := func(key string) bool {
		i := r.find(key)
		return i >= 0 && r.cfg.Made[i].Role != limitation.RuleSet
	}
	if own(bound) {
		text += "\n" + line(bound, boundValue)
	}
	if own("target_latency_percentile") {
		text += "\n" + line("target_latency_percentile", 100*percentile)
	}
	return text
}
