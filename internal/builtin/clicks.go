package builtin

import (
	"context"
	"encoding/binary"
	"math"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/builtin/arch"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// meanRun is how many pairs a sample has on average.
const meanRun = 270

// multiHotSet is the data set of DLRM-v2, the other than that of DLRM.
const multiHotSet = "criteo-multihot"

// clickSet is the data set of user-item pairs. Its labels are drawn with the chance that the
// model gives in FP32 on the CPU: so the model is as right as one can be, which is far
// from always.
func (m Maker) clickSet(model workload.Model, r workload.Recipe) (set, error) {
	rows := m.options(r.Parts[0]).Rows
	if rows == 0 {
		a, err := arch.Lookup(r.Parts[0].Architecture)
		if err != nil {
			return set{}, err
		}
		rows = a.Rows
	}
	spec := synth.CriteoSpec{Seed: 1, Pairs: meanRun * m.samples(r.Samples), Rows: arch.DLRMRows(rows)}
	if model.Dataset == multiHotSet {
		spec.Rows, spec.Hot = arch.DLRMv2Rows(rows), arch.DLRMv2Hot()
	}
	if m.Engine != nil {
		path, err := m.partsPath(r)
		if err != nil {
			return set{}, err
		}
		spec.Truth = filepath.Base(path)
	}
	return set{spec.Key(), func(ctx context.Context, dir string) error {
		var judge synth.Judge
		if m.Engine != nil {
			judge = func(folder string) (map[string]float64, error) { return m.markClicks(ctx, model, spec, folder) }
		}
		return synth.WriteCriteo(ctx, dir, spec, judge)
	}}, nil
}

// markClicks draws the labels. The score of the model is measured later.
func (m Maker) markClicks(ctx context.Context, model workload.Model, spec synth.CriteoSpec, folder string) (map[string]float64, error) {
	responses, err := m.answers(ctx, model, folder)
	if err != nil {
		return nil, err
	}
	r := newChance("clicks", spec.Seed)
	var labels []bool
	for _, response := range responses {
		for i := 0; i < len(response); i += 8 {
			p := math.Float32frombits(binary.LittleEndian.Uint32(response[i:]))
			labels = append(labels, r.happens(float64(p)))
		}
	}
	return nil, spec.WriteLabels(folder, labels)
}
