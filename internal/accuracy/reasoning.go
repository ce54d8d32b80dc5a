package accuracy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy/grading"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// Reasoning is the wanted answer to a question of a reasoning model.
type Reasoning struct {
	Dataset string // a name that contains one of gpqa, mmlu_pro, math500, aime, livecodebench, mmlu
	Wanted  string // the letter, the number, the formula, or the name of the problem that a program solves
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

// A reasoningSet is a data set, or several, with how its answers are judged.
type reasoningSet struct {
	name  string
	judge func(form ReasoningForm, text, wanted string) bool // nil: by running programs
}

// reasoningSets are the data sets, in the order in which the scripts look for their names.
var reasoningSets = []reasoningSet{
	{"gpqa", sameLetter('D')},
	{"mmlu_pro", sameLetter('J')},
	{"math500", func(_ ReasoningForm, text, wanted string) bool {
		boxed, ok := grading.Boxed(text)
		return ok && boxed != "" && wanted != "" && grading.SameMath(boxed, wanted)
	}},
	{"aime", func(_ ReasoningForm, text, wanted string) bool {
		n, ok := grading.Integer(text)
		want, err := strconv.ParseFloat(pytext.TrimSpace(wanted), 64) // numbers of tables may be 25.0
		return ok && err == nil && float64(n) == want
	}},
	{"livecodebench", nil},
	{"mmlu", sameLetter('J')},
}

func sameLetter(last byte) func(form ReasoningForm, text, wanted string) bool {
	return func(form ReasoningForm, text, wanted string) bool {
		letter := grading.Letter
		if form == HarmonyForm {
			letter = grading.FinalLetter
		}
		c := letter(text, last)
		return c != 0 && strings.EqualFold(string(rune(c)), wanted)
	}
}

// lookupReasoning finds the data set of a name.
func lookupReasoning(name string) (reasoningSet, bool) {
	i := slices.IndexFunc(reasoningSets, func(set reasoningSet) bool { return strings.Contains(strings.ToLower(name), set.name) })
	if i < 0 {
		return reasoningSet{}, false
	}
	return reasoningSets[i], true
}

// IsProgram reports whether a program answers the question.
func (r Reasoning) IsProgram() bool {
	set, ok := lookupReasoning(r.Dataset)
	return ok && set.judge == nil
}

// A setCount counts the answers to a data set.
type setCount struct {
	right, all int
	repeats    int // how often each question is asked
}

// reasoningRepeats are the repeats in the data of gpt-oss-120b (DATASET_REPEATS); others have one.
var reasoningRepeats = map[string]int{"aime25": 8, "gpqa_diamond": 5, "livecodebench_v6": 3}

// ScoreReasoning scores a log as the scripts of deepseek-r1 and gpt-oss-120b do. A program that answers a
// question of LiveCodeBench has the question's name as its ID. Without Execute programs count as wrong,
// so that exact_match is a lower bound. The values are "exact_match" in percent and "tokens_per_sample".
func ScoreReasoning(ctx context.Context, log Input, wanted []Reasoning, decode Decoder, form ReasoningForm, o ProgramOptions) (*Score, error) {
	score := &Score{Coverage: Coverage{Samples: len(wanted)}, Right: make([]byte, (len(wanted)+7)/8)}
	sets, names := map[string]*setCount{}, []string(nil) // names in the order of the log
	var programs []Program
	var asked []uint64 // the samples of the programs
	right, tokens := 0, 0
	pass := func(sample uint64) {
		right++
		sets[wanted[sample].Dataset].right++
		setBit(score.Right, sample)
	}
	for rec, err := range tokenRecords(ctx, log, o.DType, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		text, err := decode(rec.ids)
		if err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
		want := wanted[rec.QSLIndex]
		set, ok := lookupReasoning(want.Dataset)
		if !ok {
			return nil, rec.errorf(log,
				"answers to the data set %q cannot be judged: expected gpqa, mmlu_pro, math500, aime, livecodebench or mmlu in its name", want.Dataset)
		}
		if sets[want.Dataset] == nil {
			sets[want.Dataset] = &setCount{repeats: cmp.Or(reasoningRepeats[want.Dataset], 1)}
			names = append(names, want.Dataset)
		}
		sets[want.Dataset].all++
		tokens += len(rec.ids)
		switch {
		case set.judge == nil:
			code := grading.Code(text)
			if form == HarmonyForm {
				code = grading.FinalCode(text)
			}
			programs = append(programs, Program{Language: "python", ID: want.Wanted, Code: code})
			asked = append(asked, rec.QSLIndex)
		case set.judge(form, text, want.Wanted):
			pass(rec.QSLIndex)
		}
	}
	if o.Execute != nil {
		passed, err := o.execute(ctx, programs)
		if err != nil {
			return nil, err
		}
		for i, ok := range passed {
			if ok {
				pass(asked[i])
			}
		}
	} else if len(programs) > 0 {
		score.Right = nil
		score.warnf("the programs of %d answers to LiveCodeBench were not run and count as wrong: exact_match is a lower bound", len(programs))
	}
	all := score.Coverage.Scored
	exact, perSample := 100*float64(right)/float64(all), float64(tokens)/float64(all)
	if form == HarmonyForm {
		exact = score.printRepeats(sets, names)
	} else {
		score.results([]string{"'exact_match': " + pytext.Float(exact), "'tokens_per_sample': " + pytext.Float(perSample),
			fmt.Sprintf("'num-samples': %d", all)})
	}
	score.Values = []Value{{Name: "exact_match", Value: exact, Unit: "%"}, {Name: "tokens_per_sample", Value: perSample}}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		c := sets[name]
		score.Sets = append(score.Sets, Set{Name: name, Score: float64(c.right) / float64(c.all), Samples: c.all, Repeats: c.repeats})
	}
	return score, nil
}

