package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/atomicwriter"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// PeakFile is where a search for the highest load keeps what it tried, in the folder of
// the run. A search in the same folder goes on with it.
const PeakFile = "find-peak.json"

// findPeak searches the highest load that keeps the bound. The results are those of the
// full-length test at that load, or of the last test if no load keeps it.
func (r *run) findPeak(ctx context.Context) (*report.Results, error) {
	search, err := r.newPeakSearch()
	if err != nil {
		return nil, err
	}
	state, err := r.readPeakState()
	if err != nil {
		return nil, err
	}
	best, err := r.confirmed(state)
	if err != nil {
		return nil, err
	}
	last := best
	for {
		t, more := search.next(state.Steps)
		if !more && last == nil {
			return report.Read(r.cfg.OutputDir) // the search was over before
		}
		if !more {
			if best != nil {
				last = best
			}
			return last, errors.Join(r.finishPeak(last, state), os.RemoveAll(filepath.Join(r.cfg.OutputDir, higherDir)))
		}
		dir := r.cfg.OutputDir
		if best != nil {
			dir = filepath.Join(dir, higherDir)
		}
		results, err := r.try(ctx, t, state, dir)
		if err != nil && best != nil {
			return best, err // what was confirmed is written
		}
		if err != nil {
			return results, errors.Join(err, r.finishPeak(results, state))
		}
		if last = results; t.full && state.Steps[len(state.Steps)-1].Met {
			best = results
			if err := errors.Join(moveFiles(dir, r.cfg.OutputDir), r.finishPeak(best, state)); err != nil {
				return best, err
			}
		}
	}
}

// higherDir is the folder for tests of higher loads than one that was confirmed. Its files
// take the place of those that are there if the load is confirmed too.
const higherDir = "higher"

// confirmed returns the results of a load that was confirmed before the search was
// interrupted; nil if there is none.
func (r *run) confirmed(state *peakState) (*report.Results, error) {
	for _, step := range state.Steps {
		if step.Full && step.Met {
			return report.Read(r.cfg.OutputDir)
		}
	}
	return nil, nil
}

// moveFiles moves the files of a folder to another, unless they are the same.
func moveFiles(from, to string) error {
	if from == to {
		return nil
	}
	files, err := os.ReadDir(from)
	for _, f := range files {
		err = errors.Join(err, os.Rename(filepath.Join(from, f.Name()), filepath.Join(to, f.Name())))
	}
	return errors.Join(err, os.Remove(from))
}

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

// peakState is the content of PeakFile.
type peakState struct {
	// Key names everything that decides what a load may reach.
	Key   string            `json:"key"`
	Unit  string            `json:"unit"`
	Steps []report.PeakStep `json:"steps"`
}

func (r *run) readPeakState() (*peakState, error) {
	state := &peakState{Key: r.peakKey(), Unit: "queries/s"}
	if r.settings.Scenario == loadgen.MultiStream {
		state.Unit = "samples per query"
	}
	path := filepath.Join(r.cfg.OutputDir, PeakFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the search so far: %w", err)
	}
	var kept peakState
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("reading the search so far: %s: %w", path, err)
	}
	if kept.Key != state.Key {
		return nil, fmt.Errorf("%s is of a search with another model, data, settings or machine: choose another output folder, or delete it", path)
	}
	r.cfg.Observer.Note(fmt.Sprintf("the search goes on after %d loads that were tried before", len(kept.Steps)))
	return &kept, nil
}

// peakKey leaves out the load to begin with.
func (r *run) peakKey() string {
	s := r.settings
	s.ServerTargetQPS, s.MultiStreamSamplesPerQuery = 0, 0
	if r.cfg.Fingerprint != "" {
		return r.cfg.Fingerprint
	}
	b := r.cfg.Backend
	key, _ := json.Marshal([]any{s, b.ModelPath, b.Device, b.DeviceOptions, b.Config, r.cfg.DatasetDir, r.cfg.Model.Name, r.cfg.Rules,
		len(r.model.predictors), r.model.shape.batch, r.cfg.MaxDelay, r.model.info().Engine})
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:16])
}

