package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A simulated machine: how good each point is, how noisy measurements are, and how long
// they and opening the model take.
type simulated struct {
	value   func(p Point, stage int) float64
	noise   float64 // standard deviation of a measurement of a second, as a share
	opening time.Duration
	slowest time.Duration // that a measurement takes at least
	random  *rand.Rand
}

func (m simulated) measure(t Trial) Measurement {
	v := m.value(t.Point, t.Stage)
	if m.noise > 0 {
		v *= max(1+m.noise*m.random.NormFloat64()/math.Sqrt(t.Length.Seconds()), 0.1)
	}
	return Measurement{Point: t.Point, Stage: t.Stage, Length: t.Length, Value: v, Took: m.opening + max(t.Length, m.slowest)}
}

// run lets a search measure a simulated machine until it is over.
func (m simulated) run(t *testing.T, s Search, done []Measurement) []Measurement {
	t.Helper()
	for range 10 * len(s.Points) {
		trial, more := s.Next(done)
		if !more {
			return done
		}
		if slices.ContainsFunc(done, func(d Measurement) bool { return d.Point == trial.Point && d.Stage == trial.Stage }) {
			t.Fatalf("%v is measured twice in stage %d", trial.Point, trial.Stage)
		}
		done = append(done, m.measure(trial))
	}
	t.Fatal("the search does not end")
	return nil
}

func spentIn(done []Measurement) (sum time.Duration) {
	for _, m := range done {
		sum += m.Took
	}
	return sum
}

// offline is a space as of a processor with 8 cores.
func offline(t *testing.T) Search {
	t.Helper()
	f := Facts{Scenario: loadgen.Offline, Cores: 8}
	points := Axes{}.Points(Point{Instances: 8, Threads: 1, MaxBatch: 8}, f)
	return Search{Scenario: loadgen.Offline, Points: points, Objective: objectiveOf(settingsOf(loadgen.Offline)), Budget: 5 * time.Minute}
}

func settingsOf(s loadgen.Scenario) loadgen.TestSettings {
	settings := loadgen.DefaultSettings()
	settings.Scenario = s
	return settings
}

// hill has its top at 4 × 2 threads and batches of 16, and falls off to all sides.
func hill(p Point, _ int) float64 {
	away := math.Abs(math.Log2(float64(p.Instances)/4)) + math.Abs(math.Log2(float64(p.Threads)/2)) + math.Abs(math.Log2(float64(p.MaxBatch)/16))/2
	return 1000 / (1 + 0.2*away)
}

func TestTheBestPointOfASmoothSpaceWins(t *testing.T) {
	s := offline(t)
	done := simulated{value: hill, opening: time.Second}.run(t, s, nil)
	best, ok := s.Best(done)
	if want := (Point{Instances: 4, Threads: 2, MaxBatch: 16}); !ok || best.Point != want {
		t.Errorf("Best = %v, %v, want %v", best, ok, want)
	}
}

// TestNoiseCostsLittle wants the true value of the winner to be near that of the best, over
// many searches.
func TestNoiseCostsLittle(t *testing.T) {
	s := offline(t)
	worst := 1.0
	for seed := range uint64(50) {
		m := simulated{value: hill, noise: 0.05, opening: 500 * time.Millisecond, random: rand.New(rand.NewPCG(seed, 1))}
		best, ok := s.Best(m.run(t, s, nil))
		if !ok {
			t.Fatal("no winner")
		}
		worst = min(worst, hill(best.Point, 0)/1000)
	}
	if worst < 0.88 {
		t.Errorf("the worst winner of 50 searches has %.2f of the best value", worst)
	}
}

