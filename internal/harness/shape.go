package harness

import (
	"context"
	"fmt"
	"runtime"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A shape says how many workers run the model at once, with how many threads each, and how
// many samples they take at most.
type shape struct{ workers, threads, batch int }

// A shapeInput decides the shape.
type shapeInput struct {
	scenario        loadgen.Scenario
	cores           int   // for workers
	accelerator     bool  // the model runs on a device with processors of its own
	asked           shape // 0: open
	samplesPerQuery int   // of MultiStream
	fixed           int   // the batch that the model takes; 0: any
	slots           int   // that a worker should have under way at once; 0: the scenario decides
	service         bool  // samples come from elsewhere, by themselves, and none has a schedule
	long            bool  // samples differ in length, and share a batch only where that is quicker
}

func (r *run) shapeInput(cores int) shapeInput {
	return shapeInput{
		scenario:        r.cfg.Settings.Scenario,
		cores:           r.cfg.Cores(cores),
		accelerator:     r.cfg.Accelerator,
		asked:           shape{r.cfg.Instances, r.cfg.Backend.IntraThreads, r.cfg.MaxBatch},
		samplesPerQuery: int(r.cfg.Settings.MultiStreamSamplesPerQuery),
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
	// serverBatch is how many of the waiting samples a worker with several threads takes
	// at once in Server, which halves the 99th percentile near saturation. For workers
	// with one thread larger batches only make samples wait for each other, unless their costs
	// are known.
	serverBatch = 4
	// acceleratorBatch is for devices, which compute a larger batch in less time per sample: with WebGPU on an
	// H100, ResNet-50 gains 70 % from 16 instead of 4. In Server a batch has only those that wait already.
	acceleratorBatch = 16
)

// shape chooses the open numbers. The choices were the best of a sweep on
// processors (docs/backend.md): one worker with all cores where one query runs
// at a time, one worker per core otherwise, because cores that compute different samples
// need not wait for each other. On a device runs of several workers wait for each other in its
// queue, each for as long as all of them take, where one worker would have put their samples into one batch.
func (in shapeInput) shape() shape {
	s := in.asked
	switch {
	case s.workers > 0:
	case in.accelerator || in.scenario == loadgen.SingleStream || in.scenario == loadgen.MultiStream:
		s.workers = 1
	case s.threads > 0:
		s.workers = max(1, in.cores/s.threads)
	default:
		s.workers = in.cores
	}
	if s.threads == 0 {
		s.threads = max(1, in.cores/s.workers)
	}
	if s.batch == 0 {
		s.batch = in.batch(s.threads)
	}
	return s
}

// batch is how many samples a worker takes. A model of a fixed batch computes all of it, so it takes as many samples as
// fit.
func (in shapeInput) batch(threads int) int {
	switch {
	case in.fixed > 0:
		return in.fixed
	case in.scenario == loadgen.MultiStream:
		return in.samplesPerQuery
	case in.slots > 0 && in.scenario != loadgen.SingleStream:
		return in.slots
	case in.accelerator && in.scenario != loadgen.SingleStream:
		return acceleratorBatch
	case in.service:
		return 1 // who waits with others waits for them
	case in.scenario == loadgen.Offline:
		return offlineBatch
	case in.scenario == loadgen.Server && (threads > 1 || in.long):
		return serverBatch
	}
	return 1
}

// sizes are those of the batches that workers will take, the largest first, as far as they are
// known: the last batch of Offline is not.
func (in shapeInput) sizes(batch int) []int {
	switch {
	case in.slots > 0 || in.scenario == loadgen.SingleStream && in.fixed == 0:
		return []int{1} // slots are used one by one, and answers take long
	case in.fixed > 0 || batch == 1 || in.scenario == loadgen.Offline:
		return []int{batch}
	case in.scenario == loadgen.MultiStream:
		sizes := []int{min(batch, in.samplesPerQuery)}
		if rest := in.samplesPerQuery % batch; rest != 0 && rest != sizes[0] {
			sizes = append(sizes, rest)
		}
		return sizes
	}
	var sizes []int
	for n := batch; n > 0; n-- {
		sizes = append(sizes, n)
	}
	return sizes
}

// checkThreads refuses more threads than a machine can use or its container allows, before any starts: the engine would
// end the program.
func (c Config) checkThreads(cores int) error {
	const perCore, always = 64, 1024 // threads that are not too many
	limit := max(always, perCore*cores)
	all := max(1, c.Instances) * max(1, c.Backend.IntraThreads)
	for _, n := range []struct {
		field string
		value int
	}{
		{"instances", c.Instances}, {"intra_threads", c.Backend.IntraThreads}, {"inter_threads", c.Backend.InterThreads}, {"intra_threads", all},
	} {
		if n.value > limit {
			return userinput.Errorf(n.field, "%d threads are asked for, the %d cores of this machine can use %d at most", n.value, cores, limit)
		}
	}
	if c.FreeThreads == nil {
		return nil
	}
	if free, limited := c.FreeThreads(); limited && all > free {
		field := "intra_threads"
		if c.Instances > c.Backend.IntraThreads {
			field = "instances"
		}
		return userinput.Errorf(field, "%d threads are asked for, the container's limit on processes and threads leaves %d", all, free)
	}
	return nil
}

// checkShape refuses more threads, processors or memory than this machine has, before the model is loaded. Loaded samples
// are counted when they are loaded.
func (r *run) checkShape(s shape) error {
	c := r.cfg
	c.Instances, c.Backend.IntraThreads = s.workers, s.threads
	if err := c.checkThreads(runtime.GOMAXPROCS(0)); err != nil {
		return err
	}
	if n := len(c.Processors); n > 0 && s.workers > n/s.threads {
		return userinput.Errorf("pin", "%d workers with %d threads need a processor each, and this process may use %d", s.workers, s.threads, n)
	}
	free := c.FreeMemory()
	if free == 0 {
		return nil
	}
	const (
		issueBytes = 64  // of a sample of a query: its entry in the query, its completion, its place in queues
		placeBytes = 128 // of a sample of a batch, beside its tensors
	)
	row, kept := int64(0), int64(0)
	for _, i := range typical(r.workload, 1) {
		row = r.workload.RowBytes(i)
	}
	if r.workload.PredictorBytes != nil {
		kept = r.workload.PredictorBytes(s.batch)
	}
	e := c.Settings.Effective(uint64(r.performanceSamples()), uint64(r.workload.Samples))
	load, batch := "target_qps", "max_batchsize"
	if e.Scenario == loadgen.MultiStream {
		if load = "samples_per_query"; c.MaxBatch == 0 {
			batch = load // a batch has as many
		}
	}
	most := max(float64(free), 1<<20)
	length := "min_duration"
	queries, drawn := e.Prepared()
	switch stream := e.Scenario == loadgen.SingleStream || e.Scenario == loadgen.MultiStream && !e.FixedInterval; {
	case queries == float64(e.MinQueryCount):
		length = "min_query_count"
	case drawn <= most*e.TargetDuration.Seconds(): // a second of the traffic fits
	case stream:
		length = "target_latency"
	default:
		length = "target_qps"
	}
	for _, need := range []struct {
		field, what string
		bytes       float64
	}{
		{batch, fmt.Sprintf("%d workers with the memory of %d samples under way each", s.workers, s.batch), float64(s.workers) * float64(kept)},
		{load, fmt.Sprintf("a query of %d samples", e.SamplesPerQuery), issueBytes * float64(e.SamplesPerQuery)},
		{batch, fmt.Sprintf("%d workers with batches of %d samples of %d bytes", s.workers, s.batch, row),
			float64(s.workers) * float64(s.batch) * float64(row+placeBytes)},
		{length, "drawing " + units.Count(queries, "query") + " before the test", drawn},
	} {
		if need.bytes > most {
			return userinput.Errorf(need.field, "%s would take %s of memory, %s are free", need.what, units.Memory(uint64(need.bytes)), units.Memory(free))
		}
	}
	return nil
}

// cores are the processors of a worker, one for each of its threads and its own first; nil: any.
func (c Config) cores(s shape, worker int) []int {
	if len(c.Processors) == 0 {
		return nil
	}
	return c.Processors[worker*s.threads:][:s.threads]
}

// pinned has a predictor run on the first of some processors; on any if there are none.
func pinned(p predictor, cores []int) predictor {
	if len(cores) == 0 {
		return p
	}
	on := pinnedPredictor{p.Predictor, cores[0]}
	if p.decoder != nil {
		p.decoder = pinnedDecoder{on, p.decoder}
	}
	p.Predictor = on
	return p
}

type pinnedPredictor struct {
	workload.Predictor
	core int
}

// Predict implements workload.Predictor. Pinning takes microseconds, and holds for the warm-up,
// the measurements before a test, and the thread that issues just as well.
func (p pinnedPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	release, err := machine.Pin(p.core)
	if err != nil {
		return err
	}
	defer release()
	return p.Predictor.Predict(ctx, items, reply)
}

type pinnedDecoder struct {
	pinnedPredictor
	decoder workload.Decoder
}

// Serve implements workload.Decoder.
func (p pinnedDecoder) Serve(ctx context.Context, source workload.Source) error {
	release, err := machine.Pin(p.core)
	if err != nil {
		return err
	}
	defer release()
	return p.decoder.Serve(ctx, source)
}
