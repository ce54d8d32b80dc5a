package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/charts"
	"github.com/mlperf-go/mlperf/internal/report/compare"
	"github.com/mlperf-go/mlperf/internal/report/published"
)

// simulated makes the results and the charts of a Server run of n queries.
func simulated(n int, qps float64) (*report.Results, *charts.Charts) {
	r := rand.New(rand.NewPCG(1, 2))
	at, free := 0.0, 0.0
	records := make([]loadgen.SampleRecord, n)
	stats := loadgen.LatencyStats{Count: uint64(n)}
	for i := range records {
		at += r.ExpFloat64() / qps
		free = max(at, free) + (0.7+0.1*r.Float64())/qps
		start := time.Duration(at * 1e9)
		latency := time.Duration((free - at) * 1e9)
		records[i] = loadgen.SampleRecord{Query: uint64(i), Start: start, Issued: start + 50, Completed: start + latency, FirstToken: -1, GeneratorDelay: 50}
		stats.Max = max(stats.Max, latency)
	}
	for i := range stats.Percentiles {
		stats.Percentiles[i] = stats.Max / 2
	}
	stats.Target = stats.Max / 2
	p := &loadgen.Performance{QueryCount: uint64(n), SampleCount: uint64(n), SampleLatency: stats, IssueDelay: loadgen.LatencyStats{Count: uint64(n), Max: 50},
		LastCompletion: records[n-1].Completed, PerfConstraintsMet: true, MinDurationMet: true, MinQueriesMet: true, GeneratorMet: true,
		EarlyStopping: loadgen.EarlyStopping{Met: true, Needed: 700}}
	p.Effective = loadgen.EffectiveSettings{Scenario: loadgen.Server, TargetQPS: qps, TargetLatency: stats.Max, TargetLatencyPercentile: 0.99, SamplesPerQuery: 1}
	results := &report.Results{Schema: report.Schema, Program: "mlperf 1.2.3", Model: "resnet50", Limitations: report.Limitations{{ID: limitation.Older, Value: "not an official MLPerf result"}}, Rules: "v6.1",
		Command: []string{"mlperf", "run", "--model", "resnet50"}, Settings: []report.Setting{{Key: "target_qps", Value: "50 /s", Origin: "user.conf:2"}}}
	results.Fill(&loadgen.Result{Effective: p.Effective, Performance: p}, func(string) string { return "rules v6.1" })
	source := charts.Source{Effective: p.Effective, Queries: p.QueryCount, Samples: p.SampleCount, End: p.LastCompletion, Latency: stats, Delays: true,
		Each: func(f func(loadgen.SampleRecord)) {
			for _, r := range records {
				f(r)
			}
		}}
	c := source.Charts()
	c.BatchSizes = []charts.Size{{Samples: 1, Batches: 10}, {Samples: 2, Batches: 5}}
	c.Gauges = &charts.Gauges{AtNS: charts.Column{1e9, 2e9}, Series: []charts.Gauge{{Name: "processors busy", Unit: "%", Values: charts.Column{50, 60}}}}
	return results, c
}

