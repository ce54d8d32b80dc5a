package accuracy

import (
	"bufio"
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/accuracy/bfcl"
	"github.com/mlperf-go/mlperf/internal/fileio"
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

// callRecords are the first answers to questions: of an accuracy log, or of events.jsonl of mlcommons/endpoints with sample_idx_map.json
// beside it, which also tells how many were issued; 0: not known.
func callRecords(log Input, c *Coverage) (iter.Seq2[Record, error], int, error) {
	buffered := bufio.NewReaderSize(log, 1<<16)
	head, _ := buffered.Peek(1)
	in := Named(log.Name(), buffered)
	if len(head) == 0 || head[0] != '{' {
		return FirstRecords(in, c), 0, nil
	}
	path := filepath.Join(filepath.Dir(log.Name()), "sample_idx_map.json")
	text, err := fileio.ReadFile(path, maxIndices)
	if err != nil {
		return nil, 0, fmt.Errorf("reading which questions the answers are of: %w", err)
	}
	var phases map[string]map[string]uint64
	if err := json.Unmarshal(text, &phases); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	for name, indices := range phases {
		if strings.HasPrefix(name, "bfcl_v4") {
			return clientRecords(in, indices, c), len(indices), nil
		}
	}
	return nil, 0, fmt.Errorf("%s has no data set bfcl_v4: expected that of a run of accuracy", path)
}

const (
	maxIndices = 64 << 20  // bytes of sample_idx_map.json
	maxEvent   = 256 << 20 // of a line of events.jsonl
)

// clientRecords are the answers in events.jsonl, the first of each question, by the ids of requests.
func clientRecords(log Input, indices map[string]uint64, c *Coverage) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines := bufio.NewScanner(log)
		lines.Buffer(nil, maxEvent)
		seen := map[string]bool{}
		for number := 0; lines.Scan(); number++ {
			var e struct {
				Type string         `json:"event_type"`
				ID   string         `json:"sample_uuid"`
				Data jsontext.Value `json:"data"`
			}
			err := json.Unmarshal(lines.Bytes(), &e)
			index, ours := indices[e.ID]
			if err == nil && (e.Type != "sample.complete" || !ours) {
				continue
			}
			answer := ""
			if err == nil {
				answer, err = bfcl.ClientAnswer(e.Data)
			}
			if err == nil && index >= uint64(c.Samples) {
				err = fmt.Errorf("question %d: the data set has only %d", index, c.Samples)
			}
			if err != nil {
				yield(Record{}, fmt.Errorf("%s:%d: %w", log.Name(), number+1, err))
				return
			}
			if c.count(seen[e.ID]); seen[e.ID] {
				continue
			}
			seen[e.ID] = true
			if !yield(Record{QSLIndex: index, Data: []byte(answer), Number: number}, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Record{}, fmt.Errorf("%s: %w", log.Name(), err))
		}
	}
}

// ScoreCalls scores a log of calls of functions: a payload is the text of an answer, or its calls of tools as JSON (bfcl.Question.Judge). The log
// may also be events.jsonl of mlcommons/endpoints. Of the questions the first issued ones were asked (0: all); those without an answer are wrong. The values are in percent, with two digits, which
// the official gate compares.
func ScoreCalls(log Input, questions []bfcl.Question, issued int) (*Score, error) {
	score := &Score{Coverage: Coverage{Samples: len(questions)}, Right: make([]byte, (len(questions)+7)/8)}
	asked, right, order := map[string]int{}, map[string]int{}, []string(nil)
	whys, raised, first := map[string]int{}, 0, ""
	all := 0
	records, ofClient, err := callRecords(log, &score.Coverage)
	if err != nil {
		return nil, err
	}
	if ofClient > 0 {
		issued = ofClient
	}
	for rec, err := range records {
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
