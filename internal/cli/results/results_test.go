package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/run"
)

// keep writes a SingleStream run of 10 ms a query into a folder, changed in one way or another, with its charts.
func keep(t *testing.T, dir string, change func(r *report.Results)) {
	t.Helper()
	began := time.Date(2026, 7, 8, 9, 10, 11, 0, time.UTC)
	const ms = int64(time.Millisecond)
	r := &report.Results{
		Schema: report.Schema, Program: "mlperf 1", Created: began, Model: "resnet50", Scenario: "SingleStream", Mode: "PerformanceOnly", Rules: "v6.1", Result: report.Valid,
		Metric:  &report.Metric{Name: "90th percentile latency", Value: 10, Unit: "ms"},
		Backend: report.Backend{Engine: "onnxruntime", Instances: 1, MaxBatch: 1}, Command: []string{"mlperf", "run", "--output", dir},
		Performance: &report.Performance{
			Queries: 100, Samples: 100, Began: &began, DurationNS: 1000 * ms, SamplesPerSecond: 100,
			LatencyNS: &report.Latencies{Min: 9 * ms, Mean: 10 * ms, P50: 10 * ms, P90: 10 * ms, P95: 10 * ms, P97: 10 * ms, P99: 11 * ms, P999: 11 * ms, Max: 11 * ms},
		},
	}
	if change != nil {
		change(r)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	h := backend.NewTimes()
	for i := range 100 {
		h.Add(time.Duration(r.Performance.LatencyNS.P50) + time.Duration(i)*time.Microsecond)
	}
	c := &charts.Charts{Schema: "mlperf-go/charts/2", Latency: h}
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
}

// slower is a run that takes longer by a factor.
func slower(by float64, after time.Duration) func(r *report.Results) {
	return func(r *report.Results) {
		r.Created = r.Created.Add(after)
		began := r.Performance.Began.Add(after)
		r.Performance.Began = &began
		for _, v := range []*int64{&r.Performance.LatencyNS.Mean, &r.Performance.LatencyNS.P50, &r.Performance.LatencyNS.P90, &r.Performance.LatencyNS.P99, &r.Performance.LatencyNS.Max} {
			*v = int64(float64(*v) * by)
		}
	}
}

func invalid(r *report.Results) { r.Result = report.Invalid }

func TestRunsAreListedInEachForm(t *testing.T) {
	t.Chdir(t.TempDir())
	keep(t, "results/one", nil)
	keep(t, "results/two", slower(2, time.Minute))
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "where runs are kept, as a table", Args: []string{"report"}, Want: []string{"resnet50", "SingleStream", "VALID", "│ 10 ms "}},
		{Name: "as CSV", Args: []string{"report", "--format", "csv", "results"}, Want: []string{"folder,created,model,", "results/one,2026-07-08T09:10:11Z,resnet50,", "results/two,"}},
		{Name: "one of them", Args: []string{"report", "--format", "csv", "results/one"}, Want: []string{"results/one,"}, Not: []string{"results/two"}},
		{Name: "as JSON", Args: []string{"report", "--format", "json"}, Want: []string{`"schema": "mlperf-go/report/1"`, `"folder": "results/two"`}},
		{Name: "as JSON, said in both ways", Args: []string{"report", "--json", "--format", "json"}, Want: []string{`"schema": "mlperf-go/report/1"`}},
		{Name: "in two formats at once", Args: []string{"report", "--json", "--format", "csv"}, Status: cli.ExitUsage, Want: []string{"--json and --format csv are two formats, want one"}},
		{Name: "as MLMark does", Args: []string{"report", "--format", "mlmark", "--price", "50"}, Want: []string{"100", "2.00"}},
		{Name: "as a page on standard output", Args: []string{"report", "--format", "html", "--output", "-"}, Want: []string{"<h1>2 runs</h1>"}, Not: []string{"Written: "}},
		{Name: "one as a page", Args: []string{"report", "--format", "html", "--output", "-", "results/one"}, Want: []string{"resnet50 SingleStream"}, Not: []string{"<h1>1 runs</h1>"}},
		{Name: "a form that is none", Args: []string{"report", "--format", "pdf"}, Status: cli.ExitUsage, Want: []string{`unknown format "pdf", want mlmark, table, csv, json, html`}},
		{Name: "a price below nothing", Args: []string{"report", "--price", "-1"}, Status: cli.ExitUsage, Want: []string{"--price is -1, want dollars"}},
		{Name: "a price that is no number", Args: []string{"report", "--price", "NaN"}, Status: cli.ExitUsage, Want: []string{"--price is NaN, want dollars"}},
		{Name: "a price without end", Args: []string{"report", "--price", "Inf"}, Status: cli.ExitUsage, Want: []string{"--price is +Inf, want dollars"}},
		{Name: "a folder that is not there", Args: []string{"report", "nowhere"}, Status: cli.ExitError, Want: []string{"nowhere"}},
		{Name: "a folder of a variable that is not set", Args: []string{"report", ""}, Status: cli.ExitUsage, Want: []string{"an argument is empty"}},
	})
	if err := os.Mkdir("bare", 0o755); err != nil {
		t.Fatal(err)
	}
	if o := clitest.Run(t, Commands(), "report", "bare"); o.Status != cli.ExitError || o.Err != "there are no runs below bare" {
		t.Errorf("status %d: %s", o.Status, o.Err)
	}
}

