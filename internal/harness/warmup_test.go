package harness

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A threadedEngine divides the time that one thread takes by the number of threads. It
// notes what it opened.
type threadedEngine struct {
	*simulated.Engine
	t   *testing.T
	one time.Duration

	mu     sync.Mutex
	opened []int // threads
}

func (e *threadedEngine) Open(ctx context.Context, opts backend.Options) (backend.Session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opened = append(e.opened, opts.IntraThreads)
	return engine(e.t, simulated.Config{Latency: e.one / time.Duration(max(1, opts.IntraThreads))}).Open(ctx, opts)
}

// warmedUp warms a Server run up on four cores. It returns the shape that it has then, and whether a worker with all cores
// was tried.
func warmedUp(t *testing.T, one, bound time.Duration, change func(*Config)) (_ shape, tried bool, _ *observer) {
	t.Helper()
	n := newNumbers(100)
	cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
	cfg.Instances = 0
	cfg.Settings.ServerTargetLatency = bound
	e := &threadedEngine{Engine: engine(t, simulated.Config{}), t: t, one: one}
	cfg.Engine = e
	change(&cfg)
	r := newRun(cfg)
	defer r.close()
	testenv.Must(t, r.open(t.Context()))
	testenv.Must(t, r.reopen(t.Context(), r.shapeInput(4).shape()))
	testenv.Must(t, r.widen(t.Context(), 4))
	return r.model.shape, slices.Contains(e.opened, 4), cfg.Observer.(*observer)
}

func TestOneWorkerWithAllCores(t *testing.T) {
	nothing := func(*Config) {}
	for _, c := range []struct {
		name       string
		one, bound time.Duration
		change     func(*Config)
		want       shape
	}{
		{"room enough", 5 * time.Millisecond, 15 * time.Millisecond, nothing, shape{4, 1, 1}},
		{"no room to wait", 10 * time.Millisecond, 15 * time.Millisecond, nothing, shape{1, 4, serverBatch}},
		{"out of reach for one thread", 40 * time.Millisecond, 15 * time.Millisecond, nothing, shape{1, 4, serverBatch}},
		{"out of reach for all", 100 * time.Millisecond, 15 * time.Millisecond, nothing, shape{4, 1, 1}},
		{"a bound that may be raised", 40 * time.Millisecond, 15 * time.Millisecond, func(c *Config) { c.AutoLatency = true }, shape{4, 1, 1}},
		{"a bound that need not be raised", 20 * time.Millisecond, 15 * time.Millisecond, func(c *Config) { c.AutoLatency = true }, shape{1, 4, serverBatch}},
		{"a batch that was asked for", 10 * time.Millisecond, 15 * time.Millisecond, func(c *Config) { c.MaxBatch = 2 }, shape{1, 4, 2}},
		{"workers that were asked for", 10 * time.Millisecond, 15 * time.Millisecond, func(c *Config) { c.Instances = 4 }, shape{4, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, tried, o := warmedUp(t, c.one, c.bound, c.change)
				if got != c.want {
					t.Errorf("the shape is %+v, want %+v", got, c.want)
				}
				if c.one/4 > c.bound && tried {
					t.Error("all cores were tried, and cannot keep the bound")
				}
				if wide := c.want.workers == 1; o.noted("one worker has all cores") != wide {
					t.Errorf("notes %q", o.notes)
				}
			})
		})
	}
}

// TestShapeIsChosenForTheScenario has the choices for a machine of four cores.
func TestReserveCore(t *testing.T) {
	server := settings(loadgen.Server)
	r := &run{workload: newNumbers(1).workload(), cfg: Config{ReserveCore: true, Settings: server}}
	if got, want := r.shapeInput(4).shape(), (shape{3, 1, 1}); got != want {
		t.Errorf("with a core for the generator, the shape is %+v, want %+v", got, want)
	}
	if got, want := r.shapeInput(1).shape(), (shape{1, 1, 1}); got != want {
		t.Errorf("of one core none can be left: the shape is %+v, want %+v", got, want)
	}
}

