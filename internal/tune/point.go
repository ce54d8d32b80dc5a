package tune

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A Point is a way to run a model.
type Point struct {
	Variant   string        `json:"variant,omitempty"` // label of the model file; empty: there is only one
	Instances int           `json:"instances"`
	Threads   int           `json:"intra_threads"` // of each instance
	MaxBatch  int           `json:"max_batch_size"`
	MaxDelay  time.Duration `json:"max_batch_delay_ns"`
}

// String describes the point in words.
func (p Point) String() string {
	text := fmt.Sprintf("%d × %d threads, batch %d", p.Instances, p.Threads, p.MaxBatch)
	if p.MaxDelay > 0 {
		text += fmt.Sprintf(", delay %v", p.MaxDelay)
	}
	if p.Variant != "" {
		text = p.Variant + ", " + text
	}
	return text
}

// Axes are the values to try. What is nil is chosen for the scenario.
type Axes struct {
	Variants  []string // labels of model files
	Instances []int
	Threads   []int
	Batches   []int
	Delays    []time.Duration
}

// Facts are what the choice of axes follows from.
type Facts struct {
	Scenario        loadgen.Scenario
	Cores           int
	Accelerator     bool // the model runs elsewhere: threads of this machine do not matter
	FixedBatch      int  // samples in a run of the model; 0 and below: any number
	SamplesPerQuery int  // of MultiStream
	Bound           time.Duration
}

// Largest batches to try. Beyond them processors gain nothing and accelerators little.
const (
	offlineBatch, offlineBatchElsewhere = 64, 256
	serverBatch, serverBatchElsewhere   = 16, 64
	// mostElsewhere is how many workers feed an accelerator at most.
	mostElsewhere = 4
)

// Parts of the Server bound that a sample may wait for others. Waiting longer leaves too
// little of it.
var delayShares = []time.Duration{50, 10}

// Points lists what to try: base first, the others in an order in which any beginning is
// spread over the whole space, because the time may not suffice for all of them.
func (a Axes) Points(base Point, f Facts) []Point {
	points := []Point{base}
	variants := a.Variants
	if len(variants) == 0 {
		variants = []string{""}
	}
	for _, variant := range variants {
		for _, shape := range a.shapes(base, f) {
			for _, batch := range a.batches(f) {
				for _, delay := range a.delays(f, batch) {
					p := Point{variant, shape[0], shape[1], batch, delay}
					if !slices.Contains(points, p) {
						points = append(points, p)
					}
				}
			}
		}
	}
	rest := points[1:]
	order := rand.New(rand.NewPCG(1, 1))
	order.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	return points
}

// leastCores is how many cores a shape has to occupy that nobody asked for.
func (a Axes) leastCores(f Facts) int {
	many := f.Scenario == loadgen.Offline || f.Scenario == loadgen.Server
	if many && a.Instances == nil && a.Threads == nil {
		return (f.Cores + 1) / 2
	}
	return 0
}

// shapes pairs numbers of workers and threads that occupy the cores, at most once, and at
// least half of them where many workers compute at once.
func (a Axes) shapes(base Point, f Facts) [][2]int {
	least, threads := a.leastCores(f), a.threads(base, f)
	var shapes [][2]int
	for _, i := range a.workers(f) {
		for _, t := range threads {
			if fits := i*t >= least && i*t <= f.Cores; fits || f.Accelerator || a.asks(i, t) {
				shapes = append(shapes, [2]int{i, t})
			}
		}
	}
	return shapes
}

// asks reports whether the user named such a pair: both numbers, or one beside a single other.
func (a Axes) asks(workers, threads int) bool {
	return a.Instances != nil && (threads == 1 || a.Threads != nil) || a.Threads != nil && workers == 1
}

// workers are the numbers of workers to try.
func (a Axes) workers(f Facts) []int {
	switch {
	case a.Instances != nil:
		return a.Instances
	case f.Scenario == loadgen.SingleStream:
		return []int{1}
	case f.Accelerator:
		return upTo(mostElsewhere)
	}
	return upTo(f.Cores)
}

// threads are the numbers of threads to try.
func (a Axes) threads(base Point, f Facts) []int {
	switch {
	case a.Threads != nil:
		return a.Threads
	case f.Accelerator:
		return []int{base.Threads}
	}
	return upTo(f.Cores)
}

// batches are the sizes to try. A model of a fixed size takes none above it.
func (a Axes) batches(f Facts) []int {
	batches := a.Batches
	if batches == nil {
		batches = upTo(f.largestBatch())
	}
	if f.FixedBatch <= 0 {
		return batches
	}
	var fit []int
	for _, b := range batches {
		if b = min(b, f.FixedBatch); !slices.Contains(fit, b) {
			fit = append(fit, b)
		}
	}
	return fit
}

// largestBatch is the largest worth trying in a scenario.
func (f Facts) largestBatch() int {
	switch f.Scenario {
	case loadgen.SingleStream:
		return 1
	case loadgen.MultiStream:
		return f.SamplesPerQuery
	case loadgen.Server:
		return either(f.Accelerator, serverBatchElsewhere, serverBatch)
	}
	return either(f.Accelerator, offlineBatchElsewhere, offlineBatch)
}

// delays are those worth trying with a batch: only in Server do samples come one by one.
func (a Axes) delays(f Facts, batch int) []time.Duration {
	if batch == 1 || f.Scenario != loadgen.Server {
		return []time.Duration{0}
	}
	if a.Delays != nil {
		return a.Delays
	}
	delays := []time.Duration{0}
	for _, share := range delayShares {
		delays = append(delays, (f.Bound / share).Round(10*time.Microsecond))
	}
	return delays
}

// upTo lists the powers of two below n, and n.
func upTo(n int) []int {
	var list []int
	for i := 1; i < n; i *= 2 {
		list = append(list, i)
	}
	return append(list, max(n, 1))
}

func either(first bool, a, b int) int {
	if first {
		return a
	}
	return b
}