func (s *peakState) write(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("keeping the search: %w", err)
	}
	path := filepath.Join(dir, PeakFile)
	if err := atomicwriter.WriteFile(path, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("keeping the search in %s: %w", path, err)
	}
	return nil
}

// try tries a load and keeps the outcome.
func (r *run) try(ctx context.Context, t trial, state *peakState, dir string) (*report.Results, error) {
	test, err := r.tryLoad(ctx, t, state.Unit, dir)
	if test == nil {
		return nil, err
	}
	results := r.results(test)
	if err := errors.Join(append(test.Faults, err, r.outcome(test, results, dir))...); err != nil {
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

// peakStep says what came of a test. A short one need not satisfy early stopping, but its
// queue must not have grown without a break through its second half: that would go on.
func peakStep(t trial, test *loadgen.Result, queue *report.QueueStats) report.PeakStep {
	p := test.Performance
	step := report.PeakStep{Load: t.load, Full: t.full, Seconds: p.LastCompletion.Seconds(), LatencyNS: int64(p.SampleLatency.Target)}
	if p.Effective.Scenario == loadgen.MultiStream {
		step.LatencyNS = int64(p.QueryLatency.Target)
	}
	step.Met = test.Valid() || !t.full && p.PerfConstraintsMet && p.MinDurationMet && p.MinQueriesMet && p.GeneratorMet
	if !t.full && queue != nil && queue.Backlog > 0 && queue.GrewSeconds < p.FinalQueryIssued.Seconds()/2 {
		step.Met, step.Reason = false, fmt.Sprintf("the queue grew from %.3f s on", queue.GrewSeconds)
	}
	if step.Met || step.Reason != "" {
		return step
	}
	for _, e := range test.Events {
		if e.IsError {
			step.Reason = fmt.Sprint(e.Value)
			return step
		}
	}
	step.Reason = p.Problems()[0]
	return step
}

// finishPeak adds the search to the results and writes them.
func (r *run) finishPeak(results *report.Results, state *peakState) error {
	if results == nil {
		return nil
	}
	peak := &report.Peak{Unit: state.Unit, Steps: state.Steps}
	for _, step := range state.Steps {
		if step.Full && step.Met {
			peak.Best = step.Load
			peak.UserConf = r.userConf(step.Load)
		}
	}
	switch {
	case results.Result == report.Interrupted:
		results.Problems = append(results.Problems, "the search is not over; the same command with the output folder "+r.cfg.OutputDir+" goes on with it")
	case peak.Best == 0:
		results.Result = report.Invalid
		results.Problems = append(results.Problems, "no load that was tried kept the bound")
	}
	results.Mode, results.Peak = "FindPeak", peak
	return results.Write(r.cfg.OutputDir)
}

// userConf are the lines that make a load the target of later runs, with the bound and the
// percentile that it was found with if they are not the rules'. The load is rounded down:
// what was confirmed is the load itself.
func (r *run) userConf(load float64) string {
	key := "target_qps"
	if r.settings.Scenario == loadgen.MultiStream {
		key = "samples_per_query"
	}
	digits := math.Pow(10, 3-math.Floor(math.Log10(load)))
	text := r.confLine(key, math.Floor(load*digits)/digits)
	for _, bound := range r.bounds() {
		if origin := r.origin(bound.key); origin != "default" && !strings.HasPrefix(origin, "rules ") {
			text += "\n" + r.confLine(bound.key, bound.value)
		}
	}
	return text
}

func (r *run) confLine(key string, value float64) string {
	return fmt.Sprintf("%s.%v.%s = %g", r.cfg.Model.Name, r.settings.Scenario, key, value)
}

// A boundSetting is a setting that decides whether a load keeps its bound, as conf files have it.
type boundSetting struct {
	key   string
	value float64
}

func (r *run) bounds() []boundSetting {
	s := r.settings
	if s.Scenario == loadgen.MultiStream {
		return []boundSetting{{"target_qps", s.MultiStreamQPS}, {"target_latency_percentile", 100 * s.MultiStreamTargetLatencyPercentile}}
	}
	return []boundSetting{
		{"target_latency", float64(s.ServerTargetLatency) / float64(time.Millisecond)},
		{"target_latency_percentile", 100 * s.ServerTargetLatencyPercentile},
	}
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