func TestShape(t *testing.T) {
	const single, multi, server, offline = loadgen.SingleStream, loadgen.MultiStream, loadgen.Server, loadgen.Offline
	for _, test := range []struct {
		name       string
		shapeInput shapeInput
		want       shape
	}{
		{"one query at a time has all cores", shapeInput{scenario: single, cores: 8}, shape{1, 8, 1}},
		{"a MultiStream query is a batch", shapeInput{scenario: multi, cores: 8, samplesPerQuery: 6}, shape{1, 8, 6}},
		{"a worker for each core", shapeInput{scenario: offline, cores: 8}, shape{8, 1, 4}},
		{"one by one where queries come one by one", shapeInput{scenario: server, cores: 8}, shape{8, 1, 1}},
		{"samples of different lengths that gain by it go together", shapeInput{scenario: server, cores: 8, long: true}, shape{8, 1, 4}},
		{"requests of a server wait for no others", shapeInput{scenario: offline, cores: 8, service: true}, shape{8, 1, 1}},
		{"also where samples differ, or threads are several", shapeInput{scenario: offline, cores: 8, service: true, long: true, asked: shape{2, 0, 0}}, shape{2, 4, 1}},
		{"a server has the batch that was asked for", shapeInput{scenario: offline, cores: 8, service: true, asked: shape{0, 0, 4}}, shape{8, 1, 4}},
		{"a server on a device", shapeInput{scenario: offline, cores: 8, service: true, accelerator: true}, shape{1, 8, 16}},
		{"slots of a server", shapeInput{scenario: offline, cores: 8, service: true, slots: 8}, shape{8, 1, 8}},
		{"a single core", shapeInput{scenario: server, cores: 1}, shape{1, 1, 1}},
		{"threads leave fewer workers", shapeInput{scenario: server, cores: 8, asked: shape{0, 3, 0}}, shape{2, 3, 4}},
		{"more threads than cores", shapeInput{scenario: offline, cores: 2, asked: shape{0, 8, 0}}, shape{1, 8, 4}},
		{"workers share the cores", shapeInput{scenario: server, cores: 8, asked: shape{3, 0, 0}}, shape{3, 2, 4}},
		{"more workers than cores", shapeInput{scenario: offline, cores: 2, asked: shape{5, 0, 0}}, shape{5, 1, 4}},
		{"everything is asked for", shapeInput{scenario: single, cores: 8, asked: shape{2, 3, 7}}, shape{2, 3, 7}},
		{"a fixed batch is filled", shapeInput{scenario: offline, cores: 2, fixed: 8}, shape{2, 1, 8}},
		{"a fixed batch is filled in Server, too", shapeInput{scenario: server, cores: 2, fixed: 8}, shape{2, 1, 8}},
		{"a fixed batch of one", shapeInput{scenario: offline, cores: 2, fixed: 1}, shape{2, 1, 1}},
		{"a decoder has as many slots as it likes", shapeInput{scenario: server, cores: 2, slots: 8}, shape{2, 1, 8}},
		{"a decoder has one slot where one query runs at a time", shapeInput{scenario: single, cores: 2, slots: 8}, shape{1, 2, 1}},
		{"a decoder has the slots that are asked for", shapeInput{scenario: offline, cores: 2, asked: shape{0, 0, 3}, slots: 8}, shape{2, 1, 3}},
		{"a device has one worker, and large batches", shapeInput{scenario: offline, cores: 8, accelerator: true}, shape{1, 8, 16}},
		{"a device in Server", shapeInput{scenario: server, cores: 8, accelerator: true}, shape{1, 8, 16}},
		{"a device and one query at a time", shapeInput{scenario: single, cores: 8, accelerator: true}, shape{1, 8, 1}},
		{"a device and workers that are asked for", shapeInput{scenario: server, cores: 8, accelerator: true, asked: shape{4, 0, 2}}, shape{4, 2, 2}},
		{"a device and a decoder", shapeInput{scenario: server, cores: 8, accelerator: true, slots: 8}, shape{1, 8, 8}},
		{"a fixed batch, less is asked for", shapeInput{scenario: offline, cores: 2, asked: shape{0, 0, 2}, fixed: 8}, shape{2, 1, 2}},
	} {
		if got := test.shapeInput.shape(); got != test.want {
			t.Errorf("%s: %+v is %+v, want %+v", test.name, test.shapeInput, got, test.want)
		}
	}
}

// evenLength is the length that toy sequences are padded to.
func evenLength(index int) int { return (toyLength(index) + 1) / 2 * 2 }

