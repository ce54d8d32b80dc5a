package vision

import (
	"strconv"
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// replies keeps what a predictor answers.
type replies map[int][]byte

func (r replies) FirstToken(int, []byte) {}

func (r replies) Done(item int, response []byte, _ int) {
	r[item] = append(append([]byte(nil), response...), r[item]...) // a second answer shows
}

// oneSlot says that all rows are one slot of a shape.
func oneSlot(shape tensor.Shape) func(int) []workload.Slot {
	return func(int) []workload.Slot { return []workload.Slot{{Type: tensor.Float32, Shape: shape}} }
}

// find returns a model of the family by its name.
func find(t testing.TB, name string) workload.Model {
	t.Helper()
	for _, m := range Models() {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("there is no model %s", name)
	return workload.Model{}
}

// public is a setup as others give it.
func (s setup) public() workload.Setup {
	v := workload.Values{}
	for name, text := range map[string]string{
		layoutOption: s.binding.layout, pipelineOption: s.binding.pipeline, outputOption: s.binding.output,
		boxOrderOption: s.binding.boxOrder, labelMapOption: s.binding.labelMap, preprocessedOption: s.binding.preprocessed,
	} {
		if text != "" {
			v[name] = text
		}
	}
	for name, n := range map[string]*int{offsetOption: s.binding.labelOffset, boxPixelsOption: s.binding.boxPixels} {
		if n != nil {
			v[name] = strconv.Itoa(*n)
		}
	}
	if s.binding.dropEmpty {
		v[dropEmptyOption] = "true"
	}
	return workload.Setup{
		DatasetDir: s.datasetDir, Count: s.count, Options: v,
		Ports: map[string]workload.Ports{workload.Only: {Inputs: s.inputs, Outputs: s.outputs}},
	}
}
