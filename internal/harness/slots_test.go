package harness

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// TestSlotsThatDoNotFitAreRefusedBeforeTheTraffic with what they take and what is free.
func TestSlotsThatDoNotFitAreRefusedBeforeTheTraffic(t *testing.T) {
	const free = 1 << 30
	for _, c := range []struct {
		name    string
		each    int64
		batch   int
		refused string // empty: it fits
	}{
		{"as many as there are usually", free / 8, 0, "2 workers with what they keep of 8 samples under way would take 2048 MiB of memory, 1024 MiB are free"},
		{"as many as were asked for", free / 100, 64, "what they keep of 64 samples under way would take 1311 MiB of memory, 1024 MiB are free"},
		{"fewer", free / 8, 2, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := config(t, n, loadgen.Offline, loadgen.PerformanceOnly)
			cfg.Model.Open = func(workload.Setup) (*workload.Workload, error) {
				w := n.workload()
				w.Slots, w.PredictorBytes = 8, func(samples int) int64 { return c.each * int64(samples) }
				return w, nil
			}
			cfg.MaxBatch, cfg.FreeMemory = c.batch, func() uint64 { return free }
			r, err := Run(t.Context(), cfg)
			var of *userinput.Error
			if c.refused != "" && (!errors.As(err, &of) || of.Field != "max_batchsize" || !strings.Contains(err.Error(), c.refused) || r != nil) {
				t.Errorf("%s: %v, want max_batchsize: %s", c.name, err, c.refused)
			}
			if c.refused == "" && err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			if err := cfg.Engine.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
