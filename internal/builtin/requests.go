package builtin

import (
	"context"
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// candidatesOfRequest is how many candidates a request of the built-in data has; the official data have 2048.
const candidatesOfRequest = 64

// requestSet is the data set of requests. Labels are drawn with the chance that the model gives in FP32 on the CPU, made surer: so the
// model is nearly as right as one can be, and all that changes its predictions costs.
func (m Maker) requestSet(model workload.Model, r workload.Recipe) (set, error) {
	spec := synth.RequestSpec{Seed: synth.Seed, Requests: m.samples(r.Samples), Candidates: candidatesOfRequest}
	var err error
	if spec.Truth, err = m.truthOfParts(r); err != nil {
		return set{}, err
	}
	return set{spec.Key(), spec.Requests, func(ctx context.Context, dir string) error {
		judge := judgeBy(spec.Truth, func(folder string) (map[string]float64, error) { return m.markRequests(ctx, model, spec, folder) })
		return synth.WriteRequests(ctx, dir, spec, judge)
	}}, nil
}

// markRequests draws the labels. The score of the model is measured later.
func (m Maker) markRequests(ctx context.Context, model workload.Model, spec synth.RequestSpec, folder string) (map[string]float64, error) {
	const surer = 1.25 // times the logits
	responses, err := m.answers(ctx, model, folder)
	if err != nil {
		return nil, err
	}
	r := newChance("likes", spec.Seed)
	labels := make([][]bool, len(responses))
	for i, response := range responses {
		answer, err := accuracy.ParseRecommendation(response, false)
		if err != nil {
			return nil, fmt.Errorf("sample %d: %w", i, err)
		}
		for _, p := range answer.Predictions {
			logit := math.Log(float64(p)) - math.Log1p(-float64(p))
			labels[i] = append(labels[i], r.happens(1/(1+math.Exp(-surer*logit))))
		}
	}
	return nil, spec.WriteLabels(folder, labels)
}
