package generative

import (
	"testing"
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
		"gpt-j-99.9":       {"rouge2 ≥ 20.1034", "rougeL ≥ 29.9581", "gen_len ≥ 3.61519e+06"},
	}
	for _, m := range Models() {
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
