package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/units"
)

// Quality is the accuracy that the closed division requires.
type Quality struct {
	Metric   string  // a value of the accuracy score: "accuracy"; empty: its first
	Fraction float64 // required part of the official FP32 model's score: 0.99
	// LowerIsBetter says that a score must be at most the reference divided by Fraction.
	LowerIsBetter bool
	// OwnTargets says that Reference, Fraction and Also are those of the rules: the submission checker has a bound that it never
	// compares, which QualityIn makes Unchecked.
	OwnTargets bool
	Unchecked  float64

	// QualityIn takes the rest from the table of the rounds; a benchmark of no round needs its Reference here.
	Reference float64 // score of the official FP32 model
	Target    float64 // 0: the fraction of the reference
	Also      []Bound // further values, with the official model and data
}

// A Bound is a value of a score within bounds.
type Bound struct {
	Metric      string
	Least, Most float64 // 0: no such bound
}

// Keeps reports whether a value is within the bounds.
func (b Bound) Keeps(value float64) bool {
	return (b.Least == 0 || value >= b.Least) && (b.Most == 0 || value <= b.Most)
}

// String describes the bound as rouge2 ≥ 15.75.
func (b Bound) String() string {
	switch {
	case b.Most == 0:
		return b.Metric + " ≥ " + units.Score(b.Least)
	case b.Least == 0:
		return b.Metric + " ≤ " + units.Score(b.Most)
	}
	return fmt.Sprintf("%s ≤ %s ≤ %s", units.Score(b.Least), b.Metric, units.Score(b.Most))
}

// Required is the value that a score must have by that of the reference: that or more, or if LowerIsBetter that or less.
func (q Quality) Required(reference float64) float64 {
	if q.LowerIsBetter {
		return reference / q.Fraction
	}
	return reference * q.Fraction
}

// String is the bound of the metric by the official reference.
func (q Quality) String() string {
	b := Bound{Metric: q.Metric, Least: q.Required(q.Reference)}
	if q.LowerIsBetter {
		b.Least, b.Most = 0, b.Least
	}
	return b.String()
}

// scoreNames are the names of values of scores by those of the submission checker, whose WER is a share of right words.
var scoreNames = map[string]string{
	"acc": "accuracy", "WER": "accuracy", "ACCURACY": "accuracy", "bleu": "BLEU", "F1": "f1", "DICE": "mean",
	"ROUGE1": "rouge1", "ROUGE2": "rouge2", "ROUGEL": "rougeL", "ROUGELSUM": "rougeLsum",
	"GEN_LEN": "gen_len", "TOKENS_PER_SAMPLE": "tokens_per_sample", "gsm8k_accuracy": "gsm8k", "mbxp_accuracy": "mbxp",
	"F1_HIERARCHICAL": "f1", "DLRM_NE": "NE", "DLRM_ACC": "accuracy", "DLRM_AUC": "GAUC", "E2E_ACCURACY": "accuracy",
}

// OfficialSamples returns the sizes of the official data set in a round: those that its checker asks for, or else those of the
// benchmark.
func (m Model) OfficialSamples(rules *config.RuleSet) config.Minima {
	asked, _ := rules.Minima(m.Rules)
	loaded := cmp.Or(asked.PerformanceSamples, uint64(m.PerformanceSampleCount))
	return config.Minima{PerformanceSamples: loaded, AccuracySamples: cmp.Or(asked.AccuracySamples, uint64(m.DatasetSamples), loaded)}
}

// OtherSamples is the limitation by a data set that is not as large as the official one of a round, or, where its checker does not
// ask for a number, smaller; empty: none.
func (m Model) OtherSamples(rules *config.RuleSet, samples int) []limitation.Limitation {
	asked, _ := rules.Minima(m.Rules)
	if official := m.OfficialSamples(rules).AccuracySamples; uint64(samples) < official || asked.AccuracySamples > 0 && uint64(samples) != official {
		return []limitation.Limitation{{ID: limitation.DatasetSize, Value: fmt.Sprint(samples), Want: fmt.Sprint(official)}}
	}
	return nil
}

// QualityIn returns the accuracy that the rules of a version require; if its round does not have the benchmark, that of the
// newest round with it.
func (m Model) QualityIn(version string) Quality {
	q := m.Quality
	model, ok := m.Rules.Asked(version)
	if !ok {
		if model, ok = m.Rules.AskedLast(); !ok {
			return q
		}
	}
	if q.OwnTargets {
		for _, least := range model.AccuracyOf("") {
			q.Unchecked = least.Bound
		}
		return q
	}
	q.Also = slices.Clone(q.Also)
	scenario := ""
	if m.Rules.Interactive {
		scenario = "Interactive"
	}
	for _, least := range model.AccuracyOf(scenario) {
		if name := cmp.Or(scoreNames[least.Name], least.Name); name == q.Metric {
			q.Target = least.Bound
		} else {
			q.Also = append(q.Also, Bound{Metric: name, Least: least.Bound})
		}
	}
	for _, most := range model.Limits {
		name := cmp.Or(scoreNames[most.Name], most.Name)
		if i := slices.IndexFunc(q.Also, func(b Bound) bool { return b.Metric == name }); i >= 0 {
			q.Also[i].Most = most.Bound
		} else {
			q.Also = append(q.Also, Bound{Metric: name, Most: most.Bound})
		}
	}
	// The table has products: the reference is the first factor, of at most ten digits.
	q.Reference, _ = strconv.ParseFloat(strconv.FormatFloat(q.Target/q.Fraction, 'g', 10, 64), 64)
	if q.LowerIsBetter { // the checkers ask for the product here too, backwards
		q.Target = q.Required(q.Reference)
	}
	return q
}
