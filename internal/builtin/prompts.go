package builtin

import (
	"context"
	"encoding/binary"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// The data sets of prompts.
const (
	articlePrompts = "cnn_dailymail"
	orcaPrompts    = "open-orca"
	mixedPrompts   = "mixtral"
)

// promptSet is the data set of prompts. Its targets are what the model answers in FP32 on the CPU,
// with half of the words replaced: so the model is as right as one can be, and every word
// that it says otherwise counts.
func (m Maker) promptSet(model workload.Model, r workload.Recipe) (set, error) {
	a, err := m.architecture(r.Parts[0])
	if err != nil {
		return set{}, err
	}
	rows := a.Rows
	if o := m.options(r.Parts[0]); o.Rows != 0 {
		rows = o.Rows
	}
	spec := synth.PromptSpec{Seed: 1, Prompts: m.samples(r.Samples), Tokens: int(rows), Mixed: model.Dataset == mixedPrompts}
	if m.Engine != nil && !m.FullSize {
		path, err := m.partsPath(r)
		if err != nil {
			return set{}, err
		}
		spec.Truth = filepath.Base(path) + " " + model.Dataset // which says how long answers are
	}
	return set{spec.Key(), func(ctx context.Context, dir string) error {
		var judge synth.Judge
		if spec.Truth != "" {
			judge = func(folder string) (map[string]float64, error) {
				return m.markPrompts(ctx, model, spec, r.TokenBytes, folder)
			}
		}
		return synth.WritePrompts(ctx, dir, spec, judge)
	}}, nil
}

// markPrompts writes the targets, and scores the model's answers by them.
func (m Maker) markPrompts(ctx context.Context, model workload.Model, spec synth.PromptSpec, width int, folder string) (map[string]float64, error) {
	responses, err := m.answers(ctx, model, folder)
	if err != nil {
		return nil, err
	}
	said := make([][]int32, len(responses))
	for i, response := range responses {
		var answer []int32
		for at := 0; at+width <= len(response); at += width {
			answer = append(answer, int32(binary.LittleEndian.Uint32(response[at:])))
		}
		said[i] = spec.Disturbed(i, answer)
	}
	if err := spec.WriteTargets(folder, said); err != nil {
		return nil, err
	}
	return m.scores(ctx, model, folder, responses)
}
