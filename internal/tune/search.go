package tune

import (
	"cmp"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/units"
)

// An Objective is the number by which points are compared.
type Objective profile.Objective

// objectiveOf is the number that the rules compare systems by in a scenario.
func objectiveOf(s loadgen.TestSettings) Objective {
	switch s.Scenario {
	case loadgen.SingleStream:
		return Objective{units.Ordinal(s.SingleStreamTargetLatencyPercentile) + " percentile latency", "ms", true}
	case loadgen.MultiStream:
		return Objective{units.Ordinal(s.MultiStreamTargetLatencyPercentile) + " percentile query latency", "ms", true}
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

// A Measurement is a point that was measured once. The stages after the first measure their points in turns, several times.
type Measurement struct {
	Point
	Stage  int           `json:"stage"`
	Round  int           `json:"round"`     // in the stage, from 0
	Length time.Duration `json:"length_ns"` // that was asked for
	Took   time.Duration `json:"took_ns"`   // with opening the model
	// Values of the objective; 0: the bound was not kept. The first stage has those of parts of the measurement, others one.
	Values []float64 `json:"values"`
	Err    string    `json:"error,omitempty"`
}

// A Result is what a stage says of a point.
type Result struct {
	Point
	Stage int     `json:"stage"`
	Value float64 `json:"value"` // geometric mean of the values; 0: in half of them or more the bound was not kept
	// Low and High are the interval in which the mean lies in 95 of 100 cases; 0: not known, of fewer than three values.
	Low    float64 `json:"low,omitempty"`
	High   float64 `json:"high,omitempty"`
	Err    string  `json:"error,omitempty"`
	values []float64
}

// summarize computes a result of its values, whose logarithms have an interval by Student's t.
func (r *Result) summarize() {
	var logs []float64
	for _, v := range r.values {
		if v > 0 && !math.IsInf(v, 1) {
			logs = append(logs, math.Log(v))
		}
	}
	r.Value, r.Low, r.High = 0, 0, 0
	if r.Err != "" || 2*len(logs) <= len(r.values) {
		return
	}
	mean, half := interval(logs)
	r.Value = math.Exp(mean)
	if len(logs) == len(r.values) && len(logs) >= leastValues {
		r.Low, r.High = math.Exp(mean-half), math.Exp(mean+half)
	}
}

// interval is the mean of numbers, and half of its interval of 95 %.
func interval(values []float64) (mean, half float64) {
	mean, deviation := stat.MeanStdDev(values, nil)
	if n := float64(len(values)); n > 1 {
		half = distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) * deviation / math.Sqrt(n)
	}
	return mean, half
}

// A trial is a point to measure.
type trial struct {
	Point
	stage, round int
	length       time.Duration
}

// A stage is a part of a search. It gets the best points of the stage before.
type stage struct {
	until       float64       // share of the budget that is spent when it ends
	rounds      int           // that measure all of its points
	least, most time.Duration // of a measurement, without opening the model
	within      float64       // of the best score of the stage before a point must be
	keep        int           // of how many points of the stage before it gets one
}

const stageCount = 3

// stages of a search: the first one is wide, and its values are estimates: hence the wide margin. The last
// ones decide between points that hardly differ. Their rounds spread what else the machine does over all points.
func stages(s loadgen.Scenario) [stageCount]stage {
	list := [stageCount]stage{
		{until: 0.5, rounds: 1, least: 300 * time.Millisecond, most: 3 * time.Second},
		{until: 0.8, rounds: 3, least: 500 * time.Millisecond, most: 4 * time.Second, within: 0.75, keep: 3},
		{until: 1, rounds: 5, least: time.Second, most: 8 * time.Second, within: 0.93, keep: 2},
	}
	if s == loadgen.Server { // several tests in each measurement
		list[1].least, list[1].most = 2*time.Second, 8*time.Second
		list[2].least, list[2].most = 3*time.Second, 16*time.Second
	}
	return list
}

const (
	// leastKept is how many points the stages keep in any case, if they are good enough.
	leastKept = 3
	// noise is by how much a point must be better than another to beat it.
	noise = 1.02
	// unsure is the same where one of them has no interval.
	unsure = 1.25
	// leastValues have an interval. Of two it would be nine times as wide as their deviation.
	leastValues = 3
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
		var left []trial
		for round := range st.rounds {
			for _, p := range entrants {
				if !slices.ContainsFunc(s.done, func(m Measurement) bool {
					return m.Point == p && m.Stage == i && (m.Round == round || m.Err != "")
				}) {
					left = append(left, trial{p, i, round, 0})
				}
			}
		}
		if len(left) == 0 {
			continue
		}
		end := time.Duration(st.until * float64(s.budget))
		if spent+extra+st.least > end && len(s.done) > 0 {
			continue
		}
		share := (end-spent)/time.Duration(len(left)) - extra
		left[0].length = min(max(share, st.least), st.most)
		return left[0], true
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

// results are those of a stage, in the order of its measurements.
func (s *search) results(i int) (list []Result) {
	for _, m := range s.done {
		if m.Stage != i {
			continue
		}
		at := slices.IndexFunc(list, func(r Result) bool { return r.Point == m.Point })
		if at < 0 {
			at, list = len(list), append(list, Result{Point: m.Point, Stage: i})
		}
		list[at].values, list[at].Err = append(list[at].values, m.Values...), m.Err
		list[at].summarize()
	}
	return list
}

// ranked lists the results of a stage that count, the best first.
func (s *search) ranked(i int) []Result {
	list := slices.DeleteFunc(s.results(i), func(r Result) bool { return s.objective.score(r.Value) == 0 })
	slices.SortStableFunc(list, func(a, b Result) int { return s.objective.Compare(a.Value, b.Value) })
	return list
}

// beats reports whether a is better than b beyond noise: by the interval of the differences of their rounds, which were measured
// in turns, or else if their own intervals are apart.
func (s *search) beats(a, b Result) bool {
	ahead := s.objective.score(a.Value) / s.objective.score(b.Value)
	switch {
	case ahead < noise:
		return false
	case a.High == 0 || b.High == 0:
		return ahead >= unsure
	case a.Stage == 0 || len(a.values) != len(b.values):
		return a.Low > b.High || a.High < b.Low
	}
	differences := make([]float64, len(a.values))
	for i := range differences {
		differences[i] = math.Log(s.objective.score(a.values[i]) / s.objective.score(b.values[i]))
	}
	mean, half := interval(differences)
	return mean > half
}

// simpler orders points that are as good as each other: the choice of a run first, then small batches, few threads and short delays.
func (s *search) simpler(a, b Point) int {
	at := func(p Point) int { return slices.Index(s.points, p) }
	variant := func(p Point) int { // in the order of the files
		return slices.IndexFunc(s.points, func(o Point) bool { return o.Variant == p.Variant })
	}
	if at(a) == 0 || at(b) == 0 {
		return cmp.Compare(at(a), at(b))
	}
	return cmp.Or(cmp.Compare(a.MaxBatch, b.MaxBatch), cmp.Compare(a.Instances*a.Threads, b.Instances*b.Threads), cmp.Compare(a.Instances, b.Instances),
		cmp.Compare(a.MaxDelay, b.MaxDelay), cmp.Compare(variant(a), variant(b)))
}

// best returns the winner, the simplest of the best of the last stage that compared any points, and the others that are as good within
// noise. It returns false if no point gave a value, or none of those that were measured under real traffic did.
func (s *search) best() (winner Result, tied []Point, found bool) {
	for i := stageCount - 1; i >= 0; i-- {
		results := s.results(i)
		tried := len(results)
		if tried == 0 || tried == 1 && i > 0 && len(s.entrants(i)) > 1 {
			continue // it had no rival yet
		}
		if i > 1 && slices.ContainsFunc(results, func(r Result) bool { return len(r.values) < leastValues }) {
			continue // the rounds of the stage before tell more
		}
		ranked := slices.DeleteFunc(s.ranked(i), func(r Result) bool {
			for later := i + 1; later < stageCount; later++ { // gave no value
				if slices.ContainsFunc(s.results(later), func(l Result) bool { return l.Point == r.Point && s.objective.score(l.Value) == 0 }) {
					return true
				}
			}
			return false
		})
		if len(ranked) == 0 {
			return Result{}, nil, false
		}
		top := ranked[0]
		ranked = slices.DeleteFunc(ranked, func(r Result) bool { return s.beats(top, r) })
		slices.SortStableFunc(ranked, func(a, b Result) int { return s.simpler(a.Point, b.Point) })
		for _, r := range ranked[1:] {
			tied = append(tied, r.Point)
		}
		return ranked[0], tied, true
	}
	return Result{}, nil, false
}
