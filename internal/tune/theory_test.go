package tune

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/quick"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// An event of the simulation below: at some time a sample arrives, a worker is done, or the first sample of a
// batch has waited long enough.
type event struct {
	at   time.Duration
	kind int // done before arrived before waited, at the same time
}

const (
	done = iota
	arrived
	waited
)

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].kind < e[j].kind
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// simulate plays a queue event by event, as package harness runs it: a free worker takes a batch when it is full, or
// when its first sample has waited for the delay.
func simulate(q queueModel, arrivals []time.Duration) []time.Duration {
	var todo events
	for _, at := range arrivals {
		heap.Push(&todo, event{at, arrived})
		heap.Push(&todo, event{at + q.maxDelay, waited})
	}
	var queue, latencies []time.Duration
	free := q.workers
	for len(todo) > 0 {
		now := heap.Pop(&todo).(event)
		switch now.kind {
		case arrived:
			queue = append(queue, now.at)
		case done:
			free++
		}
		if len(todo) > 0 && todo[0].at == now.at {
			continue // all that happens at a time comes before anything is taken
		}
		for free > 0 && len(queue) > 0 && (len(queue) >= q.maxBatch || now.at >= queue[0]+q.maxDelay) {
			n := min(q.maxBatch, len(queue))
			end := now.at + q.service(n)
			for _, at := range queue[:n] {
				latencies = append(latencies, end-at)
			}
			queue, free = queue[n:], free-1
			heap.Push(&todo, event{end, done})
		}
	}
	slices.Sort(latencies)
	return latencies
}

func TestTheQueueIsThatOfASimulationEventByEvent(t *testing.T) {
	draw := rand.New(rand.NewPCG(4, 2))
	for range 12 {
		first, more := time.Duration(1+draw.IntN(20))*time.Millisecond, time.Duration(draw.IntN(4000))*time.Microsecond
		q := queueModel{
			workers: 1 + draw.IntN(5), maxBatch: 1 + draw.IntN(8), maxDelay: time.Duration(draw.IntN(3)) * 2 * time.Millisecond,
			service: func(n int) time.Duration { return first + time.Duration(n-1)*more },
		}
		rate := q.capacity() * (0.2 + 0.7*draw.Float64())
		want := simulate(q, poisson(rate))
		for _, percentile := range []float64{0.1, 0.5, 0.9, 0.99} {
			got := q.latency(rate, percentile)
			if exact := want[int(percentile*float64(len(want)))]; got != exact {
				t.Errorf("%d workers, batches of %d, delay %v, %v and %v more, %.0f/s: percentile %g is %v, the simulation has %v", q.workers, q.maxBatch, q.maxDelay, first, more, rate, percentile, got, exact)
			}
		}
	}
}

func TestSamplesArriveAtTheirRateAndWithoutMemory(t *testing.T) {
	arrivals := poisson(100)
	if !slices.IsSorted(arrivals) || len(arrivals) != queueSamples {
		t.Fatalf("%d arrivals, in order: %t", len(arrivals), slices.IsSorted(arrivals))
	}
	mean := arrivals[len(arrivals)-1].Seconds() / queueSamples
	if math.Abs(mean*100-1) > 0.04 {
		t.Errorf("they come every %g s, want every 0.01", mean)
	}
	// Gaps that forget: a share of 1/e is longer than the mean.
	long, before := 0, time.Duration(0)
	for _, at := range arrivals {
		if at-before > 10*time.Millisecond {
			long++
		}
		before = at
	}
	if share := float64(long) / queueSamples; math.Abs(share-1/math.E) > 0.02 {
		t.Errorf("%g of the gaps are longer than the mean, want 1/e", share)
	}
	// The same at any rate but for the scale, so that comparisons do not depend on chance.
	for i, at := range poisson(50) {
		if d := at - 2*arrivals[i]; d < -2 || d > 2 {
			t.Fatalf("arrival %d at half the rate is %v, want twice %v", i, at, arrivals[i])
		}
	}
}

// A model that takes minutes for a sample has rates at which samples come centuries apart.
func TestRatesOfVerySlowModelsAreRatesAllTheSame(t *testing.T) {
	for _, service := range []time.Duration{5 * time.Minute, 24 * time.Hour, 1000 * 24 * time.Hour} {
		q := queueModel{workers: 1, maxBatch: 1, service: constant(service)}
		if got := q.peak(service-1, 0.99); got != 0 {
			t.Errorf("%v for a sample keep a bound that is shorter at %g/s", service, got)
		}
		if got, most := q.peak(10*service, 0.9), 1/service.Seconds(); got < 0 || got > most {
			t.Errorf("%v for a sample: %g/s, want at most %g", service, got, most)
		}
		for _, at := range poisson(1e-12) {
			if at < 0 {
				t.Fatal("samples arrive before the beginning")
			}
		}
	}
}

func TestMoreWorkersAndALooserBoundNeverMakeThePeakLower(t *testing.T) {
	before := 0.0
	for workers := 1; workers <= 4; workers++ {
		q := queueModel{workers: workers, maxBatch: 2, maxDelay: time.Millisecond, service: constant(7 * time.Millisecond)}
		got := q.peak(40*time.Millisecond, 0.95)
		if got < before || got > q.capacity() {
			t.Errorf("%d workers reach %g/s, one fewer %g, and their capacity is %g", workers, got, before, q.capacity())
		}
		if looser := q.peak(80*time.Millisecond, 0.95); looser < got {
			t.Errorf("%d workers reach %g/s within 40 ms and %g within 80", workers, got, looser)
		}
		before = got
	}
}

