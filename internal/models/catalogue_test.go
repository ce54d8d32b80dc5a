package models

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/workload"
)

func TestModelsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All() {
		t.Run(m.Name, func(t *testing.T) {
			if seen[m.Name] {
				t.Error("the name is used twice")
			}
			seen[m.Name] = true
			if m.Name != strings.ToLower(m.Name) || strings.ContainsAny(m.Name, " _") {
				t.Errorf("the name is not lower case with hyphens")
			}
			for what, text := range map[string]string{"title": m.Title, "task": m.Task, "data set": m.Dataset, "metric": m.Quality.Metric} {
				if text == "" {
					t.Errorf("the %s is missing", what)
				}
			}
			if !strings.HasPrefix(m.Source, "https://") {
				t.Errorf("the source is %q", m.Source)
			}
			if m.Open == nil || m.Score == nil {
				t.Error("it cannot be opened or scored")
			}
			if m.PerformanceSampleCount < 1 || m.Quality.Fraction <= 0 || m.Quality.Fraction > 1 {
				t.Errorf("performance sample count %d, quality %+v", m.PerformanceSampleCount, m.Quality)
			}
			if m.BuiltIn == nil {
				t.Error("it has no built-in form")
			}
			if m.Rules.Name == "" {
				t.Error("what the rules know of it is missing")
			}
			checkOptions(t, m)
		})
	}
}

// checkOptions wants options whose names can be flags, and that say what they are.
func checkOptions(t *testing.T, m workload.Model) {
	t.Helper()
	for _, options := range [][]workload.Option{m.Options, m.ScoreOptions, m.ReaderOptions} {
		names := map[string]bool{}
		for _, o := range options {
			if o.Name != strings.ToLower(o.Name) || strings.ContainsAny(o.Name, " _") || o.Help == "" || names[o.Name] {
				t.Errorf("option %+v", o)
			}
			names[o.Name] = true
		}
	}
}

// An option that several models have becomes one flag.
func TestOptionsOfOneName(t *testing.T) {
	kinds, helps := map[string]workload.OptionKind{}, map[string]string{}
	for _, m := range All() {
		for _, o := range append(append(append([]workload.Option{}, m.Options...), m.ScoreOptions...), m.ReaderOptions...) {
			if kind, ok := kinds[o.Name]; ok && (kind != o.Kind || helps[o.Name] != o.Help) {
				t.Errorf("%s: option %s is another than that of other models", m.Name, o.Name)
			}
			kinds[o.Name], helps[o.Name] = o.Kind, o.Help
		}
	}
}

func TestLookup(t *testing.T) {
	tests := []struct{ name, want string }{
		{"resnet50", "resnet50"},
		{"ResNet-50", "resnet50"},
		{"resnet_50", "resnet50"},
		{"RESNET 50", "resnet50"},
		{"resnet", "resnet50"},
		{"resnet50-v1.5", "resnet50"},
		{"mobilenet", "mobilenet"},
		{"MobileNet-v1", "mobilenet"},
	}
	for _, m := range All() {
		tests = append(tests, struct{ name, want string }{m.Name, m.Name})
	}
	for _, test := range tests {
		if m, err := Lookup(test.name); err != nil || m.Name != test.want {
			t.Errorf("Lookup(%q) = %q, %v; want %q", test.name, m.Name, err, test.want)
		}
	}
}

func TestLookupUnknown(t *testing.T) {
	for _, name := range []string{"", "resnet51", "alexnet"} {
		_, err := Lookup(name)
		if err == nil {
			t.Fatalf("Lookup(%q) finds something", name)
		}
		for _, m := range All() {
			if !strings.Contains(err.Error(), m.Name) {
				t.Errorf("Lookup(%q): %v; it does not name %s", name, err, m.Name)
			}
		}
	}
}

func TestLookupMisspelt(t *testing.T) {
	for name, want := range map[string]string{"resnet51": "; did you mean resnet50? Must be one of ", "retinanett": "; did you mean retinanet? Must be one of ", "whispr": "; did you mean whisper? Must be one of ", "something else entirely": ": must be one of "} {
		_, err := Lookup(name)
		if err == nil {
			t.Fatalf("Lookup(%q) finds something", name)
		}
		_, list, found := strings.Cut(err.Error(), fmt.Sprintf("unknown model %q%s", name, want))
		if !found {
			t.Errorf("Lookup(%q): %v, want %q", name, err, want)
		}
		if choices := strings.Split(list, ", "); !slices.IsSorted(choices) || len(choices) != len(All()) {
			t.Errorf("Lookup(%q): the choices are %v", name, choices)
		}
	}
}

func TestLookupAliases(t *testing.T) {
	for _, m := range All() {
		for _, alias := range append(append([]string{}, m.Aliases...), m.Rules.Aliases...) {
			if got, err := Lookup(alias); err != nil || got.Rules.Name != m.Rules.Name {
				t.Errorf("alias %q: %q, %v; want %q", alias, got.Name, err, m.Name)
			}
		}
	}
	for alias, want := range map[string]string{
		"resnet50-v1.5": "resnet50", "ssd-small": "ssd-mobilenet", "SSD-large": "ssd-resnet34", "3d-unet-99": "3d-unet",
		"3d-unet-99.9": "3d-unet-99.9", "3d-unet-kits19": "3d-unet", "deeplab": "deeplab-v3plus", "ssd-mobilenet-v1": "ssd-mobilenet",
	} {
		if got, err := Lookup(alias); err != nil || got.Name != want {
			t.Errorf("Lookup(%q) = %q, %v; want %q", alias, got.Name, err, want)
		}
	}
}

func TestLookupAnyForScores(t *testing.T) {
	for _, name := range []string{"whisper", "Whisper-large-v3", "llama3.1-405b", "llama3_1-405b", "resnet50"} {
		m, err := LookupAny(name)
		if err != nil || m.Score == nil {
			t.Errorf("LookupAny(%q) = %s, %v", name, m.Name, err)
		}
	}
	for _, m := range RemoteModels() {
		if _, err := Lookup(m.Name); err == nil {
			t.Errorf("%s is run, and needs no other entry", m.Name)
		}
		if rules, ok := Rules(m.Rules.Name); !ok || rules.Name != m.Rules.Name {
			t.Errorf("the rules do not know %s", m.Rules.Name)
		}
	}
	if _, err := LookupAny("nothing"); err == nil {
		t.Error("nothing can be scored")
	}
}

func TestLookupAny(t *testing.T) {
	for name, want := range map[string]string{"resnet50": "resnet50", "GPT-OSS_120B": "gpt-oss-120b", "llama3_1-405b": "llama3.1-405b", "deepseek-r1": "deepseek-r1", "llama2-70b-99": "llama2-70b"} {
		if m, err := LookupAny(name); err != nil || m.Name != want {
			t.Errorf("LookupAny(%q) = %s, %v, want %s", name, m.Name, err, want)
		}
	}
	_, err := LookupAny("gpt-oss-121b")
	if err == nil || !strings.Contains(err.Error(), "did you mean gpt-oss-120b?") || !strings.Contains(err.Error(), "resnet50, ") {
		t.Errorf("a misspelt name: %v", err)
	}
}
