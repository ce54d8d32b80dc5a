package accuracy

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/accuracy/englishtext"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

type wordErrors struct {
	Errors int
	Words  int `json:"reference_words"`
}

type werCase struct {
	Name                   string
	References, Hypotheses []string
	Expected               struct {
		RNNT       wordErrors `json:"rnnt"`
		Jiwer      wordErrors `json:"jiwer"`
		Concat     wordErrors `json:"whisper_concat"`
		Normalized wordErrors `json:"whisper_normalized"`
		References []string   `json:"normalized_references"`
		Hypotheses []string   `json:"normalized_hypotheses"`
	}
}

func werCases(t testing.TB) []werCase {
	return golden[struct{ Cases []werCase }](t, "wer.json.gz").Cases
}

func TestWordErrorsAgreeWithTheReferences(t *testing.T) {
	for _, c := range werCases(t) {
		if len(c.References) != len(c.Hypotheses) {
			continue // an error in Python
		}
		var rnnt, concat, normalized wordErrors
		for i, wanted := range c.References {
			text := c.Hypotheses[i]
			a, b := pytext.Fields(text), pytext.Fields(wanted)
			rnnt.Errors, rnnt.Words = rnnt.Errors+wordDistance(a, b), rnnt.Words+len(b)
			joined, joinedWanted := joinWords(a, b)
			concat.Errors, concat.Words = concat.Errors+wordDistance(joined, joinedWanted), concat.Words+len(b)
			errors, words := whisperErrors(text, wanted)
			normalized.Errors, normalized.Words = normalized.Errors+errors, normalized.Words+words
			if got := englishtext.Normalize(wanted); i < len(c.Expected.References) && got != c.Expected.References[i] {
				t.Errorf("%s: Normalize(%q) = %q, want %q", c.Name, wanted, got, c.Expected.References[i])
			}
			if got := englishtext.Normalize(text); i < len(c.Expected.Hypotheses) && got != c.Expected.Hypotheses[i] {
				t.Errorf("%s: Normalize(%q) = %q, want %q", c.Name, text, got, c.Expected.Hypotheses[i])
			}
		}
		if got, want := [4]wordErrors{rnnt, rnnt, concat, normalized}, [4]wordErrors{c.Expected.RNNT, c.Expected.Jiwer, c.Expected.Concat, c.Expected.Normalized}; got != want {
			t.Errorf("%s: RNN-T, jiwer, Whisper as it stands, Whisper normalized: %+v, want %+v", c.Name, got, want)
		}
	}
}

func TestScoreSpeechErrors(t *testing.T) {
	for _, c := range []struct {
		log         Input
		transcripts []string
		want        string
	}{
		{logOf([]byte{28}), []string{"a"}, "record 0 (qsl_idx 0): label 0 is 28: must be 0 to 27"},
		{logOf([]byte{255}), []string{"a"}, "label 0 is -1"},
		{logOf(nil, nil), []string{"a"}, "record 1 (qsl_idx 1): the data set has only 1 utterances"},
		{logOf([]byte{1}), []string{""}, "the references have no words"},
	} {
		_, err := ScoreSpeech(c.log, c.transcripts, int8s)
		wantError(t, err, "test.json: ", c.want)
	}
}

func FuzzJoinedWordsLoseNothing(f *testing.F) {
	f.Add("ice cream is good", "icecream is go od")
	f.Fuzz(func(t *testing.T, text, wanted string) {
		x, y := pytext.Fields(text), pytext.Fields(wanted)
		a, b := joinWords(x, y)
		if strings.Join(a, "") != strings.Join(x, "") || strings.Join(b, "") != strings.Join(y, "") {
			t.Errorf("joined %q and %q are %q and %q", text, wanted, a, b)
		}
	})
}

func BenchmarkWhisperWER(b *testing.B) {
	cases := werCases(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		k := cases[i%len(cases)]
		for j := range min(len(k.References), len(k.Hypotheses)) {
			whisperErrors(k.Hypotheses[j], k.References[j])
		}
	}
}
