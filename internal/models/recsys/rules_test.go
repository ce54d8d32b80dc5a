package recsys

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// TestNumbersAreThoseOfTheRules compares with the table of bandwidths.
func TestNumbersAreThoseOfTheRules(t *testing.T) {
	first := config.Model{Name: "dlrm", Aliases: []string{"dlrm-99", "dlrm-99.9"}}
	second := config.Model{Name: "dlrm-v2", Aliases: []string{"dlrmv2", "dlrm_v2", "dlrm-v2-99", "dlrm-v2-99.9"}}
	const zenodo, storage = "https://dlrm.s3-us-west-1.amazonaws.com/models/tb00_40M.onnx.tar", "https://inference.mlcommons-storage.org/metadata/dlrm-v2-model-weights.uri"
	for i, want := range []struct {
		name, data, network, source string
		rules                       config.Model
	}{
		{"dlrm", "criteo", "dlrm", zenodo, first},
		{"dlrm-99.9", "criteo", "dlrm", zenodo, first},
		{"dlrm-v2", "criteo-multihot", "dlrm-v2", storage, second},
		{"dlrm-v2-99.9", "criteo-multihot", "dlrm-v2", storage, second},
	} {
		m := Models()[i]
		want.rules.Sample = &config.SampleSize{InValues: 270 * 39}
		if diff := cmp.Diff(want.rules, m.Rules); diff != "" || m.Name != want.name || m.PerformanceSampleCount != 204800 {
			t.Errorf("%s keeps %d samples in memory, want %s; rules (-want +got):\n%s", m.Name, m.PerformanceSampleCount, want.name, diff)
		}
		part := workload.Part{Role: workload.Only, Architecture: want.network, Rows: 40_000, Beside: true}
		if r := m.BuiltIn.(workload.Recipe); r.Samples != 100 || !slices.Equal(r.Parts, []workload.Part{part}) || m.Dataset != want.data || m.Source != want.source {
			t.Errorf("%s is made of %+v for %s, and found at %s", m.Name, r, m.Dataset, m.Source)
		}
	}
}
