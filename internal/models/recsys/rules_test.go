package recsys

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
// tools/submission, at v2.1, v3.0, v4.1 and b66003e1), and with the table of bandwidths.
func TestNumbersAreThoseOfTheRules(t *testing.T) {
	row := func(first, last string, accuracy uint64, latency time.Duration) config.RoundMinima {
		return config.RoundMinima{First: first, Last: last, Minima: config.Minima{
			PerformanceSamples: 204800, AccuracySamples: accuracy, OfflineSamples: 24576, ServerLatency: latency * time.Millisecond,
		}}
	}
	first := config.Model{Name: "dlrm", Aliases: []string{"dlrm-99", "dlrm-99.9"}, Minima: []config.RoundMinima{row("v0.7", "v3.0", 0, 30)}}
	second := config.Model{Name: "dlrm-v2", Aliases: []string{"dlrmv2", "dlrm_v2", "dlrm-v2-99", "dlrm-v2-99.9"},
		Minima: []config.RoundMinima{row("v3.1", "v4.1", 0, 60), row("v5.0", "v5.1", 330067, 60)}}
	const zenodo, storage = "https://dlrm.s3-us-west-1.amazonaws.com/models/tb00_40M.onnx.tar", "https://inference.mlcommons-storage.org/metadata/dlrm-v2-model-weights.uri"
	for i, want := range []struct {
		name, bound, data, network, source string
		rules                              config.Model
	}{
		{"dlrm", "AUC ≥ 79.4475", "criteo", "dlrm", zenodo, first},
		{"dlrm-99.9", "AUC ≥ 80.1697", "criteo", "dlrm", zenodo, first},
		{"dlrm-v2", "AUC ≥ 79.5069", "criteo-multihot", "dlrm-v2", storage, second},
		{"dlrm-v2-99.9", "AUC ≥ 80.2297", "criteo-multihot", "dlrm-v2", storage, second},
	} {
		m := Models()[i]
		want.rules.Scenarios = []loadgen.Scenario{loadgen.Server, loadgen.Offline}
		want.rules.Sample = &config.SampleSize{InValues: 270 * 39}
		if diff := cmp.Diff(want.rules, m.Rules); diff != "" || m.Name != want.name || m.PerformanceSampleCount != 204800 {
			t.Errorf("%s keeps %d samples in memory, want %s; rules (-want +got):\n%s", m.Name, m.PerformanceSampleCount, want.name, diff)
		}
		if got := (workload.Bound{Metric: m.Quality.Metric, Reference: m.Quality.Reference, Least: m.Quality.Fraction}).String(); got != want.bound || m.Quality.Also != nil {
			t.Errorf("%s: %s, want %s", m.Name, got, want.bound)
		}
		part := workload.Part{Role: workload.Only, Architecture: want.network, Rows: 40_000, Beside: true}
		if r := m.BuiltIn.(workload.Recipe); r.Samples != 100 || !slices.Equal(r.Parts, []workload.Part{part}) || m.Dataset != want.data || m.Source != want.source {
			t.Errorf("%s is made of %+v for %s, and found at %s", m.Name, r, m.Dataset, m.Source)
		}
	}
}
