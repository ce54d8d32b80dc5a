package measure

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/compliance"
	"github.com/mlperf-go/mlperf/internal/config/profile"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/suite"
	"github.com/mlperf-go/mlperf/internal/tune"
)

func TestTheOutcomeOfARunIsItsStatus(t *testing.T) {
	below := &report.Accuracy{Value: 70, Reference: 76, Target: 75}
	broken := errors.New("the disk is full")
	for _, c := range []struct {
		name string
		r    *report.Results
		err  error
		want int
	}{
		{"valid", &report.Results{Result: report.Valid}, nil, cli.ExitDone},
		{"invalid", &report.Results{Result: report.Invalid}, nil, cli.ExitInvalid},
		{"invalid and inaccurate", &report.Results{Result: report.Invalid, Accuracy: below}, nil, cli.ExitInvalid},
		{"inaccurate", &report.Results{Result: report.Valid, Accuracy: below}, nil, cli.ExitInaccurate},
		{"an error", &report.Results{Result: report.Valid}, broken, cli.ExitError},
		{"an error without a result", nil, broken, cli.ExitError},
		{"stopped", nil, fmt.Errorf("traffic: %w", cli.ErrInterrupted), cli.ExitInterrupted},
		{"stopped, with a result", &report.Results{Result: report.Interrupted}, errors.Join(broken, cli.ErrInterrupted), cli.ExitInterrupted},
	} {
		err := exitOf(c.r, c.err)
		if got := statusOf(err); got != c.want || errors.Is(c.err, broken) && !errors.Is(err, broken) {
			t.Errorf("%s: status %d, %v, want %d", c.name, got, err, c.want)
		}
	}
}

// statusOf is the status that the program ends with.
func statusOf(err error) int {
	if err == nil {
		return cli.ExitDone
	}
	return cli.StatusOf(err)
}

func TestTheOutcomeOfASuiteIsItsStatus(t *testing.T) {
	score := func(result string, met bool) suite.Score {
		return suite.Score{Result: result, Accuracy: &report.Accuracy{Value: 70, Reference: 76, Target: 75, Met: met}}
	}
	for _, c := range []struct {
		name   string
		scores []suite.Score
		err    error
		want   int
	}{
		{"nothing ran", nil, nil, cli.ExitDone},
		{"all valid", []suite.Score{score(report.Valid, true)}, nil, cli.ExitDone},
		{"one inaccurate", []suite.Score{score(report.Valid, true), score(report.Valid, false)}, nil, cli.ExitInaccurate},
		{"one invalid, another inaccurate", []suite.Score{score(report.Invalid, true), score(report.Valid, false)}, nil, cli.ExitInvalid},
		{"stopped", []suite.Score{score(report.Invalid, true)}, cli.ErrInterrupted, cli.ExitInterrupted},
		{"an error", nil, errors.New("no"), cli.ExitError},
	} {
		if got := statusOf(exitOfSuite(&suite.Outcome{Scores: c.scores}, c.err)); got != c.want {
			t.Errorf("%s: status %d, want %d", c.name, got, c.want)
		}
	}
	err := resumable(&suite.ExistsError{})
	if !strings.HasSuffix(err.Error(), ": --resume goes on with it, --output chooses another folder") {
		t.Errorf("%v", err)
	}
}

// TestASuiteThatWasStoppedSaysHowToGoOn: with all that it was given, and --resume once.
func TestASuiteThatWasStoppedSaysHowToGoOn(t *testing.T) {
	before := os.Args
	t.Cleanup(func() { os.Args = before })
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
	var b strings.Builder
	if err := (&suiteFlags{}).show(&b, &suite.Outcome{Folder: "f"}); err != nil || strings.Contains(b.String(), "To go on") {
		t.Errorf("one that is over: %v: %s", err, b.String())
	}
}

func TestAVerdictSaysWhatWasComparedAndWhy(t *testing.T) {
	v := &compliance.Verdict{Test: "TEST01", Passed: false, Facts: []string{"a", "b"}, Findings: []string{"c"}, Caveats: []string{"d"}, Folder: "f"}
	if got, want := verdictText(v), "TEST01: FAILED\nCompared:\n  a\n  b\nWhy:\n  c\nCaveats:\n  d\nFiles for MLCommons: f\n"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var b strings.Builder
	if err := showVerdict(&b, v, false); statusOf(err) != cli.ExitInvalid {
		t.Errorf("a test that failed: %v", err)
	}
	if err := showVerdict(&b, &compliance.Verdict{Test: "TEST04", Passed: true}, false); err != nil || !strings.HasSuffix(b.String(), "TEST04: PASSED\n") {
		t.Errorf("a test that passed: %v: %s", err, b.String())
	}
	b.Reset()
	if err := showVerdict(&b, v, true); statusOf(err) != cli.ExitInvalid || !strings.Contains(b.String(), `"schema": "mlperf-go/audit/1"`) {
		t.Errorf("as JSON: %v: %s", err, b.String())
	}
}

