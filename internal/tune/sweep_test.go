package tune

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func TestSweep(t *testing.T) {
	testenv.SkipLong(t, "four runs in real time")
	server := httptest.NewServer(tokenserver.New(tokenserver.Options{Prefill: 5 * time.Millisecond, PerToken: time.Millisecond}))
	defer server.Close()
	for _, test := range []struct {
		sweep  Sweep
		folder string
	}{
		{Sweep{Rates: []float64{20, 60}}, "qps-60"},
		{Sweep{Concurrency: []int{1, 4}}, "concurrency-4"},
	} {
		q := textServer(t)
		q.Engine.Remote.Endpoints, q.Quick, q.Prompts.Answer = []string{server.URL}, true, "8"
		q.Settings = []config.Override{{Key: "min_duration", Value: "300ms"}, {Key: "min_query_count", Value: "20"}, {Key: "target_qps", Value: "50"}}
		doc, err := test.sweep.Run(t.Context(), q, harness.Silent{})
		if err != nil || len(doc.Points) != 2 {
			t.Fatalf("%+v: %v, %+v", test.sweep, err, doc)
		}
		points := doc.Points
		if doc.Schema != report.SweepSchema || len(doc.Servers) != 1 || doc.Servers[0] != server.URL || !strings.HasSuffix(doc.Lengths, "answers of 8 tokens on average") || doc.Created.IsZero() || (len(doc.SLO) > 0) != (points[0].Unit == "queries/s") {
			t.Errorf("the head is %+v", doc)
		}
		for _, p := range points {
			if p.Failures != 0 || p.RequestsPerSecond <= 0 || *p.TokensPerSecond <= 0 || *p.FirstTokenP50 < 5 || *p.PerTokenP50 < 0.5 || *p.LatencyP50 < 11 || (p.GoodPerSecond != nil) != (p.Unit == "queries/s") {
				t.Errorf("%+v", p)
			}
		}
		if points[1].RequestsPerSecond < 1.5*points[0].RequestsPerSecond {
			t.Errorf("%v and %v requests/s", points[0].RequestsPerSecond, points[1].RequestsPerSecond)
		}
		text, err := os.ReadFile(filepath.Join(q.Output, SweepCSV))
		rows, err2 := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		if err := errors.Join(err, err2); err != nil || len(rows) != 3 || rows[2][15] != test.folder {
			t.Errorf("%v, rows %q", err, rows)
		}
		if _, err := os.Stat(filepath.Join(q.Output, test.folder, "mlperf_log_summary.txt")); err != nil {
			t.Error(err)
		}
	}
}