// TestTheBudgetIsKept wants no more than one measurement to end after it, whatever opening
// and measuring take.
func TestTheBudgetIsKept(t *testing.T) {
	for _, budget := range []time.Duration{time.Second, 20 * time.Second, 2 * time.Minute, time.Hour} {
		for _, opening := range []time.Duration{0, 300 * time.Millisecond, 10 * time.Second} {
			for _, slowest := range []time.Duration{0, 4 * time.Second} {
				for _, scenario := range loadgen.Scenarios() {
					s := offline(t)
					s.Scenario, s.Budget, s.Setup = scenario, budget, 500*time.Millisecond
					done := simulated{value: hill, opening: opening, slowest: slowest}.run(t, s, nil)
					last := done[len(done)-1].Took
					if over := s.Setup + spentIn(done) - last - budget; over > 0 && len(done) > 1 {
						t.Errorf("budget %v, opening %v, %v: another measurement begins %v after its end", budget, opening, scenario, over)
					}
					if over := s.Setup + spentIn(done) - budget; over > 2*(opening+slowest)+10*time.Second {
						t.Errorf("budget %v, opening %v: it ends %v late", budget, opening, over)
					}
				}
			}
		}
	}
}

func TestTheBaseIsMeasuredFirstAndInEveryStage(t *testing.T) {
	s := offline(t)
	bad := func(p Point, _ int) float64 {
		if p == s.Points[0] {
			return 1
		}
		return hill(p, 0)
	}
	done := simulated{value: bad, opening: time.Second}.run(t, s, nil)
	if done[0].Point != s.Points[0] {
		t.Errorf("the first is %v, want the base", done[0].Point)
	}
	for i := range stageCount {
		if _, ok := s.Base(done, i); !ok {
			t.Errorf("the base is not in stage %d", i)
		}
	}
}

func TestPointsThatAreClearlyWorseAreDroppedEarly(t *testing.T) {
	s := offline(t)
	done := simulated{value: hill, opening: time.Second}.run(t, s, nil)
	best := 1000.0
	count := map[int]int{}
	for _, m := range done {
		count[m.Stage]++
		if m.Stage > 0 && m.Point != s.Points[0] && m.Value < 0.75*best {
			t.Errorf("%v with %.0f of %.0f reaches stage %d", m.Point, m.Value, best, m.Stage)
		}
	}
	if count[0] != len(s.Points) || count[1] >= count[0]/2 || count[2] >= count[1] || count[2] < 2 {
		t.Errorf("points by stage: %v of %d", count, len(s.Points))
	}
}

// TestASearchThatIsInterruptedGoesOnTheSameWay stops a search after each measurement.
func TestASearchThatIsInterruptedGoesOnTheSameWay(t *testing.T) {
	s := offline(t)
	m := simulated{value: hill, opening: time.Second}
	want := m.run(t, s, nil)
	for n := range want {
		if diff := cmp.Diff(want, m.run(t, s, slices.Clone(want[:n]))); diff != "" {
			t.Fatalf("stopped after %d (-want +got):\n%s", n, diff)
		}
	}
	if trial, more := s.Next(want); more {
		t.Errorf("after the end comes %v", trial)
	}
}

func TestALargerBudgetGoesOnWhereTheSearchEnded(t *testing.T) {
	s := offline(t)
	s.Budget = 30 * time.Second
	m := simulated{value: hill, opening: time.Second}
	short := m.run(t, s, nil)
	s.Budget = 5 * time.Minute
	long := m.run(t, s, slices.Clone(short))
	best, _ := s.Best(long)
	if want := (Point{Instances: 4, Threads: 2, MaxBatch: 16}); best.Point != want || len(long) <= len(short) {
		t.Errorf("after %d and %d measurements the best is %v, want %v", len(short), len(long), best.Point, want)
	}
}

func TestMeasurementsOfOtherPointsDoNotCount(t *testing.T) {
	s := offline(t)
	alien := Measurement{Point: Point{Instances: 99, Threads: 1, MaxBatch: 1}, Value: 1e9, Took: time.Hour}
	done := simulated{value: hill, opening: time.Second}.run(t, s, []Measurement{alien})
	if best, _ := s.Best(done); best.Point.Instances == 99 {
		t.Error("a point of another search wins")
	}
	if len(done) < len(s.Points) {
		t.Errorf("%d measurements of %d points: the hour of another search counts", len(done), len(s.Points))
	}
}

