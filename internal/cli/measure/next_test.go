package measure

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

func TestTheNextCommandSaysWhatItDoes(t *testing.T) {
	for _, id := range []loadgen.ConstraintID{loadgen.ConstraintLatency, loadgen.ConstraintQueries, loadgen.ConstraintGenerator} {
		r := report.Results{Result: report.Invalid, Scenario: "Server", Constraints: []report.Constraint{{Constraint: loadgen.Constraint{ID: id, Required: loadgen.Quantity{Value: 1}}}}}
		if got := next([]string{"run"}, &r, "dir"); strings.HasSuffix(got, "which \n") || strings.Contains(got, "explain") {
			t.Errorf("%s: %q", id, got)
		}
	}
	r := report.Results{Result: report.Invalid, Scenario: "Offline", Performance: &report.Performance{SamplesPerSecond: 50}, Constraints: []report.Constraint{{Constraint: loadgen.Constraint{ID: loadgen.ConstraintDuration}}}}
	if got, want := next([]string{"run"}, &r, "dir"), "Next: mlperf run --target-qps 60\n  which has enough samples for the time\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestARunThatIsInvalidNamesTheNextCommand(t *testing.T) {
	constraint := func(id loadgen.ConstraintID, required float64) report.Constraint {
		return report.Constraint{Constraint: loadgen.Constraint{ID: id, Required: loadgen.Quantity{Value: required}}}
	}
	for _, c := range []struct {
		name, args string
		r          report.Results
		want       string
	}{
		{"too slow", "run --model a --scenario server --mode performance", report.Results{Scenario: "Server", Constraints: []report.Constraint{constraint("latency", 1)}},
			"Next: mlperf run --model a --scenario server --mode find-peak\n"},
		{"too short", "run --scenario offline --target_qps=10 --output x", report.Results{Scenario: "Offline", Performance: &report.Performance{SamplesPerSecond: 50}, Constraints: []report.Constraint{constraint("duration", 1)}},
			"Next: mlperf run --scenario offline --output x --target-qps 60 --force\n"},
		{"too short, with --set", "run --set a=1 --set target_qps=10 --set=target_qps=10 --set", report.Results{Scenario: "Offline", Performance: &report.Performance{SamplesPerSecond: 50}, Constraints: []report.Constraint{constraint("duration", 1)}},
			"Next: mlperf run --set a=1 --set --target-qps 60\n"},
		{"too few", "run --min-query-count 3", report.Results{Scenario: "Server", Constraints: []report.Constraint{constraint("early_stopping", 100)}},
			"Next: mlperf run --min-query-count 110\n"},
		{"late generator", "run", report.Results{Scenario: "Server", Constraints: []report.Constraint{constraint("generator", 1)}}, "Next: mlperf run --reserve-core\n"},
		{"the first that is not met", "run", report.Results{Scenario: "Server", Constraints: []report.Constraint{{Constraint: loadgen.Constraint{ID: "latency", Met: true}}, constraint("queries", 10)}},
			"Next: mlperf run --min-query-count 11\n"},
		{"nothing that is known", "run", report.Results{Scenario: "Server"}, "Next: mlperf explain 'my dir'\n"},
		{"valid", "run", report.Results{Result: report.Valid}, ""},
	} {
		if c.r.Result == "" {
			c.r.Result = report.Invalid
		}
		if got := next(strings.Fields(c.args), &c.r, "my dir"); !strings.HasPrefix(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
