package accuracy

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
	"github.com/mlperf-go/mlperf/internal/units"
)

// The values of ScoreJudged, in percent. JudgedAnswers counts as accuracy_eval.py of e2e-rag does, TrueAnswers only replies whose field is true.
const (
	JudgedAnswers = "accuracy"
	TrueAnswers   = "accuracy_true"
)

// A Judged is an answer with the reply of its judge, and the pages that were found and wanted for it.
type Judged struct {
	Index         int
	Answer, Reply string
	Found, Wanted []string
}

// A Verdict is what the reply of a judge says. accuracy_eval.py takes any value of the field that Python takes as true, also the text "false".
type Verdict struct {
	Right bool // as accuracy_eval.py counts it
	True  bool // the field is true, or the number 1
	Fault string
}

// space is \s of Python's regular expressions.
const space = `[\s\x0b\x1c-\x1f\x{85}\p{Z}]*`

var fence = regexp.MustCompile("(?s)```(?:json)?" + space + "\n?(.*?)\n?```")

// ObjectInReply is what e2e-rag takes as the JSON object in the reply of a model: in its first fenced block, if it has one, the text from the first
// opening to the last closing brace.
func ObjectInReply(reply string) (string, bool) {
	if m := fence.FindStringSubmatch(reply); m != nil {
		reply = m[1]
	}
	return BracesIn(reply)
}

// BracesIn is the text from the first opening to the last closing brace.
func BracesIn(text string) (string, bool) {
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from {
		return "", false
	}
	return text[from : to+1], true
}

// VerdictOf reads the reply of a judge (accuracy_eval.py, call_judge).
func VerdictOf(reply string) Verdict {
	text, ok := ObjectInReply(reply)
	if !ok {
		return Verdict{Fault: "it has no JSON"}
	}
	v, err := pytext.ParseJSON(text)
	if err != nil {
		return Verdict{Fault: err.Error()}
	}
	correct := v.(map[string]any)["correct"] // the text begins with a brace
	return Verdict{Right: pytext.Truth(correct), True: correct == true || correct == 1.0}
}

// ScoreJudged scores answers as accuracy_eval.py of e2e-rag does: the share of those that the judge calls right, and the mean precision, recall
// and F1 of the pages.
func ScoreJudged(list []Judged, c Coverage) (*Score, error) {
	if len(list) == 0 {
		return nil, errors.New("the log has no answer to a question of the data set")
	}
	score := &Score{Coverage: c, Right: make([]byte, (c.Samples+7)/8)}
	var sum Overlap
	at := map[string]float64{}
	right, sure, faults := 0, 0, 0
	for _, j := range list {
		v := VerdictOf(j.Reply)
		if v.Right {
			right++
			setBit(score.Right, uint64(j.Index))
		}
		if v.True {
			sure++
		}
		if v.Fault != "" {
			faults++
		}
		o := OverlapOf(j.Found, j.Wanted)
		sum.Precision, sum.Recall, sum.F1 = sum.Precision+o.Precision, sum.Recall+o.Recall, sum.F1+o.F1
		for name, v := range RetrievalOf(j.Wanted, j.Found) {
			at[name] += v
		}
	}
	n := float64(len(list))
	percent := func(count int) float64 { return 100 * float64(count) / n }
	score.Values = []Value{
		{Name: JudgedAnswers, Value: percent(right), Unit: "%"}, {Name: TrueAnswers, Value: percent(sure), Unit: "%"},
		{Name: "retrieval_precision", Value: sum.Precision / n}, {Name: "retrieval_recall", Value: sum.Recall / n}, {Name: "retrieval_f1", Value: sum.F1 / n},
	}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		score.Values = append(score.Values, Value{Name: name, Value: at[name] / n})
	}
	score.warnf("accuracy_eval.py also tells: precision %.3f, recall %.3f, F1 %.3f of the pages", sum.Precision/n, sum.Recall/n, sum.F1/n)
	if right != sure {
		score.warnf("%d replies of the judge are not true and count as right in accuracy_eval.py, as the text \"false\"; by true alone the accuracy is %s %%",
			right-sure, units.Score(percent(sure)))
	}
	if faults > 0 {
		score.warnf("%d of %d replies of the judge cannot be read and count as wrong", faults, len(list))
	}
	score.printf("Accuracy: %.4f", percent(right))
	return score, nil
}

// An Overlap compares the pages that were found with those that were wanted, both as sets (accuracy_eval.py, calculate_retrieval_metrics).
type Overlap struct{ Precision, Recall, F1 float64 }

// OverlapOf compares pages. All is 0 where none were wanted.
func OverlapOf(found, wanted []string) (o Overlap) {
	f, w := set(found), set(wanted)
	both := common(f, w)
	if len(w) == 0 {
		return o
	}
	if len(f) > 0 {
		o.Precision = float64(both) / float64(len(f))
	}
	o.Recall = float64(both) / float64(len(w))
	o.F1 = harmonic(o.Precision, o.Recall)
	return o
}

// RetrievalOf are precision, recall and F1 of the first 1, 3, 5, 10 and all pages, and the average precision (evaluation.py,
// calculate_retrieval_metrics), by their names there. Those of all are called N, also where all are 1, 3, 5 or 10. Without wanted pages precision is
// 1 if none were found. Doubled pages count twice, except among the first so many, which are a set.
func RetrievalOf(wanted, found []string) map[string]float64 {
	w, values := set(wanted), map[string]float64{}
	for url := range w {
		if pytext.TrimSpace(url) == "" {
			delete(w, url)
		}
	}
	add := func(at string, precision, recall, f1 float64) {
		values["precision@"+at], values["recall@"+at], values["f1@"+at] = precision, recall, f1
	}
	counts := []int{1, 3, 5, 10}
	if len(w) == 0 {
		none := 0.0
		if len(found) == 0 {
			none = 1
		}
		for _, k := range counts {
			add(strconv.Itoa(k), none, 1, none)
		}
		values[averagePrecision] = none
		return values
	}
	for _, k := range append(counts, len(found)) {
		at := strconv.Itoa(k)
		if k == len(found) {
			at = "N"
		}
		both := common(set(found[:min(k, len(found))]), w)
		precision, recall := float64(both)/float64(max(k, 1)), float64(both)/float64(len(w))
		add(at, precision, recall, harmonic(precision, recall))
	}
	sum, right := 0.0, 0
	for i, url := range found {
		if w[url] {
			right++
			sum += float64(right) / float64(i+1)
		}
	}
	values[averagePrecision] = sum / float64(len(w))
	return values
}

const averagePrecision = "average_precision"

func set(list []string) map[string]bool {
	s := map[string]bool{}
	for _, v := range list {
		s[v] = true
	}
	return s
}

// common is the number of pages in both.
func common(a, b map[string]bool) (n int) {
	for url := range a {
		if b[url] {
			n++
		}
	}
	return n
}

// harmonic is the harmonic mean of a precision and a recall, F1; 0 if both are 0.
func harmonic(precision, recall float64) float64 {
	if precision+recall <= 0 {
		return 0
	}
	return 2 * (precision * recall) / (precision + recall)
}
