package harness

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestWhatNoMachineCanDoIsRefusedWithBothNumbers(t *testing.T) {
	for _, test := range []struct {
		name     string
		scenario loadgen.Scenario
		change   func(*Config)
		field    string
		want     string
	}{
		{"a batch", loadgen.Offline, func(c *Config) { c.MaxBatch = 1e9 }, "max_batchsize", "2 workers with batches of 1000000000 samples of 4 bytes would take 2.5"},
		{"threads", loadgen.Offline, func(c *Config) { c.Backend.IntraThreads = 1e5 }, "intra_threads", "100000 threads are asked for, the "},
		{"threads of all workers", loadgen.Offline, func(c *Config) { c.Instances, c.Backend.IntraThreads = 1000, 1000 }, "intra_threads", "1000000 threads are asked for"},
		{"workers", loadgen.Offline, func(c *Config) { c.Instances = 1e6 }, "instances", "1000000 threads are asked for"},
		{"threads beyond the container's limit", loadgen.Offline, func(c *Config) {
			c.Backend.IntraThreads, c.FreeThreads = 4, func() (int, bool) { return 7, true }
		}, "intra_threads", "8 threads are asked for, the container's limit on processes and threads leaves 7"},
		{"workers beyond the container's limit", loadgen.Offline, func(c *Config) {
			c.FreeThreads = func() (int, bool) { return 1, true }
		}, "instances", "2 threads are asked for, the container's limit on processes and threads leaves 1"},
		{"an Offline query", loadgen.Offline, func(c *Config) { c.Settings.OfflineExpectedQPS = 1e9 }, "target_qps", "a query of 4400000000 samples would take 2.686e+05 MiB of memory, 8192 MiB are free"},
		{"a MultiStream query", loadgen.MultiStream, func(c *Config) { c.Settings.MultiStreamSamplesPerQuery = 1e9 }, "samples_per_query", "would take"},
		{"a batch that nobody asked for", loadgen.MultiStream, func(c *Config) {
			c.MaxBatch, c.FreeMemory, c.Settings.MultiStreamSamplesPerQuery = 0, func() uint64 { return 8 << 20 }, 1e5
		}, "samples_per_query", "batches of 100000 samples of 4 bytes would take"},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := config(t, n, test.scenario, loadgen.PerformanceOnly)
			cfg.FreeMemory = func() uint64 { return 8 << 30 }
			test.change(&cfg)
			_, err := Run(t.Context(), cfg)
			var of *userinput.Error
			if !errors.As(err, &of) || of.Field != test.field || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %s: %s", test.name, err, test.field, test.want)
			}
			if err := cfg.Engine.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A panic while samples are loaded, on a goroutine of its own, ends the test with a result.
func TestAPanicInTheDataEndsAsAnInvalidRunWithLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := config(t, n, loadgen.Offline, loadgen.PerformanceOnly)
		n.prepare = func(i int) error {
			if i == 30 {
				panic("no thirty")
			}
			return nil
		}
		cfg.Settings.MinDuration = time.Second
		r, err := Run(t.Context(), cfg)
		if r == nil || r.Result != report.Invalid || !strings.Contains(strings.Join(r.Problems, "; "), "no thirty") {
			t.Fatalf("%+v, %v", r, err)
		}
		if _, err := report.Read(cfg.OutputDir); err != nil {
			t.Error(err)
		}
	})
}