func TestWarmUpOfLengths(t *testing.T) {
	for _, c := range []struct {
		device string
		all    bool
	}{{"", false}, {"tensorrt", true}} {
		synctest.Test(t, func(t *testing.T) {
			seen := map[int]bool{}
			cfg := sequenceConfig(t, loadgen.Server, loadgen.PerformanceOnly, func(_ int, admitted []int) {
				for _, index := range admitted {
					seen[evenLength(index)] = true
				}
			})
			open := cfg.Model.Open
			cfg.Model.Open = func(s workload.Setup) (*workload.Workload, error) {
				w, err := open(s)
				w.PaddedLength = evenLength
				return w, err
			}
			cfg.MaxBatch = 1
			r := newRun(cfg)
			testenv.Must(t, r.open(t.Context()))
			r.cfg.Backend.Device = c.device // simulated engines have none
			testenv.Must(t, r.tryModel(t.Context()))
			if all := len(seen) == 4; all != c.all {
				t.Errorf("device %q: lengths %v are warmed up, want all four: %t", c.device, seen, c.all)
			}
			testenv.Must(t, errors.Join(r.close(), cfg.Engine.Close()))
		})
	}
}

func TestWarmUpOfAnInstantModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.SingleStream, loadgen.AccuracyOnly)
		cfg.Engine = engine(t, simulated.Config{})
		r := newRun(cfg)
		defer r.close()
		testenv.Must(t, r.open(t.Context()))
		if err := r.warmUp(t.Context()); err != nil || r.warm.latency < 1 {
			t.Errorf("latency %v, error %v", r.warm.latency, err)
		}
	})
}

func TestTypicalSamples(t *testing.T) {
	w := (&toySequences{samples: 70}).workload() // 10 of each length from 1 to 7
	sum := 0
	for i, index := range typical(w, 7) {
		length := w.Length(index)
		if sum += length; i == 0 && length != 4 {
			t.Errorf("the first sample is of length %d, want one in the middle", length)
		}
	}
	if sum < 26 || sum > 30 {
		t.Errorf("seven samples have %d numbers in all, want about 28", sum)
	}
	if got := typical(w, 1000); len(got) != 70 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 70 {
		t.Errorf("of all samples there are %d", len(got))
	}
	if got := typical(newNumbers(100).workload(), 3); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("of samples of the same size %v are taken", got)
	}
}

// What a device compiles for each size of a batch it compiles before the test.
func TestWarmUpSizes(t *testing.T) {
	for _, test := range []struct {
		name       string
		shapeInput shapeInput
		size       int
		want       []int
	}{
		{"Server", shapeInput{scenario: loadgen.Server}, 3, []int{3, 2, 1}},
		{"Offline", shapeInput{scenario: loadgen.Offline}, 4, []int{4}},
		{"SingleStream", shapeInput{scenario: loadgen.SingleStream}, 4, []int{1}},
		{"MultiStream", shapeInput{scenario: loadgen.MultiStream, samplesPerQuery: 8}, 3, []int{3, 2}},
		{"MultiStream in one batch", shapeInput{scenario: loadgen.MultiStream, samplesPerQuery: 8}, 16, []int{8}},
		{"a fixed batch", shapeInput{scenario: loadgen.Server, fixed: 8}, 8, []int{8}},
		{"slots of a decoder, whose answers take long", shapeInput{scenario: loadgen.Server, slots: 8}, 8, []int{1}},
	} {
		if got := test.shapeInput.sizes(test.size); !slices.Equal(got, test.want) {
			t.Errorf("%s in batches of %d: %v, want %v", test.name, test.size, got, test.want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.MaxBatch = 3
		r := newRun(cfg)
		defer r.close()
		testenv.Must(t, r.open(t.Context()))
		var batches [][]workload.Item
		for i, p := range r.model.predictors {
			r.model.predictors[i].Predictor = recordingPredictor{p.Predictor, &batches}
		}
		testenv.Must(t, r.tryModel(t.Context()))
		var sizes []int
		for _, batch := range batches {
			sizes = append(sizes, len(batch))
		}
		if want := []int{3, 2, 1, 3, 2, 1}; !slices.Equal(sizes[:min(6, len(sizes))], want) {
			t.Errorf("batches of %v, want two workers with %v", sizes, want)
		}
	})
}

// A recordingPredictor keeps the batches of a predictor.
type recordingPredictor struct {
	workload.Predictor
	batches *[][]workload.Item
}

func (p recordingPredictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	*p.batches = append(*p.batches, slices.Clone(items))
	return p.Predictor.Predict(ctx, items, reply)
}
