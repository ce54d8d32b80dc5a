package accuracy

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy/sentences"
	"github.com/mlperf-go/mlperf/internal/machine/workerpool"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// A Decoder turns the numbers of tokens into text, without special tokens, as
// batch_decode(…, skip_special_tokens=True) of transformers does. It is called by several
// goroutines.
type Decoder func(ids []int32) (string, error)

// A tokenRecord is a record of a log of tokens.
type tokenRecord struct {
	Record
	ids []int32 // of this record alone, not overwritten
}

// tokenRecords reads the first record of each sample, as the scripts count them, until ctx ends. The float of some scripts
// is float32.
func tokenRecords(ctx context.Context, log Input, dtype DType, c *Coverage) iter.Seq2[tokenRecord, error] {
	return func(yield func(tokenRecord, error) bool) {
		dtype, err := dtype.check("dtype", Int64, Int32, float32s)
		if err != nil {
			yield(tokenRecord{}, err)
			return
		}
		for rec, err := range FirstRecords(log, c) {
			if err == nil {
				err = context.Cause(ctx)
			}
			t := tokenRecord{Record: rec}
			if err == nil {
				if t.ids, err = tokenIDs(rec.Data, dtype); err != nil {
					err = rec.errorf(log, "%w", err)
				}
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
		if c.Scored == 0 {
			yield(tokenRecord{}, errNoRecord(log))
		}
	}
}

// tokenIDs are the numbers in a response.
func tokenIDs(data []byte, dtype DType) ([]int32, error) {
	n, number, err := dtype.numbers(data)
	if err != nil {
		return nil, err
	}
	ids := make([]int32, n)
	for i := range ids {
		v := number(i)
		if !(v >= 0 && v <= math.MaxInt32 && v == math.Trunc(v)) {
			return nil, fmt.Errorf("token %d of the response is %v as %s: must be the number of a token: is the log of another type?", i, v, dtype)
		}
		ids[i] = int32(v)
	}
	return ids, nil
}

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

// ScoreSummaries compares the texts of a log with the wanted ones, by sample, as the
// scripts of gpt-j, llama2-70b and llama3.1-8b do: ROUGE with stems over sentences, each on a
// line of its own, and the mean of F1 over the samples in the log. The values are "rouge1", "rouge2", "rougeL",
// "rougeLsum" in percent, "gen_len", "gen_num", and in the counted form "gen_tok_len" and
// "tokens_per_sample".
func ScoreSummaries(ctx context.Context, log Input, wanted []string, decode Decoder, form SummaryForm, dtype DType) (*Score, error) {
	score, tokens := &Score{Coverage: Coverage{Samples: len(wanted)}}, 0
	var texts []scoredText
	for rec, err := range tokenRecords(ctx, log, dtype, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		tokens += len(rec.ids)
		texts = append(texts, scoredText{tokenRecord: rec, wanted: wanted[rec.QSLIndex]})
	}
	if err := scoreTexts(ctx, log, texts, decode); err != nil {
		return nil, err
	}
	means, characters := meanROUGE(texts)
	var parts []string
	for i, name := range rougeNames {
		byROUGE := make([][]float64, len(wanted)) // samples that are not in the log do not count
		for _, t := range texts {
			byROUGE[t.QSLIndex] = []float64{100 * t.f1[i], 1}
		}
		resampled := resampleSums(byROUGE, 2, func(sums []float64) float64 { return sums[0] / sums[1] })
		score.Values = append(score.Values, Value{Name: name, Value: means[i] * 100, Unit: "%", Resampled: resampled})
		text := pytext.Float(roundTo4(means[i] * 100))
		if form == QuotedForm {
			text = "'" + text + "'"
		}
		parts = append(parts, fmt.Sprintf("'%s': %s", name, text))
	}
	counts := score.counts(characters, score.Coverage.Scored, tokens)
	if form == QuotedForm {
		counts, score.Values = counts[:2], score.Values[:len(score.Values)-2]
	}
	score.results(append(parts, counts...))
	return score, nil
}

// A scoredText is a response with the wanted text.
type scoredText struct {
	tokenRecord
	wanted string

	f1         [4]float64 // by rougeNames
	characters int
}

// scoreTexts computes ROUGE of texts in parallel.
func scoreTexts(ctx context.Context, log Input, texts []scoredText, decode Decoder) error {
	return workerpool.EachWith(ctx, 0, len(texts), func() func(context.Context, int) error {
		rouge := newROUGEScorer()
		return func(_ context.Context, i int) error {
			t := &texts[i]
			text, err := decode(t.ids)
			if err != nil {
				return t.errorf(log, "%w", err)
			}
			text = sentenceLines(text)
			t.characters = utf8.RuneCountInString(text)
			t.f1 = rouge.score(text, sentenceLines(t.wanted))
			return nil
		}
	})
}

// meanROUGE returns the means of the scores, in the order of the log, and the characters of all texts.
func meanROUGE(texts []scoredText) (means [4]float64, characters int) {
	column := make([]float64, len(texts))
	for k := range means {
		for i, t := range texts {
			column[i] = t.f1[k]
		}
		means[k] = mean(column)
	}
	for _, t := range texts {
		characters += t.characters
	}
	return means, characters
}

// sentenceLines puts each sentence on a line (postprocess_text of the scripts).
func sentenceLines(text string) string {
	return strings.Join(sentences.Split(pytext.TrimSpace(text)), "\n")
}

// roundTo4 is numpy.round(x, 4), which scales, rounds to even and scales back.
func roundTo4(x float64) float64 { return math.RoundToEven(x*1e4) / 1e4 }

// counts adds the values that count the responses, and returns them as the scripts print them.
func (s *Score) counts(characters, samples, tokens int) []string {
	perSample := float64(tokens) / float64(samples)
	s.Values = append(s.Values,
		Value{Name: "gen_len", Value: float64(characters)}, Value{Name: "gen_num", Value: float64(samples)},
		Value{Name: "gen_tok_len", Value: float64(tokens)}, Value{Name: "tokens_per_sample", Value: perSample})
	return []string{
		fmt.Sprintf("'gen_len': %d", characters), fmt.Sprintf("'gen_num': %d", samples),
		fmt.Sprintf("'gen_tok_len': %d", tokens), "'tokens_per_sample': " + pytext.Float(pytext.Round(perSample, 1)),
	}
}

// results adds the lines that the scripts of language models print.
func (s *Score) results(parts []string) {
	s.Lines = append(s.Lines, "", "Results", "", "{"+strings.Join(parts, ", ")+"}")
}

// A Program is code that a model wrote, to be run on the tests of its problem.
type Program struct {
	Language string // cpp, python, php, javascript, ruby or typescript
	ID       string // of the problem
	Code     string // of MBXP with its tests
}

// ProgramOptions are the options of scores that include programs.
type ProgramOptions struct {
	// DType is the type of a token's number in the log (--dtype), by default int64.
	DType DType
	// Execute runs a program that a model wrote and reports whether it passes. It is called by
	// several goroutines. Without it no program passes: code runs only if the user asks for it.
	Execute func(context.Context, Program) (bool, error)
	// Progress, if not nil, is called with how many programs have been run.
	Progress func(done, of int)
}

// execute reports which programs pass.
func (o ProgramOptions) execute(ctx context.Context, programs []Program) ([]bool, error) {
	passed := make([]bool, len(programs))
	done := workerpool.Counter(len(programs), o.Progress)
	err := workerpool.Each(ctx, 0, len(programs), func(ctx context.Context, i int) (err error) {
		if passed[i], err = o.Execute(ctx, programs[i]); err != nil {
			return fmt.Errorf("executing the answer to %s: %w", programs[i].ID, err)
		}
		done(1)
		return nil
	})
	return passed, err
}
