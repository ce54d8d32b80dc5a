package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

func TestExitOfRun(t *testing.T) {
	below := &report.Accuracy{Value: 70, Reference: 76, Target: 75}
	broken := errors.New("the disk is full")
	for _, c := range []struct {
		name string
		r    *report.Results
		err  error
		want int
	}{
		{"valid", &report.Results{Result: report.Valid}, nil, ExitDone},
		{"invalid and inaccurate", &report.Results{Result: report.Invalid, Accuracy: below}, nil, ExitInvalid},
		{"inaccurate", &report.Results{Result: report.Valid, Accuracy: below}, nil, ExitInaccurate},
		{"an error", &report.Results{Result: report.Valid}, broken, ExitError},
		{"an error without a result", nil, broken, ExitError},
		{"interrupted", nil, fmt.Errorf("traffic: %w", ErrInterrupted), ExitInterrupted},
		{"interrupted, and an error", &report.Results{Result: report.Interrupted}, errors.Join(broken, ErrInterrupted), ExitInterrupted},
	} {
		err := exitOfRun(c.r, c.err)
		if got := statusOf(err); got != c.want || errors.Is(c.err, broken) && !errors.Is(err, broken) {
			t.Errorf("%s: status %d, %v, want %d", c.name, got, err, c.want)
		}
	}
}

func TestNextCommand(t *testing.T) {
	constraint := func(id loadgen.ConstraintID, required float64) report.Constraint {
		return report.Constraint{Constraint: loadgen.Constraint{ID: id, Required: loadgen.Quantity{Value: required}}}
	}
	slow := &report.Performance{SamplesPerSecond: 50}
	for _, c := range []struct {
		args string
		r    report.Results
		want string
	}{
		{"run --model a --scenario server --mode performance", report.Results{Scenario: "Server", Constraints: []report.Constraint{constraint("latency", 1)}},
			"Next: mlperf run --model a --scenario server --mode find-peak\n  which searches the highest load that keeps the bound"},
		{"run --scenario offline --target_qps=10 --output x", report.Results{Scenario: "Offline", Performance: slow, Constraints: []report.Constraint{constraint("duration", 1)}},
			"Next: mlperf run --scenario offline --output x --target-qps 60 --force\n  which has enough samples for the time"},
		{"run --set a=1 --set target_qps=10 --set=target_qps=10 --set", report.Results{Scenario: "Offline", Performance: slow, Constraints: []report.Constraint{constraint("duration", 1)}},
			"Next: mlperf run --set a=1 --set --target-qps 60\n  which has enough samples for the time"},
		{"run --min-query-count 3", report.Results{Scenario: "Server", Constraints: []report.Constraint{constraint("early_stopping", 100)}},
			"Next: mlperf run --min-query-count 110\n  which runs until it has enough queries"},
		{"run --max-query-count 30 --scenario server", report.Results{
			Scenario: "Server", Constraints: []report.Constraint{constraint("duration", 1), constraint("queries", 100)}, Test: &report.Test{Common: loadgen.Common{MaxQueryCount: 30}}, Performance: &report.Performance{Queries: 30},
		}, "Next: mlperf run --scenario server --max-query-count 0\n  which is not ended by a number of queries"},
		{"run", report.Results{Scenario: "Server", Constraints: []report.Constraint{constraint("generator", 1)}},
			"Next: mlperf run --reserve-core\n  which leaves a core to the load generator, which was late"},
		{"run", report.Results{Scenario: "Server", Constraints: []report.Constraint{{Constraint: loadgen.Constraint{ID: "latency", Met: true}}, constraint("queries", 10)}},
			"Next: mlperf run --min-query-count 11\n  which runs until it has enough queries"},
		{"run", report.Results{Scenario: "SingleStream", Constraints: []report.Constraint{{Constraint: loadgen.Constraint{ID: "expected_latency", ReferenceOnly: true}}}}, "Next: mlperf explain 'my dir'\n  which shows why"},
		{"run", report.Results{Scenario: "Offline", Constraints: []report.Constraint{constraint("samples", 10)}}, "Next: mlperf explain 'my dir'\n  which shows why"},
		{"run", report.Results{Scenario: "MultiStream", Constraints: []report.Constraint{constraint("generator", 1)}}, "Next: mlperf explain 'my dir'\n  which shows why"},
		{"run", report.Results{Scenario: "Server", Constraints: []report.Constraint{constraint("early_stopping", 0)}}, "Next: mlperf explain 'my dir'\n  which shows why"},
		{"run", report.Results{Result: report.Valid, Model: "ssd-mobilenet", Input: report.Input{Precision: "int8"}, Accuracy: &report.Accuracy{Reference: 80, Target: 79.2}},
			"Next: mlperf quantize --model ssd-mobilenet --target 0.99\n  which leaves the most sensitive layers in FP32; run takes its file with --model-path"},
		{"run", report.Results{Result: report.Valid, Input: report.Input{Precision: "fp32"}, Accuracy: &report.Accuracy{Reference: 80, Target: 79.2}}, ""},
		{"run", report.Results{Result: report.Valid, Input: report.Input{Precision: "int8"}, Accuracy: &report.Accuracy{Met: true, Reference: 80, Target: 79.2}}, ""},
		{"run", report.Results{Result: report.Valid}, ""},
	} {
		if c.r.Result == "" {
			c.r.Result = report.Invalid
		}
		if got := nextCommand(strings.Fields(c.args), &c.r, "my dir"); got != c.want {
			t.Errorf("%s: %q, want %q", c.args, got, c.want)
		}
	}
}