// hostile is a text of somebody who wants a terminal to show something else.
const hostile = "fast\x1b[2J\x1b[31m\u009b1A\r"

func TestNothingInARunSteersATerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	change := func(r *report.Results) {
		r.Model, r.Rules, r.Program = hostile, hostile, hostile
		r.Notes, r.Problems, r.Warnings = []string{hostile}, []string{hostile}, []string{hostile}
		r.Backend.Engine, r.Backend.Devices, r.Input.Precision = hostile, map[string]int{hostile: 1}, hostile
		r.Settings = []report.Setting{{Key: hostile, Value: hostile, Origin: hostile}}
		r.Metric.Unit = hostile
	}
	keep(t, "results/one", change)
	keep(t, "results/two", change)
	for _, args := range []string{"report", "report --format mlmark", "explain results/one", "compare results/one results/two"} {
		o := clitest.Run(t, Commands(), strings.Fields(args)...)
		for _, text := range []string{o.Stdout, o.Stderr} {
			if strings.ContainsAny(text, "\x1b\u009b\r") {
				t.Errorf("%s prints %q", args, text)
			}
		}
		if !strings.Contains(o.Stdout, `fast\x1b[2J`) {
			t.Errorf("%s does not show what is in the run:\n%s%s%s", args, o.Stdout, o.Stderr, o.Err)
		}
	}
}

func TestWhatIsWrittenHasANameOfItsOwn(t *testing.T) {
	t.Chdir(t.TempDir())
	keep(t, "results/one", nil)
	keep(t, "results/two", nil)
	for _, c := range []struct{ args, file string }{
		{"report --format html", "report.html"}, {"report --format html --output mine.html", "mine.html"},
		{"report --format csv --output list.csv", "list.csv"}, {"compare --format html results/one results/two", "compare.html"}, {"compare --output text results/one results/two", "text"},
	} {
		o := clitest.Run(t, Commands(), strings.Fields(c.args)...)
		info, err := os.Stat(c.file)
		if o.Status != cli.ExitDone || o.Stdout != "Written: "+c.file+"\n" || err != nil || info.Size() == 0 {
			t.Errorf("%s: status %d, %q, %v: %s", c.args, o.Status, o.Stdout, err, o.Err)
		}
	}
	if o := clitest.Run(t, Commands(), "report", "--format", "html", "--output", "nowhere/x.html"); o.Status != cli.ExitError || !strings.Contains(o.Err, "nowhere") {
		t.Errorf("a folder that is not there: status %d: %s", o.Status, o.Err)
	}
}

func TestADamagedRunIsLeftOutAndSaid(t *testing.T) {
	t.Chdir(t.TempDir())
	keep(t, "results/one", nil)
	keep(t, "results/two", nil)
	if err := os.WriteFile("results/two/results.json", []byte(`{"schema": "mlperf`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"report"}, {"compare", "results", "results/one"}} {
		o := clitest.Run(t, Commands(), args...)
		if want := "left out: reading " + filepath.Join("results", "two", "results.json"); o.Status != cli.ExitDone || !strings.HasPrefix(o.Stderr, want) {
			t.Errorf("%q: status %d, %s%s", args, o.Status, o.Stderr, o.Err)
		}
	}
}

