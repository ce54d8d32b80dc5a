package harness

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// openProbe opens a probe. closeProbe wants everything to be closed with it.
func openProbe(t *testing.T, cfg Config) *Probe {
	t.Helper()
	p, err := OpenProbe(t.Context(), cfg)
	testenv.Must(t, err)
	return p
}

func closeProbe(t *testing.T, p *Probe, n *numbers, cfg Config) {
	t.Helper()
	testenv.Must(t, p.Close())
	cfg.Instances, _, _ = p.Shape()
	checkClosed(t, n, cfg)
}

func TestProbeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Offline, loadgen.PerformanceOnly)
		cfg.MaxBatch, cfg.Backend.IntraThreads = 4, 1
		p := openProbe(t, cfg)
		defer closeProbe(t, p, n, cfg)
		if w, threads, b := p.Shape(); w != 2 || threads != 1 || b != 4 || p.FixedBatch() != 0 {
			t.Errorf("Shape() = %d, %d, %d, FixedBatch() = %d", w, threads, b, p.FixedBatch())
		}
		for _, c := range []struct {
			workers, batch int
			d              time.Duration
			want           []time.Duration
		}{
			{1, 1, 20 * time.Millisecond, slices.Repeat([]time.Duration{5 * time.Millisecond}, 4)},
			{2, 4, 16 * time.Millisecond, slices.Repeat([]time.Duration{8 * time.Millisecond}, 4)},
			{2, 2, 0, slices.Repeat([]time.Duration{6 * time.Millisecond}, 2)},
		} {
			got, err := p.Times(t.Context(), c.workers, c.batch, c.d)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("Times(%d, %d, %v) = %v, %v, want %v", c.workers, c.batch, c.d, got, err, c.want)
			}
		}
		for _, wrong := range [][2]int{{0, 1}, {3, 1}, {1, 0}, {1, 5}} {
			if _, err := p.Times(t.Context(), wrong[0], wrong[1], 0); !testenv.Names(err, "2 … 4") {
				t.Errorf("Times(%v): %v", wrong, err)
			}
		}
	})
}

func TestProbeTest(t *testing.T) {
	t.Parallel()
	for _, scenario := range loadgen.Scenarios() {
		t.Run(scenario.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := configOf(t, n, scenario, loadgen.PerformanceOnly)
				p := openProbe(t, cfg)
				defer closeProbe(t, p, n, cfg)
				for range 2 { // one after another, with a measurement in between
					if _, err := p.Times(t.Context(), 1, 1, time.Millisecond); err != nil {
						t.Fatal(err)
					}
					test, err := p.Test(t.Context(), cfg.Settings)
					if err != nil || !test.Valid() {
						t.Fatalf("%v, %+v", err, test)
					}
				}
			})
		})
	}
}

func TestProbeLatencyBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.Settings.ServerTargetLatency, cfg.AutoLatency = 2*time.Millisecond, true
		p := openProbe(t, cfg)
		defer closeProbe(t, p, n, cfg)
		if got := p.LatencyBound(); got != 20*time.Millisecond {
			t.Errorf("LatencyBound() = %v, want four times the 5 ms of a sample", got)
		}
	})
}

func TestProbeErrors(t *testing.T) {
	broken := errors.New("out of memory")
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.SingleStream, loadgen.PerformanceOnly)
		cfg.Backend.IntraThreads = 1
		p := openProbe(t, cfg)
		n.predict = func(int64) error { return broken }
		if _, err := p.Times(t.Context(), 1, 1, 0); !errors.Is(err, broken) {
			t.Errorf("Times: %v, want %v", err, broken)
		}
		if _, err := p.Test(t.Context(), cfg.Settings); !errors.Is(err, broken) {
			t.Errorf("Test: %v, want %v", err, broken)
		}
		closeProbe(t, p, n, cfg)

		n = newNumbers(100)
		cfg = configOf(t, n, loadgen.SingleStream, loadgen.PerformanceOnly)
		p = openProbe(t, cfg)
		stopped := errors.New("that is enough")
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(stopped) })
		if _, err := p.Test(ctx, cfg.Settings); !errors.Is(err, stopped) {
			t.Errorf("Test, interrupted: %v, want %v", err, stopped)
		}
		closeProbe(t, p, n, cfg)

		cfg = configOf(t, n, loadgen.SingleStream, loadgen.PerformanceOnly)
		cfg.DatasetDir = "missing"
		if _, err := OpenProbe(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "there are no numbers") {
			t.Errorf("OpenProbe: %v", err)
		}
	})
}
