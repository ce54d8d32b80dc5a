package builtin

import (
	"github.com/mlperf-go/mlperf/internal/models/vision"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// A Network is what a file of a model computes, at the real size.
type Network struct {
	Role  string // of several files; empty: the only one
	Title string
	onnx.Operations
	// Free are the axes beside the batch whose extents the sample decides. They are 1 in Operations.
	Free []string
}

// Networks are the architectures of a model's files; none: it has no built-in form.
func Networks(model workload.Model) ([]Network, error) {
	var list []Network
	add := func(role string, a arch.Architecture, usual int64, extents map[string]int64) error {
		graph, _, err := a.Build(arch.Options{})
		if err != nil {
			return err
		}
		n, inputs := Network{Role: role, Title: a.Title}, map[string][]int64{}
		for _, in := range graph.Graph.FreeInputs() {
			for axis, d := range in.Type.Shape {
				size := max(1, d.Size)
				if extents[d.Param] > 0 {
					size = extents[d.Param]
				} else if axis > 0 && !d.Known() && usual > 0 {
					size = usual
				} else if axis > 0 && !d.Known() {
					n.Free = append(n.Free, in.Name+" "+d.String())
				}
				inputs[in.Name] = append(inputs[in.Name], size)
			}
		}
		n.Operations = graph.Operations(inputs)
		list = append(list, n)
		return nil
	}
	switch of := model.BuiltIn.(type) {
	case vision.BuiltIn:
		if err := add("", of.Network, 0, nil); err != nil {
			return nil, err
		}
	case workload.Recipe:
		for _, p := range of.Parts {
			role, network := p.Role, p.Network
			if p.Full.Name != "" {
				network = p.Full
			}
			if len(of.Parts) == 1 {
				role = ""
			}
			if err := add(role, network, p.Usual, p.Extents); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}
