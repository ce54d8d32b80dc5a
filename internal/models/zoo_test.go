package models

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/networks"
	"github.com/mlperf-go/mlperf/internal/preprocess"
)

func TestLookupKnowsModelsByTheirNamesAndAliases(t *testing.T) {
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

func TestLookupOfAnUnknownNameListsTheChoices(t *testing.T) {
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

func TestAliasesNameModels(t *testing.T) {
	for alias, name := range aliases {
		if m, err := Lookup(alias); err != nil || m.Name != name {
			t.Errorf("alias %q: %q, %v; want %q", alias, m.Name, err, name)
		}
	}
}

func TestEveryModelOfTheCatalogueIsComplete(t *testing.T) {
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
			if m.PerformanceSampleCount < 1 || m.Quality.Reference <= 0 || m.Quality.Fraction <= 0 || m.Quality.Fraction > 1 {
				t.Errorf("performance sample count %d, quality %+v", m.PerformanceSampleCount, m.Quality)
			}
			a, err := networks.Lookup(m.BuiltIn.Architecture)
			if err != nil {
				t.Error(err)
			}
			if a.FeatureSize == 0 {
				if m.BuiltIn.Samples < 1 {
					t.Error("its built-in data set has no samples")
				}
			} else if _, err := preprocess.Lookup(m.BuiltIn.Pipeline); err != nil {
				t.Error(err)
			}
		})
	}
}
