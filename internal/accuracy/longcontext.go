package accuracy

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// A LongText is the wanted answer of llama3.1-405b to one sample, and how answers are judged.
type LongText struct {
	Wanted string
	// Metric is rouge (ROUGE-L), niah_em (numbers that were hidden in the prompt) or qa_em
	// (an answer to a question).
	Metric string
}

// A metricColumn is a column of pandas: samples without a value count as 0 in the sum, and
// not at all in the mean.
type metricColumn struct {
	name     string
	values   []float64
	n, first int // values, and the sample that first has one
}

func (c *metricColumn) mean() float64 { return tensor.Sum(c.values) / float64(c.n) }

// ScoreLongTexts scores a log as evaluate-accuracy.py of llama3.1-405b does. The values are "exact_match" and "rougeL" in
// percent, each over the samples that are judged by it, and "gen_len", "gen_num",
// "gen_tok_len" and "tokens_per_sample".
func ScoreLongTexts(ctx context.Context, log Input, wanted []LongText, decode Decoder, dtype DType) (*Score, error) {
	score := &Score{Coverage: Coverage{Samples: len(wanted)}}
	columns := []metricColumn{{name: "exact_match"}, {name: "rougeL"}}
	rouge, characters, tokens := newROUGEScorer(), 0, 0
	for rec, err := range tokenRecords(ctx, log, dtype, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		text, err := decode(rec.ids)
		if err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
		text = sentenceLines(text)
		tokens += len(rec.ids)
		characters += utf8.RuneCountInString(text)
		want, column, value := sentenceLines(wanted[rec.QSLIndex].Wanted), 0, 0.0
		switch metric := wanted[rec.QSLIndex].Metric; metric {
		case "rouge":
			column, value = 1, 100*rouge.score(text, want)[2]
		case "niah_em":
			value = hiddenNumbers(text, want)
		case "qa_em":
			value = answered(text, want)
		default:
			return nil, rec.errorf(log, "the metric of the sample is %q: must be rouge, niah_em or qa_em", metric)
		}
		for i := range columns {
			c := &columns[i]
			if i != column {
				c.values = append(c.values, 0)
				continue
			}
			if c.n++; c.n == 1 {
				c.first = len(c.values)
			}
			c.values = append(c.values, value)
		}
	}
	columns = slices.DeleteFunc(columns, func(c metricColumn) bool { return c.n == 0 })
	for _, c := range columns {
		score.Values = append(score.Values, Value{Name: c.name, Value: c.mean(), Unit: "%"})
	}
	var parts []string
	slices.SortFunc(columns, func(a, b metricColumn) int { return a.first - b.first }) // as the script prints them
	for _, c := range columns {
		parts = append(parts, fmt.Sprintf("'%s': %s", c.name, pytext.Float(c.mean())))
	}
	score.results(append(parts, score.counts(characters, score.Coverage.Scored, tokens)...))
	return score, nil
}

// uuid matches the numbers hidden in the prompts. \w is that of Python.
var uuid = func() *regexp.Regexp {
	const w = `[\p{L}\p{N}_]`
	return regexp.MustCompile(w + `{8}-` + w + `{4}-` + w + `{4}-` + w + `{4}-` + w + `{12}`)
}()

// hiddenNumbers is the share of the characters of a hidden UUID that are anywhere in the
// found one, pair by pair, in percent and rounded to two digits.
func hiddenNumbers(text, wanted string) float64 {
	found, hidden := uuid.FindAllString(text, -1), uuid.FindAllString(wanted, -1)
	if len(found) == 0 {
		return 0
	}
	sum := 0.0
	for i := range min(len(found), len(hidden)) {
		lower, hits, n := pytext.Lower(found[i]), 0.0, 0
		for _, r := range hidden[i] {
			n++
			if strings.Contains(lower, pytext.Lower(string(r))) {
				hits++
			}
		}
		sum += hits / float64(n)
	}
	return pytext.Round(sum/float64(len(found))*100, 2)
}

// answered is 100 if the text after the last "Answer: " is a part of the wanted answer, or
// contains one of its parts between bars, without white space and in lower case.
func answered(text, wanted string) float64 {
	const cue = "Answer: "
	if i := strings.LastIndex(text, cue); i >= 0 {
		text = text[i+len(cue):]
	}
	if strings.Contains(wanted, text) {
		return 100
	}
	squeeze := func(text string) string { return strings.Join(pytext.Fields(pytext.Lower(text)), "") }
	text = squeeze(text)
	for entry := range strings.SplitSeq(wanted, "|") {
		if strings.Contains(text, squeeze(entry)) {
			return 100
		}
	}
	return 0
}