func written(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A run at servers says which, of what, under which bounds; a missed objective stands beside the verdict, on its page and on that of many.
func TestPagesOfServers(t *testing.T) {
	r, c := simulated(500, 100)
	r.System = map[string]any{"cpu": map[string]any{"model": "Client CPU"}}
	r.Backend = report.Backend{Engine: "openai", Facts: map[string]string{"endpoint_model": "org/served"}}
	r.Generation = &report.Generation{Servers: []report.GenerationServer{{URL: "http://gpu:8000"}}, Answers: 10, Tokens: 320, PromptTokens: 2560}
	r.ServerMetrics = []report.ServerMetric{{Server: "gpu:8000", Name: "running", Unit: "requests", Readings: 5, Min: 1, Mean: 6.5, Max: 8}}
	r.SLO = &report.ServiceLevel{Objectives: []report.Objective{{Of: report.OfFirstToken, Percentile: "p99", BoundNS: 2e8, ObservedNS: 306e6}}, GoodPerSecond: 12.5}
	text := written(t, func(w io.Writer) error { return Run(w, r, c, 0) })
	for _, want := range []string{
		"<title>VALID · SLO MISSED · ", "✕ SLO missed</span>", "ttft p99&lt;200ms: 306 ms · goodput 12.5/s", `class="banner warn"`,
		"org/served · http://gpu:8000 · prompts of 256 tokens, answers of 32 tokens on average · bounds: ttft p99&lt;200ms", "running 6.5 requests on average, at most 8 requests",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if strings.Contains(text, "Client CPU") {
		t.Error("the page has the processor of the client")
	}
	r.SLO.Met, r.SLO.Objectives[0].Met = true, true
	if text := written(t, func(w io.Writer) error { return Run(w, r, c, 0) }); !strings.Contains(text, "✓ SLO met</span>") || strings.Contains(text, `class="banner warn"`) {
		t.Error("an objective that is met does not stand beside the verdict")
	}
	many := written(t, func(w io.Writer) error {
		run := report.Run{Folder: "a", Results: r}
		return Runs(w, report.Lines([]report.Run{run}, nil, 0), []report.Run{run}, "p")
	})
	if !strings.Contains(many, "met: ttft p99&lt;200ms") || !strings.Contains(many, `data-v="12.5"`) {
		t.Error("the page of many runs has no objective, or no goodput")
	}
}

func TestThePageSaysTheVerdictFirstAndHasEveryChart(t *testing.T) {
	r, c := simulated(3000, 100)
	page := written(t, func(w io.Writer) error { return Run(w, r, c, 0) })
	last := 0
	for _, want := range []string{
		"<title>VALID · resnet50 Server", `>✓ VALID</span>`, "Limitations", "not an official MLPerf result", "<h2>Constraints</h2>",
		`id="f-distribution" role="img" aria-label="100 % of the queries were answered within the bound`, `id="f-latency" role="img" aria-label="p99, by the instant`,
		`id="f-throughput"`, `id="f-queue"`, `id="f-delay" role="img" aria-label="Half of the queries were issued within 50 ns`, `id="f-batches"`, `id="f-gauge-p"`,
		"Latency percentiles", "user.conf:2", "<span>mlperf</span> <span>run</span> <span>--model</span>", "Not an official MLPerf result", `type="application/json"`,
	} {
		at := strings.Index(page[last:], want)
		if at < 0 {
			t.Fatalf("there is no %q after %q", want, page[last:min(len(page), last+80)])
		}
		last += at
	}
}

func TestPagesNeedNoNetwork(t *testing.T) {
	r, c := simulated(3000, 100)
	page := written(t, func(w io.Writer) error { return Run(w, r, c, 0) })
	for _, not := range []string{"http://", "src=", "@import", "url(", "<link", "<img", "<iframe"} {
		if i := strings.Index(page, not); i >= 0 {
			t.Errorf("the page has %q: …%s…", not, page[max(0, i-40):i+60])
		}
	}
	if !strings.Contains(page, "default-src &#39;none&#39;") {
		t.Error("there is no content security policy")
	}
}

// The policy is by hashes, so it holds only if they are those of what is in the page.
func TestThePolicyKnowsTheScriptAndTheStyle(t *testing.T) {
	r, c := simulated(3000, 100)
	page := written(t, func(w io.Writer) error { return Run(w, r, c, 0) })
	between := func(from, to string) string {
		_, rest, _ := strings.Cut(page, from)
		text, _, _ := strings.Cut(rest, to)
		return text
	}
	plain := strings.NewReplacer("&#43;", "+", "&#39;", "'").Replace(page)
	for _, text := range []string{between("<script>", "</script>"), between("<style>", "</style>")} {
		if len(text) < 1000 || !strings.Contains(plain, "'"+hash(text)+"'") {
			t.Errorf("the policy does not know %d bytes: %.60s…", len(text), text)
		}
	}
}

const hostile = `</script></style></title><script>alert(1)</script><img src=x onerror=alert(2)>"' onload='alert(3)' {{.}} javascript:alert(4)` + "\u2028 --> ]]>"

// poison puts a text into every string that can be reached.
func poison(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if v.CanSet() {
			v.SetString(text)
		}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			poison(v.Elem(), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				poison(v.Field(i), text)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), text)
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.Int && !v.IsNil() {
			v.SetMapIndex(reflect.ValueOf(text), reflect.ValueOf(1))
		}
	}
}

// harmless fails if a page has an element that its template has not.
func harmless(t testing.TB, page string) {
	t.Helper()
	lower := strings.ToLower(page)
	if opened, closed := strings.Count(lower, "<script"), strings.Count(lower, "</script"); opened != 2 || closed != 2 {
		t.Errorf("%d scripts begin and %d end, want 2", opened, closed)
	}
	if n := strings.Count(lower, "</style"); n != 1 {
		t.Errorf("%d styles end, want 1", n)
	}
	for _, not := range []string{"<img", "<iframe", "<object", "<embed", "<base", "<form", " onload=", " onerror="} {
		if i := strings.Index(lower, not); i >= 0 && !strings.Contains(lower[max(0, i-400):i], "&lt;/script") && !strings.Contains(lower[max(0, i-400):i], `\u003c/script`) {
			t.Errorf("the page has %q: …%s…", not, page[max(0, i-60):min(len(page), i+60)])
		}
	}
}