func TestPowersOfTwoUpToANumberAndTheNumber(t *testing.T) {
	for n, want := range map[int][]int{-3: {1}, 0: {1}, 1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 8: {1, 2, 4, 8}, 9: {1, 2, 4, 8, 9}, 100: {1, 2, 4, 8, 16, 32, 64, 100}} {
		if got := upTo(n); !slices.Equal(got, want) {
			t.Errorf("upTo(%d) = %v, want %v", n, got, want)
		}
	}
}

func TestTimesBetweenTwoSizesAreBetweenTheirs(t *testing.T) {
	between := func(a, b uint16, at uint8) bool {
		sizes, times := []int{1, 2, 4, 8, 16}, []time.Duration{10, 10 + time.Duration(a), 10 + time.Duration(a) + time.Duration(b), 1 << 20, 1 << 21}
		n := 1 + int(at)%20
		got := interpolate(sizes, times, n)
		for i, size := range sizes {
			if n == size && got != times[i] || n < size && got > times[i] || n > size && got < times[i] {
				return false
			}
		}
		return true
	}
	if err := quick.Check(between, nil); err != nil {
		t.Error(err)
	}
}

// A machine that keeps the bound up to some rate: what is found is kept by it, and near it.
func TestRatesAreNarrowedDownToWhatIsKept(t *testing.T) {
	for _, capacity := range []float64{0.1, 0.3, 0.5, 0.8, 0.95, 1, 1.05, 1.3, 2, 10} {
		var tried rates
		seen := map[float64]bool{}
		for range mostTests {
			rate := tried.next(1)
			if seen[rate] {
				t.Errorf("capacity %g: %g is tried twice", capacity, rate)
			}
			seen[rate] = true
			tried.add(rate, rate <= capacity)
		}
		least := 0.0
		if capacity >= 0.5 && capacity < 1.9 {
			least = 0.85 * capacity
		}
		if tried.low > capacity || tried.low < least || tried.high != 0 && tried.high <= capacity {
			t.Errorf("capacity %g: kept is %g, and not %g", capacity, tried.low, tried.high)
		}
	}
}

// A test that misses by chance below a rate that was kept does not take that back.
func TestAMissBelowWhatWasKeptLeavesIt(t *testing.T) {
	r := rates{}
	r.add(1, true)
	r.add(0.9, false)
	r.add(0.8, true)
	if r.low != 1 || r.high != 0.9 || r.missed != 1 {
		t.Errorf("%+v, want 1 as kept", r)
	}
}

func TestEveryShapeOccupiesTheCoresOnce(t *testing.T) {
	for cores := 1; cores <= 16; cores++ {
		for _, scenario := range loadgen.Scenarios() {
			f := Facts{Scenario: scenario, Cores: cores, SamplesPerQuery: 8, Bound: 20 * time.Millisecond}
			base := Point{Instances: 1, Threads: cores, MaxBatch: 1}
			points := Axes{}.Points(base, f)
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
				if p.MaxDelay > 0 && (scenario != loadgen.Server || p.MaxBatch == 1 || p.MaxDelay > f.Bound/10) {
					t.Errorf("%v: %v waits", scenario, p)
				}
				if scenario == loadgen.SingleStream && (p.Instances != 1 || p.MaxBatch != 1) {
					t.Errorf("%v: %v, where one sample comes after the other", scenario, p)
				}
			}
			if again := (Axes{}).Points(base, f); !slices.Equal(points, again) {
				t.Errorf("%v with %d cores: the order depends on chance", scenario, cores)
			}
		}
	}
}

// Any beginning of the order is spread: of a large space its first third has every size of batches.
func TestTheOrderIsSpreadFromItsBeginning(t *testing.T) {
	points := Axes{}.Points(Point{Instances: 16, Threads: 1, MaxBatch: 1}, Facts{Scenario: loadgen.Offline, Cores: 16})
	batches := map[int]bool{}
	for _, p := range points[:len(points)/3] {
		batches[p.MaxBatch] = true
	}
	if len(batches) != len(upTo(offlineBatch)) {
		t.Errorf("the first third of %d points has the batches %v", len(points), batches)
	}
}

func TestAFixedBatchBoundsEveryAxis(t *testing.T) {
	for _, c := range []struct {
		axes  []int
		fixed int
		want  []int
	}{
		{nil, 0, []int{1, 2, 4, 8, 16, 32, 64}}, {nil, -1, []int{1, 2, 4, 8, 16, 32, 64}}, {nil, 3, []int{1, 2, 3}}, {nil, 1, []int{1}}, {nil, 100, []int{1, 2, 4, 8, 16, 32, 64}},
		{[]int{5, 7}, 0, []int{5, 7}}, {[]int{5, 7}, 6, []int{5, 6}}, {[]int{5, 7}, 2, []int{2}},
	} {
		got := Axes{Batches: c.axes}.batches(Facts{Scenario: loadgen.Offline, FixedBatch: c.fixed})
		if !slices.Equal(got, c.want) {
			t.Errorf("batches %v of a model of %d are %v, want %v", c.axes, c.fixed, got, c.want)
		}
	}
}
