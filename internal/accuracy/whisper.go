package accuracy

import (
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy/englishtext"
	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// whisperLabels are the characters that responses of Whisper have, by their numbers. Others
// are dropped from what was said.
const whisperLabels = speechLabels + "0123456789$%+-"

// AddEnglish compares what was heard with what was said, as the reference does for Whisper
// (speech2text/accuracy_eval.py): both in the form of package englishtext, and words that
// differ only in where blanks are count as the same.
func (c *werCounter) AddEnglish(heard, said string) {
	c.addJoined(pytext.Fields(englishtext.Normalize(heard)), pytext.Fields(englishtext.Normalize(said)))
}

// addJoined is Add for words, of which up to three of one side may be one of the other.
func (c *werCounter) addJoined(heard, said []string) {
	c.Words += len(said)
	a, b := joinWords(heard, said)
	c.Errors += c.distance(a, b)
}

// joinWords goes through both sides, and joins up to three words of one where they are the
// next one of the other (compute_wer_with_concatenation).
func joinWords(heard, said []string) (a, b []string) {
	for len(heard) > 0 && len(said) > 0 {
		n, m := 1, 1
		if heard[0] != said[0] {
			n, m = joinable(heard, said)
		}
		a, b = append(a, strings.Join(heard[:n], "")), append(b, strings.Join(said[:m], ""))
		heard, said = heard[n:], said[m:]
	}
	return slices.Concat(a, heard), slices.Concat(b, said)
}

// joinable returns how many words of each side are the same without blanks; one and one if
// none are.
func joinable(heard, said []string) (n, m int) {
	for k := 1; k <= 3; k++ {
		if k <= len(said) && strings.Join(said[:k], "") == heard[0] {
			return 1, k
		}
		if k <= len(heard) && strings.Join(heard[:k], "") == said[0] {
			return k, 1
		}
	}
	return 1, 1
}

// ScoreWhisper scores a log of transcripts as Whisper's accuracy_eval.py does: every record
// counts, as often as a sample is there.
func ScoreWhisper(log Input, transcripts []string, o SpeechOptions) (*SpeechScore, error) {
	known := make([]string, len(transcripts))
	for i, text := range transcripts {
		known[i] = strings.Map(func(r rune) rune {
			if strings.ContainsRune(whisperLabels, r) {
				return r
			}
			return -1
		}, text)
	}
	return scoreTranscripts(log, known, o, whisperLabels, (*werCounter).AddEnglish)
}
