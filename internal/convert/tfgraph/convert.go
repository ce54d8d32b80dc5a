package tfgraph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The versions of what is written.
const (
	opset     = 21
	irVersion = 10
)

// growth bounds the constants, as a multiple of the file: those of one repeated element are short in it. maxDepth bounds how deep
// a value may lie below an output.
const (
	growth   = 16
	maxDepth = 20_000
)

// A layout is the order of the axes of a value of rank 4.
type layout int

const (
	last  layout = iota // as in the file: N H W C
	first               // N C H W, as ONNX's convolutions take it
)

var (
	toFirst = []int64{0, 3, 1, 2}
	toLast  = []int64{0, 2, 3, 1}
)

// A converter has what all scopes share.
type converter struct {
	nodes     map[string]*node
	consumers map[string][]*node
	out       *onnx.Graph
	used      map[string]int // names that are taken, with the number of the next like it
	room      int64          // bytes that constants may still take
	depth     int
	work      int // nodes that may still be converted: those that branches share count in each
}

// A scope is the graph that is filled: the whole one, the body of a loop or a branch. It knows the values that were made in it.
type scope struct {
	*converter
	graph  *onnx.Graph
	parent *scope
	frame  string // of the loop, empty outside of one
	pred   port   // of a branch
	branch int    // 1 where pred is true
	batch  bool   // a loop over the samples
	made   map[port]*value
	busy   map[string]bool
}

// A value is a result of a node.
type value struct {
	at       *scope
	name     [2]string // in each layout, empty: not made yet
	rank     int       // -1: not known
	elem     onnx.ElemType
	batch    bool  // its first axis is that of the input's samples
	channels int64 // extent of its last axis, 0: not known

	long string // of a shape of int32: the same of int64, from which ONNX Runtime knows the shape of what takes it

	shapeOf *value // of a shape: the value that has it

	data  *tensor // of a constant
	array *array  // of TensorArrays and their flow
}

