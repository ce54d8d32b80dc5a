package decode

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// A renamedSession calls its ports otherwise.
type renamedSession struct {
	backend.Session
	ports workload.Ports
}

func (s renamedSession) Info() backend.Info {
	return backend.Info{Inputs: s.ports.Inputs, Outputs: s.ports.Outputs}
}

const ownNames = "input_features=mel, logits=scores,input_ids=ids,last_hidden_state=heard,past_key_values.%d.decoder.key=kept.%d.k,present.%d.encoder.value=now_%d_v"

// TestSpeechDecoderWithOwnNames by what they are.
func TestSpeechDecoderWithOwnNames(t *testing.T) {
	names, err := ParseNames(ownNames, SpeechNames())
	if err != nil {
		t.Fatal(err)
	}
	_, sessions, ports := speechSessions()
	ports = renamed(ports, everyLayer(names))
	for role, p := range ports {
		sessions[role] = renamedSession{sessions[role], p}
	}
	if _, err := ReadSpeechLayout(ports, nil); err == nil || !strings.Contains(err.Error(), `has no input "input_features"`) {
		t.Errorf("own names that are missing: %v", err)
	}
	l, err := ReadSpeechLayout(ports, names)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.String(); !strings.Contains(got, "go into mel") || !strings.Contains(got, "(kept.0.k) and of these (past_key_values.0.encoder.key)") {
		t.Errorf("it says %q", got)
	}
	if got := l.Outputs(FirstRole); got[0] != "scores" || !slices.Contains(got, "now_1_v") {
		t.Errorf("outputs %q", got)
	}
	d, err := NewSpeechDecoder(sessions, l, 1, 30)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Encode(t.Context(), 0, []float32{2, 2, 2, 0, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	begin := []int32{3, 4}
	if err := d.Begin(t.Context(), 1, begin); err != nil {
		t.Fatal(err)
	}
	said := []int{d.Next(0)}
	for range 4 {
		if err := d.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
		said = append(said, d.Next(0))
	}
	if diff := cmp.Diff(transcriptOf(2, begin, 5), said); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}

func TestNamesThatCannotBeAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"mel":                                  `"mel": must be usual=own`,
		"logits=":                              "must be usual=own",
		"mel=input_features":                   `"mel" is not one of cache_position, encoder_hidden_states, input_features`,
		"past_key_values.%d.decoder.key=cache": "on both sides or none",
		"logits=scores.%d":                     "on both sides or none",
		"logits=a,past_key_values.0.decoder.key=b": "is not one of",
	} {
		if _, err := ParseNames(text, SpeechNames()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add(ownNames)
	f.Fuzz(func(t *testing.T, text string) {
		names, err := ParseNames(text, SpeechNames())
		if err != nil {
			return
		}
		for usual, own := range everyLayer(names) {
			if nameOf(everyLayer(names), usual) != own || strings.Contains(usual, "%d") {
				t.Errorf("%q: %s is %s", text, usual, own)
			}
		}
	})
}
