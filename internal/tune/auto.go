package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/harness/peak"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/units"
)

const (
	// searchBudget is how long the tests of a search may take together.
	searchBudget = 9 * time.Minute
	// idleTime and mostTime are how long one request at a time and as many as it takes are sent.
	idleTime, mostTime = 10 * time.Second, 15 * time.Second
	// rungs are the rates that a search tries first, from nothing to what the server answers of as many as it takes.
	rungs = 8
	// A test at a rate has as many requests as a trend needs, or while the bound is searched, as many as tell the interval well; within
	// bounds of its time.
	fewRequests, manyRequests = report.TrendQueries, 1000
	leastTime, mostRateTime   = 10 * time.Second, 45 * time.Second
)

// search measures one request at a time, as many as it takes, and rates between nothing and that, until the queue grows; then rates in
// the interval in which the bounds are lost (peak.Search). It ends with the highest rate that keeps them. A sweep that was interrupted
// goes on in its folder: a run that is there and is the same is not made again.
func (s Sweep) search(ctx context.Context, q run.Request, o run.Observer) (*report.Sweep, error) {
	if err := s.check(q); err != nil {
		return nil, err
	}
	if err := checkEarlierSweep(q); err != nil {
		return nil, err
	}
	a := &autoSweep{
		q: q, o: o, doc: &report.Sweep{Schema: report.SweepSchema, Program: q.Program, Command: q.Command, SLO: []string{},
			Points: []report.SweepPoint{}, Search: true},
	}
	if err := a.chooseBounds(); err != nil {
		return nil, err
	}
	err := a.run(ctx)
	return a.doc, err
}

// checkEarlierSweep refuses a folder with another sweep, or with files of others.
func checkEarlierSweep(q run.Request) error {
	if q.Force {
		return nil
	}
	earlier, err := report.ReadSweep(filepath.Join(q.Output, SweepJSON))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return outdir.CheckNames(q.Output, SweepJSON, SweepCSV, page.FileName)
	case err != nil:
		return err
	case !earlier.Search:
		return &outdir.ExistsError{Folder: q.Output, Name: SweepJSON}
	}
	return nil
}

// An autoSweep is a search for the highest rate.
type autoSweep struct {
	q          run.Request
	o          run.Observer
	doc        *report.Sweep
	objectives []report.Objective
	tests      []rateTest
	spent      time.Duration
}

// chooseBounds takes the objectives of the request, or else the bounds that its Server run has.
func (a *autoSweep) chooseBounds() error {
	q := a.q
	q.Scenario, q.Output, q.Force, q.Quick = "server", filepath.Join(a.q.Output, "rates"), true, true
	resolved, err := run.Resolve(q)
	if err != nil {
		return err
	}
	s := resolved.Settings
	switch {
	case len(q.SLO) > 0:
		a.objectives = q.SLO
	case s.UseTokenLatencies:
		a.objectives = []report.Objective{{Of: report.OfFirstToken, Percentile: "p99", BoundNS: int64(s.ServerTTFTLatency)},
			{Of: report.OfPerToken, Percentile: "p99", BoundNS: int64(s.ServerTPOTLatency)}}
	case !resolved.Request.AutoLatency:
		a.objectives = []report.Objective{{Of: report.OfLatency, Percentile: "p99", BoundNS: int64(s.ServerTargetLatency)}}
	}
	for _, o := range a.objectives {
		a.doc.SLO = append(a.doc.SLO, o.String())
	}
	return nil
}

func (a *autoSweep) run(ctx context.Context) error {
	_, err := a.measure(ctx, "one at a time", 1, "one-at-a-time", "single-stream", idleTime, 0)
	if err != nil {
		return err
	}
	most, err := a.measure(ctx, "as many as it takes", 0, "as-many-as-it-takes", "offline", mostTime, 0)
	if err != nil {
		return err
	}
	top := most.RequestsPerSecond
	if !(top > 0) {
		return fmt.Errorf("the server answered nothing when it got as many requests as it takes: see %s", filepath.Join(a.q.Output, most.Folder))
	}
	search := peak.Search{}
	for i := range rungs {
		search.Ladder = append(search.Ladder, units.Rounded(top*float64(i+1)/rungs, 3))
	}
	search.First = search.Ladder[0]
	var steps []report.PeakStep
	for next, more := search.Next(steps); more; next, more = search.Next(steps) {
		rate, requests := units.Rounded(next.Load, 4), fewRequests
		if len(steps) > 0 && !slices.Contains(search.Ladder, next.Load) {
			requests = manyRequests
		}
		length := min(max(time.Duration(float64(requests)/rate*float64(time.Second)), leastTime), mostRateTime).Round(100 * time.Millisecond)
		if a.spent+length > searchBudget {
			a.o.Note(fmt.Sprintf("sweep: the tests have taken %s: the search ends with an interval that is wider", units.Duration(a.spent)))
			break
		}
		again := 0 // a load that is tried again has a folder of its own
		for _, step := range steps {
			if step.Load == next.Load {
				again++
			}
		}
		folder := "qps-" + units.Exact(rate)
		if again > 0 {
			folder += "-again"
		}
		point, err := a.measure(ctx, units.Text(rate, report.PerSecond), rate, folder, "server", length, rate)
		if err != nil {
			return err
		}
		last := a.tests[len(a.tests)-1]
		steps = append(steps, report.PeakStep{Load: next.Load, Met: last.kept, Grew: last.grew, Reason: point.Kept})
	}
	a.doc.Highest = highest(a.objectives, a.tests)
	a.doc.Sentence = sentence(a.doc.Highest, a.objectives, a.tests)
	return writeSweep(a.q.Output, a.doc)
}

