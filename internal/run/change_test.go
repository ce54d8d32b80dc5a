package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// broken is a constraint that was not kept.
func broken(id loadgen.ConstraintID, required float64) report.Constraint {
	return report.Constraint{Constraint: loadgen.Constraint{ID: id, Required: loadgen.Quantity{Value: required}}}
}

func TestTheFirstConstraintThatWasBrokenSaysWhatToChange(t *testing.T) {
	met, foreign, words := broken(loadgen.ConstraintLatency, 1), broken(loadgen.ConstraintExpectedLatency, 1), broken(loadgen.ConstraintQueries, 10)
	met.Met, foreign.ReferenceOnly, words.Words = true, true, &report.ConstraintWords{}
	fast := &report.Performance{SamplesPerSecond: 50}
	for _, c := range []struct {
		name, scenario string
		performance    *report.Performance
		constraints    []report.Constraint
		want           *Change
	}{
		{"latency over its bound", "Server", nil, []report.Constraint{broken(loadgen.ConstraintLatency, 1)}, &Change{"mode", "find-peak"}},
		{"first tokens over theirs", "Server", nil, []report.Constraint{broken(loadgen.ConstraintFirstToken, 1)}, &Change{"mode", "find-peak"}},
		{"further tokens over theirs", "Server", nil, []report.Constraint{broken(loadgen.ConstraintPerToken, 1)}, &Change{"mode", "find-peak"}},
		{"queries longer than the interval", "MultiStream", nil, []report.Constraint{broken(loadgen.ConstraintIntervals, 1)}, &Change{"mode", "find-peak"}},
		{"over before its time", "Offline", fast, []report.Constraint{broken(loadgen.ConstraintDuration, 1)}, &Change{"target_qps", "60"}},
		{"over before its time, and nothing measured", "Offline", nil, []report.Constraint{broken(loadgen.ConstraintDuration, 1)}, nil},
		{"over before its time, and nothing answered", "Offline", &report.Performance{}, []report.Constraint{broken(loadgen.ConstraintDuration, 1)}, nil},
		{"over before its time, with a schedule", "Server", fast, []report.Constraint{broken(loadgen.ConstraintDuration, 1)}, nil},
		{"too few queries", "SingleStream", nil, []report.Constraint{broken(loadgen.ConstraintQueries, 64)}, &Change{"min_query_count", "71"}},
		{"too few by a whole tenth", "Server", nil, []report.Constraint{broken(loadgen.ConstraintQueries, 70)}, &Change{"min_query_count", "77"}},
		{"too few to trust the percentile", "Server", nil, []report.Constraint{broken(loadgen.ConstraintEarlyStopping, 100)}, &Change{"min_query_count", "110"}},
		{"too few to trust that of first tokens", "Server", nil, []report.Constraint{broken(loadgen.ConstraintFirstTokenStopping, 270336)}, &Change{"min_query_count", "297370"}},
		{"too few, and not known how many", "Server", nil, []report.Constraint{broken(loadgen.ConstraintEarlyStopping, 0)}, nil},
		{"too few, in words only", "Server", nil, []report.Constraint{words}, nil},
		{"too few samples of one a query", "Server", nil, []report.Constraint{broken(loadgen.ConstraintSamples, 10)}, &Change{"min_query_count", "11"}},
		{"too few samples of one query", "Offline", nil, []report.Constraint{broken(loadgen.ConstraintSamples, 10)}, nil},
		{"a late generator", "Server", nil, []report.Constraint{broken(loadgen.ConstraintGenerator, 1)}, &Change{Field: "reserve_core"}},
		{"a late generator of intervals", "MultiStream", nil, []report.Constraint{broken(loadgen.ConstraintGenerator, 1)}, nil},
		{"the first that counts", "Server", nil, []report.Constraint{met, foreign, broken(loadgen.ConstraintQueries, 10), broken(loadgen.ConstraintGenerator, 1)}, &Change{"min_query_count", "11"}},
		{"only the reference's", "SingleStream", nil, []report.Constraint{met, foreign}, nil},
		{"none", "Server", nil, nil, nil},
	} {
		r := &report.Results{Scenario: c.scenario, Performance: c.performance, Constraints: c.constraints}
		if diff := cmp.Diff(c.want, ChangeFor(r)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestAMissedTargetInINT8AsksForAFinerModel(t *testing.T) {
	below := &report.Accuracy{Reference: 80, Target: 79.2}
	for _, c := range []struct {
		name, precision string
		accuracy        *report.Accuracy
		want            bool
	}{
		{"integers below the target", "int8", below, true},
		{"integers that reach it", "int8", &report.Accuracy{Met: true, Reference: 80, Target: 79.2}, false},
		{"a target without a score of FP32", "int8", &report.Accuracy{Target: 79.2}, false},
		{"no target", "int8", &report.Accuracy{NoTarget: "other samples"}, false},
		{"no score", "int8", nil, false},
		{"FP32 below the target", "fp32", below, false},
	} {
		q := FinerInt8(&report.Results{Model: "ssd-mobilenet", Input: report.Input{Precision: c.precision}, Accuracy: c.accuracy})
		if (q != nil) != c.want {
			t.Errorf("%s: %+v", c.name, q)
		}
		if q != nil && (q.Model != "ssd-mobilenet" || q.Target < 0.9899 || q.Target > 0.9901) {
			t.Errorf("%s: a target of %g of %s, want 0.99 of ssd-mobilenet", c.name, q.Target, q.Model)
		}
	}
}
