package measure

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/suite"
)

// atWork goes to a folder with a tiny classifier and four images, and takes the command line of the tests' program away.
func atWork(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("MLPERF_CACHE_DIR", filepath.Join(dir, "cache"))
	t.Setenv("MLPERF_DATA_DIR", filepath.Join(dir, "data"))
	before := os.Args
	os.Args = []string{"mlperf"}
	t.Cleanup(func() { os.Args = before })
	if err := synth.WriteImageNet(t.Context(), "imagenet", synth.ImageNetSpec{Seed: 1, Images: 4, Classes: 4}, nil); err != nil {
		t.Fatal(err)
	}
	b := arch.NewBuilder("tiny", 1)
	x := b.MaxPool("grid", b.Input("image", onnx.Float32, onnx.Batched(3, 224, 224)), arch.Pool{Kernel: arch.Axes{56}, Strides: arch.Axes{56}})
	b.Output(b.Softmax("softmax", b.Dense("scores", b.Flatten("features", x), arch.Dense{Units: 1001}), 1))
	model, _, err := b.Model()
	if err == nil {
		err = model.WriteFile(t.Context(), "tiny.onnx")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// simulated is a command line of a verb on the engine that only takes its time.
func simulated(verb string, more string) []string {
	return strings.Fields(verb + " --model resnet50 --backend simulated --sim-latency 1ms --model-path tiny.onnx --dataset-path imagenet --progress none " + more)
}

// results reads what a run has written.
func results(t *testing.T, dir string) *report.Results {
	t.Helper()
	r, err := report.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARunIsShownAndWritten(t *testing.T) {
	atWork(t)
	short := "--scenario offline --quick --min-duration 10ms --target-qps 5000 --instances 1 --max-batchsize 1 --no-report "
	o := clitest.Run(t, Commands(), simulated("run", short+"--output r")...)
	if o.Status != cli.ExitDone || o.Err != "" {
		t.Fatalf("status %d: %s", o.Status, o.Err)
	}
	for _, want := range []string{"resnet50 Offline, PerformanceOnly: VALID", "Caveats:\n", "\nLogs and results: r\n"} {
		if !strings.Contains(o.Stdout, want) {
			t.Errorf("no %q in\n%s", want, o.Stdout)
		}
	}
	r := results(t, "r")
	if r.Result != report.Valid || r.Model != "resnet50" || len(r.Command) == 0 || r.Command[0] != "mlperf" {
		t.Errorf("results of %s: %s, by %q", r.Model, r.Result, r.Command)
	}
	if _, err := os.Stat(filepath.Join("r", "report.html")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a page was written: %v", err)
	}

	o = clitest.Run(t, Commands(), simulated("run", short+"--output r")...)
	if o.Status != cli.ExitError || !strings.HasPrefix(o.Err, "r has the results of a run already") {
		t.Errorf("again: status %d: %s", o.Status, o.Err)
	}
	o = clitest.Run(t, Commands(), simulated("run", short+"--output r --force --json")...)
	var printed report.Results
	if err := json.Unmarshal([]byte(o.Stdout), &printed); err != nil || o.Status != cli.ExitDone {
		t.Fatalf("as JSON: status %d, %v:\n%s", o.Status, err, o.Stdout)
	}
	if now := results(t, "r"); printed.Fingerprint != now.Fingerprint || printed.Result != now.Result || printed.Schema != now.Schema {
		t.Errorf("what was printed is not what was written")
	}
}

// TestARunThatIsInvalidSaysWhatComesNext, as the next command line: that of this one, changed.
func TestARunThatIsInvalidSaysWhatComesNext(t *testing.T) {
	atWork(t)
	args := simulated("run", "--scenario single-stream --set min_duration=10 --min-query-count 5 --target-latency 1 --no-report --output r")
	os.Args = append([]string{"mlperf"}, args...)
	o := clitest.Run(t, Commands(), args...)
	if o.Status != cli.ExitInvalid || o.Err != "" {
		t.Fatalf("status %d: %s\n%s", o.Status, o.Err, o.Stdout)
	}
	last := strings.Split(strings.TrimSuffix(o.Stdout, "\n"), "\n")
	if n := len(last); n < 3 || !strings.HasPrefix(last[n-2], "Next: mlperf ") || !strings.HasPrefix(last[n-1], "  which ") {
		t.Errorf("the end is\n%s", strings.Join(last[max(0, len(last)-3):], "\n"))
	}
	if r := results(t, "r"); r.Result != report.Invalid || !slices.Equal(r.Command, os.Args) {
		t.Errorf("results: %s, of the command %q", r.Result, r.Command)
	}
}

// TestWhatWasInterruptedIsWrittenAndMarked, for each of the verbs that measure.
func TestWhatWasInterruptedIsWrittenAndMarked(t *testing.T) {
	atWork(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted)
	for _, args := range [][]string{
		simulated("run", "--scenario server --target-qps 10 --output r"),
		simulated("audit TEST04", "--scenario single-stream --quick --output a"),
		simulated("tune", "--scenario offline --output t.json"),
	} {
		o := clitest.RunContext(ctx, Commands(), args...)
		if o.Status != cli.ExitInterrupted {
			t.Errorf("mlperf %s: status %d, want %d: %s", args[0], o.Status, cli.ExitInterrupted, o.Err)
		}
	}
	if _, err := os.Stat("t.json"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a search that was interrupted has a profile: %v", err)
	}
}

func TestASearchPrintsItsWinnerAndKeepsIt(t *testing.T) {
	atWork(t)
	search := simulated("tune", "--scenario offline --instances 1 --intra-threads 1 --max-batchsize 1,4 --budget 400ms --output best.json")
	o := clitest.Run(t, Commands(), slices.Concat(search, []string{"--json"})...)
	var found struct {
		Schema       string
		Finished     bool
		Profile      map[string]any
		Measurements []map[string]any
	}
	if err := json.Unmarshal([]byte(o.Stdout), &found); err != nil || o.Status != cli.ExitDone {
		t.Fatalf("status %d, %v: %s\n%s", o.Status, err, o.Err, o.Stdout)
	}
	if found.Schema != "mlperf-go/tune/1" || !found.Finished || found.Profile["model"] != "resnet50" || len(found.Measurements) == 0 {
		t.Errorf("found %+v", found)
	}
	if !strings.Contains(o.Stderr, "2 ways to run the model, compared by samples (samples/s, higher is better)\n") || !strings.Contains(o.Stderr, "stage 1, ") {
		t.Errorf("nothing is said of the way:\n%s", o.Stderr)
	}
	again := clitest.Run(t, Commands(), search...)
	for _, want := range []string{"ESTIMATE, SAMPLES/S", "\nFastest: ", "\nProfile: best.json\n"} {
		if !strings.Contains(again.Stdout, want) {
			t.Errorf("again: no %q in\n%s%s", want, again.Stdout, again.Err)
		}
	}
}

// night is a suite of one benchmark, and of one that nobody has.
const night = `name: night
category: edge
settings: {min_duration: 10ms, min_query_count: 5, target_qps: 100000}
benchmarks:
  - {model: resnet50, scenarios: [Offline], model-path: tiny.onnx, dataset-path: imagenet}
  - {model: llama9, scenarios: [Offline]}
`

// runNight runs the suite of that name to its end, into the folder kept, and returns how that is done.
func runNight(t *testing.T) (run []string, o clitest.Outcome) {
	t.Helper()
	atWork(t)
	if err := os.WriteFile("night.yaml", []byte(night), 0o600); err != nil {
		t.Fatal(err)
	}
	run = strings.Fields("suite run night.yaml --backend simulated --sim-latency 1ms --no-accuracy --progress none --output kept")
	o = clitest.Run(t, Commands(), run...)
	if o.Status != cli.ExitDone || o.Err != "" {
		t.Fatalf("status %d: %s\n%s%s", o.Status, o.Err, o.Stdout, o.Stderr)
	}
	return run, o
}

func TestASuiteSaysWhatCameOfItAndWhereItIs(t *testing.T) {
	_, o := runNight(t)
	for _, want := range []string{"suite night", "VALID", "1 not supported", "\nLogs and results: kept, as a page: kept/report.html\n"} {
		if !strings.Contains(o.Stdout, want) {
			t.Errorf("no %q in\n%s", want, o.Stdout)
		}
	}
	if !strings.Contains(o.Stderr, "suite night: 1 run, at least ") {
		t.Errorf("nothing is said of how long it takes:\n%s", o.Stderr)
	}
	if page, err := os.ReadFile("kept/report.html"); err != nil || !strings.Contains(string(page), "resnet50") {
		t.Errorf("the page: %v", err)
	}
	if strings.Contains(o.Stdout, "To go on") {
		t.Errorf("a suite that is over is gone on with:\n%s", o.Stdout)
	}
	before := results(t, "kept/resnet50/offline/performance")
	if line := report.CommandLine(before.Command); !strings.HasPrefix(line, "mlperf run --model resnet50 --scenario Offline --mode performance") || !strings.Contains(line, " --set min_query_count=5") {
		t.Errorf("the run alone is made by %s", line)
	}
}

func TestASuiteRunsOnceAndIsGoneOnWith(t *testing.T) {
	run, _ := runNight(t)
	first, err := os.Stat("kept/resnet50/offline/performance/results.json")
	if err != nil {
		t.Fatal(err)
	}
	o := clitest.Run(t, Commands(), run...)
	if o.Status != cli.ExitError || !strings.HasSuffix(o.Err, ": --resume goes on with it, --output chooses another folder") {
		t.Errorf("again: status %d: %s", o.Status, o.Err)
	}
	o = clitest.Run(t, Commands(), slices.Concat(run, []string{"--resume", "--json"})...)
	var out suite.Outcome
	if err := json.Unmarshal([]byte(o.Stdout), &out); err != nil || o.Status != cli.ExitDone {
		t.Fatalf("going on: status %d, %v: %s", o.Status, err, o.Err)
	}
	if out.Folder != "kept" || out.Interrupted || len(out.Scores) != 2 || out.Scores[0].Result != report.Valid {
		t.Errorf("going on: %+v", out)
	}
	if now, err := os.Stat("kept/resnet50/offline/performance/results.json"); err != nil || !now.ModTime().Equal(first.ModTime()) {
		t.Errorf("what was done was done again: %v", err)
	}
}

// TestASuiteThatBeginsAnewSaysWhichOneIsUnfinished, and an interrupted one how to go on.
func TestASuiteThatBeginsAnewSaysWhichOneIsUnfinished(t *testing.T) {
	atWork(t)
	if err := os.WriteFile("night.yaml", []byte(night), 0o600); err != nil {
		t.Fatal(err)
	}
	run := strings.Fields("suite run night.yaml --backend simulated --sim-latency 1ms --no-accuracy --progress none")
	resumed := clitest.Run(t, Commands(), slices.Concat(run, []string{"--resume"})...)
	if resumed.Status != cli.ExitError || resumed.Err == "" {
		t.Errorf("nothing to go on with: status %d: %s", resumed.Status, resumed.Err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted)
	os.Args = append([]string{"mlperf"}, run...)
	stopped := clitest.RunContext(ctx, Commands(), run...)
	if stopped.Status != cli.ExitInterrupted || !strings.Contains(stopped.Stdout, "\nTo go on: mlperf suite run night.yaml --backend simulated ") || !strings.HasSuffix(stopped.Stdout, " --resume\n") {
		t.Errorf("interrupted: status %d: %s\n%s", stopped.Status, stopped.Err, stopped.Stdout)
	}
	anew := clitest.Run(t, Commands(), run...)
	if anew.Status != cli.ExitDone || !strings.Contains(anew.Stderr, "an unfinished run of this suite is in results/suites/night/") {
		t.Errorf("anew: status %d: %s\n%s", anew.Status, anew.Err, anew.Stderr)
	}
}

// TestASuiteIsShownBeforeItRuns: what lacks is said, and earlier runs tell how long it takes.
func TestASuiteIsShownBeforeItRuns(t *testing.T) {
	atWork(t)
	if err := os.WriteFile("night.yaml", []byte(night), 0o600); err != nil {
		t.Fatal(err)
	}
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "a table", Args: strings.Fields("suite show night.yaml --backend simulated"), Want: []string{"night, rules v6.1\n", "accuracy", "performance", "≥ ", "not in the catalogue"}},
		{Name: "without accuracy", Args: strings.Fields("suite show night.yaml --backend simulated --no-accuracy"), Want: []string{"performance"}, Not: []string{"accuracy"}},
		{Name: "a part", Args: strings.Fields("suite show night.yaml --backend simulated --only resnet50 --json"), Want: []string{`"steps": [`, `"schema": "mlperf-go/suite/`}, Not: []string{`"model": "llama9",\n      "scenario"`}},
		{Name: "a part that is none", Args: strings.Fields("suite show night.yaml --backend simulated --only bert"), Status: cli.ExitUsage, Want: []string{"bert"}},
		{Name: "a setting that is none", Args: strings.Fields("suite show night.yaml --backend simulated --set colour"), Status: cli.ExitUsage, Want: []string{"--set colour: want key=value"}},
		{Name: "a cool-down below nothing", Args: strings.Fields("suite show night.yaml --cooldown -5s"), Status: cli.ExitUsage, Want: []string{`"-5s" is negative`}},
		{Name: "the file again", Args: strings.Fields("suite show night.yaml --yaml"), Want: []string{"name: night\n", "min_query_count"}},
		{Name: "no file", Args: strings.Fields("suite show nowhere.yaml"), Status: cli.ExitError, Want: []string{"nowhere.yaml"}},
	})
}

func TestAComplianceTestIsRunAndVerified(t *testing.T) {
	atWork(t)
	short := "--scenario single-stream --quick --min-duration 10ms --target-latency 1 --no-report --output a "
	o := clitest.Run(t, Commands(), simulated("audit TEST01", short)...)
	passed := o.Status == cli.ExitDone && strings.HasPrefix(o.Stdout, "TEST01: PASSED\n")
	failed := o.Status == cli.ExitInvalid && strings.HasPrefix(o.Stdout, "TEST01: FAILED\n") // the speeds of a busy machine vary
	if !passed && !failed || !strings.Contains(o.Stdout, "Files for MLCommons: a/TEST01\n") {
		t.Fatalf("status %d: %s\n%s", o.Status, o.Err, o.Stdout)
	}
	verify := strings.Fields("audit verify TEST01 a/runs/performance a/runs/TEST01 --accuracy-logs a/runs/accuracy --json")
	o = clitest.Run(t, Commands(), verify...)
	var v struct {
		Schema, Test string
		Passed       *bool
	}
	if err := json.Unmarshal([]byte(o.Stdout), &v); err != nil || v.Schema != "mlperf-go/audit/1" || v.Test != "TEST01" || v.Passed == nil || *v.Passed != passed {
		t.Errorf("verified: %+v, %v:\n%s", v, err, o.Stdout)
	}
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "a script prints the score", Args: []string{"audit", "verify", "TEST07", "a/runs/performance", "a/runs/TEST01", "--accuracy-script", "echo score 61 {accuracy_log}", "--score-pattern", `score (\d+)`, "--accuracy-threshold", "60"},
			Want: []string{"TEST07: PASSED\n"}},
		{Name: "a score below the bound", Args: []string{"audit", "verify", "TEST07", "a/runs/performance", "a/runs/TEST01", "--accuracy-script", "echo score 61 {accuracy_log}", "--score-pattern", `score (\d+)`, "--accuracy-threshold", "70"},
			Status: cli.ExitInvalid, Want: []string{"TEST07: FAILED\n", "the score in performance mode is 61; 70 or more passes"}},
		{Name: "data without a model that scores it", Args: strings.Fields("audit verify TEST01 a/runs/performance a/runs/TEST01 --dataset-path imagenet"), Status: cli.ExitUsage,
			Want: []string{"--dataset-path is scored with --model, which is not given"}},
		{Name: "replacing what is not written", Args: strings.Fields("audit verify TEST01 a/runs/performance a/runs/TEST01 --force"), Status: cli.ExitUsage,
			Want: []string{"--force is of --output, and nothing is written without it"}},
		{Name: "logs that are not there", Args: strings.Fields("audit verify TEST01 a/runs/performance nowhere --accuracy-logs a/runs/accuracy --output elsewhere"), Status: cli.ExitError, Want: []string{"nowhere"}},
	})
	if _, err := os.Stat("elsewhere"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("files of a test that could not be judged: %v", err)
	}
	o = clitest.Run(t, Commands(), strings.Fields("audit verify TEST01 a/runs/performance a/runs/TEST01 --accuracy-logs a/runs/accuracy --output elsewhere")...)
	if text, err := os.ReadFile("elsewhere/TEST01/verify_accuracy.txt"); err != nil || !strings.Contains(string(text), "TEST ") {
		t.Errorf("status %d, %v: %s", o.Status, err, text)
	}
}

// TestTheAuditSetOfTheFirstRoundHasItsRules, however they are written; what lies around is for other tests.
func TestTheAuditSetOfTheFirstRoundHasItsRules(t *testing.T) {
	atWork(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted) // before anything is measured
	for _, c := range []struct {
		name, rules, environment string
		status                   int
	}{
		{"no word of rules", "", "", cli.ExitInterrupted},
		{"its own", "--rules v0.5", "", cli.ExitInterrupted},
		{"without the letter", "--rules 0.5", "", cli.ExitInterrupted},
		{"others", "--rules v5.1", "", cli.ExitUsage},
		{"none", "--rules v9", "", cli.ExitUsage},
		{"others in the environment", "", "v5.1", cli.ExitInterrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.environment != "" {
				t.Setenv("MLPERF_RULES", c.environment)
			}
			o := clitest.RunContext(ctx, Commands(), simulated("audit v0.5", "--scenario single-stream --quick --output set "+c.rules)...)
			if o.Status != c.status || c.status == cli.ExitUsage && !strings.Contains(o.Err, "the audit set of v0.5 has the rules of v0.5, not of ") {
				t.Errorf("status %d, want %d: %s", o.Status, c.status, o.Err)
			}
		})
	}
}