// TestBest has cases that a whole search does not easily come to.
func TestBest(t *testing.T) {
	base, a, b := Point{Instances: 1}, Point{Instances: 2}, Point{Instances: 3}
	m := func(p Point, stage int, value float64) Measurement {
		return Measurement{Point: p, Stage: stage, Value: value}
	}
	failed := Measurement{Point: a, Stage: 0, Err: "out of memory"}
	for _, c := range []struct {
		name  string
		least bool
		done  []Measurement
		want  Measurement
		none  bool
	}{
		{name: "nothing was measured", none: true},
		{name: "only the base was measured", done: []Measurement{m(base, 0, 5)}, want: m(base, 0, 5)},
		{name: "the larger rate wins", done: []Measurement{m(base, 0, 5), m(a, 0, 7), m(b, 0, 6)}, want: m(a, 0, 7)},
		{name: "the smaller latency wins", least: true, done: []Measurement{m(base, 0, 5), m(a, 0, 3)}, want: m(a, 0, 3)},
		{name: "less than two percent is noise", done: []Measurement{m(base, 0, 100), m(a, 0, 101.9)}, want: m(base, 0, 100)},
		{name: "more than that is not", done: []Measurement{m(base, 0, 100), m(a, 0, 102.1)}, want: m(a, 0, 102.1)},
		{name: "a later stage decides", done: []Measurement{m(base, 0, 5), m(a, 0, 7), m(b, 0, 7), m(a, 1, 4), m(base, 1, 5)}, want: m(base, 1, 5)},
		{name: "one point of a stage decides nothing", done: []Measurement{m(base, 0, 7), m(a, 0, 8), m(a, 1, 1)}, want: m(a, 0, 8)},
		{name: "what failed later does not win", done: []Measurement{m(base, 0, 7), m(a, 0, 8), m(a, 1, 0)}, want: m(base, 0, 7)},
		{name: "what failed in the same stage before counts for what it gave then", done: []Measurement{m(base, 0, 5), m(a, 0, 0), m(a, 0, 9)}, want: m(a, 0, 9)},
		{name: "a failure is no value", done: []Measurement{m(base, 0, 5), failed}, want: m(base, 0, 5)},
		{name: "nothing keeps the bound", done: []Measurement{m(base, 0, 0), m(a, 0, 0)}, none: true},
		{name: "nothing keeps the bound under traffic", done: []Measurement{m(base, 0, 5), m(a, 0, 6), m(b, 0, 6), m(a, 1, 0), m(base, 1, 0)}, none: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Search{Points: []Point{base, a, b}, Objective: Objective{Least: c.least}}
			got, ok := s.Best(c.done)
			if ok == c.none || !c.none && got != c.want {
				t.Errorf("Best = %v, %v, want %v", got, ok, c.want)
			}
		})
	}
}

func TestASearchInWhichNothingKeepsTheBoundEndsAfterOneStage(t *testing.T) {
	s := offline(t)
	done := simulated{value: func(Point, int) float64 { return 0 }, opening: time.Second}.run(t, s, nil)
	if len(done) != len(s.Points) {
		t.Errorf("%d measurements of %d points", len(done), len(s.Points))
	}
}

// TestTheLastSurvivorIsConfirmed: an estimate alone makes no winner if there is time to try it.
func TestTheLastSurvivorIsConfirmed(t *testing.T) {
	s := Search{Scenario: loadgen.Server, Points: []Point{{Instances: 1}, {Instances: 2}}, Objective: objectiveOf(settingsOf(loadgen.Server)), Budget: time.Minute}
	lone := func(traffic float64) func(Point, int) float64 {
		return func(p Point, stage int) float64 {
			switch {
			case p.Instances == 1:
				return 0
			case stage == 0:
				return 10
			}
			return traffic
		}
	}
	done := simulated{value: lone(8)}.run(t, s, nil)
	if best, ok := s.Best(done); !ok || best.Stage != 1 || best.Value != 8 {
		t.Errorf("Best = %+v, %v, want the 8 of the traffic", best, ok)
	}
	done = simulated{value: lone(0)}.run(t, s, nil)
	if best, ok := s.Best(done); ok {
		t.Errorf("Best = %+v, which did not keep the bound under traffic", best)
	}
}

