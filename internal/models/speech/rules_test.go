package speech

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// TestNumbersAreThoseOfTheRules compares with the table of bandwidths.
func TestNumbersAreThoseOfTheRules(t *testing.T) {
	for _, want := range []struct {
		model   workload.Model
		rules   config.Model
		samples int
		built   int
		full    []string // networks of the real size
	}{
		{rnnt(), config.Model{Name: "rnnt", Aliases: []string{"rnn-t"}, Sample: &config.SampleSize{InBytes: 480000}}, 2513, 100,
			[]string{"rnnt-encoder", "rnnt-prediction", "rnnt-joint"}},
		{whisper(), config.Model{Name: "whisper", Aliases: []string{"whisper-large-v3"}}, 1633, 24,
			[]string{"whisper-large-v3-encoder", "whisper-large-v3-decoder", "whisper-large-v3-decoder_with_past"}},
	} {
		m := want.model
		if diff := cmp.Diff(want.rules, m.Rules); diff != "" || m.PerformanceSampleCount != want.samples {
			t.Errorf("%s keeps %d samples in memory; rules (-want +got):\n%s", m.Name, m.PerformanceSampleCount, diff)
		}
		r := m.BuiltIn.(workload.Recipe)
		var full, roles []string
		for _, p := range r.Parts {
			name := p.Full
			if name == "" {
				name = p.Architecture
			}
			full, roles = append(full, name), append(roles, p.Role)
		}
		if r.Samples != want.built || !slices.Equal(full, want.full) || !slices.Equal(roles, m.Roles) {
			t.Errorf("%s is made of %v as %v, with %d samples", m.Name, full, roles, r.Samples)
		}
	}
	if maxPerStep != 30 || labelCount != 29 || whisperMaxTokens != 200 || whisperBands != 128 || len(whisperLabels) != 42 {
		t.Errorf("%d characters a step of %d labels, %d tokens, %d bands, %d characters of Whisper", maxPerStep, labelCount, whisperMaxTokens, whisperBands, len(whisperLabels))
	}
}

func TestWhatIsLeftOutIsSaid(t *testing.T) {
	if got := leftOut(&dataset.Speech{Longest: 15}); got != nil {
		t.Errorf("nothing is left out: %q", got)
	}
	if got := strings.Join(leftOut(&dataset.Speech{Longest: 15, LeftOut: 190}), ""); got != "190 recordings of more than 15 s are left out, as in the reference" {
		t.Errorf("%q", got)
	}
}
