package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// Queries of four samples come every 50 ms; a run of the model takes 2 ms and so long for each
// sample.
func TestQueriesAtIntervalsAreThoseThatTheMachineKeeps(t *testing.T) {
	t.Parallel()
	const fit, auto = true, true
	for _, c := range []struct {
		name      string
		perSample time.Duration
		fit, auto bool
		samples   uint64
		interval  time.Duration
		valid     bool
	}{
		{"they fit", 5 * time.Millisecond, fit, auto, 4, 50 * time.Millisecond, true},
		{"with fewer samples", 15 * time.Millisecond, fit, auto, 2, 50 * time.Millisecond, true},
		{"with fewer samples, whether or not the interval may be longer", 15 * time.Millisecond, fit, !auto, 2, 50 * time.Millisecond, true},
		{"with one sample at longer intervals", 98 * time.Millisecond, fit, auto, 1, 200 * time.Millisecond, true},
		{"with as many samples as somebody gave, at longer intervals", 24500 * time.Microsecond, !fit, auto, 4, 200 * time.Millisecond, true},
		{"nobody asked for it", 20 * time.Millisecond, !fit, !auto, 4, 50 * time.Millisecond, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNumbers(100)
				cfg := config(t, n, loadgen.MultiStream, loadgen.PerformanceOnly)
				cfg.Engine = engine(t, simulated.Config{Latency: 2*time.Millisecond + c.perSample, PerSample: c.perSample})
				cfg.Instances, cfg.Calibrate, cfg.FitStreams, cfg.AutoLatency = 1, true, c.fit, c.auto
				s := &cfg.Settings
				s.MultiStreamQPS, s.MultiStreamSamplesPerQuery, s.MinQueryCount, s.MinDuration, s.WithoutEarlyStopping = 20, 4, 64, time.Second, true
				r := mustRun(t, n, cfg)
				if test := r.Test; test.SamplesPerQuery != c.samples || time.Duration(test.TargetLatencyNS).Round(time.Millisecond) != c.interval {
					t.Errorf("queries of %d samples every %v, want %d every %v", test.SamplesPerQuery, time.Duration(test.TargetLatencyNS), c.samples, c.interval)
				}
				if r.Valid() != c.valid {
					t.Errorf("%s: %v", r.Result, r.Problems)
				}
				for key, changed := range map[string]bool{"samples_per_query": c.samples != 4, "target_qps": c.interval != 50*time.Millisecond} {
					if made := setting(r, key); changed != (made.Origin != "") {
						t.Errorf("%s is %+v", key, made)
					}
				}
				if notes := strings.Join(cfg.Observer.(*observer).notes, "\n"); (c.samples != 4) != strings.Contains(notes, " per query") ||
					(c.interval != 50*time.Millisecond) != strings.Contains(notes, "the official interval is 50ms: using 200ms (open division)") {
					t.Errorf("notes\n%s", notes)
				}
			})
		})
	}
}
