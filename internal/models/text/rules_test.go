package text

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// TestNumbersAreThoseOfTheRules compares with the submission checkers (MODEL_CONFIG and OFFLINE_MIN_SPQ of mlcommons/inference,
// tools/submission, at v2.1, v4.1 and b66003e1), with the rules of v0.5 and of MLPerf Mobile, and with the table of bandwidths.
func TestNumbersAreThoseOfTheRules(t *testing.T) {
	row := func(first, last string, performance, accuracy, offline uint64, latency time.Duration) config.RoundMinima {
		return config.RoundMinima{First: first, Last: last, Minima: config.Minima{
			PerformanceSamples: performance, AccuracySamples: accuracy, OfflineSamples: offline, ServerLatency: latency * time.Millisecond,
		}}
	}
	bert := []config.RoundMinima{row("v0.7", "v3.1", 10833, 0, 24576, 130), row("v4.0", "v4.1", 10833, 0, 10833, 130), row("v5.0", "v6.1", 10833, 10833, 10833, 0)}
	bertScenarios := []loadgen.Scenario{loadgen.SingleStream, loadgen.Server, loadgen.Offline}
	window := &config.SampleSize{InValues: 1152}
	want := map[string]struct {
		rules    config.Model
		samples  int
		bound    string
		built    int
		parts    []string
		layers   int64 // of the built-in network; 0: all
		switches int   // options of the score
		source   string
	}{
		"bert":      {config.Model{Name: "bert", Aliases: []string{"bert-large", "bert-99", "bert-99.9"}, Scenarios: bertScenarios, Minima: bert, Sample: window}, 10833, "f1 ≥ 89.9653", 500, []string{"bert"}, 3, 3, "https://zenodo.org/record/3733910/files/model.onnx"},
		"bert-99.9": {config.Model{Name: "bert", Aliases: []string{"bert-large", "bert-99", "bert-99.9"}, Scenarios: bertScenarios, Minima: bert, Sample: window}, 10833, "f1 ≥ 90.7831", 500, []string{"bert"}, 3, 3, "https://zenodo.org/record/3733910/files/model.onnx"},
		"mobilebert": {config.Model{Name: "mobilebert", Scenarios: []loadgen.Scenario{loadgen.SingleStream}}, 10833, "f1 ≥ 83.142", 500, []string{"mobilebert"}, 0, 2,
			"https://github.com/mlcommons/mobile_open/raw/main/language/bert/models_and_code/onnx_model/mobilebert_squad11_int8_qdq_89.4f1.onnx"},
		"gnmt": {config.Model{Name: "gnmt", Scenarios: loadgen.Scenarios(), Minima: []config.RoundMinima{row("v0.5", "v0.5", 3903900, 0, 24576, 0)},
			Queries: map[loadgen.Scenario]uint64{loadgen.Server: 90112, loadgen.MultiStream: 90112}}, 3003, "BLEU ≥ 23.661", 200, []string{"gnmt-encoder", "gnmt-decoder"}, 0, 3, "https://zenodo.org/record/2530924/files/gnmt_model.zip"},
	}
	for _, m := range Models() {
		w := want[m.Name]
		if diff := cmp.Diff(w.rules, m.Rules); diff != "" {
			t.Errorf("%s: rules (-want +got):\n%s", m.Name, diff)
		}
		if got := (workload.Bound{Metric: m.Quality.Metric, Reference: m.Quality.Reference, Least: m.Quality.Fraction}).String(); got != w.bound || m.Quality.Also != nil {
			t.Errorf("%s: %s, want %s", m.Name, got, w.bound)
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
