package text

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// TestNumbersAreThoseOfTheRules compares with the submission checkers, with the rules of v0.5 and of MLPerf Mobile, and with the
// table of bandwidths.
func TestNumbersAreThoseOfTheRules(t *testing.T) {
	const bertFile = "https://zenodo.org/record/3733910/files/model.onnx"
	bertNames, window := []string{"bert-large", "bert-99", "bert-99.9"}, &config.SampleSize{InValues: 1152}
	want := map[string]struct {
		rules    config.Model
		samples  int
		built    int
		parts    []string
		layers   int64 // of the built-in network; 0: all
		switches int   // options of the score
		source   string
	}{
		"bert":      {config.Model{Name: "bert", Aliases: bertNames, Sample: window}, 10833, 500, []string{"bert"}, 3, 3, bertFile},
		"bert-99.9": {config.Model{Name: "bert", Aliases: bertNames, Sample: window}, 10833, 500, []string{"bert"}, 3, 3, bertFile},
		"mobilebert": {config.Model{Name: "mobilebert"}, 10833, 500, []string{"mobilebert"}, 0, 2,
			"https://github.com/mlcommons/mobile_open/raw/main/language/bert/models_and_code/onnx_model/mobilebert_squad11_int8_qdq_89.4f1.onnx"},
		"gnmt": {config.Model{Name: "gnmt"}, 3003, 200,
			[]string{"gnmt-encoder", "gnmt-decoder"}, 0, 3, "https://zenodo.org/record/2530924/files/gnmt_model.zip"},
	}
	for _, m := range Models() {
		w := want[m.Name]
		if diff := cmp.Diff(w.rules, m.Rules); diff != "" {
			t.Errorf("%s: rules (-want +got):\n%s", m.Name, diff)
		}
		if q := m.QualityIn("v6.1"); m.Name == "mobilebert" && (q.Metric != "f1" || q.Reference != 89.4 || q.Fraction != 0.93 || q.Also != nil) {
			t.Errorf("%s: %+v, want 93 %% of an F1 of 89.4", m.Name, q)
		}
		r := m.BuiltIn.(workload.Recipe)
		var parts []string
		for _, p := range r.Parts {
			parts = append(parts, p.Architecture)
		}
		if m.Source != w.source || r.Parts[0].Layers != w.layers {
			t.Errorf("%s is at %s, and made of %d layers, want %s and %d", m.Name, m.Source, r.Parts[0].Layers, w.source, w.layers)
		}
		if m.PerformanceSampleCount != w.samples || r.Samples != w.built || !slices.Equal(parts, w.parts) || len(m.ScoreOptions) != w.switches {
			t.Errorf("%s keeps %d samples in memory and is made of %v with %d, %d options", m.Name, m.PerformanceSampleCount, parts, r.Samples, len(m.ScoreOptions))
		}
	}
	if len(Models()) != len(want) {
		t.Errorf("%d benchmarks, want %d", len(Models()), len(want))
	}
}

func TestWindowsAreThoseOfTheReference(t *testing.T) {
	if windowLength != 384 || windowStride != 128 || maxQuestion != 64 {
		t.Errorf("windows of %d pieces every %d, questions of %d, want those of squad_QSL.py", windowLength, windowStride, maxQuestion)
	}
	if beamWidth != 10 || lengthPenalty != 1 || stepsPerPiece != 2 {
		t.Errorf("%d beams, penalty %d, %d steps a piece, want those of wmt16_gnmt_4_layer.json", beamWidth, lengthPenalty, stepsPerPiece)
	}
}
