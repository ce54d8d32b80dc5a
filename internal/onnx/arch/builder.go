package arch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The versions that built models have. ONNX Runtime has read both since 1.13, and
// every converter knows them; nothing that the built-in models use is newer.
const (
	builtOpset     = 17
	builtIRVersion = 8
)

// A Builder writes an architecture layer by layer. Every layer method takes a name
// and the values it reads, works out type and shape of the result, and returns it.
// The result of layer "conv" is called "conv:0"; its weights "conv/weights" and
// so on.
//
// The first error stops the building: later calls return values without a type and
// change nothing, and Model returns the error. So an architecture needs no error
// handling of its own.
type Builder struct {
	seed    uint64
	model   *onnx.Model
	graph   *onnx.Graph
	values  map[string]*onnx.Value
	outputs []*onnx.Value
	weights map[string]weightKind
	macs    map[*onnx.Node]int64
	given   func(name string, dims []int64) (onnx.Source, error) // Options.Weights
	err     error
}

type weightKind int

const (
	auxiliary weightKind = iota // limits, shapes: no weight at all
	parameter
	buffer
)

// NewBuilder returns a builder of a model of that name, whose random weights follow
// from the seed.
func NewBuilder(name string, seed uint64) *Builder {
	graph := &onnx.Graph{Name: name}
	return &Builder{
		seed:  seed,
		graph: graph,
		model: &onnx.Model{
			IRVersion: builtIRVersion,
			Opsets:    []onnx.Opset{{Version: builtOpset}},
			Producer:  "mlperf",
			Graph:     graph,
		},
		values:  make(map[string]*onnx.Value),
		weights: make(map[string]weightKind),
		macs:    make(map[*onnx.Node]int64),
	}
}

// Input adds an input.
func (b *Builder) Input(name string, elem onnx.ElemType, shape onnx.Shape) *onnx.Value {
	v := &onnx.Value{Name: name, Type: onnx.Type{Elem: elem, Shape: shape}}
	if b.define(v) {
		b.graph.Inputs = append(b.graph.Inputs, v)
	}
	return v
}

// Output makes values outputs of the model, in this order.
func (b *Builder) Output(values ...*onnx.Value) { b.outputs = append(b.outputs, values...) }

// Weight adds a tensor of weights that counts as parameters.
func (b *Builder) Weight(name string, f Filler, dims ...int64) *onnx.Value {
	return b.fill(name, parameter, f, dims)
}

// Constant adds a constant that is no weight: a shape, a limit, a list of axes.
func (b *Builder) Constant(t *onnx.Tensor) *onnx.Value {
	v := &onnx.Value{Name: t.Name, Type: onnx.Type{Elem: t.Type, Shape: onnx.FixedShape(t.Dims)}}
	if b.define(v) {
		b.graph.Initializers = append(b.graph.Initializers, t)
	}
	return v
}

// scalar returns a constant number, which is shared by all that ask for it.
func (b *Builder) scalar(x float32) *onnx.Value {
	name := fmt.Sprintf("constant/%v", x)
	if v := b.values[name]; v != nil {
		return v
	}
	return b.Constant(onnx.TensorOf(name, []float32{x}))
}

func (b *Builder) fill(name string, kind weightKind, f Filler, dims []int64) *onnx.Value {
	if f == nil {
		f = He{}
	}
	var source onnx.Source
	var err error
	if b.given != nil && kind != auxiliary {
		source, err = b.given(name, dims)
	} else {
		source, err = f.fill(b.seed, name, dims)
	}
	if err != nil {
		return b.fail("weights", name, err)
	}
	b.weights[name] = kind
	return b.Constant(&onnx.Tensor{Name: name, Type: onnx.Float32, Dims: dims, Data: source})
}

// Node adds a node of any operator of the default domain, with outputs of the given
// types: name:0, name:1 and so on. A nil input is one that is left out. The layer
// methods are to be preferred, since they know the types and count the work.
func (b *Builder) Node(op, name string, inputs []*onnx.Value, attrs []onnx.Attribute, outputs ...onnx.Type) []*onnx.Value {
	n := &onnx.Node{Name: name, Op: op, Attributes: attrs}
	for _, v := range inputs {
		n.Inputs = append(n.Inputs, nameOf(v))
		if v != nil && b.values[v.Name] != v {
			b.fail(op, name, fmt.Errorf("reads %q, which this model does not have", v.Name))
		}
	}
	results := make([]*onnx.Value, len(outputs))
	for i, t := range outputs {
		t.Shape = slices.Clone(t.Shape)
		results[i] = &onnx.Value{Name: fmt.Sprintf("%s:%d", name, i), Type: t}
		n.Outputs = append(n.Outputs, results[i].Name)
		if b.define(results[i]) {
			b.graph.Values = append(b.graph.Values, results[i])
		}
	}
	if b.err == nil {
		b.graph.Nodes = append(b.graph.Nodes, n)
	}
	return results
}

// rename gives a value another name than the one that follows from its layer's, for
// outputs of a model. It returns the value.
func (b *Builder) rename(v *onnx.Value, name string) *onnx.Value {
	switch {
	case b.err != nil:
	case b.values[name] != nil:
		b.fail("output", name, errors.New("defined twice"))
	default:
		delete(b.values, v.Name)
		b.graph.RenameValue(v.Name, name)
		b.values[name] = v
	}
	return v
}

func nameOf(v *onnx.Value) string {
	if v == nil {
		return ""
	}
	return v.Name
}

// layer adds a node with one output and its multiply-accumulates for one sample.
func (b *Builder) layer(op, name string, inputs []*onnx.Value, attrs []onnx.Attribute, out onnx.Type, macs int64) *onnx.Value {
	v := b.Node(op, name, inputs, attrs, out)[0]
	if b.err == nil {
		b.macs[b.graph.Nodes[len(b.graph.Nodes)-1]] = macs
	}
	return v
}

// define notes a new value. It returns false if there is an error, now or before.
func (b *Builder) define(v *onnx.Value) bool {
	if b.err != nil {
		return false
	}
	if b.values[v.Name] != nil {
		b.fail("value", v.Name, errors.New("defined twice"))
		return false
	}
	b.values[v.Name] = v
	return true
}

// fail notes the first error and returns a value that stands in for the result.
func (b *Builder) fail(op, name string, err error) *onnx.Value {
	if b.err == nil {
		b.err = fmt.Errorf("building %s: %s %q: %w", b.graph.Name, op, name, err)
	}
	return &onnx.Value{}
}

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
