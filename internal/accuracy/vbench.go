package accuracy

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// VBenchMetric is the value of a VBenchScore, in percent.
const VBenchMetric = "vbench_score"

// vbenchDimensions are those that count (text_to_video/wan-2.2-t2v-a14b, run_evaluation.py; mlcommons/endpoints, evaluation/scoring.py).
func vbenchDimensions() []string {
	return []string{"subject_consistency", "background_consistency", "motion_smoothness", "dynamic_degree", "appearance_style", "scene"}
}

// VBenchScore is the score of videos by the results of VBench for them, NAME_eval_results.json: an object with a list for each
// dimension, which begins with its score, a share of 1. The score is the plain mean of six dimensions, without VBench's own weights.
func VBenchScore(results []byte, c Coverage) (*Score, error) {
	var all map[string]jsontext.Value
	if err := json.Unmarshal(results, &all); err != nil {
		return nil, fmt.Errorf("not the results of VBench: %w", err)
	}
	var missing []string
	var errs []error
	s, sum := &Score{Coverage: c}, 0.0
	for _, name := range vbenchDimensions() {
		text, ok := all[name]
		if !ok {
			missing = append(missing, name)
			continue
		}
		share, err := dimensionScore(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("dimension %s is %.100s: %w", name, text, err))
		}
		sum += share
		s.Values = append(s.Values, Value{Name: name, Value: 100 * share, Unit: "%"})
	}
	if len(missing) > 0 {
		errs = append(errs, fmt.Errorf("the results have no %s: must be all of %s", strings.Join(missing, ", "), strings.Join(vbenchDimensions(), ", ")))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	score := 100 * (sum / float64(len(vbenchDimensions())))
	s.Values = slices.Insert(s.Values, 0, Value{Name: VBenchMetric, Value: score, Unit: "%"})
	s.printf("{'%s': %s}", VBenchMetric, pytext.Float(score))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(vbenchDimensions(), name) {
			s.warnf("VBench's dimension %s does not count", name)
		}
	}
	return s, nil
}

// dimensionScore reads the list of a dimension.
func dimensionScore(text jsontext.Value) (share float64, err error) {
	var list []jsontext.Value
	if err = json.Unmarshal(text, &list); err == nil && len(list) > 0 {
		err = json.Unmarshal(list[0], &share)
	}
	if err != nil || len(list) == 0 || !(share >= 0 && share <= 1) || math.Signbit(share) {
		return 0, errors.New("must be a list that begins with a share from 0 to 1")
	}
	return share, nil
}
