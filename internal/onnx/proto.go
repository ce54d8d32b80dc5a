package onnx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/mlperf-go/mlperf/internal/onnx/onnxpb"
)

// The numbers of the fields that this package finds by itself, without the generated types.
const (
	modelIRVersion     = 1
	modelProducerName  = 2
	modelGraph         = 7
	modelOpsetImport   = 8
	modelMetadataProps = 14
	modelFunctions     = 25

	graphInitializer = 5
	graphInput       = 11
	graphOutput      = 12

	tensorName    = 8
	tensorRawData = 9
)

// in adds to an error its place in the model.
func in(what, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", what, name, err)
}

// extraOf returns the fields of a message that our types lack; with puts them back.
func extraOf(p proto.Message) Extra { return Extra(p.ProtoReflect().GetUnknown()) }

func with[M proto.Message](p M, e Extra) M {
	if e != "" {
		p.ProtoReflect().SetUnknown([]byte(e))
	}
	return p
}

// opt leaves a field out that has its default.
func opt[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func each[A, B any](list []A, convert func(A) B) []B {
	var out []B
	for _, v := range list {
		out = append(out, convert(v))
	}
	return out
}

func try[A, B any](list []A, convert func(A) (B, error)) ([]B, error) {
	var out []B
	for _, v := range list {
		c, err := convert(v)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// modelOf and (*Model).proto leave the graph out.
func modelOf(p *onnxpb.ModelProto) *Model {
	m := &Model{IRVersion: p.GetIrVersion(), Producer: p.GetProducerName(), Doc: p.GetDocString(), Metadata: each(p.GetMetadataProps(), propertyOf),
		Extra: extraOf(p)}
	for _, o := range p.GetOpsetImport() {
		m.Opsets = append(m.Opsets, Opset{o.GetDomain(), o.GetVersion()})
	}
	return m
}

func (m *Model) proto() *onnxpb.ModelProto {
	p := &onnxpb.ModelProto{IrVersion: opt(m.IRVersion), ProducerName: opt(m.Producer), DocString: opt(m.Doc),
		MetadataProps: each(m.Metadata, Property.proto)}
	for _, o := range m.Opsets {
		p.OpsetImport = append(p.OpsetImport, &onnxpb.OperatorSetIdProto{Domain: &o.Domain, Version: &o.Version})
	}
	return with(p, m.Extra)
}

func propertyOf(p *onnxpb.StringStringEntryProto) Property {
	return Property{p.GetKey(), p.GetValue()}
}

func (p Property) proto() *onnxpb.StringStringEntryProto {
	return &onnxpb.StringStringEntryProto{Key: &p.Key, Value: &p.Value}
}

func graphOf(p *onnxpb.GraphProto) (*Graph, error) {
	g := &Graph{Name: p.GetName(), Inputs: each(p.GetInput(), valueOf), Outputs: each(p.GetOutput(), valueOf),
		Values: each(p.GetValueInfo(), valueOf), Extra: extraOf(p)}
	var err error
	if g.Nodes, err = try(p.GetNode(), nodeOf); err != nil {
		return nil, err
	}
	g.Initializers, err = try(p.GetInitializer(), tensorOf)
	return g, err
}

func (g *Graph) proto() (*onnxpb.GraphProto, error) {
	p, err := g.protoWithout()
	if err == nil {
		p.Initializer, err = try(g.Initializers, (*Tensor).proto)
	}
	return p, err
}

// protoWithout leaves the initializers out.
func (g *Graph) protoWithout() (*onnxpb.GraphProto, error) {
	p := &onnxpb.GraphProto{Name: opt(g.Name), Input: each(g.Inputs, (*Value).proto), Output: each(g.Outputs, (*Value).proto),
		ValueInfo: each(g.Values, (*Value).proto)}
	var err error
	p.Node, err = try(g.Nodes, (*Node).proto)
	return with(p, g.Extra), err
}

func nodeOf(p *onnxpb.NodeProto) (*Node, error) {
	n := &Node{
		Name: p.GetName(), Op: p.GetOpType(), Domain: p.GetDomain(), Overload: p.GetOverload(),
		Inputs: p.GetInput(), Outputs: p.GetOutput(), Extra: extraOf(p),
	}
	var err error
	n.Attributes, err = try(p.GetAttribute(), attributeOf)
	return n, in("node", n.Name, err)
}

func (n *Node) proto() (*onnxpb.NodeProto, error) {
	attributes, err := try(n.Attributes, Attribute.proto)
	return with(&onnxpb.NodeProto{
		Name: opt(n.Name), OpType: opt(n.Op), Domain: opt(n.Domain), Overload: opt(n.Overload),
		Input: n.Inputs, Output: n.Outputs, Attribute: attributes,
	}, n.Extra), in("node", n.Name, err)
}

func attributeOf(p *onnxpb.AttributeProto) (Attribute, error) {
	a := Attribute{Name: p.GetName(), Extra: extraOf(p)}
	var err error
	switch kind := kindOf(p); kind {
	case onnxpb.AttributeProto_UNDEFINED:
	case onnxpb.AttributeProto_FLOAT:
		a.Value = p.GetF()
	case onnxpb.AttributeProto_INT:
		a.Value = p.GetI()
	case onnxpb.AttributeProto_STRING:
		a.Value = string(p.GetS())
	case onnxpb.AttributeProto_TENSOR:
		if p.T == nil {
			return a, in("attribute", a.Name, errors.New("its tensor is missing"))
		}
		a.Value, err = tensorOf(p.T)
	case onnxpb.AttributeProto_GRAPH:
		if p.G == nil {
			return a, in("attribute", a.Name, errors.New("its graph is missing"))
		}
		a.Value, err = graphOf(p.G)
	case onnxpb.AttributeProto_FLOATS:
		a.Value = p.GetFloats()
	case onnxpb.AttributeProto_INTS:
		a.Value = p.GetInts()
	case onnxpb.AttributeProto_STRINGS:
		a.Value = each(p.GetStrings(), func(b []byte) string { return string(b) })
	case onnxpb.AttributeProto_TENSORS:
		a.Value, err = try(p.GetTensors(), tensorOf)
	case onnxpb.AttributeProto_GRAPHS:
		a.Value, err = try(p.GetGraphs(), graphOf)
	default:
		a.Value = kind // the value is in Extra
	}
	return a, in("attribute", a.Name, err)
}

// kindOf returns the kind of an attribute. Files of IR version 1 leave it out: it follows from the value.
func kindOf(p *onnxpb.AttributeProto) onnxpb.AttributeProto_AttributeType {
	switch {
	case p.Type != nil:
		return *p.Type
	case p.F != nil:
		return onnxpb.AttributeProto_FLOAT
	case p.I != nil:
		return onnxpb.AttributeProto_INT
	case p.S != nil:
		return onnxpb.AttributeProto_STRING
	case p.T != nil:
		return onnxpb.AttributeProto_TENSOR
	case p.G != nil:
		return onnxpb.AttributeProto_GRAPH
	case p.Floats != nil:
		return onnxpb.AttributeProto_FLOATS
	case p.Ints != nil:
		return onnxpb.AttributeProto_INTS
	case p.Strings != nil:
		return onnxpb.AttributeProto_STRINGS
	}
	return onnxpb.AttributeProto_UNDEFINED
}

// proto writes a value even if it is zero: the checker of ONNX wants exactly one for every attribute other than
// a list.
func (a Attribute) proto() (*onnxpb.AttributeProto, error) {
	p := with(&onnxpb.AttributeProto{Name: &a.Name}, a.Extra)
	kind := onnxpb.AttributeProto_UNDEFINED
	var err error
	switch v := a.Value.(type) {
	case nil:
		return p, nil
	case onnxpb.AttributeProto_AttributeType:
		kind = v
	case float32:
		kind, p.F = onnxpb.AttributeProto_FLOAT, &v
	case int64:
		kind, p.I = onnxpb.AttributeProto_INT, &v
	case string:
		kind, p.S = onnxpb.AttributeProto_STRING, []byte(v)
	case *Tensor:
		kind = onnxpb.AttributeProto_TENSOR
		p.T, err = v.proto()
	case *Graph:
		kind = onnxpb.AttributeProto_GRAPH
		p.G, err = v.proto()
	case []float32:
		kind, p.Floats = onnxpb.AttributeProto_FLOATS, v
	case []int64:
		kind, p.Ints = onnxpb.AttributeProto_INTS, v
	case []string:
		kind, p.Strings = onnxpb.AttributeProto_STRINGS, each(v, func(s string) []byte { return []byte(s) })
	case []*Tensor:
		kind = onnxpb.AttributeProto_TENSORS
		p.Tensors, err = try(v, (*Tensor).proto)
	case []*Graph:
		kind = onnxpb.AttributeProto_GRAPHS
		p.Graphs, err = try(v, (*Graph).proto)
	default:
		err = fmt.Errorf("a value of type %T has no encoding", v)
	}
	p.Type = &kind
	return p, in("attribute", a.Name, err)
}

// tensorOf brings the six forms of elements into that of Tensor.
func tensorOf(p *onnxpb.TensorProto) (*Tensor, error) {
	t := &Tensor{
		Name: p.GetName(), Type: ElemType(p.GetDataType()), Dims: p.GetDims(), Extra: extraOf(p),
		Strings: each(p.GetStringData(), func(b []byte) string { return string(b) }),
	}
	if p.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
		t.External = append([]Property{}, each(p.GetExternalData(), propertyOf)...)
	}
	forms := 0
	is := func(present bool) bool {
		if present {
			forms++
		}
		return present
	}
	if is(p.RawData != nil) {
		t.Data = Raw(p.RawData)
	}
	if is(len(p.FloatData) > 0) {
		t.Data = rawOf(p.FloatData, 4)
	}
	if is(len(p.DoubleData) > 0) {
		t.Data = rawOf(p.DoubleData, 8)
	}
	if is(len(p.Int64Data) > 0) {
		t.Data = rawOf(p.Int64Data, 8)
	}
	if is(len(p.Uint64Data) > 0) {
		t.Data = rawOf(p.Uint64Data, t.Type.Bits()/8) // of uint32 too
	}
	if is(len(p.Int32Data) > 0) { // of all types narrower than 32 bits; those of less than a byte share one
		t.Data = rawOf(p.Int32Data, (t.Type.Bits()+7)/8)
	}
	if forms > 1 {
		return nil, in("tensor", t.Name, errManyForms)
	}
	return t, nil
}

var errManyForms = errors.New("its elements come in more than one form")

// rawOf returns the low bytes of each number.
func rawOf[T any](list []T, width int) Raw {
	all, _ := binary.Append(nil, binary.LittleEndian, list) // numbers of fixed size
	size := len(all) / len(list)
	if width >= size {
		return all
	}
	var low Raw
	for ; len(all) > 0; all = all[size:] {
		low = append(low, all[:width]...)
	}
	return low
}

func (t *Tensor) proto() (*onnxpb.TensorProto, error) {
	p := t.protoWithout()
	if t.Data != nil {
		var raw bytes.Buffer
		if err := t.writeElements(&raw); err != nil {
			return nil, err
		}
		p.RawData = append([]byte{}, raw.Bytes()...) // there even if it is empty
	}
	return p, nil
}

// protoWithout leaves the elements out, if they are not strings.
func (t *Tensor) protoWithout() *onnxpb.TensorProto {
	p := &onnxpb.TensorProto{
		Name: opt(t.Name), DataType: opt(int32(t.Type)), Dims: t.Dims, StringData: each(t.Strings, func(s string) []byte { return []byte(s) }),
	}
	if t.External != nil {
		p.ExternalData, p.DataLocation = each(t.External, Property.proto), onnxpb.TensorProto_EXTERNAL.Enum()
	}
	return with(p, t.Extra)
}

func valueOf(p *onnxpb.ValueInfoProto) *Value {
	t := p.GetType().GetTensorType()
	v := &Value{Name: p.GetName(), Type: Type{Elem: ElemType(t.GetElemType()), Extra: extraOf(p.GetType())}, Extra: extraOf(p)}
	if t.GetShape() != nil {
		v.Type.Shape = Shape{}
	}
	for _, d := range t.GetShape().GetDim() {
		dim := Dim{Size: -1, Param: d.GetDimParam(), Denotation: d.GetDenotation()}
		if d.DimValue != nil {
			dim.Size = *d.DimValue
		}
		v.Type.Shape = append(v.Type.Shape, dim)
	}
	return v
}

func (v *Value) proto() *onnxpb.ValueInfoProto {
	p := with(&onnxpb.ValueInfoProto{Name: opt(v.Name)}, v.Extra)
	t := with(&onnxpb.TypeProto{}, v.Type.Extra)
	if v.Type.Elem != Undefined || v.Type.Shape != nil {
		t.TensorType = &onnxpb.TypeProto_Tensor{ElemType: opt(int32(v.Type.Elem))}
	}
	if v.Type.Shape != nil {
		t.TensorType.Shape = &onnxpb.TensorShapeProto{}
	}
	for _, d := range v.Type.Shape {
		dim := &onnxpb.TensorShapeProto_Dimension{DimParam: opt(d.Param), Denotation: opt(d.Denotation)}
		if d.Param == "" && d.Size != -1 {
			dim.DimValue = &d.Size
		}
		t.TensorType.Shape.Dim = append(t.TensorType.Shape.Dim, dim)
	}
	if t.TensorType != nil || v.Type.Extra != "" {
		p.Type = t
	}
	return p
}
