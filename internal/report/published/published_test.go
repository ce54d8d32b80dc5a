package published

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// rows are results that nobody has submitted, in the form of summary_results.json.
const rows = `[
{"ID":"5.1-1","Submitter":"Able","Category":"closed","Suite":"edge","System":"One","Model":"resnet","Scenario":"Offline","Nodes":1,"Processor":"P","host_processors_per_node":2,"Accelerator":"","a#":"","version":"v5.1","weight_data_types":"int8","Performance_Result":100,"Performance_Units":"Samples/s"},
{"ID":"5.1-2","Submitter":"Baker","Category":"closed","Suite":"datacenter","System":"Two","Model":"resnet","Scenario":"Offline","Nodes":"2","Processor":"P","Accelerator":"Chip","a#":8,"version":"v5.1","weight_data_types":{"clip":"fp32"},"Performance_Result":1600,"Performance_Units":"Samples/s"},
{"ID":"5.1-3","Submitter":"Open","Category":"open","Suite":"edge","System":"Three","Model":"resnet","Scenario":"Offline","a#":1,"version":"v5.1","Performance_Result":9999,"Performance_Units":"Samples/s"},
{"ID":"5.1-4","Submitter":"Able","Category":"closed","Suite":"edge","System":"One","Model":"bert-99","Scenario":"Offline","a#":1,"version":"v5.1","Performance_Result":5,"Performance_Units":"Samples/s"},
{"ID":"5.1-5","Submitter":"Able","Category":"closed","Suite":"edge","System":"One","Model":"resnet","Scenario":"SingleStream","a#":1,"version":"v5.1","Performance_Result":2,"Performance_Units":"Latency (ms)"},
{"ID":"5.1-6","Submitter":"Baker","Category":"closed","Suite":"edge","System":"Two","Model":"resnet","Scenario":"SingleStream","a#":2,"version":"v5.1","Performance_Result":1,"Performance_Units":"Latency (ms)"},
{"ID":"5.1-7","Submitter":"None","Category":"closed","System":"Power only","Model":"resnet","Scenario":"Offline","version":"v5.1","Performance_Result":7,"Performance_Units":"Watts"}
]`

func read(t *testing.T, text string) []Result {
	t.Helper()
	path := filepath.Join(t.TempDir(), "v5.1.json")
	testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
	list, err := Read(filepath.Dir(path))
	testenv.Must(t, err)
	return list
}

func resnet(name string) bool { return name == "resnet" }

// run is a run that can stand beside published results.
func run() *report.Results {
	return &report.Results{
		Model: "resnet50", Scenario: "Offline", Rules: "v5.1", Result: report.Valid, Backend: report.Backend{Engine: "onnxruntime 1.24.3"}, Input: report.Input{Precision: "fp32"},
		Metric: &report.Metric{Name: "samples", Value: 50, Unit: "samples/s"}, Performance: &report.Performance{},
		Limitations: report.Limitations{{ID: limitation.Setting, Key: "min_duration", Value: "10s", Want: "10m0s", Role: limitation.QuickRun}},
	}
}

