package tune

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/units"
)

// A Point is a way to run a model.
type Point struct {
	Variant   string        `json:"variant,omitempty"` // label of the model file; empty: of the only one
	Instances int           `json:"instances"`
	Threads   int           `json:"intra_threads"` // of each instance
	MaxBatch  int           `json:"max_batch_size"`
	MaxDelay  time.Duration `json:"max_batch_delay_ns"`
}

// String describes the point in words.
func (p Point) String() string {
	text := fmt.Sprintf("%d × %d threads, batch %d", p.Instances, p.Threads, p.MaxBatch)
	if p.MaxDelay > 0 {
		text += ", delay " + units.Duration(p.MaxDelay)
	}
	if p.Variant != "" {
		text = p.Variant + ", " + text
	}
	return text
}

// Axes are the values to try. A nil axis gets values that suit the scenario.
type Axes struct {
	Variants  []string // labels of model files
	Instances []int
	Threads   []int
	Batches   []int
	Delays    []time.Duration
}

// facts decide the values of open axes.
type facts struct {
	scenario        loadgen.Scenario
	cores           int
	accelerator     bool // the model runs elsewhere: threads of this machine do not matter
	fixedBatch      int  // samples in a run of the model; 0 and below: any number
	samplesPerQuery int  // of MultiStream
	bound           time.Duration
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

// points lists the points to try: base first, the others in random order, so that the first of them are spread over the
// whole space: the time may not suffice for all.
func (a Axes) points(base Point, f facts) []Point {
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

// shapes pairs numbers of workers and threads that occupy the cores, at most once, and at
// least half of them where many workers compute at once. A pair that the user names is always tried.
func (a Axes) shapes(base Point, f facts) [][2]int {
	workers, threads := a.Instances, a.Threads
	if workers == nil {
		switch {
		case f.scenario == loadgen.SingleStream:
			workers = []int{1}
		case f.accelerator:
			workers = upTo(mostElsewhere)
		default:
			workers = upTo(f.cores)
		}
	}
	if threads == nil {
		threads = upTo(f.cores)
		if f.accelerator {
			threads = []int{base.Threads}
		}
	}
	least := 0
	if many := f.scenario == loadgen.Offline || f.scenario == loadgen.Server; many && a.Instances == nil && a.Threads == nil {
		least = (f.cores + 1) / 2
	}
	var shapes [][2]int
	for _, i := range workers {
		for _, t := range threads {
			named := a.Instances != nil && (t == 1 || a.Threads != nil) || a.Threads != nil && i == 1
			if fits := i*t >= least && i*t <= f.cores; fits || f.accelerator || named {
				shapes = append(shapes, [2]int{i, t})
			}
		}
	}
	return shapes
}

// batches are the sizes to try. A model of a fixed size takes none above it.
func (a Axes) batches(f facts) []int {
	batches := a.Batches
	if batches == nil {
		largest := 1
		switch f.scenario {
		case loadgen.MultiStream:
			largest = f.samplesPerQuery
		case loadgen.Server:
			largest = serverBatch
			if f.accelerator {
				largest = serverBatchElsewhere
			}
		case loadgen.Offline:
			largest = offlineBatch
			if f.accelerator {
				largest = offlineBatchElsewhere
			}
		}
		batches = upTo(largest)
	}
	if f.fixedBatch <= 0 {
		return batches
	}
	var fit []int
	for _, b := range batches {
		if b = min(b, f.fixedBatch); !slices.Contains(fit, b) {
			fit = append(fit, b)
		}
	}
	return fit
}

// delays are those worth trying with a batch: only in Server do samples come one by one.
func (a Axes) delays(f facts, batch int) []time.Duration {
	if batch == 1 || f.scenario != loadgen.Server {
		return []time.Duration{0}
	}
	if a.Delays != nil {
		return a.Delays
	}
	delays := []time.Duration{0}
	for _, share := range delayShares {
		delays = append(delays, (f.bound / share).Round(10*time.Microsecond))
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
