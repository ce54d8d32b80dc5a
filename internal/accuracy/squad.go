package accuracy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// A Question is one of SQuAD's, with the answers that people gave.
type Question struct {
	ID      string
	Answers []string
}

// A SQuADScore is what ScoreSQuAD finds. Its first value is "f1" in percent.
type SQuADScore struct {
	Score
	Unanswered int // questions without a prediction, which count as wrong
}

// ScoreSQuAD compares predictions with the answers that people gave, as evaluate_v1.1.py
// does. Of the questions only the first maxExamples count, if that is not 0; like the
// script it then leaves the last of them out, and yet divides by all of them.
func ScoreSQuAD(questions []Question, predictions map[string]string, maxExamples int) (*SQuADScore, error) {
	var f1, exact float64
	var each []float64
	score, total := &SQuADScore{}, 0
	for _, q := range questions {
		total++
		each = append(each, 0)
		if total == maxExamples {
			break
		}
		said, ok := predictions[q.ID]
		if !ok {
			score.Unanswered++
			continue
		}
		if len(q.Answers) == 0 {
			return nil, fmt.Errorf("question %s has no answer to compare with", q.ID)
		}
		same, overlap := bestAnswer(said, q.Answers)
		if same {
			exact++
		}
		f1 += overlap
		each[total-1] = 100 * overlap
	}
	if total == 0 {
		return nil, errors.New("there is no question")
	}
	score.describe(100*f1/float64(total), 100*exact/float64(total))
	score.Values[0].Resampled = resampleMean(each)
	return score, nil
}

func (s *SQuADScore) describe(f1, exact float64) {
	s.Values = []Value{{Name: "f1", Value: f1, Unit: "%"}, {Name: "exact_match", Value: exact, Unit: "%"}}
	s.printf(`{"exact_match": %s, "f1": %s}`, pytext.Float(exact), pytext.Float(f1))
	if s.Unanswered > 0 {
		s.warnf("%d questions are not answered and count as wrong", s.Unanswered)
	}
}

// bestAnswer compares a text with each of the answers, and returns the best of each metric.
func bestAnswer(said string, answers []string) (same bool, overlap float64) {
	words := answerWords(said)
	sorted := slices.Sorted(slices.Values(words))
	for _, answer := range answers {
		want := answerWords(answer)
		same = same || slices.Equal(words, want)
		slices.Sort(want)
		overlap = max(overlap, wordOverlap(sorted, want))
	}
	return same, overlap
}

// answerWords is the text of an answer without what does not count: case, ASCII
// punctuation, articles and white space.
func answerWords(text string) []string {
	return pytext.Fields(dropArticles(withoutPunctuation(pytext.Lower(text))))
}

func withoutPunctuation(text string) string {
	kept := make([]byte, 0, len(text))
	for i := range len(text) {
		if !punctuation[text[i]] {
			kept = append(kept, text[i])
		}
	}
	return string(kept)
}

// punctuation is that of ASCII, as Python's string module lists it.
var punctuation = bytesOf("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")

// dropArticles puts a blank in the place of each article. Letters, digits and underscores
// make words, and nothing else does: an accent that is a character of its own ends one.
func dropArticles(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for text != "" {
		n := strings.IndexFunc(text, func(r rune) bool { return !isWordCharacter(r) })
		if n < 0 {
			n = len(text)
		}
		switch word := text[:n]; word {
		case "a", "an", "the":
			b.WriteByte(' ')
		default:
			b.WriteString(word)
		}
		text = text[n:]
		n = strings.IndexFunc(text, isWordCharacter)
		if n < 0 {
			n = len(text)
		}
		b.WriteString(text[:n])
		text = text[n:]
	}
	return b.String()
}

// isWordCharacter is \w of Python's regular expressions.
func isWordCharacter(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
}

// wordOverlap is the F1 score of two bags of words, each sorted.
func wordOverlap(said, want []string) float64 {
	common := 0
	for i, j := 0, 0; i < len(said) && j < len(want); {
		order := strings.Compare(said[i], want[j])
		if order == 0 {
			common++
		}
		if order <= 0 {
			i++
		}
		if order >= 0 {
			j++
		}
	}
	if common == 0 {
		return 0
	}
	precision, recall := float64(common)/float64(len(said)), float64(common)/float64(len(want))
	return 2 * precision * recall / (precision + recall)
}
