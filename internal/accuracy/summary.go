package accuracy

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
	"github.com/mlperf-go/mlperf/internal/accuracy/sentences"
	"github.com/mlperf-go/mlperf/internal/workerpool"
)

// A SummaryForm is one of the two ways in which the official scripts print ROUGE.
type SummaryForm int

// The forms.
const (
	// QuotedForm is that of gpt-j and llama3.1-8b: scores are in quotes, and tokens are not
	// counted (evaluation.py).
	QuotedForm SummaryForm = iota
	// CountedForm is that of llama2-70b: scores are plain, and tokens are counted
	// (evaluate-accuracy.py).
	CountedForm
)

// A SummaryScore is what ScoreSummaries finds. Its values are "rouge1", "rouge2", "rougeL",
// "rougeLsum" in percent, "gen_len", "gen_num", and in the counted form "gen_tok_len" and
// "tokens_per_sample".
type SummaryScore struct {
	Score
	Characters int // of all texts
	Tokens     int // of all responses
}

// ScoreSummaries compares the texts of a log with those that are wanted, by sample, as the
// scripts of gpt-j, llama2-70b and llama3.1-8b do: ROUGE with stems over sentences, each on a
// line of its own, and the mean of F1 over the samples in the log.
func ScoreSummaries(ctx context.Context, log Input, wanted []string, decode Decoder, form SummaryForm, o TokenOptions) (*SummaryScore, error) {
	if decode == nil {
		return nil, errNoDecoder
	}
	score := &SummaryScore{Score: Score{Coverage: Coverage{Samples: len(wanted)}}}
	texts := textScorer{decode: decode, workers: o.Workers}
	for rec, err := range tokenRecords(log, o.DType, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		score.Tokens += len(rec.ids)
		if err := texts.add(ctx, log, rec, wanted[rec.QSLIndex]); err != nil {
			return nil, err
		}
	}
	if err := texts.flush(ctx, log); err != nil {
		return nil, err
	}
	score.Characters = texts.characters
	score.describe(texts.means(), form)
	for i := range rougeNames {
		score.Values[i].Resampled = texts.resampled(i, len(wanted))
	}
	return score, nil
}

// rougeNames are the scores in the order in which they are printed.
var rougeNames = [...]string{"rouge1", "rouge2", "rougeL", "rougeLsum"}

func (s *SummaryScore) describe(means [4]float64, form SummaryForm) {
	var parts []string
	for i, name := range rougeNames {
		s.Values = append(s.Values, Value{Name: name, Value: means[i] * 100, Unit: "%"})
		text := pytext.Float(roundTo4(means[i] * 100))
		if form == QuotedForm {
			text = "'" + text + "'"
		}
		parts = append(parts, fmt.Sprintf("'%s': %s", name, text))
	}
	counts := s.counts(s.Characters, s.Coverage.Scored, s.Tokens)
	if form == QuotedForm {
		counts, s.Values = counts[:2], s.Values[:len(s.Values)-2]
	}
	s.Score.results(append(parts, counts...))
}

// results are the lines that the scripts of language models print.
func (s *Score) results(parts []string) {
	s.Lines = append(s.Lines, "", "Results", "", "{"+strings.Join(parts, ", ")+"}")
}

// roundTo4 is numpy.round(x, 4), which scales, rounds to even and scales back.
func roundTo4(x float64) float64 { return math.RoundToEven(x*1e4) / 1e4 }

// A textScorer computes ROUGE of many texts in parallel, and keeps their order.
type textScorer struct {
	decode  Decoder
	workers int
	pending []textJob

	f1         [4][]float64 // by rougeNames, in the order of the log
	samples    []uint64     // of these
	characters int
}

// A textJob is a response with the text that is wanted.
type textJob struct {
	rec    tokenRecord
	wanted string

	score      rouges
	characters int
	err        error
}

// textBatch is how many texts are scored at a time: memory is bounded by them.
const textBatch = 2048

// add takes a response, which may be scored later.
func (t *textScorer) add(ctx context.Context, log Input, rec tokenRecord, wanted string) error {
	rec.Data, rec.TokenData = nil, nil // they are overwritten
	t.pending = append(t.pending, textJob{rec: rec, wanted: wanted})
	if len(t.pending) < textBatch {
		return nil
	}
	return t.flush(ctx, log)
}

// flush scores what was added. Of several errors the first in the log is returned.
func (t *textScorer) flush(ctx context.Context, log Input) error {
	err := workerpool.EachWith(ctx, t.workers, len(t.pending), func() func(context.Context, int) error {
		scorer := newROUGEScorer(true)
		return func(_ context.Context, i int) error {
			t.pending[i].run(t.decode, scorer)
			return nil
		}
	})
	if err != nil {
		return err
	}
	for i := range t.pending {
		job := &t.pending[i]
		if job.err != nil {
			return job.rec.errorf(log, "%w", job.err)
		}
		t.characters += job.characters
		t.samples = append(t.samples, job.rec.QSLIndex)
		for k, r := range [...]rouge{job.score.One, job.score.Two, job.score.L, job.score.LSum} {
			t.f1[k] = append(t.f1[k], r.F1)
		}
	}
	clear(t.pending)
	t.pending = t.pending[:0]
	return nil
}

func (j *textJob) run(decode Decoder, scorer *rougeScorer) {
	text, err := decode(j.rec.ids)
	if err != nil {
		j.err = err
		return
	}
	said := sentenceLines(text)
	j.characters = utf8.RuneCountInString(said)
	j.score = scorer.Score(said, sentenceLines(j.wanted))
}

// sentenceLines puts each sentence on a line (postprocess_text of the scripts).
func sentenceLines(text string) string {
	return strings.Join(sentences.Split(pytext.TrimSpace(text)), "\n")
}

// means are those of the scores, of which there must be some.
func (t *textScorer) means() (means [4]float64) {
	for k, values := range t.f1 {
		means[k] = mean(values)
	}
	return means
}

// resampled computes the mean of a score in percent of sets of so many samples. Those that are not in
// the log do not count.
func (t *textScorer) resampled(score, samples int) []float64 {
	parts := make([][]float64, samples)
	for i, sample := range t.samples {
		parts[sample] = []float64{100 * t.f1[score][i], 1}
	}
	return resampleSums(parts, 2, func(sums []float64) float64 { return sums[0] / sums[1] })
}
