package accuracy

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// A LongText is what llama3.1-405b should say of one sample, and how that is judged.
type LongText struct {
	Wanted string
	// Metric is rouge (ROUGE-L), niah_em (numbers that were hidden in the prompt) or qa_em
	// (an answer to a question).
	Metric string
}

// A LongTextScore is what ScoreLongTexts finds. Its values are "rougeL" and "exact_match" in
// percent, each over the samples that are judged by it, and "gen_len", "gen_num",
// "gen_tok_len" and "tokens_per_sample".
type LongTextScore struct{ Score }

// ScoreLongTexts scores a log as evaluate-accuracy.py of llama3.1-405b does.
func ScoreLongTexts(ctx context.Context, log Input, wanted []LongText, decode Decoder, o TokenOptions) (*LongTextScore, error) {
	if decode == nil {
		return nil, errNoDecoder
	}
	score := &LongTextScore{Score{Coverage: Coverage{Samples: len(wanted)}}}
	rouge, exact := metricColumn{name: "rougeL"}, metricColumn{name: "exact_match"}
	scorer, characters, tokens := newROUGEScorer(true), 0, 0
	for rec, err := range tokenTexts(ctx, log, o.DType, &score.Coverage, decode) {
		if err != nil {
			return nil, err
		}
		said, want := sentenceLines(rec.text), wanted[rec.QSLIndex]
		tokens += len(rec.ids)
		characters += utf8.RuneCountInString(said)
		want.Wanted = sentenceLines(want.Wanted)
		if err := want.judge(said, scorer, &rouge, &exact); err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
	}
	score.describe([]metricColumn{exact, rouge}, characters, tokens)
	return score, nil
}

// judge adds the score of a text to one of the columns.
func (l LongText) judge(said string, scorer *rougeScorer, rouge, exact *metricColumn) error {
	switch l.Metric {
	case "rouge":
		rouge.add(100 * scorer.Score(said, l.Wanted).L.F1)
		exact.skip()
	case "niah_em":
		exact.add(hiddenNumbers(said, l.Wanted))
		rouge.skip()
	case "qa_em":
		exact.add(answered(said, l.Wanted))
		rouge.skip()
	default:
		return fmt.Errorf("the metric of the sample is %q, want rouge, niah_em or qa_em", l.Metric)
	}
	return nil
}

func (s *LongTextScore) describe(columns []metricColumn, characters, tokens int) {
	columns = slices.DeleteFunc(columns, func(c metricColumn) bool { return c.n == 0 })
	for _, c := range columns {
		s.Values = append(s.Values, Value{Name: c.name, Value: c.mean(), Unit: "%"})
	}
	var parts []string
	slices.SortFunc(columns, func(a, b metricColumn) int { return a.first - b.first }) // as the script prints them
	for _, c := range columns {
		parts = append(parts, fmt.Sprintf("'%s': %s", c.name, pytext.Float(c.mean())))
	}
	s.Score.results(append(parts, s.counts(characters, s.Coverage.Scored, tokens)...))
}

// counts adds how much was said, and returns it as the scripts print it.
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

// A metricColumn is a column of pandas: samples without a value count as 0 in the sum, and
// not at all in the mean.
type metricColumn struct {
	name   string
	values []float64
	n      int
	first  int // the sample that first had one
}

func (c *metricColumn) add(v float64) {
	if c.n == 0 {
		c.first = len(c.values)
	}
	c.values, c.n = append(c.values, v), c.n+1
}
func (c *metricColumn) skip() { c.values = append(c.values, 0) }
func (c *metricColumn) mean() float64 {
	return sumOf(c.values) / float64(c.n)
}

// uuid is what is hidden in the prompts. \w is that of Python.
var uuid = func() *regexp.Regexp {
	const w = `[\p{L}\p{N}_]`
	return regexp.MustCompile(w + `{8}-` + w + `{4}-` + w + `{4}-` + w + `{4}-` + w + `{12}`)
}()

// hiddenNumbers is the share of the characters of what was hidden that are anywhere in what
// was found, pair by pair, of 100 and rounded to two digits.
func hiddenNumbers(said, wanted string) float64 {
	found, hidden := uuid.FindAllString(said, -1), uuid.FindAllString(wanted, -1)
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

// answered is 100 if what comes after the last "Answer: " is a part of what was wanted, or
// has one of its parts between bars, without white space and in lower case.
func answered(said, wanted string) float64 {
	const cue = "Answer: "
	if i := strings.LastIndex(said, cue); i >= 0 {
		said = said[i+len(cue):]
	}
	if strings.Contains(wanted, said) {
		return 100
	}
	said = squeeze(said)
	for entry := range strings.SplitSeq(wanted, "|") {
		if strings.Contains(said, squeeze(entry)) {
			return 100
		}
	}
	return 0
}

// squeeze lower-cases a text and drops its white space.
func squeeze(text string) string {
	return pytext.Lower(strings.Map(func(r rune) rune {
		if pytext.IsSpace(r) || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text))
}
