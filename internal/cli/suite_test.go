package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/suite"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestExitOfSuite(t *testing.T) {
	score := func(result string, met bool) suite.Score {
		return suite.Score{Result: result, Accuracy: &report.Accuracy{Value: 70, Reference: 76, Target: 75, Met: met}}
	}
	accurate, inaccurate, invalid := score(report.Valid, true), score(report.Valid, false), score(report.Invalid, true)
	for want, scores := range map[int][]suite.Score{
		ExitDone: {accurate}, ExitInaccurate: {accurate, inaccurate}, ExitInvalid: {invalid, inaccurate}, ExitError: {invalid, {Result: "FAILED"}},
	} {
		if got := exitOfSuite(&suite.Outcome{Scores: scores}); got != want {
			t.Errorf("%+v: status %d, want %d", scores, got, want)
		}
	}
}

// A suite that was interrupted names the command that goes on: all of its arguments, and --resume once.
func TestSuiteNamesResumeCommand(t *testing.T) {
	before := os.Args
	t.Cleanup(func() { os.Args = before })
	t.Chdir(t.TempDir())
	write(t, "my night/note", "")
	for args, want := range map[string]string{
		"suite run edge": "mlperf suite run edge --output 'my night' --resume",
		"suite run my.yaml --backend simulated --quick --output old":     "mlperf suite run my.yaml --backend simulated --quick --output 'my night' --resume",
		"suite run edge --resume --output=old --set min_duration=20":     "mlperf suite run edge --set min_duration=20 --output 'my night' --resume",
		"suite run edge --resume=true --output old --only resnet50,bert": "mlperf suite run edge --only resnet50,bert --output 'my night' --resume",
	} {
		os.Args = append([]string{"mlperf"}, strings.Fields(args)...)
		var b strings.Builder
		if err := (&suiteFlags{}).show(&b, &suite.Outcome{Folder: "my night", Interrupted: true}); err != nil || !strings.HasSuffix(b.String(), "\nTo go on: "+want+"\n") {
			t.Errorf("%s: %v: %s, want %s", args, err, b.String(), want)
		}
	}
}

func TestSuiteNamesUnfinishedRun(t *testing.T) {
	inFolder(t)
	write(t, "night.yaml", "name: night\ncategory: edge\nbenchmarks:\n  - {model: llama9, scenarios: [Offline]}\n")
	args := []string{"suite", "run", "night.yaml", "--backend", "simulated", "--progress", "none"}
	if o := mlperf(t, append(args, "--resume")...); o.status != ExitError || !strings.Contains(o.stderr, "night") {
		t.Errorf("--resume without a run: status %d: %s", o.status, o.stderr)
	}
	write(t, "results/suites/night/2026-01-02T03-04-05Z/suite.json", `{"schema": "mlperf-go/suite/1", "suite": {"name": "night"}, "steps": [{"state": "planned"}]}`)
	if o := mlperf(t, args...); !testenv.Tells(o.stderr, "unfinished … results/suites/night/") {
		t.Errorf("status %d: %s", o.status, o.stderr)
	}
}

// The command of a step is read as run reads it, and asks for the same as the step.
func TestStepCommand(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("MLPERF_ORT_LIB", "")
	write(t, "mine.yaml", "name: mine\nrules: v6.1\ndivision: open\nsettings: {min_duration: 2s}\nbenchmarks:\n"+
		"  - {model: resnet50, scenarios: [Server, Offline], precision: int8, count: 20, options: {layout: nhwc}, settings: {target_qps: 12.5}}\n"+
		"  - {model: mobilenet, scenarios: [SingleStream], model-path: my file.onnx}\n")
	for _, name := range []string{"mine.yaml", "v0.5"} {
		for _, given := range [][]string{
			{"--quick"},
			{"--set", "qsl_rng_seed=5", "--instances", "2", "--provider-option", "b=2", "--provider-option", "a=1", "--spinning=false", "--device-memory", "--custom-ops", "x.so", "--custom-ops", "y.so"},
			{"--backend", "oip", "--endpoint", "http://a:1", "--endpoint", "http://b:2", "--request-timeout", "90s", "--no-accuracy", "--only", "resnet50", "--precision", "fp16", "--power", "auto"},
		} {
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
			base, err := o.build(cmd.Flags())
			if err != nil {
				t.Fatal(err)
			}
			o.suite.Base, o.suite.Output = base, t.TempDir()
			command, steps := stepCommand(cmd.Flags()), 0
			o.suite.Command = func(want run.Request) []string {
				steps++
				args := command(want)
				got, err := requestOf(t, args[2:]...)
				if err != nil {
					t.Errorf("%q: %v", args, err)
				}
				if want.Division == "" {
					want.Division = "closed" // the default of run's flag
				}
				diff := cmp.Diff(want, got, cmpopts.IgnoreFields(run.Request{}, "Given", "NewPacer", "Output"), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(config.Override{}, "Origin", "Role"))
				if diff != "" {
					t.Errorf("%q (-the step's +the command's):\n%s", args, diff)
				}
				return args
			}
			_, _ = suite.NewPlan(s, o.suite) // files need not be there
			if steps == 0 {
				t.Errorf("suite %s %q has no steps", name, given)
			}
		}
	}
}

// What this machine computes with is left out of commands that ask servers: run refuses it there.
func TestStepCommandOfServers(t *testing.T) {
	cmd, o := newSuiteRun(), &suiteFlags{}
	cmd.ResetFlags()
	o.define(cmd.Flags())
	if err := cmd.ParseFlags([]string{"--ort-lib", "x.so", "--device", "cuda"}); err != nil {
		t.Fatal(err)
	}
	q := run.Request{}
	q.Model, q.Scenario, q.Engine.Name, q.Engine.Remote.Endpoints = "deepseek-r1", "Offline", engine.OpenAI, []string{"URL"}
	want := "mlperf run --model deepseek-r1 --scenario Offline --backend openai --endpoint URL"
	if got := strings.Join(stepCommand(cmd.Flags())(q), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
