package harness

import (
	"fmt"
	"runtime"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

const (
	// mostThreads is how many threads a core may have at most, and leastLimit how many are
	// never too many.
	mostThreads, leastLimit = 64, 1024
	// issueBytes is about what a sample of a query takes: where it is listed, when it was
	// answered, and its place in queues.
	issueBytes = 64
	// placeBytes is about what a worker keeps for each sample of a batch, beside its tensors.
	placeBytes = 128
)

// checkThreads refuses more threads than a machine can make use of, before any is started.
func (c Config) checkThreads(cores int) error {
	limit := max(leastLimit, mostThreads*cores)
	for _, n := range []struct {
		field string
		value int
	}{
		{"instances", c.Instances}, {"intra_threads", c.Backend.IntraThreads}, {"inter_threads", c.Backend.InterThreads},
		{"intra_threads", max(1, c.Instances) * max(1, c.Backend.IntraThreads)},
	} {
		if n.value > limit {
			return userinput.Errorf(n.field, "%d threads are asked for, the %d cores of this machine can make use of %d at most", n.value, cores, limit)
		}
	}
	return c.checkFreeThreads()
}

// checkFreeThreads refuses more threads than the container lets this process start: the engine
// would end the program.
func (c Config) checkFreeThreads() error {
	if c.FreeThreads == nil {
		return nil
	}
	need := max(1, c.Instances) * max(1, c.Backend.IntraThreads)
	if free, limited := c.FreeThreads(); limited && need > free {
		what := "intra_threads"
		if c.Instances > c.Backend.IntraThreads {
			what = "instances"
		}
		return userinput.Errorf(what, "%d threads are asked for, the container's limit on processes and threads leaves %d", need, free)
	}
	return nil
}

// A demand is memory that a run is going to take because of a setting.
type demand struct {
	field string
	what  string
	bytes float64
}

// demands are what the run is going to take with a shape, as far as that follows from
// settings. Samples that are loaded are counted where they are loaded.
func (r *run) demands(s shape) []demand {
	row := int64(0)
	for _, i := range typical(r.workload, 1) {
		row = r.workload.RowBytes(i)
	}
	e := r.settings.Effective(uint64(r.performanceSamples()), uint64(r.workload.Samples))
	load, batch := "target_qps", "max_batchsize"
	if r.settings.Scenario == loadgen.MultiStream {
		load = "samples_per_query"
	}
	if r.settings.Scenario == loadgen.MultiStream && r.cfg.MaxBatch == 0 {
		batch = "samples_per_query" // of which a batch has as many
	}
	kept := int64(0)
	if r.workload.PredictorBytes != nil {
		kept = r.workload.PredictorBytes(s.batch)
	}
	return []demand{
		{batch, fmt.Sprintf("%d workers with what they keep of %d samples under way", s.workers, s.batch), float64(s.workers) * float64(kept)},
		{load, fmt.Sprintf("a query of %d samples", e.SamplesPerQuery), issueBytes * float64(e.SamplesPerQuery)},
		{batch, fmt.Sprintf("%d workers with batches of %d samples of %d bytes", s.workers, s.batch, row),
			float64(s.workers) * float64(s.batch) * float64(row+placeBytes)},
	}
}

// checkMemory refuses a run that needs more memory than is free, before it is taken.
func (r *run) checkMemory(s shape) error {
	free := r.cfg.FreeMemory()
	if free == 0 {
		return nil
	}
	for _, d := range r.demands(s) {
		if d.bytes > float64(free) {
			return userinput.Errorf(d.field, "%s would take %.4g MiB of memory, %d MiB are free", d.what, d.bytes/(1<<20), free>>20)
		}
	}
	return nil
}

// checkShape refuses what no machine of this kind can do, before the model is loaded.
func (r *run) checkShape(s shape) error {
	c := r.cfg
	c.Instances, c.Backend.IntraThreads = s.workers, s.threads
	if err := c.checkThreads(runtime.GOMAXPROCS(0)); err != nil {
		return err
	}
	if err := c.checkProcessors(s); err != nil {
		return err
	}
	return r.checkMemory(s)
}
