package accuracy

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy/grading"
	"github.com/mlperf-go/mlperf/internal/accuracy/pytext"
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

// ScoreReasoning scores a log as the scripts of deepseek-r1 and gpt-oss-120b do. A program that answers a
// question of LiveCodeBench has the question's name as its ID. Without Execute programs count as wrong,
// so that exact_match is the least that it can be.
func ScoreReasoning(ctx context.Context, log Input, wanted []Reasoning, decode Decoder, form ReasoningForm, o ProgramOptions) (*ReasoningScore, error) {
	if decode == nil {
		return nil, errNoDecoder
	}
	score := &ReasoningScore{Score{Coverage: Coverage{Samples: len(wanted)}, Right: make([]byte, (len(wanted)+7)/8)}}
	count := reasoningCount{form: form, marks: score.Right, sets: map[string]*reasonedSet{}}
	for rec, err := range tokenTexts(ctx, log, o.DType, &score.Coverage, decode) {
		if err != nil {
			return nil, err
		}
		if err := count.add(rec, wanted[rec.QSLIndex]); err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
	}
	if err := count.execute(ctx, o); err != nil {
		return nil, err
	}
	score.describe(&count)
	if count.unrun > 0 {
		score.Right = nil
		score.warnf("the programs of %d answers to LiveCodeBench were not run and count as wrong: exact_match is the least that it can be", count.unrun)
	}
	return score, nil
}

// A reasoningSet is a data set, or several, with how its answers are judged.
type reasoningSet struct {
	name  string
	judge func(form ReasoningForm, said, wanted string) bool
}

// reasoningSets are the data sets, in the order in which the scripts look for their names.
var reasoningSets = []reasoningSet{
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
	{"livecodebench", nil}, // by running it
	{"mmlu", sameLetter('J')},
}

// lookupReasoning finds the data set of a name.
func lookupReasoning(name string) (reasoningSet, bool) {
	name = strings.ToLower(name)
	for _, set := range reasoningSets {
		if strings.Contains(name, set.name) {
			return set, true
		}
	}
	return reasoningSet{}, false
}

// IsProgram reports whether a program answers the question.
func (r Reasoning) IsProgram() bool {
	set, ok := lookupReasoning(r.Dataset)
	return ok && set.judge == nil
}

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
	form               ReasoningForm
	right, all, tokens int
	marks              []byte                  // as in Score.Right
	sets               map[string]*reasonedSet // by their names in the data
	order              []string                // of the names, as the log has them
	programs           []Program
	asked              []reasonedProgram // whose the programs are
	unrun              int               // programs that nobody wanted to be run
}

// A reasonedSet is what is counted of a data set.
type reasonedSet struct{ right, all int }

// A reasonedProgram is a question that a program answers.
type reasonedProgram struct {
	index uint64
	set   string
}

// repeats is how often each question of a data set is asked.
func repeats(name string) int { return cmp.Or(reasoningRepeats[name], 1) }

// add counts an answer, a program as a wrong one.
func (c *reasoningCount) add(rec tokenText, want Reasoning) error {
	set, ok := lookupReasoning(want.Dataset)
	if !ok {
		return fmt.Errorf("nobody knows how to judge answers to the data set %q", want.Dataset)
	}
	if c.sets[want.Dataset] == nil {
		c.sets[want.Dataset] = &reasonedSet{}
		c.order = append(c.order, want.Dataset)
	}
	c.sets[want.Dataset].all++
	c.all, c.tokens = c.all+1, c.tokens+len(rec.ids)
	switch {
	case set.judge == nil:
		c.programs = append(c.programs, Program{Language: "python", ID: want.Wanted, Code: c.form.program(rec.text)})
		c.asked = append(c.asked, reasonedProgram{rec.QSLIndex, want.Dataset})
	case set.judge(c.form, rec.text, want.Wanted):
		c.pass(rec.QSLIndex, want.Dataset)
	}
	return nil
}

// program is the program in an answer; empty: there is none.
func (f ReasoningForm) program(text string) string {
	if f == HarmonyForm {
		return grading.FinalCode(text)
	}
	return grading.Code(text)
}

// execute runs the programs, if that is wanted, and counts those that pass.
func (c *reasoningCount) execute(ctx context.Context, o ProgramOptions) error {
	if o.Execute == nil {
		c.unrun = len(c.programs)
		return nil
	}
	passed, err := o.execute(ctx, c.programs)
	for i, ok := range passed {
		if ok {
			c.pass(c.asked[i].index, c.asked[i].set)
		}
	}
	return err
}

// pass counts an answer as right.
func (c *reasoningCount) pass(index uint64, set string) {
	c.right++
	c.sets[set].right++
	setBit(c.marks, index)
}

// points are the right answers, and all of them, where those to a question that is repeated count once together.
func (c *reasoningCount) points() (right, most float64) {
	for _, name := range c.order {
		right += float64(c.sets[name].right) / float64(repeats(name))
		most += float64(c.sets[name].all) / float64(repeats(name))
	}
	return right, most
}

func (s *ReasoningScore) describe(c *reasoningCount) {
	exact, perSample := 100*float64(c.right)/float64(c.all), float64(c.tokens)/float64(c.all)
	if c.form == HarmonyForm {
		points, most := c.points()
		exact = points / most * 100
	}
	s.Values = []Value{{Name: "exact_match", Value: exact, Unit: "%"}, {Name: "tokens_per_sample", Value: perSample}}
	if c.form == DeepSeekForm {
		s.Score.results([]string{"'exact_match': " + pytext.Float(exact), "'tokens_per_sample': " + pytext.Float(perSample), fmt.Sprintf("'num-samples': %d", c.all)})
	} else {
		s.Lines = append(s.Lines, c.table(exact)...)
	}
}
