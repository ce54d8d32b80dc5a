package measure

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/suite"
)

// TestTheCommandOfAStepMakesItsRequest: what a run of a suite says of how to repeat it is read as
// run reads it, and asks for the same.
func TestTheCommandOfAStepMakesItsRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	text := "name: mine\nrules: v6.1\ndivision: open\nsettings: {min_duration: 2s}\nbenchmarks:\n" +
		"  - {model: resnet50, scenarios: [Server, Offline], precision: int8, count: 20, options: {layout: nhwc}, settings: {target_qps: 12.5}}\n" +
		"  - {model: mobilenet, scenarios: [SingleStream], model-path: my file.onnx}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, "v0.5"} {
		for _, given := range [][]string{
			nil,
			{"--quick"},
			{"--set", "qsl_rng_seed=5", "--instances", "2", "--provider-option", "b=2", "--provider-option", "a=1", "--spinning=false", "--device-memory", "--custom-ops", "x.so", "--custom-ops", "y.so"},
			{"--backend", "oip", "--endpoint", "http://a:1", "--endpoint", "http://b:2", "--request-timeout", "90s", "--no-accuracy", "--only", "resnet50", "--precision", "fp16", "--power", "auto"},
		} {
			if n := checkCommands(t, name, given); n == 0 {
				t.Errorf("suite %s %q has no steps", name, given)
			}
		}
	}
}

// checkCommands compares the requests of the steps with those of their commands, and counts them.
func checkCommands(t *testing.T, name string, given []string) (steps int) {
	t.Helper()
	s, err := suite.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	cmd, o := newSuiteRun(), &suiteFlags{}
	cmd.ResetFlags()
	o.define(cmd.Flags())
	if err := cmd.ParseFlags(given); err != nil {
		t.Fatal(err)
	}
	base, err := o.Build(cmd.Flags())
	if err != nil {
		t.Fatal(err)
	}
	o.suite.Base, o.suite.Output = base, t.TempDir()
	command := commandOf(cmd.Flags())
	o.suite.Command = func(want run.Request) []string {
		steps++
		args := command(want)
		again := &runFlags{}
		cmd := newRun()
		cmd.ResetFlags()
		again.define(cmd.Flags())
		if err := cmd.ParseFlags(args[2:]); err != nil {
			t.Errorf("%q: %v", args, err)
			return args
		}
		got, err := again.Build(cmd.Flags())
		if err != nil {
			t.Errorf("%q: %v", args, err)
			return args
		}
		if want.Division == "" {
			want.Division = "closed" // which is what run's flag says
		}
		diff := cmp.Diff(want, got, cmpopts.IgnoreFields(run.Request{}, "Given", "NewPacer", "Output"), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(config.Override{}, "Origin"))
		if diff != "" {
			t.Errorf("%q (-the step's +the command's):\n%s", args, diff)
		}
		return args
	}
	_, _ = suite.NewPlan(s, o.suite) // files need not be there
	return steps
}