// Convert returns the ONNX form of a frozen graph. name is for messages and the graph.
func Convert(name string, content []byte) (*onnx.Model, error) {
	nodes, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("%s: not a frozen TensorFlow graph that can be converted: %w", name, err)
	}
	m, err := convert(name, nodes, int64(len(content)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

func convert(name string, nodes []*node, size int64) (m *onnx.Model, err error) {
	c := &converter{nodes: map[string]*node{}, consumers: map[string][]*node{}, out: &onnx.Graph{Name: name}, used: map[string]int{},
		room: growth * (size + 1<<20), work: growth * (len(nodes) + 1000)}
	for _, n := range nodes {
		if n.name == "" || c.nodes[n.name] != nil {
			return nil, fmt.Errorf("node %q: expected a name of its own", n.name)
		}
		c.nodes[n.name] = n
		for _, p := range n.inputs {
			c.consumers[p.node] = append(c.consumers[p.node], n)
		}
	}
	defer func() {
		if r := recover(); r != nil {
			cause, ok := r.(error)
			if !ok || !errors.As(cause, new(refusal)) {
				panic(r)
			}
			m, err = nil, cause
		}
	}()
	s := c.scope(c.out, nil)
	for _, n := range nodes {
		switch n.op {
		case "Placeholder":
			c.input(s, n)
		case "VariableV2", "Variable", "VarHandleOp":
			return nil, fmt.Errorf("node %q is a variable: freeze the graph first", n.name)
		}
	}
	waited := map[string]bool{}
	for _, n := range nodes {
		for _, name := range n.controls {
			waited[name] = true
		}
	}
	for _, n := range nodes {
		if len(c.consumers[n.name]) > 0 || waited[n.name] || noResult[n.op] {
			continue
		}
		out := port{n.name, 0}
		v := s.get(out)
		if v.array != nil {
			refuse("output %q is a TensorArray", n.name)
		}
		x := v.in(last)
		s.graph.Nodes = append(s.graph.Nodes, &onnx.Node{Name: c.fresh(n.name + "/output"), Op: "Identity", Inputs: []string{x},
			Outputs: []string{out.String()}})
		s.graph.Outputs = append(s.graph.Outputs, &onnx.Value{Name: out.String(), Type: onnx.Type{Elem: v.elem, Shape: v.shape()}})
	}
	if len(c.out.Inputs) == 0 || len(c.out.Outputs) == 0 {
		return nil, fmt.Errorf("%d inputs (Placeholder) and %d outputs (nodes that no other one reads): expected at least 1", len(c.out.Inputs),
			len(c.out.Outputs))
	}
	c.out.Prune()
	m = &onnx.Model{IRVersion: irVersion, Opsets: []onnx.Opset{{Version: opset}}, Producer: "mlperf", Graph: c.out}
	return m, m.Check()
}

// noResult are the operators whose results are no outputs of the graph.
var noResult = map[string]bool{"Placeholder": true, "Const": true, "NoOp": true, "Assert": true}

// shape is as much of the shape of an output as is known.
func (v *value) shape() onnx.Shape {
	shape := freeShape(v.rank)
	if len(shape) > 1 && v.channels > 0 {
		shape[len(shape)-1] = onnx.Fixed(v.channels)
	}
	if len(shape) > 0 && v.batch {
		shape[0] = onnx.Free(onnx.BatchAxis)
	}
	return shape
}

// freeShape has axes without extents.
func freeShape(rank int) onnx.Shape {
	if rank < 0 {
		return nil
	}
	shape := onnx.Shape{}
	for range rank {
		shape = append(shape, onnx.Dim{Size: -1})
	}
	return shape
}

// input declares an input of the graph. A free outermost axis is the batch.
func (c *converter) input(s *scope, n *node) {
	v := &value{at: s, rank: -1, elem: elemTypes[uint64(n.attrs["dtype"].i)]}
	if v.elem == onnx.Undefined {
		refuse("input %q: elements of type %d are not converted", n.name, n.attrs["dtype"].i)
	}
	shape := slices.Clone(n.attrs["shape"].shape)
	for a, d := range shape {
		if d.Size == -1 && a == 0 {
			shape[a], v.batch = onnx.Free(onnx.BatchAxis), true
		}
	}
	if shape != nil {
		v.rank = len(shape)
	}
	out := port{n.name, 0}
	v.name[last] = out.String()
	c.used[out.String()] = 1
	s.made[out] = v
	c.out.Inputs = append(c.out.Inputs, &onnx.Value{Name: out.String(), Type: onnx.Type{Elem: v.elem, Shape: shape}})
}

func (c *converter) scope(g *onnx.Graph, parent *scope) *scope {
	s := &scope{converter: c, graph: g, parent: parent, made: map[port]*value{}, busy: map[string]bool{}}
	if parent != nil {
		s.frame = parent.frame
	}
	return s
}

// A refusal is the panic of a conversion that cannot go on. Convert returns it.
type refusal struct{ error }

func refuse(format string, args ...any) { panic(refusal{fmt.Errorf(format, args...)}) }

// get returns a value, and makes it if it is missing.
func (s *scope) get(p port) *value {
	if v := s.made[p]; v != nil {
		return v
	}
	n := s.nodes[p.node]
	if n == nil {
		refuse("node %q is read, but missing", p.node)
	}
	if (n.op == "Placeholder" || n.op == "Const") && s.parent != nil {
		return s.parent.get(p)
	}
	if n.op == "Placeholder" {
		refuse("input %q has no result %d", n.name, p.n)
	}
	if s.busy[n.name] {
		refuse("node %q (%s) reads itself", n.name, n.op)
	}
	if s.depth++; s.depth > maxDepth {
		refuse("more than %d nodes lie behind each other", maxDepth)
	}
	if s.work--; s.work < 0 {
		refuse("its branches have too many nodes in common")
	}
	s.busy[n.name] = true
	step{s, n}.lower()
	delete(s.busy, n.name)
	s.depth--
	v := s.made[p]
	if v == nil {
		refuse("node %q (%s): result %d is not converted", n.name, n.op, p.n)
	}
	return v
}

// A step is a node while its results are made.
type step struct {
	*scope
	n *node
}

func (s step) lower() {
	defer func() { // the first node that says why
		if r := recover(); r != nil {
			if cause, ok := r.(refusal); ok && !errors.As(cause.error, new(atNode)) {
				panic(refusal{atNode{fmt.Errorf("node %q (%s): %w", s.n.name, s.n.op, cause.error)}})
			}
			panic(r)
		}
	}()
	l, ok := lowerings[s.n.op]
	if !ok {
		refuse("this operator is not converted")
	}
	if len(s.n.inputs) < l.inputs {
		refuse("has %d inputs, expected %d", len(s.n.inputs), l.inputs)
	}
	l.lower(s)
}

type atNode struct{ error }

// fresh returns a name that no value has.
func (c *converter) fresh(name string) string {
	unique := name
	for unique == "" || c.used[unique] > 0 {
		unique = fmt.Sprintf("%s/%d", name, c.used[name])
		c.used[name]++
	}
	c.used[unique] = 1
	return unique
}

// add adds a node with so many results to the scope's graph.
func (s *scope) add(base, op string, results int, inputs []string, attributes ...onnx.Attribute) []string {
	n := &onnx.Node{Op: op, Inputs: inputs, Attributes: attributes}
	for range results {
		n.Outputs = append(n.Outputs, s.fresh(base))
	}
	n.Name = n.Outputs[0]
	s.graph.Nodes = append(s.graph.Nodes, n)
	return n.Outputs
}

// node adds a node of one result and returns its name.
func (s step) node(op string, inputs []string, attributes ...onnx.Attribute) string {
	return s.add(s.n.name, op, 1, inputs, attributes...)[0]
}

// constant adds a constant to the scope's graph and returns its name. ONNX Runtime looks for the parameters of an operator in its own graph.
func (s *scope) constant(t *onnx.Tensor) string {
	s.take(t.Data.Size())
	t.Name = s.fresh(t.Name)
	s.graph.Initializers = append(s.graph.Initializers, t)
	return t.Name
}

// take counts bytes of constants.
func (c *converter) take(n int64) {
	if c.room -= n; c.room < 0 {
		refuse("the constants take more than %d times the size of the file", growth)
	}
}

func (s step) ints(list ...int64) string {
	return s.constant(onnx.TensorOf(s.n.name+"/constant", list, int64(len(list))))
}

// of is a constant scalar with the elements of v.
func (s step) of(elem onnx.ElemType, x float64) string {
	name := s.n.name + "/constant"
	switch elem {
	case onnx.Float32:
		return s.constant(onnx.TensorOf(name, []float32{float32(x)}))
	case onnx.Int32:
		return s.constant(onnx.TensorOf(name, []int32{int32(x)}))
	case onnx.Int64:
		return s.constant(onnx.TensorOf(name, []int64{int64(x)}))
	}
	return s.cast(s.constant(onnx.TensorOf(name, []float32{float32(x)})), elem)
}

func (s step) cast(x string, elem onnx.ElemType) string {
	return s.node("Cast", []string{x}, onnx.Attr("to", int64(elem)))
}

func (s step) arg(i int) *value {
	if i >= len(s.n.inputs) {
		refuse("has %d inputs, expected %d", len(s.n.inputs), i+1)
	}
	v := s.get(s.n.inputs[i])
	if v.array != nil {
		refuse("input %d is a TensorArray", i)
	}
	return v
}

// x is the name of an input as the file has it.
func (s step) x(i int) string { return s.arg(i).in(last) }

func (s step) constantArg(i int) *tensor {
	v := s.arg(i)
	if v.data == nil {
		refuse("input %d is not a constant", i)
	}
	return v.data
}

// maxParameters bounds a list that only directs an operator.
const maxParameters = 1 << 16

// list are the integers of an input that has to be a constant.
func (s step) list(i int) []int64 {
	t := s.constantArg(i)
	if t.len() > maxParameters {
		refuse("input %d has %d elements", i, t.len())
	}
	return t.integers()
}

// number is the integer of an input that has to be a constant.
func (s step) number(i int) int64 {
	list := s.list(i)
	if len(list) != 1 {
		refuse("input %d has %d elements, expected 1", i, len(list))
	}
	return list[0]
}

// whole is an input of integers as int64, which ONNX wants of shapes and indices.
func (s step) whole(i int) string {
	v := s.arg(i)
	if v.data != nil && v.data.len() <= maxParameters {
		return s.constant(onnx.TensorOf(s.n.name+"/constant", v.data.integers(), v.data.dims...))
	}
	switch {
	case v.elem == onnx.Int64:
		return v.in(last)
	case v.long != "":
		return v.long
	}
	return s.cast(v.in(last), onnx.Int64)
}

// wholes is whole with one axis, of a scalar as well.
func (s step) wholes(i int) string {
	if v := s.arg(i); v.data != nil && v.data.len() <= maxParameters {
		return s.ints(v.data.integers()...)
	} else if v.rank == 1 {
		return s.whole(i)
	}
	return s.node("Reshape", []string{s.whole(i), s.ints(-1)})
}

// set makes x the n-th result.
func (s step) set(n int, l layout, x string, rank int, elem onnx.ElemType) *value {
	v := &value{at: s.scope, rank: rank, elem: elem}
	v.name[l] = x
	if rowwise[s.n.op] {
		v.as(s.arg(0))
	}
	s.made[port{s.n.name, n}] = v
	return v
}

// as takes over what is known of the axes of a value with the same rows and channels.
func (v *value) as(other *value) *value {
	v.batch, v.channels = v.batch || other.batch && v.rank != 0, max(v.channels, other.channels)
	return v
}

// rowwise are the operators whose result has the rows and channels of the first input.
var rowwise = map[string]bool{
	"BiasAdd": true, "FusedBatchNorm": true, "FusedBatchNormV2": true, "FusedBatchNormV3": true, "MaxPool": true, "AvgPool": true,
	"ResizeBilinear": true, "ResizeNearestNeighbor": true, "Softmax": true, "LogSoftmax": true, "Cast": true, "Relu": true, "Relu6": true,
	"LeakyRelu": true,
	"Elu":       true, "Selu": true, "Tanh": true, "Sigmoid": true, "Exp": true, "Rsqrt": true, "Square": true,
}

// in returns the name of the value in a layout.
func (v *value) in(l layout) string {
	name := &v.name[l]
	switch {
	case *name != "":
	case v.data != nil:
		t := v.data
		if t.elem == onnx.Undefined {
			refuse("a constant has elements that are not numbers")
		}
		if t.data == nil {
			v.at.take(t.len()*int64(t.elem.Bits()/8) - int64(len(t.splat)))
		}
		if l == first {
			t = t.permuted(0, 3, 1, 2)
		}
		*name = v.at.constant(&onnx.Tensor{Name: "constant", Type: t.elem, Dims: t.dims, Data: onnx.Raw(t.bytes())})
	case l == last:
		*name = v.at.add(v.name[first]+"/last", "Transpose", 1, []string{v.name[first]}, onnx.Attr("perm", toLast))[0]
	default:
		if v.rank != 4 && v.rank != -1 {
			refuse("%s has %d axes, expected 4", v.name[last], v.rank)
		}
		*name = v.at.add(v.name[last]+"/first", "Transpose", 1, []string{v.name[last]}, onnx.Attr("perm", toFirst))[0]
	}
	return *name
}

// firstOnly reports whether the value exists with channels first and not as the file has it.
func (v *value) firstOnly() bool { return v.name[first] != "" && v.name[last] == "" }