func TestNoTextCanBecomeMarkup(t *testing.T) {
	r, c := simulated(3000, 100)
	r.System = map[string]any{"cpu": map[string]any{"model": hostile}, "os": hostile}
	r.Problems, r.Warnings, r.Notes = []string{hostile}, []string{hostile}, []string{hostile}
	r.Accuracy = &report.Accuracy{Lines: []string{hostile}, Classes: &report.Classes{Values: map[string]float64{hostile: 1, "b": 2}, Counts: map[string]int{"b": 3}}}
	r.Energy = &report.Energy{Source: hostile, Joules: 5, Parts: []report.EnergyPart{{Watts: []report.PowerAt{{Seconds: 0, Watts: 3}, {Seconds: 1, Watts: 4}}}}}
	r.Peak = &report.Peak{Best: 1, Steps: []report.PeakStep{{Load: 1, LatencyNS: 5, Met: true}, {Load: 2, LatencyNS: 7}}}
	r.Backend.Devices, r.Runs = map[string]int{"cpu": 1}, []report.RunOutcome{{}}
	poison(reflect.ValueOf(r).Elem(), hostile)
	poison(reflect.ValueOf(c).Elem(), hostile)
	harmless(t, written(t, func(w io.Writer) error { return Run(w, r, c, 0) }))

	list := []compare.Comparison{{Differences: []compare.Difference{{Unlike: true}}, Metrics: []compare.Metric{{Interval: &compare.Interval{Lower: -1, Upper: 2}}}, Notes: []string{""}, Commands: []string{""}}}
	poison(reflect.ValueOf(&list).Elem(), hostile)
	harmless(t, written(t, func(w io.Writer) error { return Compare(w, list, hostile) }))

	suite := Suite{Rows: []SuiteRow{{Reasons: []string{""}, Missed: true}}, Missing: []string{""}}
	poison(reflect.ValueOf(&suite).Elem(), hostile)
	harmless(t, written(t, func(w io.Writer) error {
		return WriteSuite(w, suite, []report.Run{{Folder: hostile, Results: r}}, hostile)
	}))

	sheets := []Sheet{{Header: []string{"", ""}, Rows: [][]string{{"", ""}}}}
	poison(reflect.ValueOf(&sheets).Elem(), hostile)
	harmless(t, written(t, func(w io.Writer) error { return Sheets(w, hostile, hostile, sheets, hostile) }))

	standing := &published.Standing{Run: report.Run{Results: r}, Value: 2, Results: []published.Result{{Value: 1}, {Value: 5}}, Notes: []string{""}}
	poison(reflect.ValueOf(&standing.Results).Elem(), hostile)
	standing.All = standing.Results
	poison(reflect.ValueOf(&standing.Notes).Elem(), hostile)
	harmless(t, written(t, func(w io.Writer) error { return Published(w, standing, hostile) }))

	lines := manyLines()
	for i := range lines {
		lines[i].Accuracy.Metric = hostile
	}
	poison(reflect.ValueOf(&lines).Elem(), hostile)
	harmless(t, written(t, func(w io.Writer) error { return Runs(w, lines, []report.Run{{Folder: hostile, Results: r}}, hostile) }))
}

func manyLines() []report.Line {
	var lines []report.Line
	for i, p := range []string{"fp32", "fp16", "int8"} {
		lines = append(lines, report.Line{Folder: p, Model: "resnet50", Scenario: "Offline", Result: report.Valid, Precision: p, Batch: 8, Concurrency: 2,
			SamplesPerSecond: 100 * float64(i+1), Metric: &report.Metric{Name: "samples", Value: 100 * float64(i+1), Unit: "samples/s"}, Accuracy: &report.LineAccuracy{Metric: "accuracy", Value: 76.5 - float64(i*i), Unit: "%", Met: i < 2}})
	}
	return lines
}

