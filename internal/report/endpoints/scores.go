package endpoints

import (
	"io"
	"math"
	"math/bits"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/report"
)

// A scores is accuracy_results.json (commands/benchmark/accuracy.py, write_accuracy_results).
type scores struct {
	Average *float64 `json:"average_accuracy,omitempty"` // plain mean over the data sets; absent: the scores are not numbers
	Sets    []scored `json:"accuracy_scores"`
}

// A scored is the score of a data set (score_accuracy). Samples are unit_samples times num_repeats.
type scored struct {
	Dataset     string    `json:"dataset_name"`
	Extractor   *string   `json:"extractor"`
	GroundTruth *string   `json:"ground_truth_column"`
	Score       any       `json:"score"` // a number, or of ROUGE texts by name
	Units       int       `json:"unit_samples"`
	Repeats     int       `json:"num_repeats"`
	Samples     int       `json:"total_samples"`
	Seconds     float64   `json:"duration_s"`
	Complete    bool      `json:"complete"`
	Type        string    `json:"dataset_type"`
	Breakdown   any       `json:"breakdown,omitempty"` // a *breakdown, or that of calls of functions
	Counts      responses `json:"response_counts"`
	Lengths     Series    `json:"output_sequence_lengths,omitzero"`
}

// A breakdown has the scores of the parts of a data set (evaluation/accuracy_results.py, build_breakdown).
type breakdown struct {
	Subsets map[string]float64 `json:"subset_scores"` // in percent, with two decimals
	Samples int                `json:"total_samples"`
}

// responses counts the answers of a data set. Issued is the sum of the others.
type responses struct {
	Issued  int `json:"issued"`
	Scored  int `json:"scored"`
	Empty   int `json:"empty"`
	Missing int `json:"missing"`
}

// The types of data sets.
const (
	accuracyType    = "accuracy"
	performanceType = "performance"
)

// WriteScores writes accuracy_results.json of a run of accuracy. The benchmark is named as the round calls it, which decides the scale
// of scores. The tally may be nil, for a run that has ended: lengths of answers are left out then.
//
// A replay of recorded conversations, of the run of performance, has an entry behind the others: the checker takes the first one.
func WriteScores(w io.Writer, benchmark string, r *report.Results, replay *report.Replay, t *tally) error {
	a := r.Accuracy
	missing := 0
	if a.Partial {
		missing = max(0, r.Input.Samples-int(a.Samples))
	}
	one := scored{
		Dataset: benchmark, Score: scoreOf(benchmark, r.Rules, a), Units: int(a.Samples) + missing, Repeats: 1, Complete: !a.Partial, Type: accuracyType,
		Counts: responses{Issued: int(a.Samples) + missing, Scored: int(a.Samples), Missing: missing},
	}
	for _, p := range r.Phases {
		if p.Name == "traffic" {
			one.Seconds = math.Round(p.Seconds*1000) / 1000
		}
	}
	if t != nil && len(t.output) > 0 {
		one.Lengths = newSeries(t.output, false)
	}
	list := []scored{one}
	switch {
	case len(a.Sets) > 1 && rounds.InFractions(benchmark): // each is a data set of its own
		list = nil
		for _, set := range a.Sets {
			each := one
			each.Dataset, each.Score, each.Lengths = set.Name, set.Score, Series{}
			each.Units, each.Repeats = set.Samples/max(1, set.Repeats), max(1, set.Repeats)
			each.Counts = responses{Issued: set.Samples, Scored: set.Samples}
			list = append(list, each)
		}
		last := &list[len(list)-1] // which data set answers are missing of is not known
		last.Counts.Issued, last.Counts.Missing = last.Counts.Issued+missing, missing
	case len(a.Sets) > 1:
		b := &breakdown{Subsets: map[string]float64{}, Samples: int(a.Samples)}
		for _, set := range a.Sets {
			b.Subsets[set.Name] = math.Round(1e4*set.Score) / 100
		}
		list[0].Breakdown = b
	case a.Breakdown != nil:
		extractor, truth := "FunctionCallExtractor", "ground_truth"
		list[0].Dataset, list[0].Breakdown, list[0].Extractor, list[0].GroundTruth = "bfcl_v4::function_calling", a.Breakdown, &extractor, &truth
		if n := a.Breakdown.Issued; len(a.Right) > 0 && n > 0 { // all digits
			right := 0
			for _, b := range a.Right {
				right += bits.OnesCount8(b)
			}
			list[0].Score = float64(right) / float64(n)
		}
	}
	if replay != nil {
		inline := scored{Dataset: performanceType, Score: replay.Score, Units: replay.Issued, Repeats: 1, Complete: replay.Missing == 0, Type: performanceType,
			Counts: responses{Issued: replay.Issued, Scored: replay.Issued - replay.Missing, Missing: replay.Missing}}
		list = append(list, inline)
	}
	all := scores{Sets: list}
	sum, numbers := 0.0, 0
	for i := range list {
		list[i].Samples = list[i].Units * list[i].Repeats
		if v, ok := list[i].Score.(float64); ok && list[i].Type == accuracyType {
			sum, numbers = sum+v, numbers+1
		}
	}
	if numbers > 0 {
		mean := sum / float64(numbers)
		all.Average = &mean
	}
	return indented(w, all)
}

// rougeNames are those of RougeScorer for the metrics of the rounds.
var rougeNames = map[string]string{"ROUGE1": "rouge1", "ROUGE2": "rouge2", "ROUGEL": "rougeL", "ROUGELSUM": "rougeLsum", "GEN_LEN": "gen_len"}

// scoreOf is the score of a benchmark in the program's scale: a number, or the texts of ROUGE by name.
func scoreOf(benchmark, rules string, a *report.Accuracy) any {
	if round, err := rounds.Find(rules); err == nil && strings.HasPrefix(strings.ToLower(a.Metric), "rouge") {
		byName := map[string]string{}
		for _, m := range round.Model(benchmark).AccuracyOf("") {
			for _, line := range a.Lines {
				if text, ok := rounds.Match(m.Name, line); ok && rougeNames[m.Name] != "" {
					byName[rougeNames[m.Name]] = text
				}
			}
		}
		if len(byName) > 0 {
			return byName
		}
	}
	if a.Endpoints != nil {
		return *a.Endpoints
	}
	if rounds.InFractions(benchmark) && a.Unit == "%" {
		return a.Value / 100
	}
	return a.Value
}
