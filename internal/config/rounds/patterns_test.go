package rounds

import (
	"encoding/json"
	"maps"
	"os"
	"testing"
)

// TestMetricsAreFoundWhereTheOfficialPatternsFindThem compares with testdata/make_patterns.py.
func TestMetricsAreFoundWhereTheOfficialPatternsFindThem(t *testing.T) {
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
	seen := map[string]bool{}
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
		for name := range c.Found {
			seen[name] = true
		}
	}
	for name := range accuracyPatterns {
		if !seen[name] && name != "meanAcc" { // which no script prints any more
			t.Errorf("no line has the metric %s", name)
		}
	}
}

func TestMetricsThatNoScriptPrintsAreNotFound(t *testing.T) {
	for _, name := range []string{"", "Accuracy", "wer"} {
		if text, ok := Match(name, "accuracy=76.5% wer=1"); ok {
			t.Errorf("Match(%q) = %q", name, text)
		}
	}
}

func TestEveryMetricOfARoundHasAPattern(t *testing.T) {
	for _, version := range Versions() {
		r, err := Find(version)
		if err != nil {
			t.Fatal(err)
		}
		for name, m := range r.Models {
			for _, metrics := range m.Accuracy {
				for _, metric := range metrics {
					if accuracyPatterns[metric.Name] == nil {
						t.Errorf("%s %s: no pattern of %s", version, name, metric.Name)
					}
				}
			}
		}
	}
}

func TestAccuraciesOfTest01MayDifferByThePercentOfTheModel(t *testing.T) {
	for _, c := range []struct {
		version, model, metric string
		want                   float64
	}{
		{"v6.1", "resnet", "acc", 1}, {"v6.1", "bert-99", "F1", 1}, {"v6.1", "bert-99.9", "F1", 0.1}, {"v5.0", "3d-unet-99.9", "DICE", 0.1},
		{"v6.1", "stable-diffusion-xl", "CLIP_SCORE", 1}, {"v6.1", "stable-diffusion-xl", "FID_SCORE", 2}, {"v6.1", "nobody", "acc", 1},
		{"v6.1", "nobody-99.9", "acc", 0.1},
	} {
		r, err := Find(c.version)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Delta(c.model, c.metric); got != c.want {
			t.Errorf("%s: Delta(%s, %s) = %v, want %v", c.version, c.model, c.metric, got, c.want)
		}
	}
}
