package tune

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// An Objective is the number by which points are compared.
type Objective profile.Objective

// objectiveOf is the number that the rules compare systems by in a scenario.
func objectiveOf(s loadgen.TestSettings) Objective {
	switch s.Scenario {
	case loadgen.SingleStream:
		return Objective{loadgen.Ordinal(s.SingleStreamTargetLatencyPercentile) + " percentile latency", "ms", true}
	case loadgen.MultiStream:
		return Objective{loadgen.Ordinal(s.MultiStreamTargetLatencyPercentile) + " percentile query latency", "ms", true}
	case loadgen.Server:
		return Objective{Name: "queries within the bound", Unit: "queries/s"}
	}
	return Objective{Name: "samples", Unit: "samples/s"}
}

// score is larger for better values, and 0 for a value that does not count.
func (o Objective) score(value float64) float64 {
	if !(value > 0) || math.IsInf(value, 1) {
		return 0
	}
	if o.Least {
		return 1 / value
	}
	return value
}

// Compare is negative if the value a is better than b, and positive if it is worse.
func (o Objective) Compare(a, b float64) int { return cmp.Compare(o.score(b), o.score(a)) }

// A Measurement is the result of a point in a stage.
type Measurement struct {
	Point
	Stage  int           `json:"stage"`
	Length time.Duration `json:"length_ns"` // that was asked for
	Took   time.Duration `json:"took_ns"`   // with opening the model
	Value  float64       `json:"value"`     // of the objective; 0: the bound was not kept
	Err    string        `json:"error,omitempty"`
}

// A trial is a point to measure.
type trial struct {
	Point
	stage  int
	length time.Duration
}

// A stage is a part of a search. It gets the best points of the stage before.
type stage struct {
	until       float64       // share of the budget that is spent when it ends
	least, most time.Duration // of a measurement, without opening the model
	within      float64       // of the best score of the stage before a point must be
	keep        int           // of how many points of the stage before it gets one
}

const stageCount = 3

// stages of a search: the first one is wide, and its values are estimates: hence the wide margin. The last
// ones decide between points that hardly differ.
func stages(s loadgen.Scenario) [stageCount]stage {
	list := [stageCount]stage{
		{until: 0.5, least: 300 * time.Millisecond, most: 3 * time.Second},
		{until: 0.8, least: time.Second, most: 10 * time.Second, within: 0.75, keep: 3},
		{until: 1, least: 3 * time.Second, most: 30 * time.Second, within: 0.93, keep: 2},
	}
	if s == loadgen.Server { // several tests in each measurement
		list[1].least, list[1].most = 4*time.Second, 20*time.Second
		list[2].least, list[2].most = 8*time.Second, 60*time.Second
	}
	return list
}

const (
	// leastKept is how many points the stages keep in any case, if they are good enough.
	leastKept = 3
	// noise is by how much a point must be better than the base to replace it.
	noise = 1.02
)

// A search chooses the points to measure.
type search struct {
	scenario  loadgen.Scenario
	points    []Point // the first is the base, which every stage measures, to compare with
	objective Objective
	budget    time.Duration
	setup     time.Duration // spent before the first measurement, on opening the base
	done      []Measurement
}

// next returns the next trial; false: the search is over, because all stages are done or the time is up.
func (s *search) next() (trial, bool) {
	spent, extra := s.spent()
	for i, st := range stages(s.scenario) {
		entrants := s.entrants(i)
		if i > 1 && len(entrants) < 2 {
			return trial{}, false // nothing to decide between
		}
		left := slices.DeleteFunc(slices.Clone(entrants), func(p Point) bool {
			return slices.ContainsFunc(s.done, func(m Measurement) bool { return m.Point == p && m.Stage == i })
		})
		if len(left) == 0 {
			continue
		}
		end := time.Duration(st.until * float64(s.budget))
		if spent+extra+st.least > end && len(s.done) > 0 {
			continue
		}
		share := (end-spent)/time.Duration(len(left)) - extra
		return trial{left[0], i, min(max(share, st.least), st.most)}, true
	}
	return trial{}, false
}

// spent is how long the search took so far, and how much of each measurement went into
// opening the model and the like, which counts the base's as one of them.
func (s *search) spent() (all, extra time.Duration) {
	all, extra = s.setup, s.setup
	for _, m := range s.done {
		all += m.Took
		extra += max(m.Took-m.Length, 0)
	}
	return all, extra / time.Duration(len(s.done)+1)
}

// entrants are the points that a stage measures: the best of the stage before,
// the best of all first, the base second, so that both are there if time runs out.
func (s *search) entrants(i int) []Point {
	if i == 0 {
		return s.points
	}
	ranked := s.ranked(i - 1)
	if len(ranked) == 0 {
		return nil
	}
	st, best := stages(s.scenario)[i], s.objective.score(ranked[0].Value)
	most := max(leastKept, (len(ranked)+st.keep-1)/st.keep)
	entrants := []Point{ranked[0].Point}
	for rank, m := range ranked[1:] {
		switch {
		case m.Point == s.points[0]:
			entrants = slices.Insert(entrants, 1, m.Point)
		case rank+1 < most && s.objective.score(m.Value) >= st.within*best:
			entrants = append(entrants, m.Point)
		}
	}
	return entrants
}

// ranked lists the measurements of a stage that count, the best first.
func (s *search) ranked(i int) []Measurement {
	var list []Measurement
	for _, m := range s.done {
		if m.Stage == i && m.Err == "" && s.objective.score(m.Value) > 0 {
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(a, b Measurement) int { return s.objective.Compare(a.Value, b.Value) })
	return list
}

// best returns the winner: the best of the last stage that compared any points, or the
// base if that is as good. It returns false if no point gave a value, or none of those that
// were measured under real traffic did.
func (s *search) best() (Measurement, bool) {
	for i := stageCount - 1; i >= 0; i-- {
		tried := 0
		for _, m := range s.done {
			if m.Stage == i {
				tried++
			}
		}
		if tried == 0 || tried == 1 && i > 0 && len(s.entrants(i)) > 1 {
			continue // it had no rival yet
		}
		ranked := slices.DeleteFunc(s.ranked(i), func(m Measurement) bool {
			return slices.ContainsFunc(s.done, func(later Measurement) bool { // gave no value
				return later.Point == m.Point && later.Stage > i && (later.Err != "" || s.objective.score(later.Value) == 0)
			})
		})
		if len(ranked) == 0 {
			return Measurement{}, false
		}
		best := ranked[0]
		for _, m := range ranked {
			if m.Point == s.points[0] && s.objective.score(best.Value) < noise*s.objective.score(m.Value) {
				best = m
			}
		}
		return best, true
	}
	return Measurement{}, false
}
