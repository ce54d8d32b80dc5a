package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset/igbh"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An input of the model.
type input struct {
	what     what
	kind     igbh.Kind // of features
	layer    int       // of the others
	relation int
}

type what int

const (
	features  what = iota // features_paper float32[rows 1024]: of the nodes, those of row 0 are 0
	neighbors             // neighbors_0_cites int64[rows width]: edges into each row of the target's kind, as places in sources; 0: none
	sources               // sources_0_cites int64[N]: the rows of the source's kind that edges come from; the first is 0
)

// bind finds the inputs of a model with so many layers for nodes of so many numbers, and its output.
func bind(p workload.Ports, layers, width int) (inputs []input, output backend.Port, err error) {
	for _, port := range p.Inputs {
		in, want, ok := parse(port.Name, layers)
		if !ok {
			return nil, output,
				fmt.Errorf("input %s of the model is unknown: must be features_paper, neighbors_0_cites, sources_0_cites and so on (docs/newest.md)", port.Name)
		}
		if in.what == features {
			want.Shape[1] = int64(width)
		}
		given := slices.Clone(want.Shape) // of a sample: free axes have to take more than one extent
		for i, extent := range given {
			if extent < 0 {
				given[i] = 7
			}
		}
		if !port.Fits(want.Type, given) {
			return nil, output, fmt.Errorf("input %s of the model is %v%v: must be %v%v", port.Name, port.Type, port.Shape, want.Type, want.Shape)
		}
		inputs = append(inputs, in)
	}
	if !slices.ContainsFunc(inputs, func(in input) bool { return in.what == features && in.kind == igbh.Paper }) {
		return nil, output, errors.New("the model has no input features_paper")
	}
	i := slices.IndexFunc(p.Outputs, func(p backend.Port) bool { return p.Type == tensor.Float32 && len(p.Shape) == 2 })
	if i < 0 {
		return nil, output, fmt.Errorf("the model has no output with scores of the classes, float32[samples classes]: it has %s",
			workload.DescribePorts(p.Outputs))
	}
	return inputs, p.Outputs[i], nil
}

// parse returns what an input of a name is.
func parse(name string, layers int) (in input, slot workload.Slot, ok bool) {
	for kind := range igbh.Kind(igbh.Kinds) {
		if name == "features_"+kind.String() {
			return input{what: features, kind: kind}, workload.Slot{Type: tensor.Float32, Shape: tensor.Shape{-1, -1}}, true
		}
	}
	for layer := range layers {
		for i, r := range igbh.Relations() {
			switch end := fmt.Sprintf("_%d_%s", layer, r.Name); {
			case !strings.HasSuffix(name, end):
			case name == "neighbors"+end:
				return input{what: neighbors, layer: layer, relation: i}, workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{-1, -1}}, true
			case name == "sources"+end:
				return input{what: sources, layer: layer, relation: i}, workload.Slot{Type: tensor.Int64, Shape: tensor.Shape{-1}}, true
			}
		}
	}
	return in, slot, false
}
