package accuracy

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/grading"
	"github.com/mlperf-go/mlperf/internal/pytext"
)

// Reasoning is the answer to a question that has to be thought about.
type Reasoning struct {
	Dataset string // a name that has one of gpqa, mmlu_pro, math500, aime, livecodebench, mmlu in it
	Wanted  string // the letter, the number, the formula, or which program
}

// A ReasoningForm is one of the two ways in which the official scripts read answers and print.
type ReasoningForm int

// The forms.
const (
	// DeepSeekForm is that of deepseek-r1 (eval_accuracy.py).
	DeepSeekForm ReasoningForm = iota
	// HarmonyForm is that of gpt-oss-120b, whose data sets have repeats (eval_mlperf_accuracy.py).
	HarmonyForm
)

// A ReasoningScore is what ScoreReasoning finds. Its values are "exact_match" in percent and
// "tokens_per_sample".
type ReasoningScore struct{ Score }

// ScoreReasoning scores a log as the scripts of deepseek-r1 and gpt-oss-120b do, but for programs: those
// of LiveCodeBench are not run and count as wrong, so that exact_match is the least that it can be.
func ScoreReasoning(ctx context.Context, log Input, wanted []Reasoning, decode Decoder, form ReasoningForm, o TokenOptions) (*ReasoningScore, error) {
	if decode == nil {
		return nil, errNoDecoder
	}
	score := &ReasoningScore{Score{Coverage: Coverage{Samples: len(wanted)}, Right: make([]byte, (len(wanted)+7)/8)}}
	count := reasoningCount{form: form}
	for rec, err := range tokenTexts(ctx, log, o.DType, &score.Coverage, decode) {
		if err != nil {
			return nil, err
		}
		right, err := count.add(wanted[rec.QSLIndex], rec.text, len(rec.ids))
		if err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
		if right {
			score.Right[rec.QSLIndex/8] |= 1 << (rec.QSLIndex % 8)
		}
	}
	score.describe(&count)
	return score, nil
}

// reasoningSets are the data sets, in the order in which the scripts look for their names.
var reasoningSets = []struct {
	name  string
	judge func(form ReasoningForm, said, wanted string) bool
}{
	{"gpqa", sameLetter('D')},
	{"mmlu_pro", sameLetter('J')},
	{"math500", func(_ ReasoningForm, said, wanted string) bool {
		boxed, ok := grading.Boxed(said)
		return ok && boxed != "" && wanted != "" && grading.SameMath(boxed, wanted)
	}},
	{"aime", func(_ ReasoningForm, said, wanted string) bool {
		n, ok := grading.Integer(said)
		want, err := strconv.ParseFloat(pytext.TrimSpace(wanted), 64) // numbers of tables may be 25.0
		return ok && err == nil && float64(n) == want
	}},
	{livecode, nil},
	{"mmlu", sameLetter('J')},
}

const livecode = "livecodebench"

func sameLetter(last byte) func(form ReasoningForm, said, wanted string) bool {
	return func(form ReasoningForm, said, wanted string) bool {
		letter := grading.Letter
		if form == HarmonyForm {
			letter = grading.FinalLetter
		}
		c := letter(said, last)
		return c != 0 && strings.EqualFold(string(rune(c)), wanted)
	}
}

// reasoningRepeats are how often each question is asked in the data of gpt-oss-120b (DATASET_REPEATS).
var reasoningRepeats = map[string]int{"aime25": 8, "gpqa_diamond": 5, "livecodebench_v6": 3}

// reasoningCount is what is counted while a log is read.
type reasoningCount struct {
	form          ReasoningForm
	right, all    int
	points, most  float64 // by repeats
	tokens, unrun int
	sets          map[string]*reasonedSet // by their names in the data
}

// A reasonedSet is what is counted of a data set.
type reasonedSet struct{ right, all int }

// repeats is how often each question of a data set is asked.
func repeats(name string) int { return cmp.Or(reasoningRepeats[name], 1) }

// add counts an answer.
func (c *reasoningCount) add(want Reasoning, text string, tokens int) (right bool, err error) {
	name := strings.ToLower(want.Dataset)
	at := -1
	for i, set := range reasoningSets {
		if at < 0 && strings.Contains(name, set.name) {
			at = i
		}
	}
	switch {
	case at < 0:
		return false, fmt.Errorf("nobody knows how to judge answers to the data set %q", want.Dataset)
	case reasoningSets[at].judge == nil:
		c.unrun++
	default:
		right = reasoningSets[at].judge(c.form, text, want.Wanted)
	}
	weight := 1.0
	if c.form == HarmonyForm {
		weight = 1 / float64(repeats(want.Dataset))
	}
	c.all, c.most, c.tokens = c.all+1, c.most+weight, c.tokens+tokens
	if c.sets == nil {
		c.sets = map[string]*reasonedSet{}
	}
	set := c.sets[want.Dataset]
	if set == nil {
		set = &reasonedSet{}
		c.sets[want.Dataset] = set
	}
	set.all++
	if right {
		c.right, c.points = c.right+1, c.points+weight
		set.right++
	}
	return right, nil
}

func (s *ReasoningScore) describe(c *reasoningCount) {
	exact, perSample := 100*c.points/c.most, float64(c.tokens)/float64(c.all)
	s.Values = []Value{{Name: "exact_match", Value: exact, Unit: "%"}, {Name: "tokens_per_sample", Value: perSample}}
	if c.form == DeepSeekForm {
		s.Score.results([]string{"'exact_match': " + pytext.Float(exact), "'tokens_per_sample': " + pytext.Float(perSample), fmt.Sprintf("'num-samples': %d", c.all)})
	} else {
		s.Lines = append(s.Lines, c.table(exact)...)
	}
	if c.unrun > 0 {
		s.Right = nil
		s.warnf("the programs of %d answers to LiveCodeBench were not run and count as wrong: exact_match is the least that it can be, "+
			"and the official script is needed for the rest", c.unrun)
	}
}