func TestSweepPoint(t *testing.T) {
	spread := func(ms int64) *report.Latencies { return &report.Latencies{P50: ms * 1e6, P99: 2 * ms * 1e6} }
	r := &report.Results{
		Result:      report.Invalid,
		Performance: &report.Performance{FirstTokenNS: spread(1), LatencyNS: spread(2)},
		Generation: &report.Generation{
			RequestsPerSecond: 3, TokensPerSecond: 4, Goodput: &report.Goodput{RequestsPerSecond: 5}, FirstTokenFromSendNS: spread(6), LatencyFromSendNS: spread(7), PerTokenNS: spread(8),
			Failures: []report.GenerationFailures{{Count: 9}, {Count: 1}},
		},
	}
	want := report.SweepPoint{
		Load: 0.5, Unit: "queries/s", Folder: "qps-0.5", Result: report.Invalid, RequestsPerSecond: 3, TokensPerSecond: new(4.0), GoodPerSecond: new(5.0),
		FirstTokenP50: new(1.0), FirstTokenP99: new(2.0), PerTokenP50: new(8.0), PerTokenP99: new(16.0), LatencyP50: new(2.0), LatencyP99: new(4.0), Failures: 10,
	}
	scheduled := sweepPoint(r, 0.5, "queries/s", "qps-0.5", true)
	if diff := cmp.Diff(want, scheduled); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if sent := sweepPoint(r, 4, "requests under way", "concurrency-4", false); *sent.FirstTokenP50 != 6 || *sent.LatencyP99 != 14 {
		t.Errorf("from sending: %+v", sent)
	}
	tensors := sweepPoint(&report.Results{Result: report.Valid, Performance: &report.Performance{SamplesPerSecond: 3, LatencyNS: spread(1)}, Remote: &report.Remote{Requests: 9, RoundTripNS: 5e6}},
		4, "requests under way", "concurrency-4", false)
	if diff := cmp.Diff(report.SweepPoint{Load: 4, Unit: "requests under way", Folder: "concurrency-4", Result: report.Valid, RequestsPerSecond: 3, RoundTripMean: new(5.0)}, tensors); diff != "" {
		t.Errorf("of tensors, whose latency counts from the start in Offline (-want +got):\n%s", diff)
	}
	if s := sweepPage(&report.Sweep{Points: []report.SweepPoint{tensors}}); strings.Join(s.Columns, ", ") != "requests/s, round trip mean, ms, failed" || len(s.Points[0].Cells) != 3 {
		t.Errorf("%+v", s)
	}
	empty := sweepPoint(&report.Results{Result: report.Invalid}, 8, "queries/s", "qps-8", true)
	if empty != (report.SweepPoint{Load: 8, Unit: "queries/s", Folder: "qps-8", Result: report.Invalid}) {
		t.Errorf("of a run without traffic: %+v", empty)
	}
	dir := t.TempDir()
	testenv.Must(t, writeSweep(dir, &report.Sweep{Schema: report.SweepSchema, Model: "org/m", Servers: []string{"http://a"}, SLO: []string{"ttft p99<2s"}, Points: []report.SweepPoint{scheduled, empty}}))
	text, err := os.ReadFile(filepath.Join(dir, SweepCSV))
	rows, err2 := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err := errors.Join(err, err2); err != nil || len(rows) != 3 || strings.Join(rows[1], " ") != "0.5 queries/s INVALID 3.000 4.000 5.000 1.000 2.000 8.000 16.000  2.000 4.000  10 qps-0.5" {
		t.Errorf("%v, rows %q", err, rows)
	}
	var doc report.Sweep
	text, err = os.ReadFile(filepath.Join(dir, SweepJSON))
	if err = errors.Join(err, json.Unmarshal(text, &doc)); err != nil || len(doc.Points) != 2 || !cmp.Equal(doc.Points[0], want) || !strings.HasPrefix(string(text), "{\n  \"schema\": \""+report.SweepSchema) {
		t.Errorf("%v, points %+v", err, doc)
	}
	text, err = os.ReadFile(filepath.Join(dir, page.FileName))
	testenv.Must(t, err)
	for _, want := range []string{`<a href="qps-0.5/report.html">INVALID</a>`, `id="f-requests"`, "answered: 3/s at 0.5, 0/s at 8", "org/m · http://a · ", "bounds: ttft p99&lt;2s"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, name := range []string{SweepJSON, SweepCSV, page.FileName} {
		dir := t.TempDir()
		testenv.Must(t, os.MkdirAll(filepath.Join(dir, name, "folder"), 0o755))
		if err := writeSweep(dir, &doc); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("with a folder in the place of %s: %v", name, err)
		}
	}
}