func TestARunIsExplained(t *testing.T) {
	t.Chdir(t.TempDir())
	keep(t, "run", nil)
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "in words", Args: []string{"explain", "run"}, Want: []string{"resnet50 SingleStream"}},
		{Name: "as JSON", Args: []string{"explain", "--json", "run"}, Want: []string{`"schema": "mlperf-go/results/2"`, `"model": "resnet50"`}},
		{Name: "one that is not there", Args: []string{"explain", "nowhere"}, Status: cli.ExitError, Want: []string{"nowhere is not the folder of a run: there is no results.json"}},
		{Name: "none", Args: []string{"explain"}, Status: cli.ExitUsage, Want: []string{"explain: want RUN_DIR"}},
		{Name: "two", Args: []string{"explain", "run", "run"}, Status: cli.ExitUsage, Want: []string{`unexpected argument "run"`}},
	})
}

func TestTheSchemaIsThatOfResults(t *testing.T) {
	o := clitest.Run(t, Commands(), "schema", "results")
	if o.Stdout != string(report.JSONSchema()) || !json.Valid([]byte(o.Stdout)) {
		t.Errorf("%d bytes, want %d", len(o.Stdout), len(report.JSONSchema()))
	}
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "of something else", Args: []string{"schema", "charts"}, Status: cli.ExitUsage, Want: []string{`unknown document "charts", want results`}},
		{Name: "of nothing", Args: []string{"schema"}, Status: cli.ExitUsage, Want: []string{"schema: want results"}},
	})
}

func TestSetsOfRunsAreCompared(t *testing.T) {
	t.Chdir(t.TempDir())
	keep(t, "base/a", nil)
	keep(t, "new/a", slower(2, time.Minute))
	keep(t, "other", func(r *report.Results) { r.Rules = "v5.1" })
	keep(t, "[odd]/a", nil)
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "two folders", Args: []string{"compare", "base", "new"}, Want: []string{"resnet50 SingleStream, PerformanceOnly: 1 run against 1 run", "p50       │ 10 ms │ 20 ms │ ?"}},
		{Name: "two sets", Args: []string{"compare", "base", "--", "new"}, Want: []string{"1 run against 1 run"}},
		{Name: "patterns", Args: []string{"compare", "ba*/*", "--", "n*/*"}, Want: []string{"1 run against 1 run"}},
		{Name: "a folder whose name is a pattern", Args: []string{"compare", "[odd]", "new"}, Want: []string{"1 run against 1 run"}},
		{Name: "as JSON", Args: []string{"compare", "--json", "base", "new"}, Want: []string{`"schema": "mlperf-go/compare/1"`, `"metrics": [`}},
		{Name: "as CSV", Args: []string{"compare", "--format", "csv", "base", "new"}, Want: []string{"resnet50,SingleStream,PerformanceOnly,p50,ns,"}},
		{Name: "for a review", Args: []string{"compare", "--format", "markdown", "base", "new"}, Want: []string{"### resnet50 SingleStream"}},
		{Name: "as a page", Args: []string{"compare", "--format", "html", "--output", "-", "base", "new"}, Want: []string{"<h1>resnet50 SingleStream: comparison</h1>"}},
		{Name: "one run each fails nothing", Args: []string{"compare", "base", "new", "--fail-if", "p50>+5%"}, Want: []string{"? p50>+5%: resnet50 SingleStream, PerformanceOnly: not decided: too short runs for an interval"}},
		{Name: "unlike runs are not judged", Args: []string{"compare", "base", "other", "--fail-if", "p50>+5%"}, Status: cli.ExitError,
			Want: []string{"--fail-if p50>+5%: resnet50 SingleStream, PerformanceOnly: the runs differ in rules", "--anyway judges them all the same"}},
		{Name: "unlike runs are judged anyway", Args: []string{"compare", "base", "other", "--fail-if", "p50>+5%", "--anyway"}, Want: []string{"? p50>+5%"}},
		{Name: "a metric that is none", Args: []string{"compare", "base", "new", "--fail-if", "p98>5%"}, Status: cli.ExitUsage, Want: []string{`--fail-if "p98>5%": unknown metric "p98", want one of `}},
		{Name: "a form that is none", Args: []string{"compare", "base", "new", "--format", "pdf"}, Status: cli.ExitUsage, Want: []string{`unknown format "pdf", want table, json, csv, markdown, html`}},
		{Name: "three folders", Args: []string{"compare", "base", "new", "other"}, Status: cli.ExitUsage, Want: []string{"compare: 3 folders: want -- between those of the base and the new ones"}},
		{Name: "nothing after --", Args: []string{"compare", "base", "new", "--"}, Status: cli.ExitUsage, Want: []string{"compare: want folders before and after --"}},
		{Name: "nothing before --", Args: []string{"compare", "--", "base", "new"}, Status: cli.ExitUsage, Want: []string{"compare: want folders before and after --"}},
		{Name: "one folder", Args: []string{"compare", "base"}, Status: cli.ExitUsage, Want: []string{"compare: want BASE"}},
		{Name: "a folder that is not there", Args: []string{"compare", "base", "nowhere"}, Status: cli.ExitError, Want: []string{"nowhere"}},
	})
}