func TestWhatASearchFoundIsShownTheBestFirst(t *testing.T) {
	slow, fast, failed := tune.Point{Instances: 1, Threads: 2, MaxBatch: 1}, tune.Point{Instances: 2, Threads: 1, MaxBatch: 4}, tune.Point{Instances: 4, Threads: 1, MaxBatch: 8}
	out := &tune.Outcome{Done: []tune.Measurement{
		{Point: slow, Value: 50}, {Point: fast, Value: 90}, {Point: failed, Err: "no memory"}, {Point: slow, Stage: 1, Value: 55}, {Point: fast, Stage: 1, Value: 95.5}, {Point: fast, Stage: 2, Value: 97},
	}, Found: true, Finished: true, Winner: tune.Measurement{Point: fast, Stage: 2}}
	out.Points, out.Objective = []tune.Point{slow, fast, failed}, tune.Objective{Name: "samples", Unit: "samples/s"}
	table := strings.Split(pointTable(out), "\n")
	if len(table) != 5 {
		t.Fatalf("%d lines:\n%s", len(table), strings.Join(table, "\n"))
	}
	for i, want := range []string{"ESTIMATE, SAMPLES/S", "", "fastest", "default", "failed"} {
		if !strings.Contains(table[i], want) {
			t.Errorf("line %d: %s, want %s", i+1, table[i], want)
		}
	}
	if strings.Contains(table[0], "MODEL") {
		t.Errorf("there is a column of models, and one model: %s", table[0])
	}
	p := &profile.Profile{Value: 97, Default: 55, Points: 2, Objective: profile.Objective{Unit: "samples/s"}}
	out.Profile, out.Path = p, "best.json"
	var b strings.Builder
	show := func(out *tune.Outcome) error { b.Reset(); return (&tuneFlags{}).show(&b, out) }
	if err := show(out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("\nFastest: %v: 97 samples/s; what a run chooses by itself (%v) has 55\n", fast, slow), "The budget did not suffice for 1 of 3 ways: --budget gives more time.\n", "\nProfile: best.json\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	out.Winner.Point, out.Bound, p.Points = slow, 15*time.Millisecond, 3
	if err := show(out); err != nil || !strings.Contains(b.String(), ", which is what a run chooses by itself\nLatency bound: 15ms\nProfile: best.json\n") {
		t.Errorf("the default is the best: %v: %s", err, b.String())
	}
	out.Winner.Variant = "int8"
	if err := show(out); err != nil || !strings.Contains(b.String(), "Speed decided: run --mode accuracy says whether its answers are good enough.\n") {
		t.Errorf("another precision: %v: %s", err, b.String())
	}
	out.Winner.Stage = 0
	if err := show(out); err != nil || !strings.Contains(b.String(), ": 97 samples/s (an estimate: the budget did not suffice for the traffic of the scenario); what a run") {
		t.Errorf("only estimated: %v: %s", err, b.String())
	}
	out.Finished = false
	if err := show(out); err != nil || !strings.HasSuffix(b.String(), "\nThe search was interrupted: no profile is written.\n") {
		t.Errorf("interrupted: %v: %s", err, b.String())
	}
}

func TestAMeasurementInAWord(t *testing.T) {
	o := tune.Objective{Unit: "ms", Least: true}
	for _, c := range []struct {
		m          *tune.Measurement
		cell, text string
	}{
		{nil, "", ""}, {&tune.Measurement{Err: "no"}, "failed", "failed: no"}, {&tune.Measurement{}, "over the bound", "does not keep the bound"}, {&tune.Measurement{Value: 1.23456}, "1.235", "1.235 ms"},
	} {
		if got := cell(c.m); got != c.cell {
			t.Errorf("%+v: %q, want %q", c.m, got, c.cell)
		}
		if c.m != nil {
			if got := outcomeOf(*c.m, o); got != c.text {
				t.Errorf("%+v: %q, want %q", c.m, got, c.text)
			}
		}
	}
}

func TestASearchWithoutAResultSaysWhatHelps(t *testing.T) {
	for _, c := range []struct {
		name, want string
		err        error
		status     int
	}{
		{"no bound can be kept", ": --target-latency auto chooses a bound that can be met", &tune.NoneError{Bound: time.Second}, cli.ExitError},
		{"nothing could be measured", "", &tune.NoneError{Reason: "no"}, cli.ExitError},
		{"stopped", "", cli.ErrInterrupted, cli.ExitInterrupted},
	} {
		err := exitTuned(c.err)
		if statusOf(err) != c.status || !strings.HasSuffix(err.Error(), c.want) || c.status == cli.ExitError && !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if err := exitTuned(nil); err != nil {
		t.Error(err)
	}
}

func TestASweepIsATableOfItsRuns(t *testing.T) {
	points := []run.SweepPoint{{Load: 5, Unit: "queries/s", Result: report.Valid, RequestsPerSecond: 4.98765, TokensPerSecond: 123456.7, FirstTokenP50: new(1.5), FirstTokenP99: new(20.25)}, {Load: 10, Unit: "queries/s", Result: report.Invalid}}
	var b strings.Builder
	if err := showSweep(&b, points, "dir", false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"QUERIES/S", "4.988", "123457", "1.5, 20.25 ms", " –  ", "INVALID", "For charts: " + filepath.Join("dir", run.SweepCSV) + " and " + filepath.Join("dir", run.SweepJSON) + "\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := showSweep(&b, points, "dir", true); err != nil || !strings.Contains(b.String(), `"schema": "mlperf-go/sweep/1"`) {
		t.Errorf("%v: %s", err, b.String())
	}
}

func TestWrongCommandLinesOfMeasurementsAreNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	cases := []clitest.Case{
		{Name: "suites", Args: []string{"suite", "list"}, Want: []string{"edge", "mobile", "WHAT IT IS"}, Not: []string{"schema"}},
		{Name: "suites as JSON", Args: []string{"suite", "list", "--json"}, Want: []string{`"schema": "mlperf-go/suite-list/1"`}},
		{Name: "a suite", Args: []string{"suite", "show", "mlmark"}, Want: []string{"mlmark: ", "SCENARIO", "runs, at least "}},
		{Name: "a suite as JSON", Args: []string{"suite", "show", "mlmark", "--json"}, Want: []string{`"steps": [`, `"estimate": `}},
		{Name: "a suite as a file", Args: []string{"suite", "show", "mobile", "--yaml"}, Want: []string{"name: mobile", "cooldown: 10m0s"}},
		{Name: "tests of a model", Args: []string{"audit", "list", "--model", "resnet50", "--scenario", "offline"}, Want: []string{"TEST01 TEST04"}},
		{Name: "tests as JSON", Args: []string{"audit", "list", "--json"}, Want: []string{`"schema": "mlperf-go/audit-list/1"`}},
	}
	for _, c := range []struct{ name, args, want string }{
		{"run without a model", "run --scenario offline", "run needs --model and --scenario"},
		{"run without a scenario", "run --model resnet50", "run needs --model and --scenario"},
		{"run a model that is none", "run --model alexnet --scenario offline --backend simulated", `unknown model "alexnet"`},
		{"run a rate that is no number", "run --model resnet50 --scenario server --target-qps NaN --backend simulated", "target-qps"},
		{"a sweep of what is no server of text", "run --model resnet50 --scenario server --backend simulated --sweep-qps 1,2", "sweep"},
		{"tune without a model", "tune", "tune needs --model"},
		{"tune with a delay that is none", "tune --model resnet50 --max-batch-delay soon", "--max-batch-delay: "},
		{"tune with no budget", "tune --model resnet50 --budget 0s --backend simulated", "budget is 0s"},
		{"tune with a batch of nothing", "tune --model resnet50 --max-batchsize 0 --backend simulated", "--max-batchsize is 0"},
		{"a suite that is none", "suite show edgy", "edgy"},
		{"a verb of suites that is none", "suite runn", `unknown command "runn"`},
		{"no suite", "suite run", "run: want SUITE"},
		{"a suite that is none, to run", "suite run edgy --backend simulated", "did you mean edge?"},
		{"a suite with a setting that is none", "suite run edge --set colour=red --backend simulated", "colour"},
		{"audit without a scenario", "audit TEST01 --model resnet50", "audit needs --model and --scenario"},
		{"audit without a test", "audit", "audit: want TEST"},
		{"a test that is none", "audit TEST99 --model resnet50 --scenario offline --backend simulated", "TEST99"},
		{"the audit set of a round under another's rules", "audit v0.5 --model resnet50 --scenario offline --rules v6.1 --backend simulated", "the audit set of v0.5 has the rules of v0.5, not of v6.1"},
		{"tests of a model that a round has not", "audit list --model gnmt", `rules v6.1 have no benchmark "gnmt"`},
		{"verify without logs", "audit verify TEST01 a", "verify: want TEST RESULT LOGS"},
		{"verify with a tolerance that is none", "audit verify TEST08 a b --tolerance NaN", "tolerance"},
	} {
		cases = append(cases, clitest.Case{Name: c.name, Args: strings.Fields(c.args), Status: cli.ExitUsage, Want: []string{c.want}})
	}
	clitest.Check(t, Commands, cases)
}