// The page of a search has the outcome first, the loads in their order, bounds and the highest rate in its charts.
func TestPageOfASearch(t *testing.T) {
	point := func(load float64, unit, kept string, ttft float64) report.SweepPoint {
		return report.SweepPoint{Load: load, Unit: unit, Folder: "f", Result: report.Valid, Kept: kept, RequestsPerSecond: load, FirstTokenP50: new(ttft / 2), FirstTokenP99: new(ttft)}
	}
	doc := &report.Sweep{Search: true, SLO: []string{"ttft p99<200ms"}, Sentence: "highest rate …", Highest: &report.HighestRate{Rate: 25.34},
		Points: []report.SweepPoint{point(1, report.AtATime, "", 30), point(256, report.AtATime, "", 9000), point(10, report.PerSecond, "yes", 40), point(30, report.PerSecond, "ttft p99 is 300 ms", 300), point(20, report.PerSecond, "yes", 60)}}
	s := sweepPage(doc)
	var names []string
	for _, p := range s.Points {
		names = append(names, p.Name)
	}
	if got := strings.Join(names, ", "); s.Outcome != "highest rate …" || got != "1 at a time, 256 at a time, 10/s, 20/s, 30/s" {
		t.Errorf("%q, loads %s", s.Outcome, got)
	}
	f := s.Figures[0]
	if f.ID != "ttft" || len(f.At) != 3 || f.X.Label != "rate" || f.X.From != 0 || f.X.Log || f.Y.To < 300e6 || len(f.Marks) != 2 || f.Marks[0].Value != 200e6 || f.Marks[1].Value != 25.34 {
		t.Errorf("%+v", f)
	}
	var text strings.Builder
	testenv.Must(t, page.WriteSweep(&text, s, "p"))
	for _, want := range []string{`<p class="outcome">highest rate …</p>`, `<a href="f/report.html">20/s</a>`, `<span class="n">ttft p99 is 300 ms</span>`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

func TestLoadsOfASweep(t *testing.T) {
	q := run.Request{Engine: engine.Config{Name: engine.OpenAI}, Output: "out", Prompts: run.Prompts{Artifacts: "events"}, Settings: make([]config.Override, 1, 9)}
	list, _, unit, err := Sweep{Rates: []float64{2.5, 3}}.requests(q)
	testenv.Must(t, err)
	if one, two := list[0], list[1]; one.Scenario != "server" || unit != "queries/s" || one.Output != filepath.Join("out", "qps-2.5") || one.Prompts.Artifacts != filepath.Join("events", "2.5") ||
		one.Settings[1].Value != "2.5" || two.Settings[1].Value != "3" || len(q.Settings) != 1 {
		t.Errorf("%+v (%s) and %+v of %+v", one, unit, two, q)
	}
	list, _, unit, err = Sweep{Concurrency: []int{4}}.requests(q)
	testenv.Must(t, err)
	if four := list[0]; four.Scenario != "offline" || unit != "requests under way" || four.Engine.Remote.Concurrency != 4 || four.Prompts.Stream != "on" || four.Output != filepath.Join("out", "concurrency-4") {
		t.Errorf("%+v (%s)", four, unit)
	}
}

func TestSweepEndsWithAnError(t *testing.T) {
	q := textServer(t)
	doc, err := Sweep{Rates: []float64{1, 2}}.Run(t.Context(), q, harness.Silent{})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || len(doc.Points) != 0 {
		t.Errorf("%+v, %v, want an error that names the server", doc, err)
	}
	q.Prompts.Stream = "maybe"
	var f *userinput.Error
	if _, err := (Sweep{Concurrency: []int{1}}).Run(t.Context(), q, harness.Silent{}); !errors.As(err, &f) || f.Field != "stream" {
		t.Errorf("%v, want an error of the field stream", err)
	}
}

func TestSweepRefuses(t *testing.T) {
	for want, test := range map[string]struct {
		sweep  Sweep
		change func(*run.Request)
	}{
		"the engine must be oip or openai": {Sweep{Rates: []float64{1}}, func(q *run.Request) { q.Engine.Name = engine.Simulated }},
		"three sweeps: give one of them":   {Sweep{Rates: []float64{1}, Concurrency: []int{1}}, func(*run.Request) {}},
		"sweep: a search":                  {Sweep{Rates: []float64{1}, Search: true}, func(*run.Request) {}},
		"sweep: is for servers":            {Sweep{Search: true}, func(q *run.Request) { q.Engine.Name = engine.ONNXRuntime }},
		"is missing":                       {Sweep{Rates: []float64{1}}, func(q *run.Request) { q.Output = "" }},
		"must be loads above 0":            {Sweep{Concurrency: []int{2, 0}}, func(*run.Request) {}},
		"is +Inf: must be loads":           {Sweep{Rates: []float64{2, math.Inf(1)}}, func(*run.Request) {}},
		"is NaN: must be loads":            {Sweep{Rates: []float64{2, math.NaN()}}, func(*run.Request) {}},
		"2.5 is given twice":               {Sweep{Rates: []float64{2.5, 3, 2.5}}, func(*run.Request) {}},
	} {
		q := textServer(t)
		test.change(&q)
		_, err := test.sweep.Run(t.Context(), q, harness.Silent{})
		var f *userinput.Error
		if !errors.As(err, &f) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// An error of the last run shows before the first one takes its time.
func TestSweepChecksAllRunsFirst(t *testing.T) {
	q := textServer(t)
	taken := filepath.Join(q.Output, "qps-3")
	testenv.Must(t, os.MkdirAll(taken, 0o755))
	testenv.Must(t, (&report.Results{Schema: report.Schema, Result: report.Valid}).Write(taken))
	doc, err := Sweep{Rates: []float64{1, 2, 3}}.Run(t.Context(), q, harness.Silent{})
	exists := &outdir.ExistsError{}
	if !errors.As(err, &exists) || exists.Folder != taken || !strings.HasPrefix(err.Error(), "3 queries/s: ") || doc != nil {
		t.Errorf("%v, %v, want that %s has results", doc, err, taken)
	}
}

// textServer is a request at a server of text where no server is.
func textServer(t *testing.T) run.Request {
	return run.Request{
		Scenario: "server", Engine: engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{"http://127.0.0.1:1"}, Model: "org/m"}},
		Prompts: run.Prompts{Synthetic: 5}, Output: t.TempDir(),
	}
}
