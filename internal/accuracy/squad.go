package accuracy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// A Question is a question of SQuAD with the answers that annotators gave.
type Question struct {
	ID      string
	Answers []string
}

// ScoreSQuAD compares predictions with the annotators' answers, as evaluate_v1.1.py
// does. Only the first maxExamples questions count, if that is not 0; like the
// script it then leaves the last of them out, and yet divides by all of them. The first value is "f1" in percent.
func ScoreSQuAD(questions []Question, predictions map[string]string, maxExamples int) (*Score, error) {
	if len(questions) == 0 {
		return nil, errors.New("the data set has no questions")
	}
	if maxExamples > 0 && maxExamples <= len(questions) {
		questions = questions[:maxExamples]
	} else {
		maxExamples = 0
	}
	exact, unanswered, f1 := 0, 0, make([]float64, len(questions))
	for i, q := range questions {
		if i+1 == maxExamples {
			break
		}
		text, ok := predictions[q.ID]
		if !ok {
			unanswered++
			continue
		}
		if len(q.Answers) == 0 {
			return nil, fmt.Errorf("question %s has no answer to compare with", q.ID)
		}
		words, same := answerWords(text), false
		sorted := slices.Sorted(slices.Values(words))
		for _, answer := range q.Answers {
			want := answerWords(answer)
			same = same || slices.Equal(words, want)
			slices.Sort(want)
			f1[i] = max(f1[i], wordF1(sorted, want))
		}
		if same {
			exact++
		}
	}
	sum := 0.0
	for i := range f1 {
		sum += f1[i]
		f1[i] *= 100
	}
	n, score := float64(len(questions)), &Score{}
	score.Values = []Value{{Name: "f1", Value: 100 * sum / n, Unit: "%", Resampled: resampleMean(f1)},
		{Name: "exact_match", Value: 100 * float64(exact) / n, Unit: "%"}}
	score.printf(`{"exact_match": %s, "f1": %s}`, pytext.Float(score.Values[1].Value), pytext.Float(score.Values[0].Value))
	if unanswered > 0 {
		score.warnf("%d questions are not answered and count as wrong", unanswered)
	}
	return score, nil
}

// answerWords returns the words of an answer that the metric compares, without case, ASCII
// punctuation, articles and white space.
func answerWords(text string) []string {
	plain := make([]byte, 0, len(text))
	for _, c := range []byte(pytext.Lower(text)) {
		if !punctuation[c] {
			plain = append(plain, c)
		}
	}
	return pytext.Fields(pytext.MapWords(string(plain), func(word string) string {
		switch word {
		case "a", "an", "the":
			return " "
		}
		return word
	}))
}

// punctuation is that of ASCII, as Python's string module lists it.
var punctuation = bytesOf("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")

// wordF1 is the F1 score of two bags of words, each sorted.
func wordF1(got, want []string) float64 {
	common := 0
	for i, j := 0, 0; i < len(got) && j < len(want); {
		order := strings.Compare(got[i], want[j])
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
	return harmonic(float64(common)/float64(len(got)), float64(common)/float64(len(want)))
}

// SpanOptions say how the logits of answers lie in an accuracy log.
type SpanOptions struct {
	DType      DType // of a logit (--output_dtype), by default float32
	Transposed bool  // all starts come before all ends (--output_transposed)
}

// ReadSpanLogits reads the log of a model that marks answers in windows of a given length:
// for each record it calls read with a start and an end logit for every place. Where a
// response is shorter, the rest is −10000, as in the official script. The slices are overwritten afterwards. Records of
// a window that was seen before come too, and in the official script the last one counts.
func ReadSpanLogits(log Input, windows, length int, o SpanOptions, read func(window int, starts, ends []float64)) (Coverage, error) {
	c := Coverage{Samples: windows}
	dtype, err := o.DType.check("output_dtype", float32s, int8s, int16s, Int32, Int64, Float16, float64s)
	if err != nil {
		return c, err
	}
	starts, ends, seen := make([]float64, length), make([]float64, length), make([]bool, windows)
	for rec, err := range Records(log) {
		if err != nil {
			return c, err
		}
		if rec.QSLIndex >= uint64(windows) {
			return c, rec.errorf(log, "the data set has only %d windows", windows)
		}
		n, number, err := dtype.numbers(rec.Data)
		switch {
		case err != nil:
			return c, rec.errorf(log, "%w", err)
		case n%2 != 0:
			return c, rec.errorf(log, "response has an odd number of logits, expected a start and an end for every place")
		case n/2 > length:
			return c, rec.errorf(log, "response has %d pairs of logits, expected at most %d", n/2, length)
		}
		n /= 2
		for i := range length {
			switch {
			case i >= n:
				starts[i], ends[i] = -10000, -10000
			case o.Transposed:
				starts[i], ends[i] = number(i), number(n+i)
			default:
				starts[i], ends[i] = number(2*i), number(2*i+1)
			}
			if math.IsNaN(starts[i]) || math.IsNaN(ends[i]) {
				return c, rec.errorf(log, "a logit of place %d is not a number", i)
			}
		}
		c.count(seen[rec.QSLIndex])
		seen[rec.QSLIndex] = true
		read(int(rec.QSLIndex), starts, ends)
	}
	if c.Scored == 0 {
		return c, errNoRecord(log)
	}
	return c, nil
}
