package accuracy

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy/englishtext"
	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

type whisperCase struct {
	Name                   string
	References, Hypotheses []string
	Expected               struct {
		Concat struct {
			Errors int
			Words  int `json:"reference_words"`
		} `json:"whisper_concat"`
		Normalized struct {
			Errors int
			Words  int `json:"reference_words"`
		} `json:"whisper_normalized"`
		References []string `json:"normalized_references"`
		Hypotheses []string `json:"normalized_hypotheses"`
	}
}

func whisperCases(t testing.TB) []whisperCase {
	return decodeTestdata[struct{ Cases []whisperCase }](t, "wer.json").Cases
}

func TestWordErrorsOfEnglishAreWhispers(t *testing.T) {
	cases := whisperCases(t)
	if len(cases) < 50 {
		t.Errorf("there are only %d cases", len(cases))
	}
	for _, c := range cases {
		if len(c.References) != len(c.Hypotheses) {
			continue // as many texts heard as said are a matter of types here
		}
		var plain, normal werCounter
		for i, said := range c.References {
			heard := c.Hypotheses[i]
			plain.addJoined(pytext.Fields(heard), pytext.Fields(said))
			normal.AddEnglish(heard, said)
			if got := englishtext.Normalize(said); i < len(c.Expected.References) && got != c.Expected.References[i] {
				t.Errorf("%s: Normalize(%q) = %q, want %q", c.Name, said, got, c.Expected.References[i])
			}
			if got := englishtext.Normalize(heard); i < len(c.Expected.Hypotheses) && got != c.Expected.Hypotheses[i] {
				t.Errorf("%s: Normalize(%q) = %q, want %q", c.Name, heard, got, c.Expected.Hypotheses[i])
			}
		}
		if w := c.Expected.Concat; plain.Errors != w.Errors || plain.Words != w.Words {
			t.Errorf("%s: %d errors of %d words as they stand, want %d of %d", c.Name, plain.Errors, plain.Words, w.Errors, w.Words)
		}
		if w := c.Expected.Normalized; normal.Errors != w.Errors || normal.Words != w.Words {
			t.Errorf("%s: %d errors of %d words in English, want %d of %d", c.Name, normal.Errors, normal.Words, w.Errors, w.Words)
		}
	}
}

func TestScoresOfWhisperAreThoseOfTheScript(t *testing.T) {
	var said []string
	for _, entry := range decodeTestdata[[]struct {
		Duration   float64 `json:"original_duration"`
		Transcript string
	}](t, "logs/whisper/manifest.json") {
		if entry.Duration <= 30 {
			said = append(said, entry.Transcript)
		}
	}
	eachRun(t, "whisper", func(run goldenRun, log Input) (*SpeechScore, error) {
		dtype, _ := run.option("output_dtype")
		return ScoreWhisper(log, said, SpeechOptions{DType: DType(dtype)})
	}, func(t *testing.T, run goldenRun, got *SpeechScore) {
		if got.Text() != run.Printed+"\n" {
			t.Errorf("printed %q, want %q", got.Text(), run.Printed)
		}
	})
}

func FuzzJoinedWordsLoseNothing(f *testing.F) {
	f.Add("ice cream is good", "icecream is go od")
	f.Fuzz(func(t *testing.T, heard, said string) {
		a, b := joinWords(pytext.Fields(heard), pytext.Fields(said))
		if squeeze(strings.Join(a, " ")) != squeeze(heard) || squeeze(strings.Join(b, " ")) != squeeze(said) {
			t.Errorf("joined %q and %q are %q and %q", heard, said, a, b)
		}
	})
}

func BenchmarkWhisperWER(b *testing.B) {
	cases := whisperCases(b)
	b.ReportAllocs()
	var c werCounter
	for i := 0; b.Loop(); i++ {
		k := cases[i%len(cases)]
		for j := range min(len(k.References), len(k.Hypotheses)) {
			c.AddEnglish(k.Hypotheses[j], k.References[j])
		}
	}
}