// printRepeats prints what eval_mlperf_accuracy.py of gpt-oss-120b prints, and returns its score in percent:
// the answers to a question that is repeated count once together.
func (s *Score) printRepeats(sets map[string]*setCount, names []string) (exact float64) {
	right, points, most := 0, 0.0, 0.0
	for _, name := range names {
		c := sets[name]
		right += c.right
		points += float64(c.right) / float64(c.repeats)
		most += float64(c.all) / float64(c.repeats)
	}
	exact = points / most * 100
	all, double, single := s.Coverage.Scored, strings.Repeat("=", 80), strings.Repeat("-", 80)
	s.Lines = append(s.Lines,
		"", double, "MLPerf Accuracy Evaluation Results", double,
		fmt.Sprintf("Total samples evaluated: %d", all),
		fmt.Sprintf("Overall raw accuracy: %.2f%% (%d/%d)", 100*float64(right)/float64(all), right, all),
		double, "", "Per-Dataset Breakdown:", single,
		fmt.Sprintf("%-25s %8s %8s %8s %10s %10s", "Dataset", "Correct", "Total", "Repeats", "Score", "Accuracy"), single)
	var formula, rights, scores, totals []string
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		c := sets[name]
		s.printf("%-25s %8d %8d %8d %10.2f %9.2f%%", name, c.right, c.all, c.repeats, float64(c.right)/float64(c.repeats),
			100*float64(c.right)/float64(c.all))
		formula = append(formula, fmt.Sprintf("%s/%d", name, c.repeats))
		rights = append(rights, fmt.Sprintf("%d/%d", c.right, c.repeats))
		scores = append(scores, fmt.Sprintf("%.2f", float64(c.right)/float64(c.repeats)))
		totals = append(totals, fmt.Sprintf("%d/%d", c.all, c.repeats))
	}
	sum := func(parts []string) string { return strings.Join(parts, " + ") }
	s.Lines = append(s.Lines,
		double, "", "Final Score Calculation:", single,
		"Formula: "+sum(formula), "Score:   = "+sum(rights), "         = "+sum(scores), fmt.Sprintf("         = %.2f", points),
		"Max:     = "+sum(totals), fmt.Sprintf("         = %.2f", most),
		"", fmt.Sprintf("FINAL SCORE: %.2f%% (%.2f/%.2f)", exact, points, most), double,
		"", "", "Printing for submission_checker:", "", fmt.Sprintf("'exact_match': %.3f", exact))
	return exact
}
