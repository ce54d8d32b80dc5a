package speech

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/workload"
)

// TestNumbersAreThoseOfTheRules compares with the submission checkers (MODEL_CONFIG and OFFLINE_MIN_SPQ of mlcommons/inference,
// tools/submission, at v3.1, v4.0 and b66003e1), and with the table of bandwidths.
func TestNumbersAreThoseOfTheRules(t *testing.T) {
	row := func(first, last string, performance, accuracy, offline uint64, latency time.Duration) config.RoundMinima {
		return config.RoundMinima{First: first, Last: last, Minima: config.Minima{
			PerformanceSamples: performance, AccuracySamples: accuracy, OfflineSamples: offline, ServerLatency: latency * time.Second,
		}}
	}
	for _, want := range []struct {
		model   workload.Model
		rules   config.Model
		samples int
		bound   string
		built   int
		full    []string // networks of the real size
	}{
		{rnnt(), config.Model{
			Name: "rnnt", Aliases: []string{"rnn-t"}, Scenarios: []loadgen.Scenario{loadgen.SingleStream, loadgen.Server, loadgen.Offline},
			Minima: []config.RoundMinima{row("v0.7", "v3.1", 2513, 0, 24576, 1), row("v4.0", "v4.0", 2513, 0, 2513, 1)}, Sample: &config.SampleSize{InBytes: 480000},
		}, 2513, "accuracy ≥ 91.6223", 100, []string{"rnnt-encoder", "rnnt-prediction", "rnnt-joint"}},
		{whisper(), config.Model{
			Name: "whisper", Aliases: []string{"whisper-large-v3"}, Scenarios: []loadgen.Scenario{loadgen.Offline},
			Minima: []config.RoundMinima{row("v5.1", "v6.1", 1633, 1633, 1633, 0)},
		}, 1633, "accuracy ≥ 96.9536", 24, []string{"whisper-large-v3-encoder", "whisper-large-v3-decoder", "whisper-large-v3-decoder_with_past"}},
	} {
		m := want.model
		if diff := cmp.Diff(want.rules, m.Rules); diff != "" || m.PerformanceSampleCount != want.samples {
			t.Errorf("%s keeps %d samples in memory; rules (-want +got):\n%s", m.Name, m.PerformanceSampleCount, diff)
		}
		if got := (workload.Bound{Metric: m.Quality.Metric, Reference: m.Quality.Reference, Least: m.Quality.Fraction}).String(); got != want.bound || m.Quality.Also != nil {
			t.Errorf("%s: %s, want %s", m.Name, got, want.bound)
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
	if maxPerStep != 30 || labelCount != 29 || whisperMost != 200 || whisperBands != 128 || len(whisperLabels) != 42 {
		t.Errorf("%d characters a step of %d labels, %d tokens, %d bands, %d characters of Whisper", maxPerStep, labelCount, whisperMost, whisperBands, len(whisperLabels))
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
