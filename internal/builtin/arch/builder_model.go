package arch

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// Stats counts what a model holds and does.
type Stats struct {
	Parameters int64 // weights that training would change
	Buffers    int64 // weights that are observed instead: means and variances of batch norms
	MACs       int64 // multiply-accumulates of one sample in convolutions and matrix products
}

// Model returns the finished model and its counts. If outputs are named these
// values, whatever they are, become the outputs instead of those that Output chose,
// and what they do not need is left out. The builder is of no use afterwards.
func (b *Builder) Model(outputs ...string) (*onnx.Model, Stats, error) {
	if len(outputs) > 0 {
		b.outputs = b.lookup(outputs)
	}
	if b.err == nil && len(b.outputs) == 0 {
		b.err = fmt.Errorf("building %s: no outputs", b.graph.Name)
	}
	if b.err != nil {
		return nil, Stats{}, b.err
	}
	b.graph.Outputs = b.outputs
	b.graph.Prune()
	b.dropOutputTypes()
	if err := b.model.Check(); err != nil {
		return nil, Stats{}, fmt.Errorf("building %s: %w", b.graph.Name, err)
	}
	return b.model, b.stats(), nil
}

// lookup returns the values of the given names. Those that no node makes are no
// outputs.
func (b *Builder) lookup(names []string) []*onnx.Value {
	var found []*onnx.Value
	x := b.graph.Index()
	for _, name := range names {
		if x.Producer(name) == nil {
			b.fail("output", name, fmt.Errorf("no layer makes it; the usual outputs are %s", valueNames(b.outputs)))
			break
		}
		found = append(found, b.values[name])
	}
	return found
}

func valueNames(values []*onnx.Value) string {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = v.Name
	}
	return strings.Join(names, ", ")
}

// dropOutputTypes takes the outputs from the list of inner values: their types are
// part of the interface.
func (b *Builder) dropOutputTypes() {
	isOutput := make(map[*onnx.Value]bool)
	for _, v := range b.outputs {
		isOutput[v] = true
	}
	inner := b.graph.Values[:0]
	for _, v := range b.graph.Values {
		if !isOutput[v] {
			inner = append(inner, v)
		}
	}
	b.graph.Values = inner
}

// stats counts what is left of the model.
func (b *Builder) stats() Stats {
	var s Stats
	for _, t := range b.graph.Initializers {
		switch b.weights[t.Name] {
		case parameter:
			s.Parameters += product(t.Dims)
		case buffer:
			s.Buffers += product(t.Dims)
		}
	}
	for _, n := range b.graph.Nodes {
		s.MACs += b.macs[n]
	}
	return s
}
