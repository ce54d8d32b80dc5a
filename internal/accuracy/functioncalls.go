package accuracy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy/bfcl"
	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// A Breakdown has the shares of right answers of the Berkeley Function Calling Leaderboard in percent, with two digits (bfcl_v4_scorer.py).
type Breakdown struct {
	Overall    float64            `json:"overall_accuracy"`             // of all samples
	Normalized float64            `json:"normalized_single_turn_score"` // mean of the categories
	Categories map[string]float64 `json:"category_scores"`
	Subsets    map[string]float64 `json:"subset_scores"`
	Unscored   map[string]float64 `json:"unscored_subsets"` // in no category
	Completed  int                `json:"total_samples"`
	Issued     int                `json:"issued_samples"`
}

// A callCategory is a category of subsets, and how its score follows from theirs.
type callCategory struct {
	name    string
	subsets []string
	mean    func(shares map[string]float64, issued map[string]int, present []string) float64
}

// callCategories are the categories of a single turn, in the scorer's order.
var callCategories = []callCategory{
	{"non_live", []string{"simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple"}, meanOfKinds},
	{"live", []string{"live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"}, meanOfSamples},
	{"hallucination", []string{"irrelevance", "live_irrelevance"}, meanOfSubsets},
}

// meanOfKinds counts the three simple subsets as one.
func meanOfKinds(shares map[string]float64, _ map[string]int, present []string) float64 {
	var simple, all []float64
	for _, name := range present {
		if strings.HasPrefix(name, "simple_") {
			simple = append(simple, shares[name])
		} else {
			all = append(all, shares[name])
		}
	}
	if simple != nil {
		all = slices.Insert(all, 0, meanOf(simple))
	}
	return meanOf(all)
}

func meanOfSamples(shares map[string]float64, issued map[string]int, present []string) float64 {
	sum, all := 0.0, 0
	for _, name := range present {
		sum, all = sum+shares[name]*float64(issued[name]), all+issued[name]
	}
	return sum / float64(all)
}

func meanOfSubsets(shares map[string]float64, _ map[string]int, present []string) float64 {
	var list []float64
	for _, name := range present {
		list = append(list, shares[name])
	}
	return meanOf(list)
}

func meanOf(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(len(list))
}

// OverallCalls and NormalizedCalls are the values of ScoreCalls that have targets.
const (
	OverallCalls    = "overall_accuracy"
	NormalizedCalls = "normalized_single_turn_score"
)

// ScoreCalls scores a log of calls of functions: a payload is the text of an answer, or its calls of tools as JSON (bfcl.Question.Judge). Of the
// questions the first issued ones were asked (0: all); those without an answer are wrong. The values are in percent, with two digits, which
// the official gate compares.
func ScoreCalls(log Input, questions []bfcl.Question, issued int) (*Score, error) {
	score := &Score{Coverage: Coverage{Samples: len(questions)}, Right: make([]byte, (len(questions)+7)/8)}
	asked, right, order := map[string]int{}, map[string]int{}, []string(nil)
	whys, raised, first := map[string]int{}, 0, ""
	all := 0
	for rec, err := range FirstRecords(log, &score.Coverage) {
		if err != nil {
			return nil, err
		}
		q := &questions[rec.QSLIndex]
		v := q.Judge(string(rec.Data))
		if v.Right {
			all++
			right[q.Subset]++
			setBit(score.Right, rec.QSLIndex)
		} else {
			whys[v.Why]++
		}
		if v.Raises {
			if raised++; raised == 1 {
				first = fmt.Sprintf("%s: %s", q.ID, v.Why)
			}
		}
	}
	if score.Coverage.Scored == 0 {
		return nil, errNoRecord(log)
	}
	if issued == 0 || issued > len(questions) {
		issued = len(questions)
	}
	issued = max(issued, score.Coverage.Scored)
	for i := range questions[:issued] {
		subset := questions[i].Subset
		if asked[subset]++; asked[subset] == 1 {
			order = append(order, subset)
		}
	}
	shares := map[string]float64{}
	for name, n := range asked {
		shares[name] = float64(right[name]) / float64(n)
	}
	overall := float64(all) / float64(issued)
	b := &Breakdown{Overall: percent(overall), Categories: map[string]float64{}, Subsets: map[string]float64{}, Unscored: map[string]float64{},
		Completed: score.Coverage.Scored, Issued: issued}
	var categories []float64
	for _, c := range callCategories {
		present := slices.DeleteFunc(slices.Clone(c.subsets), func(name string) bool { return asked[name] == 0 })
		if len(present) > 0 {
			mean := c.mean(shares, asked, present)
			categories, b.Categories[c.name] = append(categories, mean), percent(mean)
		}
	}
	for name, share := range shares {
		b.Subsets[name] = percent(share)
		if !slices.ContainsFunc(callCategories, func(c callCategory) bool { return slices.Contains(c.subsets, name) }) {
			b.Unscored[name] = percent(share)
		}
	}
	if categories != nil {
		b.Normalized = percent(meanOf(categories))
	}
	score.Breakdown = b
	score.Values = []Value{{Name: OverallCalls, Value: b.Overall, Unit: "%"}, {Name: NormalizedCalls, Value: b.Normalized, Unit: "%"}}
	score.printBreakdown(overall, order)
	if raised > 0 {
		score.warnf("%d answers would end the official scorer with an exception, and count as wrong (the first: %s)", raised, first)
	}
	if len(whys) > 0 {
		var list []string
		for _, why := range slices.SortedFunc(maps.Keys(whys), func(a, b string) int {
			if whys[a] != whys[b] {
				return whys[b] - whys[a]
			}
			return strings.Compare(a, b)
		}) {
			list = append(list, fmt.Sprintf("%d %s", whys[why], why))
		}
		score.warnf("wrong answers by the checker's error_type: %s", strings.Join(list, ", "))
	}
	return score, nil
}

func percent(share float64) float64 { return pytext.Round(share*100, 2) }

// printBreakdown prints the score as the client logs it, and its breakdown as accuracy_results.json has it.
func (s *Score) printBreakdown(overall float64, order []string) {
	b := s.Breakdown
	object := func(name string, values map[string]float64, order []string) {
		var lines []string
		for _, key := range order {
			if v, ok := values[key]; ok {
				lines = append(lines, fmt.Sprintf("    %q: %s", key, pytext.Float(v)))
			}
		}
		if lines == nil {
			s.printf("  %q: {},", name)
			return
		}
		s.printf("  %q: {", name)
		s.Lines = append(s.Lines, strings.Split(strings.Join(lines, ",\n"), "\n")...)
		s.printf("  },")
	}
	s.printf("Score for bfcl_v4::function_calling: %s (1 repeats, complete=True)", pytext.Float(overall))
	s.printf("{")
	s.printf("  %q: %s,", OverallCalls, pytext.Float(b.Overall))
	s.printf("  %q: %s,", NormalizedCalls, pytext.Float(b.Normalized))
	var names []string
	for _, c := range callCategories {
		names = append(names, c.name)
	}
	object("category_scores", b.Categories, names)
	object("subset_scores", b.Subsets, order)
	object("unscored_subsets", b.Unscored, order)
	s.printf(`  "total_samples": %d,`, b.Completed)
	s.printf(`  "issued_samples": %d`, b.Issued)
	s.printf("}")
}
