package accuracy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// A bleuCounter adds up what BLEU is computed from, sentence by sentence, as the scorer of
// the GNMT reference does (nmt/scripts/bleu.py). It is not sacreBLEU: words are given, and
// the shortest reference is the one whose length counts.
type bleuCounter struct {
	counts, totals                     []int
	referenceLength, translationLength int
	smooth                             bool
	grams                              *gramCounter
}

// newBLEUCounter returns a counter of n-grams up to an order from 1 to 6. Smoothing
// adds one to all counts.
func newBLEUCounter(order int, smooth bool) *bleuCounter {
	return &bleuCounter{counts: make([]int, order), totals: make([]int, order), smooth: smooth, grams: newGramCounter()}
}

// Add adds a translation and its references, of which there must be one.
func (b *bleuCounter) Add(translation []string, references ...[]string) {
	shortest := len(references[0])
	for _, reference := range references[1:] {
		shortest = min(shortest, len(reference))
	}
	b.referenceLength += shortest
	b.translationLength += len(translation)
	b.grams.matches(translation, references, b.counts, b.totals)
}

// sums are what was added up so far.
func (b *bleuCounter) sums() []int {
	return slices.Concat(b.counts, b.totals, []int{b.referenceLength, b.translationLength})
}

// since is what was added since sums were taken.
func (b *bleuCounter) since(sums []int) []int {
	now := b.sums()
	for i := range now {
		now[i] -= sums[i]
	}
	return now
}

// resampled computes the score, in percent, of sets of sentences, of which there is what each
// one adds.
func (b *bleuCounter) resampled(parts [][]int) []float64 {
	order := len(b.counts)
	return resampleSums(parts, 2*order+2, func(sums []int) float64 {
		c := bleuCounter{counts: sums[:order], totals: sums[order : 2*order], referenceLength: sums[2*order], translationLength: sums[2*order+1], smooth: b.smooth}
		s, _ := c.Score() // 0 without words
		return 100 * s.BLEU
	})
}

// A BLEU is a score from 0 to 1, with what it is made of.
type BLEU struct {
	BLEU              float64
	Precisions        []float64 // by order, from 0 to 1
	BrevityPenalty    float64
	Ratio             float64 // of the lengths
	TranslationLength int     // in words
	ReferenceLength   int
}

// Score computes the score. Without words on both sides there is none.
func (b *bleuCounter) Score() (BLEU, error) {
	if b.referenceLength == 0 || b.translationLength == 0 {
		return BLEU{}, fmt.Errorf("%d words were compared with %d, of which BLEU cannot be computed", b.translationLength, b.referenceLength)
	}
	s := BLEU{
		Precisions: make([]float64, len(b.counts)), BrevityPenalty: 1,
		Ratio:             float64(b.translationLength) / float64(b.referenceLength),
		TranslationLength: b.translationLength, ReferenceLength: b.referenceLength,
	}
	logs, least := 0.0, math.Inf(1)
	for k := range b.totals {
		s.Precisions[k] = b.precision(k)
		least = min(least, s.Precisions[k])
		logs += 1 / float64(len(b.counts)) * math.Log(s.Precisions[k])
	}
	if s.Ratio <= 1 {
		s.BrevityPenalty = math.Exp(1 - 1/s.Ratio)
	}
	if least > 0 {
		s.BLEU = math.Exp(logs) * s.BrevityPenalty
	}
	return s, nil
}

// precision is that of n-grams of order k+1.
func (b *bleuCounter) precision(k int) float64 {
	count, total := float64(b.counts[k]), float64(b.totals[k])
	switch {
	case b.smooth:
		return (count + 1) / (total + 1)
	case total > 0:
		return count / total
	}
	return 0
}

// CleanReference makes words of a line of a reference as the scripts do: pieces of words are
// put together, and only single blanks separate words.
func CleanReference(line string) []string {
	return strings.Split(strings.ReplaceAll(pytext.TrimSpace(line), "@@ ", ""), " ")
}

// TranslationOptions say what to compute besides the official score of translations.
type TranslationOptions struct {
	// Sacre asks for sacreBLEU too.
	Sacre *SacreOptions
}

// sacreCounter is a counter for sacreBLEU, nil if nobody asks for that.
func (o TranslationOptions) sacreCounter() (*sacreCounter, error) {
	if o.Sacre == nil {
		return nil, nil
	}
	return newSacreCounter(*o.Sacre)
}

// A TranslationScore is what ScoreTranslations finds. Its first value is "BLEU" in percent.
type TranslationScore struct {
	Score
	BLEU
}

// ScoreTranslations scores a log of sentences as process_accuracy.py does: on words that
// blanks separate, with the first record of a sentence. Sentences that are not in the log
// do not count. Unlike the script, it does not score a log that was cut off.
func ScoreTranslations(log Input, references [][]string, o TranslationOptions) (*TranslationScore, error) {
	score, counter := &TranslationScore{}, newBLEUCounter(4, false)
	sacre, err := o.sacreCounter()
	if err != nil {
		return nil, err
	}
	score.Coverage.Samples = len(references)
	parts := make([][]int, len(references))
	for rec, err := range Records(log) {
		switch {
		case err != nil:
			return nil, err
		case !utf8.Valid(rec.Data): // of a repeated one, too
			return nil, rec.errorf(log, "the translation is not UTF-8")
		case rec.QSLIndex >= uint64(len(references)):
			return nil, rec.errorf(log, "the ground truth has only %d samples", len(references))
		}
		repeated := parts[rec.QSLIndex] != nil
		if score.Coverage.count(repeated); repeated {
			continue
		}
		text, reference, before := string(rec.Data), references[rec.QSLIndex], counter.sums()
		counter.Add(strings.Split(text, " "), reference)
		parts[rec.QSLIndex] = counter.since(before)
		if sacre != nil {
			sacre.Add(text, strings.Join(reference, " "))
		}
	}
	if err := score.describe(log, counter, sacre); err != nil {
		return score, err
	}
	score.Values[0].Resampled = counter.resampled(parts)
	return score, nil
}

func (s *TranslationScore) describe(log Input, counter *bleuCounter, sacre *sacreCounter) error {
	var err error
	if s.BLEU, err = counter.Score(); err != nil {
		return errors.New(log.Name() + ": " + err.Error())
	}
	percent := s.BLEU.BLEU * 100
	s.Values = []Value{{Name: "BLEU", Value: percent, Unit: "%"}}
	s.printf("BLEU: %.1f", percent)
	if sacre != nil {
		found := sacre.Score()
		s.Values = append(s.Values, Value{Name: "sacreBLEU", Value: found.Score, Unit: "%"})
		s.printf("%s", found)
		s.printf("%s", sacre.Signature())
	}
	return nil
}
