package run

import (
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run/engine"
)

// The bound of an own model, which follows from a measurement, stays that of the first run.
func TestSlowerRunKeepsTheBound(t *testing.T) {
	q := Request{ModelPath: "mine.onnx", Scenario: "server", Quick: true, AutoLatency: true, Engine: engine.Config{Name: engine.Simulated}}
	first := &report.Results{
		Performance: &report.Performance{SamplesPerSecond: 40},
		Settings:    []report.Setting{{Key: "target_latency", Value: "75 ms", Origin: "auto: 4 × the 18.7ms of one sample"}},
		Constraints: []report.Constraint{{Constraint: loadgen.Constraint{ID: loadgen.ConstraintLatency}}},
	}
	first.Constraints[0].Required.Value = float64(75 * time.Millisecond)
	r, err := Resolve(slower(q, first))
	if err != nil {
		t.Fatal(err)
	}
	if s := r.Settings; s.ServerTargetQPS != 20 || s.ServerTargetLatency != 75*time.Millisecond || r.Request.AutoLatency {
		t.Errorf("%v queries/s below %v, chosen again: %v", s.ServerTargetQPS, s.ServerTargetLatency, r.Request.AutoLatency)
	}
}
