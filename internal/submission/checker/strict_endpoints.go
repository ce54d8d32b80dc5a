package checker

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
)

// strictEndpoint judges of a result without LoadGen what the official checker does not look at.
func (c *resultCheck) strictEndpoint() {
	log := c.performance
	if n := len(log.errors); n > 0 {
		c.fail("perf-errors", problem{path: log.path, message: "queries of the run failed", found: str(log.errors[0].Value), wanted: "none"})
	}
	if summary, err := c.readJSON(log.path); err == nil {
		for key, want := range map[string]any{"state": "complete", "complete": true} {
			if v := member(summary, key); v != nil && v != want {
				c.fail("perf-validity", problem{path: log.path, message: "the run did not end: " + key, found: str(v), wanted: str(want)})
			}
		}
	}
	c.strictQueries()
	c.strictScores()
}

// strictQueries wants as many answers as queries, and in closed and network at least as many as the benchmark asks for.
func (c *resultCheck) strictQueries() {
	log := c.performance
	const issuedKey, answeredKey = "generated_query_count", "result_query_count"
	issued, ok := number(log.value(issuedKey))
	if answered, known := number(log.value(answeredKey)); ok && known && answered < issued {
		c.fail("perf-errors", problem{path: log.path, message: "queries were not answered", found: log.show(answeredKey), wanted: log.show(issuedKey)})
	}
	if c.division == "open" {
		return
	}
	if least := c.leastQueries(); !ok || issued < float64(least) {
		c.fail("perf-min-query-count", problem{path: log.path, message: "the run has too few queries", found: log.show(issuedKey),
			wanted: fmt.Sprintf("≥ %d", least)})
	}
}

// leastQueries is the least number of queries: those that SingleStream needs, elsewhere each sample of the data set once.
func (c *resultCheck) leastQueries() int64 {
	scenario := rounds.Scenario(c.scenarioFolder())
	if least, ok := c.rule.MinQueries[scenario]; ok && scenario == "SingleStream" {
		return least
	}
	least := int64(1)
	if c.rule.PerformanceSamples != nil {
		least = *c.rule.PerformanceSamples
	}
	if own, ok := c.rule.AccuracySamples[scenario]; ok { // the scenario has a data set of its own
		least = min(least, own)
	}
	return least
}

// strictScores judges the mean score over all questions of the data sets that are the accuracy.
func (c *resultCheck) strictScores() {
	path := c.accuracy.path
	first := slices.IndexFunc(c.sets, func(s scoredSet) bool { return s.score != nil })
	if first < 0 {
		return // which the check of the accuracy says
	}
	if c.sets[first].inline {
		c.fail("acc-value", problem{path: path,
			message: "the first score is of the performance run, and the official checker reports it as the accuracy",
			found:   str(c.sets[first].score), wanted: "the score of the accuracy run first"})
	}
	sets := slices.DeleteFunc(slices.Clone(c.sets), func(s scoredSet) bool { return s.inline })
	if slices.ContainsFunc(sets, func(s scoredSet) bool { return s.broken }) {
		c.fail("acc-errors", problem{path: path, message: "the accuracy run is not complete, or answers are missing", wanted: "complete true, missing 0"})
	}
	if len(sets) == 0 {
		c.fail("acc-missing", problem{path: path, message: "no score is of the accuracy run", wanted: "an entry of dataset_type accuracy"})
		return
	}
	for i, m := range c.rule.AccuracyOf(c.scenarioFolder()) {
		if m.Name == "GEN_LEN" || m.Name == "TOKENS_PER_SAMPLE" { // not a score
			continue
		}
		if _, byName := sets[0].score.(map[string]any); i > 0 && !byName {
			continue // one number is the first metric
		}
		c.strictScore(path, m, sets)
	}
}

func (c *resultCheck) strictScore(path string, m rounds.Metric, sets []scoredSet) {
	most, target := 100.0, m.Bound
	if rounds.InFractions(c.model) {
		most = 1
		if target > 1 {
			target /= 100
		}
	}
	weighted := !slices.ContainsFunc(sets, func(s scoredSet) bool { return s.samples <= 0 })
	sum, weights := 0.0, 0.0
	for _, set := range sets {
		v, err := strictNumber(set.score, m)
		if err != nil {
			c.fail("acc-number", problem{path: path, message: m.Name + ": " + err.Error(), found: str(set.score), wanted: "a number"})
			return
		}
		if !(0 <= v && v <= most) {
			c.fail("acc-value", problem{path: path, message: m.Name + " is outside its scale", found: formatFloat(v), wanted: fmt.Sprintf("0 to %g", most)})
			return
		}
		weight := 1.0
		if weighted {
			weight = float64(set.samples) / float64(max(1, set.repeats)) // a question that is repeated counts once (eval_mlperf_accuracy.py)
		}
		sum, weights = sum+v*weight, weights+weight
	}
	if mean := sum / weights; c.division != "open" && !(mean >= target) {
		c.fail("acc-target", problem{path: path, message: m.Name + " is below its target", found: formatFloat(mean),
			wanted: fmt.Sprintf("≥ %.12g", target)})
	}
}

// strictNumber is scoreOf for one metric, whose name may be written in any case.
func strictNumber(score any, m rounds.Metric) (float64, error) {
	if score == nil {
		return 0, errors.New("a data set has no score")
	}
	if byName, ok := score.(map[string]any); ok {
		folded := map[string]any{}
		for name, v := range byName {
			folded[strings.ToLower(name)] = v
		}
		score = folded
	}
	return scoreOf(score, []rounds.Metric{m})
}
