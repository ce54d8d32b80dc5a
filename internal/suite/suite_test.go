package suite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "empty, expected a suite"},
		{"name: a\nbenchmarks: [{model: x, scenarios: [Offline]}]\n---\nname: b\n", "second document"},
		{"name: a\nbenchmark: []\n", "line 2: unknown key benchmark"},
		{"name: ../a\ncategory: edge\n", `name is "../a"`},
		{"name: a\n", "benchmarks is"},
		{"name: a\ncategory: cloud\n", `category is "cloud": must be edge or datacenter`},
		{"name: a\nrules: v9\ncategory: edge\n", `rules is "v9": must be one of v0.5`},
		{"name: a\nbenchmarks: [{scenarios: [Offline]}]\n", "benchmark 1 (no model): model is missing"},
		{"name: a\nbenchmarks: [{model: x}]\n", "benchmark 1 (x): scenarios is missing"},
		{"name: a\nbenchmarks: [{model: x, scenarios: [Ofline]}]\n", `unknown scenario "Ofline"`},
		{"name: a\nbenchmarks: [{model: x, scenarios: [Offline], mode: accuracy}]\n", `mode is "accuracy": must be performance or find-peak`},
		{"name: a\nbenchmarks: [{model: x, scenarios: [Offline], count: -1}]\n", "count is -1"},
		{"name: a\ncooldown: soon\ncategory: edge\n", `line 2: "soon" is not a time`},
		{"name: a\ntemperature: .nan\ncategory: edge\n", "temperature is"},
		{"name: a\naccuracy: twice\ncategory: edge\n", "must be each, once or none"},
		{"name: a\nname: b\ncategory: edge\n", "already defined"},
	} {
		_, err := parse("mine.yaml", []byte(c.text))
		if !testenv.Names(err, c.want) || !strings.HasPrefix(err.Error(), "mine.yaml: ") {
			t.Errorf("Parse(%q) = %v, want %q", c.text, err, c.want)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, want string }{
		{"edgy", `unknown suite "edgy"; did you mean edge? Must be v0.5, edge, datacenter, mobile, mlmark or a YAML file`},
		{"nothing-like-it", `mlmark or a YAML file`}, {"v0.6", `unknown suite "v0.6"; did you mean v0.5? Must be v0.5, edge`}, {"mine.yaml", "no such file"},
		{filepath.Join(dir, "none.yaml"), "no such file"},
		{dir + "/", "is a folder"},
	} {
		if _, err := Load(c.name); !testenv.Names(err, c.want) {
			t.Errorf("Load(%q) = %v, want %q", c.name, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range Names() {
		text, err := builtIn.ReadFile("suites/" + name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parse("fuzz", text)
		if err != nil {
			return
		}
		out, err := s.Format()
		if err != nil {
			t.Fatal(err)
		}
		again, err := parse("again", out)
		if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Error(diff)
		}
	})
}

// A suite that is written and read again is the same, with every one of its fields.
func TestFormatRoundTrip(t *testing.T) {
	const text = `name: mine
title: 'Mine: all of it'
rules: v5.1
division: open
category: edge
accuracy: once
cooldown: 1m30s
temperature: 61.5
settings:
  min_duration: "7"
benchmarks:
  - model: resnet50
    scenarios: [SingleStream, Offline]
    mode: find-peak
    precision: int8
    model-path: m.onnx
    dataset-path: data
    count: 3
    options:
      drop-last: "true"
    settings:
      target_qps: "0x10"
`
	dir := t.TempDir()
	path := filepath.Join(dir, "mine.yaml")
	for range 2 {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		want := &Suite{
			Name: "mine", Title: "Mine: all of it", Rules: "v5.1", Division: "open", Category: "edge", Accuracy: accuracyOnce, Cooldown: duration(90 * time.Second), Temperature: 61.5,
			Settings: settings{"min_duration": "7"},
			Benchmarks: []Benchmark{{
				Model: "resnet50", Scenarios: []string{"SingleStream", "Offline"}, Mode: run.FindPeak, Precision: "int8", ModelPath: "m.onnx", DatasetPath: "data", Count: 3,
				Options: map[string]string{"drop-last": "true"}, Settings: settings{"target_qps": "0x10"},
			}},
		}
		if diff := cmp.Diff(want, s); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		again, err := s.Format()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, again, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// MLMark measures throughput and p95 over batch and concurrency.
func TestGrid(t *testing.T) {
	p := mustPlan(t, "accuracy: none\nbenchmarks:\n  - {model: resnet50, scenarios: [MultiStream], precision: int8, batch: [1, 4], concurrency: [1, 2]}\n", Request{})
	var got []string
	for _, s := range p.Steps {
		q := s.request
		got = append(got, fmt.Sprintf("%s: batch %d, %d workers, %s samples", filepath.ToSlash(s.Folder), q.MaxBatch, q.Instances, q.Settings[len(q.Settings)-1].Value))
	}
	want := []string{
		"resnet50-int8/multistream/batch-1-concurrency-1: batch 1, 1 workers, 1 samples", "resnet50-int8/multistream/batch-1-concurrency-2: batch 1, 2 workers, 2 samples",
		"resnet50-int8/multistream/batch-4-concurrency-1: batch 4, 1 workers, 4 samples", "resnet50-int8/multistream/batch-4-concurrency-2: batch 4, 2 workers, 8 samples",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if got, want := p.Steps[3].String(), "resnet50 int8 MultiStream, batch 4 × concurrency 2 performance"; got != want {
		t.Errorf("the last step is %q, want %q", got, want)
	}
	for text, want := range map[string]string{"scenarios: [Offline], batch: [1]": "batch … MultiStream … Offline", "scenarios: [MultiStream], concurrency: [0]": "concurrency … 0 … 1 … 4096"} {
		if _, err := parse("mine.yaml", []byte("name: mine\nbenchmarks: [{model: resnet50, "+text+"}]\n")); !testenv.Names(err, want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
