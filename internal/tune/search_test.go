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

func (m simulated) measure(t trial) Measurement {
	v := m.value(t.Point, t.stage)
	if m.noise > 0 {
		v *= max(1+m.noise*m.random.NormFloat64()/math.Sqrt(t.length.Seconds()), 0.1)
	}
	return Measurement{Point: t.Point, Stage: t.stage, Round: t.round, Length: t.length, Values: []float64{v}, Took: m.opening + max(t.length, m.slowest)}
}

// run lets a search measure a simulated machine until it is over.
func (m simulated) run(t *testing.T, s *search) {
	t.Helper()
	for range 10 * len(s.points) {
		trial, more := s.next()
		if !more {
			return
		}
		if slices.ContainsFunc(s.done, func(d Measurement) bool {
			return d.Point == trial.Point && d.Stage == trial.stage && d.Round == trial.round
		}) {
			t.Fatalf("%v is measured twice in round %d of stage %d", trial.Point, trial.round, trial.stage)
		}
		s.done = append(s.done, m.measure(trial))
	}
	t.Fatal("the search does not end")
}

// offline searches a space as of a processor with 8 cores.
func offline() *search {
	points := Axes{}.points(Point{Instances: 8, Threads: 1, MaxBatch: 8}, facts{scenario: loadgen.Offline, cores: 8})
	return &search{scenario: loadgen.Offline, points: points, objective: objectiveOf(settingsOf(loadgen.Offline)), budget: 5 * time.Minute}
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

func TestSearchClimbsASmoothHill(t *testing.T) {
	s := offline()
	simulated{value: hill, opening: time.Second}.run(t, s)
	if best, _, ok := s.best(); !ok || best.Point != (Point{Instances: 4, Threads: 2, MaxBatch: 16}) {
		t.Errorf("best() = %v, %v, want 4 × 2 threads, batch 16", best, ok)
	}
	count := map[int]int{}
	for stage := range stageCount {
		for _, r := range s.results(stage) {
			count[stage]++
			if stage > 0 && r.Point != s.points[0] && r.Value < 750 {
				t.Errorf("%v with %.0f of 1000 reaches stage %d", r.Point, r.Value, stage)
			}
		}
	}
	if count[0] != len(s.points) || count[1] >= count[0]/2 || count[2] >= count[1] || count[2] < 2 {
		t.Errorf("points by stage: %v of %d", count, len(s.points))
	}
}

// TestNoiseCostsLittle wants the true value of the winner to be near that of the best, over
// many searches.
func TestNoiseCostsLittle(t *testing.T) {
	worst := 1.0
	for seed := range uint64(50) {
		s := offline()
		simulated{value: hill, noise: 0.05, opening: 500 * time.Millisecond, random: rand.New(rand.NewPCG(seed, 1))}.run(t, s)
		best, _, ok := s.best()
		if !ok {
			t.Fatal("no winner")
		}
		worst = min(worst, hill(best.Point, 0)/1000)
	}
	if worst < 0.88 {
		t.Errorf("the worst winner of 50 searches has %.2f of the best value", worst)
	}
}

// TestSearchKeepsTheBudget wants no more than one measurement to end after it, whatever opening
// and measuring take.
func TestSearchKeepsTheBudget(t *testing.T) {
	for _, budget := range []time.Duration{time.Second, 20 * time.Second, 2 * time.Minute, time.Hour} {
		for _, opening := range []time.Duration{0, 300 * time.Millisecond, 10 * time.Second} {
			for _, slowest := range []time.Duration{0, 4 * time.Second} {
				for _, scenario := range loadgen.Scenarios() {
					s := offline()
					s.scenario, s.budget, s.setup = scenario, budget, 500*time.Millisecond
					simulated{value: hill, opening: opening, slowest: slowest}.run(t, s)
					spent, _ := s.spent()
					if over := spent - s.done[len(s.done)-1].Took - budget; over > 0 && len(s.done) > 1 {
						t.Errorf("budget %v, opening %v, %v: another measurement begins %v after its end", budget, opening, scenario, over)
					}
					if over := spent - budget; over > 2*(opening+slowest)+10*time.Second {
						t.Errorf("budget %v, opening %v: it ends %v late", budget, opening, over)
					}
				}
			}
		}
	}
}

func TestEveryStageMeasuresTheBase(t *testing.T) {
	s := offline()
	simulated{opening: time.Second, value: func(p Point, _ int) float64 {
		if p == s.points[0] {
			return 1
		}
		return hill(p, 0)
	}}.run(t, s)
	var stages []int
	for i, m := range s.done {
		if m.Point == s.points[0] {
			stages = append(stages, m.Stage)
		} else if i == 0 {
			t.Errorf("the first is %v, want the base", m.Point)
		}
	}
	if stages = slices.Compact(stages); !slices.Equal(stages, []int{0, 1, 2}) {
		t.Errorf("the base is measured in the stages %v", stages)
	}
}

// TestBest has cases that a whole search does not easily come to.
func TestBest(t *testing.T) {
	base, a, b := Point{Instances: 1}, Point{Instances: 2}, Point{Instances: 3}
	m := func(p Point, stage int, values ...float64) Measurement {
		return Measurement{Point: p, Stage: stage, Values: values}
	}
	failed := Measurement{Point: a, Stage: 0, Err: "out of memory"}
	for _, c := range []struct {
		name  string
		least bool
		done  []Measurement
		want  Point
		tied  []Point
		none  bool
	}{
		{name: "nothing was measured", none: true},
		{name: "only the base was measured", done: []Measurement{m(base, 0, 5)}, want: base},
		{name: "the larger rate wins", done: []Measurement{m(base, 0, 5, 5, 5), m(a, 0, 7, 7, 7), m(b, 0, 6, 6, 6)}, want: a},
		{name: "the smaller latency wins", least: true, done: []Measurement{m(base, 0, 5, 5.1), m(a, 0, 3, 3.1)}, want: a},
		{name: "single values are far apart", done: []Measurement{m(base, 0, 100), m(a, 0, 130)}, want: a},
		{name: "or a tie", done: []Measurement{m(base, 0, 100), m(a, 0, 120)}, want: base, tied: []Point{a}},
		{name: "less than two percent is noise", done: []Measurement{m(base, 0, 100, 100, 100), m(a, 0, 101.9, 101.9, 101.9)}, want: base, tied: []Point{a}},
		{name: "more than that is not", done: []Measurement{m(base, 0, 100, 100, 100), m(a, 0, 102.1, 102.1, 102.1)}, want: a},
		{name: "one good round decides nothing", done: []Measurement{m(base, 1, 100, 101, 99), m(a, 1, 99, 240, 101)}, want: base, tied: []Point{a}},
		{name: "rounds in turns pair up", done: []Measurement{m(base, 1, 100, 50, 80), m(a, 1, 110, 56, 88)}, want: a},
		{name: "a round beyond the bound decides nothing", done: []Measurement{m(base, 1, 100, 100, 100), m(a, 1, 120, 0, 120)}, want: base, tied: []Point{a}},
		{name: "of ties the smallest wins", done: []Measurement{m(base, 0, 5, 5, 5), m(b, 0, 9, 9, 9), m(a, 0, 9, 9, 9)}, want: a, tied: []Point{b}},
		{name: "a later stage decides", done: []Measurement{m(base, 0, 5, 5, 5), m(a, 0, 7, 7, 7), m(b, 0, 7, 7, 7), m(a, 1, 4, 4, 4), m(base, 1, 5, 5, 5)}, want: base},
		{name: "one point of a stage decides nothing", done: []Measurement{m(base, 0, 7, 7, 7), m(a, 0, 8, 8, 8), m(a, 1, 1)}, want: a},
		{name: "what failed later does not win", done: []Measurement{m(base, 0, 7), m(a, 0, 8), m(a, 1, 0)}, want: base},
		{name: "a failure is no value", done: []Measurement{m(base, 0, 5), failed}, want: base},
		{name: "nothing keeps the bound", done: []Measurement{m(base, 0, 0), m(a, 0, 0)}, none: true},
		{name: "nothing keeps the bound under traffic", done: []Measurement{m(base, 0, 5), m(a, 0, 6), m(b, 0, 6), m(a, 1, 0), m(base, 1, 0)}, none: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := search{points: []Point{base, a, b}, objective: Objective{Least: c.least}, done: c.done}
			got, tied, ok := s.best()
			if ok == c.none || !c.none && (got.Point != c.want || !slices.Equal(tied, c.tied)) {
				t.Errorf("best() = %v, %v, %v, want %v, %v", got, tied, ok, c.want, c.tied)
			}
		})
	}
}

