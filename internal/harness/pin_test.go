package harness

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A pinnedEngine notes which processors the threads of its sessions are given.
type pinnedEngine struct {
	*simulated.Engine
	opened [][]int
}

func (e *pinnedEngine) Open(ctx context.Context, opts backend.Options) (backend.Session, error) {
	e.opened = append(e.opened, opts.Cores)
	return e.Engine.Open(ctx, opts)
}

func TestThreadsOfWorkersHaveAProcessorEach(t *testing.T) {
	for _, test := range []struct {
		name             string
		processors       []int
		workers, threads int
		sessions         [][]int
		own              []int // processors of the workers' own threads
	}{
		{"nobody asked", nil, 2, 2, [][]int{nil, nil}, []int{-1, -1}},
		{"several threads", []int{1, 3, 5, 7, 9}, 2, 2, [][]int{{1, 3}, {5, 7}}, []int{1, 5}},
		{"one thread, a shared session", []int{1, 3, 5}, 3, 1, [][]int{nil}, []int{1, 3, 5}},
		{"one worker", []int{4, 5}, 1, 2, [][]int{{4, 5}}, []int{4}},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := newNumbers(10)
			cfg := config(t, n, loadgen.Offline, loadgen.PerformanceOnly)
			e := &pinnedEngine{Engine: engine(t, simulated.Config{})}
			cfg.Engine, cfg.Processors, cfg.Instances, cfg.Backend.IntraThreads = e, test.processors, test.workers, test.threads
			r := newRun(cfg)
			if err := r.open(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(e.opened, test.sessions, slices.Equal) {
				t.Errorf("sessions have the processors %v, want %v", e.opened, test.sessions)
			}
			for i, p := range r.model.predictors {
				own := -1
				if on, is := p.Predictor.(pinnedPredictor); is {
					own = on.core
				}
				if own != test.own[i] {
					t.Errorf("worker %d is on processor %d, want %d", i, own, test.own[i])
				}
			}
			if got, want := r.backend().PinnedTo, test.processors[:min(len(test.processors), test.workers*test.threads)]; !slices.Equal(got, want) {
				t.Errorf("the results say %v, want %v", got, want)
			}
			if err := errors.Join(r.close(), e.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMoreThreadsThanProcessorsAreNotPinned(t *testing.T) {
	cfg := config(t, newNumbers(10), loadgen.Offline, loadgen.PerformanceOnly)
	cfg.Processors, cfg.Instances, cfg.Backend.IntraThreads = []int{0, 1, 2}, 2, 2
	_, err := Run(t.Context(), cfg)
	var of *userinput.Error
	if !errors.As(err, &of) || of.Field != "pin" || !strings.Contains(err.Error(), "2 workers with 2 threads want a processor each, this process may use 3") {
		t.Errorf("error %v", err)
	}
}

// processorsOfThread lists those that the thread which calls may use, as the system does: 0-3,7.
func processorsOfThread(t *testing.T) string {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Error(err)
	}
	_, after, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	list, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(list)
}

// Whatever thread a prediction runs on, it has its worker's processor and no other: in the
// warm-up, and in the test, on threads of workers and on the one that issues.
func TestPredictionsRunOnTheProcessorOfTheirWorker(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("threads are pinned on Linux")
	}
	for _, test := range []struct {
		scenario loadgen.Scenario
		workers  int
	}{{loadgen.SingleStream, 1}, {loadgen.Offline, len(machine.Processors())}} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			seen := map[string]bool{}
			n := newNumbers(100)
			n.predict = func(int64) error {
				mu.Lock()
				defer mu.Unlock()
				on := processorsOfThread(t)
				if _, err := strconv.Atoi(on); err != nil {
					t.Errorf("a prediction may run on the processors %s", on)
				}
				seen[on] = true
				return nil
			}
			cfg := config(t, n, test.scenario, loadgen.PerformanceOnly)
			cfg.Settings.MinDuration = time.Second
			cfg.Processors, cfg.Instances, cfg.Backend.IntraThreads = machine.Processors(), test.workers, 1
			mustRun(t, n, cfg)
			if len(seen) != test.workers {
				t.Errorf("%v: predictions ran on the processors %v, want %d", test.scenario, seen, test.workers)
			}
		})
	}
}