func TestAChangeThatIsSureFailsABuild(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 5 {
		noise := 1 + 0.001*float64(i%3)
		keep(t, fmt.Sprintf("base/%d", i), slower(noise, time.Duration(2*i)*time.Minute))
		keep(t, fmt.Sprintf("new/%d", i), slower(1.5*noise, time.Duration(2*i+1)*time.Minute))
	}
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "beyond", Args: []string{"compare", "--fail-if", "p50>+5%", "--fail-if", "p50<-5%", "base", "new"}, Status: cli.ExitChanged, Want: []string{"FAIL p50>+5%: resnet50 SingleStream", "ok p50<-5%: "}},
		{Name: "not so far", Args: []string{"compare", "--fail-if", "p50>+90%", "base", "new"}, Want: []string{"ok p50>+90%: "}},
	})
}

func TestChartsThatCannotBeReadAreSaid(t *testing.T) {
	t.Chdir(t.TempDir())
	keep(t, "base", nil)
	keep(t, "new", nil)
	if err := os.WriteFile("new/charts.json", []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := clitest.Run(t, Commands(), "compare", "base", "new")
	if o.Status != cli.ExitDone || !strings.HasPrefix(o.Stderr, "without charts: reading new/charts.json: ") {
		t.Errorf("status %d: %s%s", o.Status, o.Stderr, o.Err)
	}
	if o = clitest.Run(t, Commands(), "report", "--format", "html", "new"); o.Status != cli.ExitError || !strings.Contains(o.Err, "reading new/charts.json: ") {
		t.Errorf("a page: status %d: %s", o.Status, o.Err)
	}
}

func TestAScoreBelowItsTargetIsAStatus(t *testing.T) {
	score := func(met bool) *report.Accuracy {
		return &report.Accuracy{Metric: "accuracy", Value: 70, Unit: "%", Reference: 76, Target: 75, Met: met, Lines: []string{"accuracy=70.000%, good=7, total=10"}}
	}
	for _, c := range []struct {
		name   string
		scored run.Scored
		status int
		said   string
	}{
		{"met", run.Scored{Accuracy: score(true)}, cli.ExitDone, ""},
		{"missed", run.Scored{Accuracy: score(false)}, cli.ExitInaccurate, ""},
		{"of a run that is not valid", run.Scored{Accuracy: score(true), Run: &report.Results{Result: report.Invalid}}, cli.ExitDone, "warning: the run is INVALID\n"},
		{"with a warning", run.Scored{Accuracy: score(true), Run: &report.Results{Result: report.Valid}, Warnings: []string{"it is cold"}}, cli.ExitDone, "warning: it is cold\n"},
	} {
		for _, asJSON := range []bool{false, true} {
			var out, said strings.Builder
			cmd := newAccuracy()
			cmd.SetOut(&out)
			cmd.SetErr(&said)
			err := showScore(cmd, &c.scored, asJSON)
			if got := cli.StatusOf(err); err != nil && got != c.status || err == nil && c.status != cli.ExitDone || said.String() != c.said {
				t.Errorf("%s: %v, it says %q", c.name, err, said.String())
			}
			if json.Valid([]byte(out.String())) != asJSON || !strings.Contains(out.String(), "70") {
				t.Errorf("%s, as JSON %v: %s", c.name, asJSON, out.String())
			}
		}
	}
	clitest.Check(t, Commands, []clitest.Case{
		{Name: "neither a run nor a log", Args: []string{"accuracy"}, Status: cli.ExitUsage, Want: []string{"accuracy needs a RUN_DIR, or --model, --log and --dataset-path"}},
		{Name: "a log without data", Args: []string{"accuracy", "--model", "resnet50", "--log", "x"}, Status: cli.ExitUsage, Want: []string{"accuracy needs a RUN_DIR"}},
		{Name: "a run that is not there", Args: []string{"accuracy", "nowhere"}, Status: cli.ExitError, Want: []string{"nowhere"}},
		{Name: "a model that is none", Args: []string{"accuracy", "--model", "alexnet", "--log", "x", "--dataset-path", "y"}, Status: cli.ExitUsage, Want: []string{"alexnet"}},
	})
}