func TestHopelessRunNamesCommands(t *testing.T) {
	before := os.Args
	t.Cleanup(func() { os.Args = before })
	os.Args = []string{"mlperf", "run", "--model-path", "my model.onnx", "--set", "a=b"}
	err := explainHopeless(fmt.Errorf("calibration: %w", &harness.LatencyBoundError{Latency: 20 * time.Millisecond, Bound: 15 * time.Millisecond}))
	for _, want := range []string{
		"\n  mlperf run --model-path 'my model.onnx' --set a=b --target-latency auto ", "\n  mlperf run --model-path 'my model.onnx' --set a=b --anyway ",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q has no %q", err, want)
		}
	}
}

func TestShowSweep(t *testing.T) {
	points := []report.SweepPoint{
		{Load: 5, Unit: "queries/s", Result: report.Valid, RequestsPerSecond: 4.98765, TokensPerSecond: new(123456.7), FirstTokenP50: new(1.5), FirstTokenP99: new(20.25)},
		{Load: 10, Unit: "queries/s", Result: report.Invalid},
	}
	var b strings.Builder
	if err := showSweep(&b, &report.Sweep{Points: points}, "dir", false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"QUERIES/S", "4.988", "123,457", "1.5 ms, 20.25 ms", " –  ", "INVALID", "As a page: dir/report.html, for other charts: dir/"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestTenants(t *testing.T) {
	base := run.Request{
		Model: "resnet50", Scenario: "server", ModelPath: "m.onnx",
		Settings: []config.Override{{Key: "target_qps", Value: "9"}, {Key: "min_duration", Value: "5s"}},
	}
	for text, want := range map[string]string{
		"mobilenet/offline":          "mobilenet offline min_duration=5s",
		"bert/server@3.5":            "bert server min_duration=5s target_qps=3.5",
		"mobilenet/offline@0":        "must be MODEL/SCENARIO",
		"mobilenet/offline@x":        "must be MODEL/SCENARIO",
		"nothing":                    "unknown suite",
		"testdata/none/tenants.yaml": "tenants.yaml",
	} {
		list, err := tenants(base, text)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", text, err, want)
			}
			continue
		}
		got := list[0].Model + " " + list[0].Scenario
		for _, s := range list[0].Settings {
			got += " " + s.Key + "=" + s.Value
		}
		if got != want || len(list) != 1 || list[0].ModelPath != "" {
			t.Errorf("%s: %d requests, first %s %s, want %s", text, len(list), got, list[0].ModelPath, want)
		}
	}
	if list, err := tenants(base, "mobile"); err != nil || len(list) < 4 {
		t.Errorf("a suite: %d requests, %v", len(list), err)
	}
}

// The live page is for this machine, and of one test.
func TestLiveAddress(t *testing.T) {
	inFolder(t)
	for args, want := range map[string]string{
		"--live=0.0.0.0:8080":                  "this machine",
		"--live=here":                          "this machine",
		"--live --with mobilenet/SingleStream": "--with",
	} {
		o := mlperf(t, append([]string{"run", "--model", "resnet50", "--scenario", "server", "--backend", "simulated", "--progress", "none"}, strings.Fields(args)...)...)
		if o.status != ExitUsage || !strings.Contains(o.stderr, want) {
			t.Errorf("%s: status %d: %s", args, o.status, o.stderr)
		}
	}
}
