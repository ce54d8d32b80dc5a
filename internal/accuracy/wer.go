package accuracy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy/englishtext"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// The characters that RNN-T and Whisper write, by their numbers.
const (
	rnntLabels    = " abcdefghijklmnopqrstuvwxyz'"
	whisperLabels = rnntLabels + "0123456789$%+-"
)

// ScoreSpeech scores a log of transcripts as RNN-T's accuracy_eval.py does: every record counts, as
// often as a sample is there. The type of a label's number (--output_dtype) is by default int64. The first value is
// "accuracy" in percent: 100 less the word error rate.
func ScoreSpeech(log Input, transcripts []string, dtype DType) (*Score, error) {
	return scoreTranscripts(log, transcripts, dtype, rnntLabels, func(text, wanted string) (errors, words int) {
		a, b := pytext.Fields(text), pytext.Fields(wanted)
		return wordDistance(a, b), len(b)
	})
}

// ScoreWhisper is ScoreSpeech for Whisper (speech2text/accuracy_eval.py): characters that it cannot write are dropped from the
// transcripts, both sides are compared in the form of package englishtext, and words that differ only in where blanks are count as the same.
func ScoreWhisper(log Input, transcripts []string, dtype DType) (*Score, error) {
	known := make([]string, len(transcripts))
	for i, text := range transcripts {
		known[i] = strings.Map(func(r rune) rune {
			if strings.ContainsRune(whisperLabels, r) {
				return r
			}
			return -1
		}, text)
	}
	return scoreTranscripts(log, known, dtype, whisperLabels, whisperErrors)
}

func whisperErrors(text, wanted string) (errors, words int) {
	a, b := pytext.Fields(englishtext.Normalize(text)), pytext.Fields(englishtext.Normalize(wanted))
	joined, joinedWanted := joinWords(a, b)
	return wordDistance(joined, joinedWanted), len(b)
}

// scoreTranscripts scores responses of some labels; count returns the errors of a text and the words of its reference.
func scoreTranscripts(log Input, transcripts []string, dtype DType, labels string, count func(text, wanted string) (errors, words int)) (
	*Score, error) {
	dtype, err := dtype.check("output_dtype", Int64, Int32, int16s, int8s)
	if err != nil {
		return nil, err
	}
	if dtype == Int32 { // in the script a C long, which has 64 bits on Linux
		dtype = Int64
	}
	score := &Score{Coverage: Coverage{Samples: len(transcripts)}}
	parts := make([][]int, len(transcripts)) // errors and words of each sample
	errors, words := 0, 0
	for rec, err := range Records(log) {
		if err != nil {
			return nil, err
		}
		if rec.QSLIndex >= uint64(len(transcripts)) {
			return nil, rec.errorf(log, "the data set has only %d utterances", len(transcripts))
		}
		n, number, err := dtype.numbers(rec.Data)
		if err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
		text := make([]byte, n)
		for i := range text {
			v := number(i)
			if v < 0 || v >= float64(len(labels)) {
				return nil, rec.errorf(log, "label %d is %v: must be 0 to %d", i, v, len(labels)-1)
			}
			text[i] = labels[int(v)]
		}
		part := &parts[rec.QSLIndex]
		score.Coverage.count(*part != nil)
		e, w := count(string(text), transcripts[rec.QSLIndex])
		errors, words = errors+e, words+w
		if *part == nil {
			*part = []int{0, 0}
		}
		(*part)[0] += e
		(*part)[1] += w
	}
	if words == 0 {
		return nil, fmt.Errorf("%s: word error rate is undefined: the references have no words", log.Name())
	}
	rate := float64(errors) / float64(words)
	right := resampleSums(parts, 2, func(sums []int) float64 { return 100 * (1 - float64(sums[0])/float64(sums[1])) })
	score.Values = []Value{{Name: "accuracy", Value: (1 - rate) * 100, Unit: "%", Resampled: right},
		{Name: "WER", Value: rate * 100, Unit: "%", LowerIsBetter: true}}
	score.printf("Word Error Rate: %s%%, accuracy=%s%%", pytext.Float(rate*100), pytext.Float((1-rate)*100))
	return score, nil
}

// wordDistance is Levenshtein's: how many words have to be inserted, dropped or replaced.
func wordDistance(a, b []string) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] { // the same beginning and end
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, word := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, other := range b {
			cost := diagonal
			if word != other {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// joinWords goes through both sides, and joins up to three words of one where they are the
// next word of the other (compute_wer_with_concatenation).
func joinWords(text, wanted []string) (a, b []string) {
	for len(text) > 0 && len(wanted) > 0 {
		n, m := 1, 1
		for k := 1; k <= 3 && n*m == 1 && text[0] != wanted[0]; k++ {
			switch {
			case k <= len(wanted) && strings.Join(wanted[:k], "") == text[0]:
				m = k
			case k <= len(text) && strings.Join(text[:k], "") == wanted[0]:
				n = k
			}
		}
		a, b = append(a, strings.Join(text[:n], "")), append(b, strings.Join(wanted[:m], ""))
		text, wanted = text[n:], wanted[m:]
	}
	return slices.Concat(a, text), slices.Concat(b, wanted)
}
