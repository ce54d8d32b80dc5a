package harness

import (
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A shape says how many workers run the model at once, with how many threads each, and how
// many samples they take at most.
type shape struct{ workers, threads, batch int }

// A wish is what a shape is chosen by.
type wish struct {
	scenario        loadgen.Scenario
	cores           int   // for workers
	asked           shape // 0: open
	samplesPerQuery int   // of MultiStream
	fixed           int   // the batch that the model takes; 0: any
	slots           int   // that a worker should have under way at once; 0: the scenario says
	long            bool  // samples differ in length, and share a batch only where that is quicker
}

// wish says what the run's shape is chosen by.
func (r *run) wish(cores int) wish {
	return wish{
		scenario:        r.settings.Scenario,
		cores:           r.cfg.Cores(cores),
		asked:           shape{r.cfg.Instances, r.cfg.Backend.IntraThreads, r.cfg.MaxBatch},
		samplesPerQuery: int(r.settings.MultiStreamSamplesPerQuery),
		fixed:           r.workload.Batch,
		slots:           r.workload.Slots,
		long:            r.workload.Length != nil,
	}
}

// Cores is how many of the cores are for workers.
func (c Config) Cores(all int) int {
	if c.ReserveCore && c.Settings.Scenario == loadgen.Server && all > 1 {
		return all - 1
	}
	return all
}

const (
	offlineBatch = 4 // ResNet-50 gains nothing beyond, MobileNet loses
	// greedyBatch is how many of the samples that wait a worker with several threads takes
	// at once in Server, where that halves the 99th percentile near saturation. For workers
	// with one thread larger batches only make samples wait for each other, unless it is known
	// which of them gain by it.
	greedyBatch = 4
)

// shape chooses what the caller left open. The choices were the best of a sweep on
// processors (docs/backend.md): one worker with all cores where one query runs
// at a time, one worker per core otherwise, because cores that compute different samples
// need not wait for each other.
func (w wish) shape() shape {
	s := w.asked
	alone := w.scenario == loadgen.SingleStream || w.scenario == loadgen.MultiStream
	switch {
	case s.workers > 0:
	case alone:
		s.workers = 1
	case s.threads > 0:
		s.workers = max(1, w.cores/s.threads)
	default:
		s.workers = w.cores
	}
	if s.threads == 0 {
		s.threads = max(1, w.cores/s.workers)
	}
	if s.batch == 0 {
		s.batch = w.batch(s.threads)
	}
	return s
}

// batch is how many samples a worker takes. What a model of a fixed batch computes beyond
// those that wait is thrown away, so it takes as many as there is room for.
func (w wish) batch(threads int) int {
	switch {
	case w.fixed > 0:
		return w.fixed
	case w.scenario == loadgen.MultiStream:
		return w.samplesPerQuery
	case w.slots > 0 && w.scenario != loadgen.SingleStream:
		return w.slots
	case w.scenario == loadgen.Offline:
		return offlineBatch
	case w.scenario == loadgen.Server && (threads > 1 || w.long):
		return greedyBatch
	}
	return 1
}

// sizes are those of the batches that workers will take, the largest first, as far as that is
// known: the last batch of Offline is not.
func (w wish) sizes(batch int) []int {
	switch {
	case w.slots > 0:
		return []int{1} // answers take long, and slots are used as they are whatever their number
	case w.fixed > 0 || batch == 1:
		return []int{batch}
	case w.scenario == loadgen.SingleStream:
		return []int{1}
	case w.scenario == loadgen.MultiStream:
		return w.querySizes(batch)
	case w.scenario == loadgen.Offline:
		return []int{batch}
	}
	var sizes []int
	for n := batch; n > 0; n-- {
		sizes = append(sizes, n)
	}
	return sizes
}

// querySizes are those of the batches that a query of several samples is split into.
func (w wish) querySizes(batch int) []int {
	sizes := []int{min(batch, w.samplesPerQuery)}
	if rest := w.samplesPerQuery % batch; rest != 0 && rest != sizes[0] {
		sizes = append(sizes, rest)
	}
	return sizes
}

// widened is the shape with one worker that has all cores. It is worth trying if a single
// thread takes so long for a sample that the Server bound leaves no room to wait for another
// one, and all cores may be fast enough.
func (w wish) widened(latency, bound time.Duration) (wide shape, worth bool) {
	open := w.asked.workers == 0 && w.asked.threads == 0
	wide = shape{1, w.cores, w.asked.batch}
	if wide.batch == 0 {
		wide.batch = w.batch(w.cores)
	}
	return wide, open && w.scenario == loadgen.Server && w.cores > 1 &&
		2*latency > bound && latency/time.Duration(w.cores) <= bound
}
