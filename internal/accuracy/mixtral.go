package accuracy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
)

// A MixedText is what mixtral-8x7b should say of one sample.
type MixedText struct {
	Dataset string // OpenOrca, GSM8K or MBXP
	ID      string // of MBXP: the language, an underscore, and the function
	Wanted  string // the text, the number, or the tests
}

// A MixtralScore is what ScoreMixtral finds. Its values are those of ROUGE over OpenOrca,
// "gsm8k" and "mbxp" in percent of the samples of each, and "gen_len", "gen_num",
// "gen_tok_len" and "tokens_per_sample".
type MixtralScore struct{ Score }

// mixedCounts is what is counted while a log is read.
type mixedCounts struct {
	texts        textScorer
	solved, sums int // GSM8K
	programs     []Program
	tokens       int
	log          Input
	decode       Decoder
}

// ScoreMixtral scores a log as evaluate-accuracy.py of mixtral-8x7b does. As there gen_num,
// by which tokens_per_sample is divided, also counts records of a sample that was there
// before.
func ScoreMixtral(ctx context.Context, log Input, wanted []MixedText, decode Decoder, o ProgramOptions) (*MixtralScore, error) {
	if decode == nil {
		return nil, errNoDecoder
	}
	score := &MixtralScore{Score{Coverage: Coverage{Samples: len(wanted)}}}
	c := mixedCounts{texts: textScorer{decode: decode, workers: o.Workers}, log: log, decode: decode}
	for rec, err := range tokenRecords(log, o.DType, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		c.tokens += len(rec.ids)
		if err := c.add(ctx, rec, wanted[rec.QSLIndex]); err != nil {
			return nil, err
		}
	}
	if err := c.texts.flush(ctx, log); err != nil {
		return nil, err
	}
	if c.sums == 0 {
		return nil, fmt.Errorf("%s: none of the samples is one of GSM8K, without which there is no score", log.Name())
	}
	return score, score.describe(ctx, &c, o)
}

// add takes the response of a sample.
func (c *mixedCounts) add(ctx context.Context, rec tokenRecord, want MixedText) error {
	if want.Dataset == "OpenOrca" {
		return c.texts.add(ctx, c.log, rec, want.Wanted)
	}
	text, err := c.decode(rec.ids)
	if err != nil {
		return rec.errorf(c.log, "%w", err)
	}
	if want.Dataset == "GSM8K" {
		c.sums++
		if sameNumber(finalNumber(text), want.Wanted) {
			c.solved++
		}
		return nil
	}
	p, err := newProgram(want, text)
	if err != nil {
		return rec.errorf(c.log, "%w", err)
	}
	c.programs = append(c.programs, p)
	return nil
}

func (s *MixtralScore) describe(ctx context.Context, c *mixedCounts, o ProgramOptions) error {
	var parts []string
	add := func(name string, v float64, text string) {
		s.Values = append(s.Values, Value{Name: name, Value: v, Unit: "%"})
		parts = append(parts, fmt.Sprintf("'%s': %s", name, text))
	}
	if len(c.texts.f1[0]) > 0 {
		for i, mean := range c.texts.means() {
			add(rougeNames[i], mean*100, pytext.Float(roundTo4(mean*100)))
		}
	}
	gsm8k := 100 * float64(c.solved) / float64(c.sums)
	add("gsm8k", gsm8k, pytext.Float(gsm8k))
	switch mbxp, err := c.execute(ctx, o); {
	case err != nil:
		return err
	case len(c.programs) == 0:
		add("mbxp", 0, "0")
	case o.Execute == nil:
		s.warnf("mbxp is not scored: the %d programs that the model wrote were not executed", len(c.programs))
	default:
		add("mbxp", mbxp, pytext.Float(mbxp))
	}
	s.results(append(parts, s.counts(c.texts.characters, s.Coverage.records(), c.tokens)...))
	return nil
}

// programLanguages are those that the script runs; others are left out.
var programLanguages = []string{"cpp", "python", "php", "javascript", "ruby", "typescript"}

// execute returns how many of 100 programs pass.
func (c *mixedCounts) execute(ctx context.Context, o ProgramOptions) (float64, error) {
	if o.Execute == nil || len(c.programs) == 0 {
		return 0, nil
	}
	programs := slices.DeleteFunc(slices.Clone(c.programs), func(p Program) bool { return !slices.Contains(programLanguages, p.Language) })
	if len(programs) == 0 {
		return 0, errors.New("none of the programs of MBXP is in a language that the script runs: " + strings.Join(programLanguages, ", "))
	}
	passes, err := o.execute(ctx, programs)
	passed := 0
	for _, ok := range passes {
		if ok {
			passed++
		}
	}
	return 100 * float64(passed) / float64(len(programs)), err
}
