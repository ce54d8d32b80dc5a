package harness

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// evenLength is the length that toy sequences are padded to.
func evenLength(index int) int { return (toyLength(index) + 1) / 2 * 2 }

func TestEveryLengthThatADeviceCompilesForIsWarmedUp(t *testing.T) {
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
			if err := r.open(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.cfg.Backend.Device = c.device // simulated engines have none
			if err := r.tryModel(t.Context()); err != nil {
				t.Fatal(err)
			}
			if all := len(seen) == 4; all != c.all {
				t.Errorf("device %q: lengths %v are warmed up, want all four: %t", c.device, seen, c.all)
			}
			if err := errors.Join(r.close(), cfg.Engine.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