// measure makes a run, unless the folder has it, and adds its point. A rate of 0 is none.
func (a *autoSweep) measure(ctx context.Context, name string, load float64, folder, scenario string, length time.Duration,
	rate float64) (report.SweepPoint, error) {
	a.o.Note("sweep: " + name)
	r := a.request(folder, scenario, length, rate)
	results, err := runOrTake(ctx, r, a.o)
	if results == nil {
		return report.SweepPoint{}, err
	}
	unit := report.PerSecond
	if rate == 0 {
		unit = report.AtATime
	}
	if load == 0 {
		load = float64(inFlight(results))
	}
	point := sweepPoint(results, load, unit, folder, rate > 0)
	if rate > 0 {
		t := rateTest{rate: rate, kept: true}
		t.grew = results.Performance != nil && results.Performance.LatencyTrend != nil && results.Performance.LatencyTrend.Grew
		if results.SLO != nil {
			t.parts = results.SLO.Parts
		}
		point.Kept = keptBounds(results, t.grew)
		t.kept = point.Kept == "yes"
		if err == nil && results.Result != report.Interrupted {
			a.tests = append(a.tests, t)
		}
	}
	if p := results.Performance; p != nil {
		a.spent += time.Duration(p.DurationNS)
	}
	if results.Result != report.Interrupted {
		add(a.doc, results, point)
		if problem := writeSweep(a.q.Output, a.doc); err == nil {
			err = problem
		}
	}
	return point, err
}

// request is a run of the sweep.
func (a *autoSweep) request(folder, scenario string, length time.Duration, rate float64) run.Request {
	r := a.q
	r.Scenario, r.Output, r.Quick = scenario, filepath.Join(a.q.Output, folder), true
	set := func(key, value string) config.Override {
		return config.Override{Key: key, Value: value, Origin: "sweep"}
	}
	r.Settings = append(slices.Clip(a.q.Settings), set("min_duration", length.String()), set("min_query_count", "1"))
	if rate > 0 {
		r.SLO = a.objectives
		r.Settings = append(r.Settings, set("target_qps", units.Exact(rate)))
	} else {
		r.SLO = nil
	}
	if r.Prompts.Artifacts != "" {
		r.Prompts.Artifacts = filepath.Join(a.q.Prompts.Artifacts, folder)
	}
	streamAnswers(&r)
	return r
}

// keptBounds says yes, or why a rate did not keep the bounds.
func keptBounds(r *report.Results, grew bool) string {
	switch {
	case r.Generation != nil && len(r.Generation.Failures) > 0:
		return fmt.Sprintf("%d requests failed: %s", r.Generation.Failures[0].Count, r.Generation.Failures[0].Kind)
	case r.Performance == nil || r.Performance.LatencyNS == nil:
		return "nothing was answered"
	case grew:
		return "the queue grew"
	case r.SLO == nil:
		return "yes"
	}
	var missed []string
	for _, o := range r.SLO.Objectives {
		if !o.Met {
			missed = append(missed, fmt.Sprintf("%s %s is %s", o.Of, o.Percentile, units.Duration(time.Duration(o.ObservedNS))))
		}
	}
	if len(missed) > 0 {
		return strings.Join(missed, ", ")
	}
	return "yes"
}

// inFlight is how many requests were under way at most.
func inFlight(r *report.Results) int {
	if r.Generation != nil {
		return int(r.Generation.Most)
	}
	n, _ := strconv.Atoi(r.Backend.Facts["concurrency"])
	return n
}

// runOrTake runs a request, unless its folder has the results of the same one.
func runOrTake(ctx context.Context, q run.Request, o run.Observer) (*report.Results, error) {
	forced := q
	forced.Force = true // what is in the folder is looked at below
	resolved, err := run.Resolve(forced)
	if err != nil {
		return nil, err
	}
	prepared, err := resolved.Provide(ctx, o)
	if err != nil {
		return nil, err
	}
	earlier := run.Earlier(q.Output, prepared.Fingerprint.String())
	if earlier != nil {
		o.Note("the folder has its results already")
		return earlier, prepared.Close()
	}
	if there, err := report.Read(q.Output); err == nil && there.Result != report.Interrupted && !q.Force {
		return nil, errors.Join(&outdir.ExistsError{Folder: q.Output}, prepared.Close())
	}
	results, err := prepared.Run(ctx)
	return results, errors.Join(err, prepared.Close())
}
