package tune

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// An Objective is the number by which points are compared.
type Objective struct {
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	Least bool   `json:"least,omitempty"` // the smaller the better
}

// objectiveOf is what the rules compare systems by in a scenario.
func objectiveOf(s loadgen.TestSettings) Objective {
	switch s.Scenario {
	case loadgen.SingleStream:
		return Objective{percentileName(s.SingleStreamTargetLatencyPercentile) + " latency", "ms", true}
	case loadgen.MultiStream:
		return Objective{percentileName(s.MultiStreamTargetLatencyPercentile) + " query latency", "ms", true}
	case loadgen.Server:
		return Objective{Name: "queries within the bound", Unit: "queries/s"}
	}
	return Objective{Name: "samples", Unit: "samples/s"}
}

// score is a number that is the larger the better, and 0 for a value that counts nothing.
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

// A Measurement is what came of a point in a stage.
type Measurement struct {
	Point
	Stage  int           `json:"stage"`
	Length time.Duration `json:"length_ns"` // that was asked for
	Took   time.Duration `json:"took_ns"`   // with opening the model
	Value  float64       `json:"value"`     // of the objective; 0: the bound was not kept
	Err    string        `json:"error,omitempty"`
}

// A Trial is a point to measure.
type Trial struct {
	Point
	Stage  int
	Length time.Duration
}

// A stage is a part of a search. It gets the points that the one before left over.
type stage struct {
	until       float64       // share of the budget that is spent when it ends
	least, most time.Duration // of a measurement, without opening the model
	within      float64       // of the best score of the stage before a point must be
	keep        int           // how many points it gets, one in how many of the stage before
}

// The first stage is wide, and its values are estimates: hence the wide margin. The last
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

const stageCount = 3

const (
	// leastKept is how many points the stages keep in any case, if they are good enough.
	leastKept = 3
	// clear is by how much a point must be better than the base to replace it: less than
	// that is noise.
	clear = 1.02
)

// A Search decides what to measure. The zero value of Points is not useful: the first is
// the base, which is measured in every stage, to compare with.
type Search struct {
	Scenario  loadgen.Scenario
	Points    []Point
	Objective Objective
	Budget    time.Duration
	Setup     time.Duration // spent before the first measurement, on opening the base
}

// Next returns what to measure next. It returns false if the search is over: all stages
// are through, or there is no time left.
func (s Search) Next(done []Measurement) (Trial, bool) {
	spent, extra := s.spent(done)
	for i, st := range stages(s.Scenario) {
		entrants := s.entrants(done, i)
		if i > 1 && len(entrants) < 2 {
			return Trial{}, false // nothing to decide between
		}
		left := slices.DeleteFunc(slices.Clone(entrants), func(p Point) bool { return measured(done, p, i) })
		if len(left) == 0 {
			continue
		}
		end := time.Duration(st.until * float64(s.Budget))
		first := i == 0 && len(left) == len(s.Points)
		if spent+extra+st.least > end && !first {
			continue
		}
		share := (end-spent)/time.Duration(len(left)) - extra
		return Trial{left[0], i, min(max(share, st.least), st.most)}, true
	}
	return Trial{}, false
}

// spent is how long the search took so far, and how much of each measurement went into
// opening the model and the like, which counts the base's as one of them.
func (s Search) spent(done []Measurement) (all, extra time.Duration) {
	all, extra = s.Setup, s.Setup
	n := 1
	for _, m := range done {
		if !slices.Contains(s.Points, m.Point) {
			continue // of a search over other points
		}
		all += m.Took
		extra += max(m.Took-m.Length, 0)
		n++
	}
	return all, extra / time.Duration(n)
}

func measured(done []Measurement, p Point, stage int) bool {
	return slices.ContainsFunc(done, func(m Measurement) bool { return m.Point == p && m.Stage == stage })
}

// entrants are the points that a stage measures: the best of those that the stage before
// measured, the best of all first, the base second, so that both are there if time runs out.
func (s Search) entrants(done []Measurement, i int) []Point {
	if i == 0 {
		return s.Points
	}
	ranked := s.ranked(done, i-1)
	if len(ranked) == 0 {
		return nil
	}
	st, best := stages(s.Scenario)[i], s.Objective.score(ranked[0].Value)
	most := max(leastKept, (len(ranked)+st.keep-1)/st.keep)
	entrants := []Point{ranked[0].Point}
	for rank, m := range ranked {
		isBase := m.Point == s.Points[0]
		good := rank < most && s.Objective.score(m.Value) >= st.within*best
		if rank == 0 || !good && !isBase {
			continue
		}
		if isBase {
			entrants = slices.Insert(entrants, 1, m.Point)
			continue
		}
		entrants = append(entrants, m.Point)
	}
	return entrants
}

// ranked lists the measurements of a stage that count, the best first.
func (s Search) ranked(done []Measurement, i int) []Measurement {
	var list []Measurement
	for _, m := range done {
		if m.Stage == i && m.Err == "" && s.Objective.score(m.Value) > 0 && slices.Contains(s.Points, m.Point) {
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(a, b Measurement) int {
		return s.Objective.Compare(a.Value, b.Value)
	})
	return list
}

// Best returns the winner: the best of the last stage that compared any points, or the
// base if that is as good. It returns false if no point gave a value, or none of those that
// were measured under real traffic did.
func (s Search) Best(done []Measurement) (Measurement, bool) {
	for i := stageCount - 1; i >= 0; i-- {
		tried := s.tried(done, i)
		if tried == 0 || tried == 1 && i > 0 && len(s.entrants(done, i)) > 1 {
			continue // it had no rival yet
		}
		ranked := slices.DeleteFunc(s.ranked(done, i), func(m Measurement) bool { return s.failedLater(done, m) })
		if len(ranked) == 0 {
			return Measurement{}, false
		}
		return s.bestOrBase(ranked), true
	}
	return Measurement{}, false
}

// bestOrBase is the first of the ranked, or the base if the first is not clearly better.
func (s Search) bestOrBase(ranked []Measurement) Measurement {
	best := ranked[0]
	for _, m := range ranked {
		if m.Point == s.Points[0] && s.Objective.score(best.Value) < clear*s.Objective.score(m.Value) {
			best = m
		}
	}
	return best
}

// tried counts the points that a stage has measured.
func (s Search) tried(done []Measurement, i int) int {
	n := 0
	for _, m := range done {
		if m.Stage == i && slices.Contains(s.Points, m.Point) {
			n++
		}
	}
	return n
}

// failedLater reports whether the point of a measurement gave no value in a later stage.
func (s Search) failedLater(done []Measurement, of Measurement) bool {
	return slices.ContainsFunc(done, func(m Measurement) bool {
		return m.Point == of.Point && m.Stage > of.Stage && (m.Err != "" || s.Objective.score(m.Value) == 0)
	})
}

// Base returns what came of the base in a stage, if it gave a value.
func (s Search) Base(done []Measurement, i int) (Measurement, bool) {
	for _, m := range s.ranked(done, i) {
		if m.Point == s.Points[0] {
			return m, true
		}
	}
	return Measurement{}, false
}
