package models

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/workload"
)

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
func TestOptionsOfTheSameNameMeanTheSame(t *testing.T) {
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
