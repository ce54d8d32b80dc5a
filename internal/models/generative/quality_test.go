package generative

import (
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/workload"
)

// TestTargetsAreTheCheckers compares with the numbers that the submission checker works out.
func TestTargetsAreTheCheckers(t *testing.T) {
	want := map[string][]string{
		"llama3.1-8b":      {"rouge2 ≥ 15.7484", "rougeL ≥ 24.2507", "rougeLsum ≥ 35.4351", "7.35088e+06 ≤ gen_len ≤ 8.98441e+06"},
		"llama3.1-8b-edge": {"rouge2 ≥ 15.9536", "rougeL ≥ 24.3911", "rougeLsum ≥ 35.7628", "2.746e+06 ≤ gen_len ≤ 3.35622e+06"},
		"llama2-70b":       {"rouge2 ≥ 21.8148", "rougeL ≥ 28.33", "265.005 ≤ tokens_per_sample ≤ 323.895"},
		"llama2-70b-99.9":  {"rouge2 ≥ 22.0132", "rougeL ≥ 28.5876", "265.005 ≤ tokens_per_sample ≤ 323.895"},
		"mixtral-8x7b":     {"rouge2 ≥ 23.1191", "rougeL ≥ 30.1562", "gsm8k ≥ 72.9234", "mbxp ≥ 59.5584", "130.356 ≤ tokens_per_sample ≤ 160.49"},
		"gpt-j":            {"rouge2 ≥ 19.9223", "rougeL ≥ 29.6882", "gen_len ≥ 3.61519e+06"},
		"llama3.1-405b":    {"exact_match ≥ 89.2322", "616.212 ≤ tokens_per_sample ≤ 753.148"},
		"deepseek-r1":      {"3497.6 ≤ tokens_per_sample ≤ 4274.85"},
		"gpt-oss-120b":     nil,
		"gpt-j-99.9":       {"rouge2 ≥ 20.1034", "rougeL ≥ 29.9581", "gen_len ≥ 3.61519e+06"},
	}
	first := map[string]string{
		"llama3.1-8b": "rouge1 ≥ 38.3914", "llama3.1-8b-edge": "rouge1 ≥ 38.6694", "llama2-70b": "rouge1 ≥ 43.9869", "llama2-70b-99.9": "rouge1 ≥ 44.3868",
		"mixtral-8x7b": "rouge1 ≥ 45.1429", "gpt-j": "rouge1 ≥ 42.5566", "gpt-j-99.9": "rouge1 ≥ 42.9435",
		"llama3.1-405b": "rougeL ≥ 21.4499", "deepseek-r1": "exact_match ≥ 80.5446", "gpt-oss-120b": "exact_match ≥ 82.2987",
	}
	for _, m := range slices.Concat(Models(), Asked()) {
		if got := (workload.Bound{Metric: m.Quality.Metric, Reference: m.Quality.Reference, Least: m.Quality.Fraction}).String(); got != first[m.Name] {
			t.Errorf("%s: %s, want %s", m.Name, got, first[m.Name])
		}
		if len(m.Quality.Also) != len(want[m.Name]) {
			t.Errorf("%s has the bounds %v, want %v", m.Name, m.Quality.Also, want[m.Name])
			continue
		}
		for i, b := range m.Quality.Also {
			if b.String() != want[m.Name][i] {
				t.Errorf("%s: %v, want %s", m.Name, b, want[m.Name][i])
			}
		}
	}
}
