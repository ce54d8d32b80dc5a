package rounds

import (
	"encoding/json"
	"maps"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func find(t *testing.T, version string) *Round {
	t.Helper()
	r, err := Find(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTables(t *testing.T) {
	if diff := cmp.Diff([]string{"v5.0", "v5.1", "v6.0", "v6.1"}, Versions()); diff != "" {
		t.Error(diff)
	}
	for _, version := range Versions() {
		r := find(t, version)
		if r.Seeds.QSL == 0 || r.Seeds.SampleIndex == 0 || r.Seeds.Schedule == 0 {
			t.Errorf("%s has no seeds", version)
		}
		for _, name := range r.Listed() {
			if m := r.Model(name); m.Accuracy == nil || m.PerformanceSamples == nil || m.AccuracySamples == nil || m.MinQueries == nil {
				t.Errorf("%s %s lacks a table", version, name)
			}
			for _, metrics := range r.Model(name).Accuracy {
				for _, metric := range metrics {
					if accuracyPatterns[metric.Name] == nil {
						t.Errorf("%s %s: no pattern of %s", version, name, metric.Name)
					}
				}
			}
		}
	}
	for _, row := range older() {
		if row.First > row.Last || row.PerformanceSamples == nil || len(row.AccuracyOf("")) == 0 {
			t.Errorf("%+v", row)
		}
	}
	if _, err := Find("v4.1"); !testenv.Names(err, `rules … "v4.1" … v5.0 … v5.1 … v6.0 … v6.1`) {
		t.Errorf("Find(v4.1): %v", err)
	}
}

// The official checker prefers its own names to a submitter's, and these to guesses.
func TestModelName(t *testing.T) {
	r := find(t, "v6.1")
	for _, c := range []struct{ name, own, want string }{
		{"resnet", "x", "resnet"}, {"resnet50", "x", "resnet"}, {"mine", "resnet50", "resnet50"}, {"mine", "", "mine"}, {"llama3_1-8b", "own", "llama3.1-8b"},
		{"my-mobilenet-v3", "", "resnet"}, {"efficientnet-b0", "", "resnet"}, {"bert-99.9-int8", "", "bert-99.9"}, {"bert-99-int8", "", "bert-99"},
		{"my-llama3_1-405b", "", "llama3.1-405b"}, {"mobilenet-bert-99", "", "resnet"}, {"", "", ""}, {"RESNET50", "", "RESNET50"},
	} {
		if got := r.ModelName(c.name, c.own); got != c.want {
			t.Errorf("ModelName(%q, %q) = %q, want %q", c.name, c.own, got, c.want)
		}
	}
}

func TestBenchmark(t *testing.T) {
	for _, c := range []struct {
		version string
		names   []string
		want    string
	}{
		{"v6.1", []string{"resnet50"}, "resnet"}, {"v6.1", []string{"bert"}, "bert-99"}, {"v6.1", []string{"bert-99.9"}, "bert-99.9"},
		{"v6.1", []string{"none", "whisper"}, "whisper"}, {"v6.1", []string{"my-resnet50-int8"}, ""}, {"v6.1", nil, ""}, {"v5.0", []string{"whisper"}, ""},
	} {
		if got := find(t, c.version).Benchmark(c.names...); got != c.want {
			t.Errorf("%s: Benchmark(%q) = %q, want %q", c.version, c.names, got, c.want)
		}
	}
}

func TestMetricsOfAScenario(t *testing.T) {
	of := func(name string) []Metric { return []Metric{{Name: name}} }
	for _, c := range []struct {
		tables map[string][]Metric
		folder string
		want   string
	}{
		{map[string][]Metric{"": of("all"), "Offline": of("offline")}, "Offline", "all"},
		{map[string][]Metric{"Offline": of("offline"), "default": of("default")}, "offline", "offline"},
		{map[string][]Metric{"Offline": of("offline"), "default": of("default")}, "Server", "default"},
		{map[string][]Metric{"Offline": of("offline"), "Server": of("server")}, "Interactive", "offline"},
		{map[string][]Metric{"Server": of("server")}, "Interactive", "server"},
	} {
		if got := (&Model{Accuracy: c.tables}).AccuracyOf(c.folder); len(got) != 1 || got[0].Name != c.want {
			t.Errorf("AccuracyOf(%s) of %v = %v, want %s", c.folder, c.tables, got, c.want)
		}
	}
	q := find(t, "v6.1").Model("qwen3-vl-235b-a22b")
	if n, ok := q.AccuracySamplesOf("Interactive"); !ok || n != 8000 {
		t.Errorf("samples of Interactive: %d, want 8000", n)
	}
	if _, ok := q.AccuracySamplesOf("interactive"); ok {
		t.Error("samples of a folder in small letters, which the official checker does not find")
	}
}

func TestDelta(t *testing.T) {
	for _, c := range []struct {
		model, metric string
		want          float64
	}{{"bert-99", "F1", 1}, {"bert-99.9", "F1", 0.1}, {"stable-diffusion-xl", "FID_SCORE", 2}, {"stable-diffusion-xl", "CLIP_SCORE", 1}, {"unknown-99.9", "acc", 0.1}} {
		if got := find(t, "v6.1").Delta(c.model, c.metric); got != c.want {
			t.Errorf("Delta(%s, %s) = %v, want %v", c.model, c.metric, got, c.want)
		}
	}
}

// testdata/make_patterns.py asks the official patterns.
func TestMatch(t *testing.T) {
	data, err := os.ReadFile("testdata/patterns.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Line  string
		Found map[string]string
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		got := map[string]string{}
		for name := range accuracyPatterns {
			if text, ok := Match(name, c.Line); ok {
				got[name] = text
			}
		}
		if hash, ok := MatchHash(c.Line); ok {
			got["hash"] = hash
		}
		if !maps.Equal(got, c.Found) {
			t.Errorf("%q: %v, the official patterns find %v", c.Line, got, c.Found)
		}
	}
	if text, ok := Match("Accuracy", "accuracy=76.5%"); ok {
		t.Errorf("an unknown metric is %q", text)
	}
}

func TestBefore(t *testing.T) {
	for _, c := range []struct {
		version, other string
		want           bool
	}{
		{"v2.1", "v10.0", true}, {"v10.0", "v2.1", false}, {"v5.1", "v5.1", false}, {"v0.7", "v1.0", true}, {"v6", "v6.0", false}, {"", "v0.5", true}, {"not known", "v0", true},
	} {
		if got := Before(c.version, c.other); got != c.want {
			t.Errorf("Before(%q, %q) = %t", c.version, c.other, got)
		}
	}
}