func TestStanding(t *testing.T) {
	s, err := Against(report.Run{Folder: "dir", Results: run()}, nil, read(t, rows), resnet)
	testenv.Must(t, err)
	var got []string
	for _, r := range s.Results {
		got = append(got, fmt.Sprintf("%s %d × %s: %g, %g each, %g times", r.ID, r.Chips, r.Chip, r.Value, r.PerChip, r.Times))
	}
	want := "5.1-2 16 × Chip: 1600, 100 each, 32 times; 5.1-1 2 × P: 100, 50 each, 2 times"
	if strings.Join(got, "; ") != want {
		t.Errorf("%s, want %s", strings.Join(got, "; "), want)
	}
	var b strings.Builder
	testenv.Must(t, s.Text(&b))
	for _, want := range append(Footnotes(), "resnet50 Offline: 50 samples/s, unverified", "the run: quick run: min_duration is 10 s") {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if err := s.Only("BAKER"); err != nil || len(s.Results) != 1 || s.Results[0].ID != "5.1-2" {
		t.Errorf("only Baker: %+v, %v", s.Results, err)
	}
	if err := s.Only("nowhere"); err == nil || !strings.Contains(err.Error(), `none of the 2 results has "nowhere"`) {
		t.Errorf("only of nobody: %v", err)
	}
}

// Less latency is faster, however many chips it takes.
func TestStandingOfLatencies(t *testing.T) {
	r := run()
	r.Scenario, r.Metric = "SingleStream", &report.Metric{Name: "90th percentile latency", Value: 4, Unit: "ms"}
	s, err := Against(report.Run{Results: r}, nil, read(t, rows), resnet)
	if err != nil || len(s.Results) != 2 || s.Results[0].ID != "5.1-6" || s.Results[0].Times != 4 || s.Results[0].PerChip != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestShortenKeepsTheEnds(t *testing.T) {
	s := &Standing{}
	for i := range 100 {
		s.Results = append(s.Results, Result{Chips: i})
	}
	if s.Shorten(); len(s.Results) != MostBetween || s.Results[0].Chips != 0 || s.Results[MostBetween-1].Chips != 99 {
		t.Errorf("%+v", s.Results)
	}
}

func TestRefusedRuns(t *testing.T) {
	list := read(t, rows)
	known := &report.LineAccuracy{Met: true}
	for want, c := range map[string]struct {
		change   func(*report.Results)
		accuracy *report.LineAccuracy
	}{
		"no benchmark":            {func(r *report.Results) { r.Limitations = report.Limitations{{ID: limitation.OwnModel}} }, known},
		"measured no performance": {func(r *report.Results) { r.Metric, r.Performance = nil, nil }, known},
		"it is INVALID":           {func(r *report.Results) { r.Result = report.Invalid }, known},
		"it is VALID, CHANGED":    {func(r *report.Results) { r.Limitations = report.Limitations{{ID: limitation.RecordChanged}} }, known},
		"engine is simulated":     {func(r *report.Results) { r.Backend.Simulated = true }, known},
		"measure scheduled":       {func(r *report.Results) { r.Metric.Name = "scheduled samples" }, known},
		"accuracy is not known":   {func(r *report.Results) { r.Input.Precision = "int8" }, nil},
		"accuracy is below":       {func(r *report.Results) { r.Input.Precision = "int8" }, &report.LineAccuracy{}},
		"of a part of the data":   {func(r *report.Results) { r.Input.Precision = "" }, &report.LineAccuracy{Met: true, Partial: true}},
		"latency bound is 60 ms": {func(r *report.Results) {
			r.Limitations = report.Limitations{{ID: limitation.Setting, Key: "target_latency", Value: "60ms", Want: "15ms"}}
		}, known},
		"percentile is 90 %": {func(r *report.Results) {
			r.Limitations = report.Limitations{{ID: limitation.Setting, Key: "target_latency_percentile", Value: "90 %", Want: "99 %", Role: limitation.QuickRun}}
		}, known},
		"model is smaller": {func(r *report.Results) {
			r.Limitations = report.Limitations{{ID: limitation.SmallerModel, Value: "2 of 32 layers"}}
		}, known},
		"has no results of":       {func(r *report.Results) { r.Scenario = "Server" }, known},
		"resnet50 Offline has no": {func(r *report.Results) { r.Metric.Unit = "tokens/s" }, known},
	} {
		r := run()
		c.change(r)
		if s, err := Against(report.Run{Folder: "dir", Results: r}, c.accuracy, list, resnet); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "dir cannot stand") {
			t.Errorf("%+v, %v, want %q", s, err, want)
		}
	}
	r := run()
	r.Input.Precision = "int8"
	if _, err := Against(report.Run{Results: r}, known, list, resnet); err != nil {
		t.Errorf("int8 that reaches the accuracy: %v", err)
	}
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	wrong := filepath.Join(dir, "wrong.json")
	testenv.Must(t, os.WriteFile(wrong, []byte(`{"ID": 1}`), 0o600))
	if _, err := Read(wrong); !testenv.Names(err, "wrong.json … summary_results.json") {
		t.Errorf("an object: %v", err)
	}
	testenv.Must(t, os.WriteFile(wrong, []byte(`[]`), 0o600))
	for _, path := range []string{wrong, filepath.Join(dir, "missing")} {
		if _, err := Read(path); err == nil {
			t.Errorf("%s: no error", path)
		}
	}
}
