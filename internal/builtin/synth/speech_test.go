package synth

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func smallSpeech() SpeechSpec {
	s := SpeechSpec{Seed: 1, Utterances: 30}
	for i := range speechLetters {
		s.Pitches = append(s.Pitches, 500+float64(i)*250)
	}
	return s
}

func TestRecordingsAreAsLongAsTheManifestSays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "speech")
	if err := WriteSpeech(t.Context(), dir, smallSpeech()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, speechManifest))
	if err != nil {
		t.Fatal(err)
	}
	var entries []speechUtterance
	if err := json.Unmarshal(data, &entries); err != nil {
		t.Fatal(err)
	}
	texts, lengths := map[string]bool{}, map[int]bool{}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(dir, e.Files[0].Name))
		if err != nil || info.Size() != int64(44+2*e.Samples) || e.Files[0].Samples != e.Samples {
			t.Errorf("%s has %v bytes, %v; want %d samples", e.Files[0].Name, info, err, e.Samples)
		}
		if e.Duration < 0.5 || e.Duration > 15 || strings.Trim(e.Transcript, speechLetters) != "" {
			t.Errorf("%q takes %v s", e.Transcript, e.Duration)
		}
		texts[e.Transcript], lengths[e.Samples] = true, true
	}
	if len(entries) != 30 || len(texts) < 29 || len(lengths) < 25 {
		t.Errorf("%d utterances, of which %d differ, of %d lengths", len(entries), len(texts), len(lengths))
	}
}

// Each tone must be heard at its pitch: a correlation with a sine finds it.
func TestACharacterIsATone(t *testing.T) {
	s := smallSpeech()
	power := func(wave []int16, pitch float64) float64 {
		re, im := 0.0, 0.0
		for i, v := range wave {
			sin, cos := math.Sincos(2 * math.Pi * pitch / speechRate * float64(i))
			re, im = re+float64(v)*cos, im+float64(v)*sin
		}
		return re*re + im*im
	}
	for i, c := range []string{" ", "a", "m", "z", "'"} {
		wave := s.spell(newStream("test", uint64(i)), c)
		loudest, at := 0.0, -1
		for label, pitch := range s.Pitches {
			if p := power(wave, pitch); p > loudest {
				loudest, at = p, label
			}
		}
		if speechLetters[at] != c[0] {
			t.Errorf("%q sounds like %q", c, speechLetters[at])
		}
	}
}

func TestNoLetterIsSaidTwiceInARow(t *testing.T) {
	s, otherwise := smallSpeech(), 0
	for i := range 200 {
		said, transcript := s.sentence(newStream("test", uint64(i)))
		for k := 1; k < len(said); k++ {
			if said[k] == said[k-1] {
				t.Fatalf("%q", said)
			}
		}
		if said != transcript {
			otherwise++
		}
	}
	if otherwise < 20 || otherwise > 120 {
		t.Errorf("%d of 200 sentences were taken down otherwise", otherwise)
	}
}

func TestSpecsOfSpeechThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*SpeechSpec){
		"no utterances": func(s *SpeechSpec) { s.Utterances = 0 },
		"few pitches":   func(s *SpeechSpec) { s.Pitches = s.Pitches[1:] },
		"too high":      func(s *SpeechSpec) { s.Pitches[3] = 8000 },
		"no number":     func(s *SpeechSpec) { s.Pitches[3] = math.NaN() },
	} {
		spec := smallSpeech()
		change(&spec)
		if err := WriteSpeech(t.Context(), t.TempDir(), spec); err == nil || !strings.Contains(err.Error(), "making the built-in recordings") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
