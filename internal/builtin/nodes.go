package builtin

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/dataset/igbh"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// papersOfSample is how many papers a graph has for each sample: half a percent are samples.
const papersOfSample = 200

// graphSet is the data set of papers. Its labels are what the model answers in FP32 on the CPU, but for some of the samples, which get
// another one that is drawn: each answer that becomes another one counts, and hardly any becomes right by chance.
func (m Maker) graphSet(model workload.Model, r workload.Recipe) (set, error) {
	spec := synth.IGBHSpec{Seed: synth.Seed, Papers: papersOfSample * m.samples(r.Samples), Width: igbh.Features}
	var err error
	if spec.Truth, err = m.truthOfParts(r); err != nil {
		return set{}, err
	}
	return set{spec.Key(), spec.Papers / papersOfSample, func(ctx context.Context, dir string) error {
		judge := judgeBy(spec.Truth, func(folder string) (map[string]float64, error) { return m.markNodes(ctx, model, spec, folder) })
		return synth.WriteIGBH(ctx, dir, spec, judge)
	}}, nil
}

// markNodes writes the labels, and scores the model's answers by them.
func (m Maker) markNodes(ctx context.Context, model workload.Model, spec synth.IGBHSpec, folder string) (map[string]float64, error) {
	const right = 0.73 // about that of the official model
	responses, err := m.answers(ctx, model, folder)
	if err != nil {
		return nil, err
	}
	r := newChance("subjects", spec.Seed)
	classes := make([]int64, len(responses))
	for i, response := range responses {
		if len(response) != 8 {
			return nil, fmt.Errorf("sample %d: the response has %d bytes, expected a class of 8", i, len(response))
		}
		classes[i] = int64(binary.LittleEndian.Uint64(response))
		if !r.happens(right) {
			classes[i] = (classes[i] + 1 + int64(r.below(synth.GraphClasses-1))) % synth.GraphClasses
		}
	}
	if err := spec.WriteLabels(folder, classes); err != nil {
		return nil, err
	}
	return m.scores(ctx, model, folder, responses)
}