func TestSearchEndsEarlyWithoutAValue(t *testing.T) {
	s := offline()
	simulated{value: func(Point, int) float64 { return 0 }, opening: time.Second}.run(t, s)
	if len(s.done) != len(s.points) {
		t.Errorf("%d measurements of %d points", len(s.done), len(s.points))
	}
}

// TestEstimateAloneMakesNoWinner: the last survivor is measured under traffic, if there is time.
func TestEstimateAloneMakesNoWinner(t *testing.T) {
	for _, traffic := range []float64{8, 0} {
		s := &search{scenario: loadgen.Server, points: []Point{{Instances: 1}, {Instances: 2}}, objective: objectiveOf(settingsOf(loadgen.Server)), budget: time.Minute}
		simulated{value: func(p Point, stage int) float64 {
			switch {
			case p.Instances == 1:
				return 0
			case stage == 0:
				return 10
			}
			return traffic
		}}.run(t, s)
		if best, _, ok := s.best(); ok != (traffic > 0) || ok && (best.Stage != 1 || math.Abs(best.Value-8) > 1e-9) {
			t.Errorf("best() = %+v, %v, want the %g of the traffic", best, ok, traffic)
		}
	}
}

func TestPoints(t *testing.T) {
	base := Point{Instances: 2, Threads: 1, MaxBatch: 8}
	for _, c := range []struct {
		name  string
		axes  Axes
		facts facts
		base  Point
		want  []string // without the base, in any order
	}{
		{
			name: "SingleStream varies the threads of one worker", facts: facts{scenario: loadgen.SingleStream, cores: 6},
			base: Point{Instances: 1, Threads: 6, MaxBatch: 1},
			want: []string{"1 × 1 threads, batch 1", "1 × 2 threads, batch 1", "1 × 4 threads, batch 1"},
		},
		{
			name: "Offline occupies half of the cores at least", facts: facts{scenario: loadgen.Offline, cores: 4}, axes: Axes{Batches: []int{8}},
			want: []string{"1 × 2 threads, batch 8", "1 × 4 threads, batch 8", "2 × 2 threads, batch 8", "4 × 1 threads, batch 8"},
		},
		{
			name: "a model with fixed batches gets no larger ones", facts: facts{scenario: loadgen.Offline, cores: 1, fixedBatch: 3},
			base: Point{Instances: 1, Threads: 1, MaxBatch: 2},
			want: []string{"1 × 1 threads, batch 1", "1 × 1 threads, batch 3"},
		},
		{
			name: "Server delays batches, but not single samples", base: Point{Instances: 1, Threads: 1, MaxBatch: 1},
			facts: facts{scenario: loadgen.Server, cores: 1, bound: 10 * time.Millisecond}, axes: Axes{Batches: []int{1, 2}},
			want: []string{"1 × 1 threads, batch 2", "1 × 1 threads, batch 2, delay 200 µs", "1 × 1 threads, batch 2, delay 1 ms"},
		},
		{
			name: "delays that the user gives, and no others", base: Point{Instances: 1, Threads: 1, MaxBatch: 1},
			facts: facts{scenario: loadgen.Server, cores: 1, bound: 10 * time.Millisecond}, axes: Axes{Batches: []int{1, 2}, Delays: []time.Duration{3 * time.Millisecond, 0}},
			want: []string{"1 × 1 threads, batch 2", "1 × 1 threads, batch 2, delay 3 ms"},
		},
		{
			name: "values that are given twice are tried once", base: Point{Instances: 1, Threads: 1, MaxBatch: 1},
			facts: facts{scenario: loadgen.Offline, cores: 1}, axes: Axes{Instances: []int{1, 1}, Threads: []int{1}, Batches: []int{1, 2, 2, 1}},
			want: []string{"1 × 1 threads, batch 2"},
		},
		{
			name: "MultiStream splits its queries", facts: facts{scenario: loadgen.MultiStream, cores: 1, samplesPerQuery: 6},
			base: Point{Instances: 1, Threads: 1, MaxBatch: 6},
			want: []string{"1 × 1 threads, batch 1", "1 × 1 threads, batch 2", "1 × 1 threads, batch 4"},
		},
		{
			name: "an accelerator takes larger batches, whatever the threads", facts: facts{scenario: loadgen.Offline, cores: 64, accelerator: true},
			axes: Axes{Batches: []int{256}}, base: Point{Instances: 1, Threads: 64, MaxBatch: 256},
			want: []string{"2 × 64 threads, batch 256", "4 × 64 threads, batch 256"},
		},
		{
			name: "what the user gives is tried, even beyond the cores", facts: facts{scenario: loadgen.Offline, cores: 2},
			axes: Axes{Instances: []int{3}, Threads: []int{2}, Batches: []int{8}},
			want: []string{"3 × 2 threads, batch 8"},
		},
		{
			name: "only threads are given", facts: facts{scenario: loadgen.Offline, cores: 2}, axes: Axes{Threads: []int{4}, Batches: []int{8}},
			want: []string{"1 × 4 threads, batch 8"},
		},
		{
			name: "every model file", facts: facts{scenario: loadgen.SingleStream, cores: 1}, axes: Axes{Variants: []string{"fp32", "int8"}},
			base: Point{Variant: "fp32", Instances: 1, Threads: 1, MaxBatch: 1},
			want: []string{"int8, 1 × 1 threads, batch 1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.base == (Point{}) {
				c.base = base
			}
			points := c.axes.points(c.base, c.facts)
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

func TestPointsOccupyTheCoresOnce(t *testing.T) {
	for cores := 1; cores <= 16; cores++ {
		for _, scenario := range loadgen.Scenarios() {
			f := facts{scenario: scenario, cores: cores, samplesPerQuery: 8, bound: 20 * time.Millisecond}
			base := Point{Instances: 1, Threads: cores, MaxBatch: 1}
			points := Axes{}.points(base, f)
			seen := map[Point]bool{}
			for _, p := range points {
				if seen[p] {
					t.Errorf("%v with %d cores: %v is there twice", scenario, cores, p)
				}
				seen[p] = true
				occupied := p.Instances * p.Threads
				many := scenario == loadgen.Offline || scenario == loadgen.Server
				if p != base && (occupied > cores || many && 2*occupied < cores) {
					t.Errorf("%v with %d cores: %v occupies %d", scenario, cores, p, occupied)
				}
			}
			if again := (Axes{}).points(base, f); !slices.Equal(points, again) {
				t.Errorf("%v with %d cores: the order depends on chance", scenario, cores)
			}
		}
	}
}

// The first third of a large space has every size of batches: the time may not suffice for more.
func TestOrderOfPointsIsSpread(t *testing.T) {
	points := Axes{}.points(Point{Instances: 16, Threads: 1, MaxBatch: 1}, facts{scenario: loadgen.Offline, cores: 16})
	batches := map[int]bool{}
	for _, p := range points[:len(points)/3] {
		batches[p.MaxBatch] = true
	}
	if len(batches) != len(upTo(offlineBatch)) {
		t.Errorf("the first third of %d points has the batches %v", len(points), batches)
	}
}