func TestFoldersOfManyRunsAreShownBelowTheOneThatTheyShare(t *testing.T) {
	for _, test := range []struct {
		folders []string
		want    []string
		parent  string
	}{
		{[]string{"/r/s/a/1", "/r/s/b/1"}, []string{"a/1", "b/1"}, "/r/s"},
		{[]string{"/r/s/a", "/r/sb/a"}, []string{"s/a", "sb/a"}, "/r"},
		{[]string{"/a/x", "/b/x"}, []string{"/a/x", "/b/x"}, ""},
		{[]string{"a", "b"}, []string{"a", "b"}, ""},
		{[]string{"/r/s/a"}, []string{"/r/s/a"}, ""},
	} {
		var lines []report.Line
		for _, f := range test.folders {
			lines = append(lines, report.Line{Folder: filepath.FromSlash(f)})
		}
		short, parent := inParent(lines)
		for i, l := range short {
			if filepath.ToSlash(l.Folder) != test.want[i] || filepath.ToSlash(parent) != test.parent {
				t.Errorf("%s is %s below %q, want %s below %q", test.folders[i], l.Folder, parent, test.want[i], test.parent)
			}
		}
	}
}

// The folder that all share is said once, above the table.
func TestThePageOfManyRunsNamesTheFolderThatTheyShare(t *testing.T) {
	lines := manyLines()
	page := written(t, func(w io.Writer) error { return Runs(w, lines, nil, "mlperf 1.2.3") })
	if !strings.Contains(page, "3 VALID") || strings.Contains(page, " · below ") {
		t.Error("runs that share no folder are below one")
	}
	for i := range lines {
		lines[i].Folder = filepath.Join("sweeps", "night", lines[i].Folder)
	}
	page = written(t, func(w io.Writer) error { return Runs(w, lines, nil, "mlperf 1.2.3") })
	if parent := filepath.Join("sweeps", "night"); !strings.Contains(page, "3 VALID · below "+parent) || strings.Count(page, parent) != 1 {
		t.Errorf("%s is said %d times, want once", parent, strings.Count(page, parent))
	}
}

func TestThePageOfManyRunsHasATableThatSortsAndAFront(t *testing.T) {
	page := written(t, func(w io.Writer) error { return Runs(w, manyLines(), nil, "mlperf 1.2.3") })
	for _, want := range []string{
		"<h1>3 runs</h1>", "3 VALID", `<button type="button">result of the scenario</button>`, `data-v="300">`, `>300 samples/<wbr>s`, `<span class="n">72.5 %</span>`,
		"resnet50 Offline: speed against accuracy", "Of 3 runs, 3 are on the front",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if strings.Contains(page, "per dollar") || strings.Contains(page, "energy per sample") {
		t.Error("a column without numbers is shown")
	}
	lines := manyLines()
	for i := range lines {
		lines[i].JoulesPerSample, lines[i].PerDollar = 2.5-float64(i)/2, 0.25
	}
	page = written(t, func(w io.Writer) error { return Runs(w, lines, nil, "mlperf 1.2.3") })
	for _, want := range []string{`data-v="2.5">2.5 J<`, "samples/s per dollar", "speed against energy per sample", "Of 3 runs, 1 is on the front: no other is as fast for as little energy. From slow to fast: int8"} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q", want)
		}
	}
}

func TestThePageOfAnAccuracyHasItsClasses(t *testing.T) {
	r := &report.Results{Model: "ssd-mobilenet", Scenario: "Offline", Mode: "AccuracyOnly", Result: report.Valid, Accuracy: &report.Accuracy{
		Metric: "mAP", Value: 21, Unit: "%", Met: true, Lines: []string{"mAP=21.000%"},
		Classes: &report.Classes{Metric: "AP", Unit: "%", Of: "objects", Values: map[string]float64{"cat": 40, "toaster": 1.5, "dog": 21.25}, Counts: map[string]int{"cat": 12, "toaster": 1, "dog": 7}},
	}}
	page := written(t, func(w io.Writer) error { return Run(w, r, nil, 0) })
	last := 0
	for _, want := range []string{"All 3 classes", ">toaster</td>", `data-v="1.5">1.5 %<`, `data-v="1">1<`, ">dog</td>", ">cat</td>",
		"AP by class", "Of 3 classes, half have at most 21.25 %. Worst: toaster 1.5 %, dog 21.25 %, cat 40 %."} {
		at := strings.Index(page[last:], want)
		if at < 0 {
			t.Fatalf("there is no %q after %q", want, page[last:min(len(page), last+80)])
		}
		last += at
	}
}

