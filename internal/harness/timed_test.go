package harness

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// numberTexts are what numbers are made of, in 3 ms each: numberPredictor fails if it gets another sample's.
func numberTexts(fail func(index int) error) *workload.Raw {
	return &workload.Raw{
		What: "reading numbers",
		Read: func(index int) ([]byte, error) { return binary.LittleEndian.AppendUint32(nil, uint32(index)), nil },
		Make: func(raw []byte, index int, row []tensor.Tensor) error {
			time.Sleep(3 * time.Millisecond)
			tensor.Data[float32](row[0])[0] = float32(binary.LittleEndian.Uint32(raw))
			return fail(index)
		},
	}
}

func timedConfig(t *testing.T, n *numbers, s loadgen.Scenario, m loadgen.Mode, raw *workload.Raw) Config {
	cfg := configOf(t, n, s, m)
	cfg.TimedPreprocessing = true
	cfg.Model.Open = func(workload.Setup) (*workload.Workload, error) {
		w := n.workload()
		w.Raw = raw
		return w, nil
	}
	return cfg
}

func TestTimedPreprocessing(t *testing.T) {
	for _, s := range loadgen.Scenarios() {
		synctest.Test(t, func(t *testing.T) {
			n := newNumbers(100)
			cfg := timedConfig(t, n, s, loadgen.PerformanceOnly, numberTexts(func(int) error { return nil }))
			cfg.Settings.ServerTargetQPS, cfg.Settings.OfflineExpectedQPS, cfg.Settings.ServerTargetLatency = 150, 450, time.Second
			r := mustRun(t, n, cfg)
			p := r.Preparation
			if !r.Valid() || n.tornDown.Load() > 0 || p == nil || p.What != "reading numbers" || p.SampleNS != int64(3*time.Millisecond) || !(p.Share > 0.2 && p.Share < 0.8) {
				t.Errorf("%v: %s, %d wrong samples, %+v: %q", s, r.Result, n.tornDown.Load(), p, r.Problems)
			}
			if least := r.Performance.LatencyNS.Min; time.Duration(least) < 8*time.Millisecond { // 3 to make it, 5 to answer it
				t.Errorf("%v: a latency of %v leaves out the pre-processing", s, time.Duration(least))
			}
			if math.Abs(p.Seconds-0.003*float64(r.Performance.Samples)) > 0.1 {
				t.Errorf("%v: %v s for %d samples of 3 ms", s, p.Seconds, r.Performance.Samples)
			}
		})
	}
}

func TestTimedPreprocessingScores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		n.wrong = 8
		r := mustRun(t, n, timedConfig(t, n, loadgen.Offline, loadgen.AccuracyOnly, numberTexts(func(int) error { return nil })))
		checkAccuracy(t, r.Accuracy)
	})
}

func TestTimedPreprocessingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := timedConfig(t, n, loadgen.Offline, loadgen.PerformanceOnly, numberTexts(func(index int) error {
			if index == 7 {
				return errors.New("no number")
			}
			return nil
		}))
		if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "sample 7: no number") {
			t.Errorf("%v, want the sample that cannot be made", err)
		}
		n = newNumbers(100)
		if _, err := Run(t.Context(), timedConfig(t, n, loadgen.Offline, loadgen.PerformanceOnly, nil)); err == nil || !strings.Contains(err.Error(), "numbers: not possible") {
			t.Errorf("%v, want a refusal by name", err)
		}
	})
}
