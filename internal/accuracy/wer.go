package accuracy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// A werCounter adds up word errors, sentence by sentence, as the RNN-T reference does
// (pytorch/metrics.py). The zero value is ready.
type werCounter struct {
	Errors int // insertions, deletions and substitutions
	Words  int // of the references
	row    []int
}

// Add compares what was heard with what was said. White space separates words.
func (c *werCounter) Add(heard, said string) {
	a, b := pytext.Fields(heard), pytext.Fields(said)
	c.Words += len(b)
	c.Errors += c.distance(a, b)
}

// Rate is the errors per word of the references. Without such words there is none.
func (c *werCounter) Rate() (float64, error) {
	if c.Words == 0 {
		return 0, errors.New("the references have no words, of which an error rate cannot be computed")
	}
	return float64(c.Errors) / float64(c.Words), nil
}

// distance is Levenshtein's: how many words have to be inserted, dropped or replaced.
func (c *werCounter) distance(a, b []string) int {
	a, b = withoutSame(a, b)
	c.row = c.row[:0]
	for j := range len(b) + 1 {
		c.row = append(c.row, j)
	}
	for i, word := range a {
		diagonal := c.row[0]
		c.row[0] = i + 1
		for j, other := range b {
			cost := diagonal
			if word != other {
				cost = 1 + min(diagonal, c.row[j], c.row[j+1])
			}
			diagonal, c.row[j+1] = c.row[j+1], cost
		}
	}
	return c.row[len(b)]
}

// withoutSame drops the words with which both begin, and those with which both end.
func withoutSame(a, b []string) ([]string, []string) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return a, b
}

// speechLabels are the characters that RNN-T writes, by their numbers.
const speechLabels = " abcdefghijklmnopqrstuvwxyz'"

// SpeechOptions are the options of RNN-T's accuracy_eval.py.
type SpeechOptions struct {
	// DType is the type of a label's number (--output_dtype), by default int64. As in the
	// script int32 means a C long, which has 64 bits on Linux.
	DType DType
}

// A SpeechScore is what ScoreSpeech finds. Its first value is "accuracy" in percent: what is
// left of 100 without the word error rate.
type SpeechScore struct {
	Score
	Errors, Words int
}

// ScoreSpeech scores a log of transcripts as accuracy_eval.py does: every record counts, as
// often as a sample is there.
func ScoreSpeech(log Input, transcripts []string, o SpeechOptions) (*SpeechScore, error) {
	return scoreTranscripts(log, transcripts, o, speechLabels, (*werCounter).Add)
}

// scoreTranscripts is ScoreSpeech for responses of other labels, compared in another way.
func scoreTranscripts(log Input, transcripts []string, o SpeechOptions, labels string, add func(c *werCounter, heard, said string)) (*SpeechScore, error) {
	dtype, err := o.dtype()
	if err != nil {
		return nil, err
	}
	var counter werCounter
	parts := make([][]int, len(transcripts)) // the errors in each, and its words
	coverage := Coverage{Samples: len(transcripts)}
	for rec, err := range Records(log) {
		if err != nil {
			return nil, err
		}
		if rec.QSLIndex >= uint64(len(transcripts)) {
			return nil, rec.errorf(log, "the data set has only %d utterances", len(transcripts))
		}
		heard, err := spelling(rec.Data, dtype, labels)
		if err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
		part, before := &parts[rec.QSLIndex], counter
		coverage.count(*part != nil)
		add(&counter, heard, transcripts[rec.QSLIndex])
		*part = addCounts(*part, counter.Errors-before.Errors, counter.Words-before.Words)
	}
	rate, err := counter.Rate()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", log.Name(), err)
	}
	score := &SpeechScore{Errors: counter.Errors, Words: counter.Words}
	score.Coverage = coverage
	right := resampleSums(parts, 2, func(sums []int) float64 { return 100 * (1 - float64(sums[0])/float64(sums[1])) })
	score.Values = []Value{{Name: "accuracy", Value: (1 - rate) * 100, Unit: "%", Resampled: right}, {Name: "WER", Value: rate * 100, Unit: "%", LowerIsBetter: true}}
	score.printf("Word Error Rate: %s%%, accuracy=%s%%", pytext.Float(rate*100), pytext.Float((1-rate)*100))
	return score, nil
}

// dtype is the type that numbers of the log have.
func (o SpeechOptions) dtype() (DType, error) {
	dtype, err := o.DType.check("output_dtype", Int64, Int32, Int16, Int8)
	if dtype == Int32 {
		dtype = Int64
	}
	return dtype, err
}

// addCounts adds to what was counted of a sample, nil if nothing was.
func addCounts(counts []int, more ...int) []int {
	if counts == nil {
		return more
	}
	for i, n := range more {
		counts[i] += n
	}
	return counts
}

// spelling is the text of a response.
func spelling(data []byte, dtype DType, labels string) (string, error) {
	if err := dtype.checkPayload(data); err != nil {
		return "", err
	}
	number := numbers(data, dtype)
	var b strings.Builder
	for i := range len(data) / dtype.size() {
		v := number(i)
		if v < 0 || v >= float64(len(labels)) {
			return "", fmt.Errorf("label %d is %v, want 0 to %d", i, v, len(labels)-1)
		}
		b.WriteByte(labels[int(v)])
	}
	return b.String(), nil
}