func TestThePageOfARunHasItsEnergyAndItsPrice(t *testing.T) {
	r, c := simulated(500, 100)
	r.Performance.SamplesPerSecond = 100
	r.Energy = &report.Energy{Source: "rapl", Joules: 50, JoulesPerSample: 0.1, MeanWatts: 10, PeakWatts: 14, Parts: []report.EnergyPart{
		{Name: "RAPL package-0", Watts: []report.PowerAt{{Seconds: 1, Watts: 8}, {Seconds: 2, Watts: 12}, {Seconds: 3, Watts: 9}}},
		{Name: "RAPL package-1", Watts: []report.PowerAt{{Seconds: 1.5, Watts: 2}}},
	}}
	page := written(t, func(w io.Writer) error { return Run(w, r, c, 50) })
	for _, want := range []string{"<span>samples/s per dollar</span><b>2</b>", "<span>energy per sample</span><b>0.1 J</b>", "<span>mean power</span><b>10 W</b>",
		"10 W on average, 14 W at most, of RAPL package-0, RAPL package-1: 50 J for the whole of the traffic, 0.1 J per sample."} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q", want)
		}
	}
	r.Energy = &report.Energy{Source: "auto", NotMeasured: "no counter can be read"}
	if page := written(t, func(w io.Writer) error { return Run(w, r, c, 0) }); !strings.Contains(page, "<b>not measured</b>") || !strings.Contains(page, "not measured: no counter can be read") {
		t.Error("that no energy was measured is not said")
	}
}

func TestWriteRunNamesWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	if err := WriteRun(dir); err == nil || !strings.Contains(err.Error(), "not the folder of a run") {
		t.Errorf("error %v", err)
	}
	r, c := simulated(500, 100)
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := WriteRun(dir); err != nil { // without charts
		t.Error(err)
	}
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	if err := WriteRun(dir); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, charts.FileName), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteRun(dir); err == nil || !strings.Contains(err.Error(), "schema is") {
		t.Errorf("error of charts that are none: %v", err)
	}
}

// FuzzRun never panics, and no file makes markup.
func FuzzRun(f *testing.F) {
	r, c := simulated(300, 100)
	results, err := json.Marshal(r)
	if err != nil {
		f.Fatal(err)
	}
	drawn, err := json.Marshal(c)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(results, drawn)
	f.Add([]byte(`{"schema":"mlperf-go/results/2","result":"VALID","scenario":"Offline","test":{"target_qps":1e308},"find_peak":{"steps":[{"load":-1e308,"latency_ns":9}]}}`),
		[]byte(`{"schema":"mlperf-go/charts/2","timeline":{"bucket_ns":9223372036854775807,"issued_samples":[1e308],"completed_samples":[null],"outstanding_samples":[1e308]}}`))
	f.Add([]byte(`{"schema":"mlperf-go/results/2","result":"VALID","accuracy":{"metric":"mAP","value":1,"resampled":"AACAfw==","classes":{"metric":"AP","unit":"%","of":"objects",
		"values":{"</script><img>":1e308,"b":-5,"c":0},"counts":{"b":-1}}},"energy":{"source":"<b>","joules":5,"joules_per_sample":1e-300,"parts":[{"name":"<i>","watts":[{"seconds":-1,"watts":1e308},{"seconds":-2,"watts":0}]}]}}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, results, drawn []byte) {
		r, err := report.Parse(results)
		if err != nil {
			return
		}
		c, err := charts.Parse(drawn)
		if err != nil {
			c = nil
		}
		harmless(t, written(t, func(w io.Writer) error { return Run(w, r, c, 0) }))
		lines := report.Lines([]report.Run{{Folder: "a", Results: r}, {Folder: "b", Results: r}}, nil, 1)
		harmless(t, written(t, func(w io.Writer) error { return Runs(w, lines, nil, "p") }))
	})
}

// BenchmarkPage is of 10 minutes at 10,000 queries a second: from the records of the queries to
// the page.
func BenchmarkPage(b *testing.B) {
	r, c := simulated(6_000_000, 10_000)
	for b.Loop() {
		var out bytes.Buffer
		if err := Run(&out, r, c, 0); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(out.Len()), "bytes")
	}
}

func ExampleWriteRun() {
	fmt.Println(WriteRun("nothing"))
	// Output: nothing is not the folder of a run: it does not exist
}

// The strip has a point for each result in its place, and the words that MLCommons wants.
func TestPublishedPage(t *testing.T) {
	s := &published.Standing{Run: report.Run{Results: &report.Results{Model: "resnet50", Scenario: "Offline"}}, Value: 10, Unit: "samples/s", Of: 2,
		Results: []published.Result{{Submitter: "Able", Value: 1000, Unit: "samples/s"}, {Submitter: "Baker", Value: 100, Unit: "samples/s"}}}
	s.All = s.Results
	text := written(t, func(w io.Writer) error { return Published(w, s, "mlperf") })
	for _, want := range append(published.Footnotes(), `<circle class="fill" cx="980"`, `<circle class="fill" cx="500"`, `<rect class="at" x="20"`, "unverified", "<td>Baker</td>") {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}
