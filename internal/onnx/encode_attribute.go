package onnx

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// encode writes a value even if it is zero: the checker of ONNX wants exactly one
// value field of every attribute that is no list.
func (a *Attribute) encode(out *message) {
	out.string(attributeName, a.Name)
	kind := a.encodeValue(out)
	out.optionalString(attributeDocString, a.Doc)
	out.optionalInt(attributeType, kind)
	out.extra(a.Extra)
	if a.Value != nil && kind == kindUndefined && out.err == nil {
		out.err = fmt.Errorf("attribute %q: a value of type %T has no encoding", a.Name, a.Value)
	}
}

// encodeValue writes the value and returns its kind.
func (a *Attribute) encodeValue(out *message) (kind int64) {
	switch v := a.Value.(type) {
	case float32:
		out.float(attributeF, v)
		return kindFloat
	case int64:
		out.int(attributeI, v)
		return kindInt
	case string:
		out.string(attributeS, v)
		return kindString
	case []float32:
		out.floats(attributeFloats, v)
		return kindFloats
	case []int64:
		out.ints(attributeInts, v)
		return kindInts
	case []string:
		out.strings(attributeStrings, v)
		return kindStrings
	}
	return a.encodeMessage(out)
}

// encodeMessage is encodeValue for values that are messages, or lists of them.
func (a *Attribute) encodeMessage(out *message) (kind int64) {
	switch v := a.Value.(type) {
	case *Tensor:
		out.message(attributeT, v.encode)
		return kindTensor
	case *Graph:
		out.message(attributeG, v.encode)
		return kindGraph
	case *SparseTensor:
		out.message(attributeSparseTensor, v.encode)
		return kindSparseTensor
	case *Type:
		out.message(attributeTP, v.encode)
		return kindType
	}
	return a.encodeMessages(out)
}

func (a *Attribute) encodeMessages(out *message) (kind int64) {
	switch v := a.Value.(type) {
	case []*Tensor:
		encodeAll(out, attributeTensors, v, (*Tensor).encode)
		return kindTensors
	case []*Graph:
		encodeAll(out, attributeGraphs, v, (*Graph).encode)
		return kindGraphs
	case []*SparseTensor:
		encodeAll(out, attributeSparseTensors, v, (*SparseTensor).encode)
		return kindSparseTensors
	case []*Type:
		encodeAll(out, attributeTypeProtos, v, (*Type).encode)
		return kindTypes
	}
	return kindUndefined
}

func encodeAll[T any](out *message, num protowire.Number, list []*T, encode func(*T, *message)) {
	for _, v := range list {
		out.message(num, func(sub *message) { encode(v, sub) })
	}
}
