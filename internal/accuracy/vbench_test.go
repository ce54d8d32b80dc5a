package accuracy

import (
	"math"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

const vbenchResults = `{"subject_consistency": [0.9673, [{"video_path": "a-0.mp4", "video_results": 0.96}]],
	"background_consistency": [0.9712, []], "motion_smoothness": [0.9856, []], "dynamic_degree": [0.58, []],
	"appearance_style": [0.2134, []], "scene": [0.5113, []]}`

// The score is numpy's mean of the six, in percent, and the line has what the submission checker looks for.
func TestVBenchScore(t *testing.T) {
	s, err := VBenchScore([]byte(vbenchResults), Coverage{Samples: 248, Scored: 248})
	if err != nil {
		t.Fatal(err)
	}
	want := 100 * (0.9673 + 0.9712 + 0.9856 + 0.58 + 0.2134 + 0.5113) / 6
	if v, ok := s.Lookup(VBenchMetric); !ok || math.Abs(v.Value-want) > 1e-12 || v.Unit != "%" || s.Values[0].Name != VBenchMetric {
		t.Errorf("%+v, want %v first", s.Values, want)
	}
	if !slices.Equal(s.Lines, []string{"{'vbench_score': 70.48}"}) || len(s.Values) != 7 || len(s.Warnings) != 0 {
		t.Errorf("%q, %v, %q", s.Lines, s.Values, s.Warnings)
	}
}

func TestVBenchErrors(t *testing.T) {
	for _, c := range []struct{ results, want string }{
		{`{"scene": [0.5, []], "dynamic_degree": [0.5, []]}`, "subject_consistency, background_consistency, motion_smoothness, appearance_style"},
		{`[]`, "VBench"}, {`{"scene": [0.5`, "VBench"},
		{`{"scene": [51.1, []]}`, "scene … [51.1, []] … 0 to 1"},
		{`{"scene": [-0.1]}`, "scene … 0 to 1"},
		{`{"scene": []}`, "scene … 0 to 1"},
		{`{"scene": 0.5}`, "scene … 0 to 1"},
		{`{"scene": ["x", []]}`, "scene … 0 to 1"},
	} {
		if _, err := VBenchScore([]byte(c.results), Coverage{}); !testenv.Names(err, c.want) {
			t.Errorf("%s: %v, want %q", c.results, err, c.want)
		}
	}
	s, err := VBenchScore([]byte(`{"color": [1, []], `+vbenchResults[1:]), Coverage{})
	if err != nil || len(s.Warnings) != 1 || !testenv.Tells(s.Warnings[0], "color") {
		t.Errorf("%v, %v", s, err)
	}
}

func FuzzVBench(f *testing.F) {
	f.Add([]byte(vbenchResults))
	f.Fuzz(func(t *testing.T, results []byte) {
		if s, err := VBenchScore(results, Coverage{}); err == nil && !(s.Values[0].Value >= 0 && s.Values[0].Value <= 100) {
			t.Errorf("%q scores %v", results, s.Values[0].Value)
		}
	})
}