func TestPoints(t *testing.T) {
	base := Point{Instances: 2, Threads: 1, MaxBatch: 8}
	for _, c := range []struct {
		name  string
		axes  Axes
		facts Facts
		base  Point
		want  []string // without the base, in any order
	}{
		{
			name: "SingleStream varies the threads of one worker", facts: Facts{Scenario: loadgen.SingleStream, Cores: 6},
			base: Point{Instances: 1, Threads: 6, MaxBatch: 1},
			want: []string{"1 × 1 threads, batch 1", "1 × 2 threads, batch 1", "1 × 4 threads, batch 1"},
		},
		{
			name: "Offline occupies half of the cores at least", facts: Facts{Scenario: loadgen.Offline, Cores: 4}, axes: Axes{Batches: []int{8}},
			want: []string{"1 × 2 threads, batch 8", "1 × 4 threads, batch 8", "2 × 2 threads, batch 8", "4 × 1 threads, batch 8"},
		},
		{
			name: "a model with fixed batches gets no larger ones", facts: Facts{Scenario: loadgen.Offline, Cores: 1, FixedBatch: 2},
			base: Point{Instances: 1, Threads: 1, MaxBatch: 2},
			want: []string{"1 × 1 threads, batch 1"},
		},
		{
			name: "Server delays batches, but not single samples", base: Point{Instances: 1, Threads: 1, MaxBatch: 1},
			facts: Facts{Scenario: loadgen.Server, Cores: 1, Bound: 10 * time.Millisecond}, axes: Axes{Batches: []int{1, 2}},
			want: []string{"1 × 1 threads, batch 2", "1 × 1 threads, batch 2, delay 200µs", "1 × 1 threads, batch 2, delay 1ms"},
		},
		{
			name: "delays that the user gives, and no others", base: Point{Instances: 1, Threads: 1, MaxBatch: 1},
			facts: Facts{Scenario: loadgen.Server, Cores: 1, Bound: 10 * time.Millisecond}, axes: Axes{Batches: []int{1, 2}, Delays: []time.Duration{3 * time.Millisecond, 0}},
			want: []string{"1 × 1 threads, batch 2", "1 × 1 threads, batch 2, delay 3ms"},
		},
		{
			name: "values that are given twice are tried once", base: Point{Instances: 1, Threads: 1, MaxBatch: 1},
			facts: Facts{Scenario: loadgen.Offline, Cores: 1}, axes: Axes{Instances: []int{1, 1}, Threads: []int{1}, Batches: []int{1, 2, 2, 1}},
			want: []string{"1 × 1 threads, batch 2"},
		},
		{
			name: "MultiStream splits its queries", facts: Facts{Scenario: loadgen.MultiStream, Cores: 1, SamplesPerQuery: 6},
			base: Point{Instances: 1, Threads: 1, MaxBatch: 6},
			want: []string{"1 × 1 threads, batch 1", "1 × 1 threads, batch 2", "1 × 1 threads, batch 4"},
		},
		{
			name: "an accelerator takes larger batches, whatever the threads", facts: Facts{Scenario: loadgen.Offline, Cores: 64, Accelerator: true},
			axes: Axes{Batches: []int{256}}, base: Point{Instances: 1, Threads: 64, MaxBatch: 256},
			want: []string{"2 × 64 threads, batch 256", "4 × 64 threads, batch 256"},
		},
		{
			name: "what the user gives is tried, even beyond the cores", facts: Facts{Scenario: loadgen.Offline, Cores: 2},
			axes: Axes{Instances: []int{3}, Threads: []int{2}, Batches: []int{8}},
			want: []string{"3 × 2 threads, batch 8"},
		},
		{
			name: "only threads are given", facts: Facts{Scenario: loadgen.Offline, Cores: 2}, axes: Axes{Threads: []int{4}, Batches: []int{8}},
			want: []string{"1 × 4 threads, batch 8"},
		},
		{
			name: "every model file", facts: Facts{Scenario: loadgen.SingleStream, Cores: 1}, axes: Axes{Variants: []string{"fp32", "int8"}},
			base: Point{Variant: "fp32", Instances: 1, Threads: 1, MaxBatch: 1},
			want: []string{"int8, 1 × 1 threads, batch 1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.base == (Point{}) {
				c.base = base
			}
			points := c.axes.Points(c.base, c.facts)
			if points[0] != c.base {
				t.Errorf("the first is %v, want the base", points[0])
			}
			var got []string
			for _, p := range points[1:] {
				got = append(got, fmt.Sprint(p))
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
