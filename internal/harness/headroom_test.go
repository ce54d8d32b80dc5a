package harness

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// A latePacer is late by more than a generator should be.
type latePacer struct{ loadgen.TimerPacer }

func (p latePacer) WaitUntil(ctx context.Context, start time.Time, offset time.Duration) time.Duration {
	return p.TimerPacer.WaitUntil(ctx, start, offset+5*time.Millisecond)
}

func TestATargetBeyondHalfOfTheGeneratorsLimitIsWarnedOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		target float64
		pacer  func() loadgen.Pacer
		warns  bool
	}{
		{"a generator that keeps up", 6000, inFakeTime.NewPacer, false},
		{"a low target", 500, func() loadgen.Pacer { return latePacer{} }, false},
		{"a generator that does not keep up", 6000, func() loadgen.Pacer { return latePacer{} }, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := config(t, n, loadgen.Server, loadgen.PerformanceOnly)
			cfg.Settings.ServerTargetQPS, cfg.Settings.MinDuration, cfg.Settings.MinQueryCount = c.target, 100*time.Millisecond, 1
			cfg.NewPacer = c.pacer
			r := mustRun(t, n, cfg)
			if warned := strings.Contains(strings.Join(r.Warnings, "; "), "more than half"); warned != c.warns {
				t.Errorf("%s: warnings %v", c.name, r.Warnings)
			}
		})
	}
}
