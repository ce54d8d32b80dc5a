package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// An attributeReader gathers the fields of an attribute until its kind is known,
// which is encoded after the value.
type attributeReader struct {
	a       *Attribute
	depth   int    // of the graphs in it
	kind    int64  // as encoded, kindUndefined if it is not
	kindRaw []byte // its field
	seen    uint   // a bit for each kind of which there was a value

	f      float32
	i      int64
	s      string
	t      *Tensor
	g      *Graph
	sparse *SparseTensor
	typ    *Type

	floats  []byte // little-endian
	ints    []int64
	strings []string
	tensors []*Tensor
	graphs  []*Graph
	sparses []*SparseTensor
	types   []*Type
}

func (a *Attribute) decode(msg []byte, depth int) error {
	r := &attributeReader{a: a, depth: depth + 1}
	err := eachField(msg, &a.Extra, r.field)
	if err == nil {
		err = r.finish()
	}
	return in("attribute", a.Name, err)
}

func (r *attributeReader) field(f field) error {
	switch f.num {
	case attributeName:
		return f.string(&r.a.Name)
	case attributeDocString:
		return f.string(&r.a.Doc)
	case attributeType:
		r.kindRaw = f.raw
		return f.int(&r.kind)
	}
	kind, err := r.single(f)
	if err == errUnknownField {
		kind, err = r.repeated(f)
	}
	r.seen |= 1 << kind
	return err
}

func (r *attributeReader) single(f field) (kind uint, err error) {
	switch f.num {
	case attributeF:
		return kindFloat, f.float(&r.f)
	case attributeI:
		return kindInt, f.int(&r.i)
	case attributeS:
		return kindString, f.string(&r.s)
	case attributeT:
		return kindTensor, decodeInto(f, &r.t, (*Tensor).decode, r.depth)
	case attributeG:
		return kindGraph, decodeInto(f, &r.g, (*Graph).decode, r.depth)
	case attributeSparseTensor:
		return kindSparseTensor, decodeInto(f, &r.sparse, (*SparseTensor).decode, r.depth)
	case attributeTP:
		return kindType, decodeInto(f, &r.typ, (*Type).decode, r.depth)
	}
	return kindUndefined, errUnknownField
}

func (r *attributeReader) repeated(f field) (kind uint, err error) {
	switch f.num {
	case attributeFloats:
		return kindFloats, f.fixed(4, &r.floats)
	case attributeInts:
		return kindInts, f.varints(&r.ints)
	case attributeStrings:
		return kindStrings, f.strings(&r.strings)
	case attributeTensors:
		return kindTensors, decodeOne(f, &r.tensors, (*Tensor).decode, r.depth)
	case attributeGraphs:
		return kindGraphs, decodeOne(f, &r.graphs, (*Graph).decode, r.depth)
	case attributeSparseTensors:
		return kindSparseTensors, decodeOne(f, &r.sparses, (*SparseTensor).decode, r.depth)
	case attributeTypeProtos:
		return kindTypes, decodeOne(f, &r.types, (*Type).decode, r.depth)
	}
	return kindUndefined, errUnknownField
}

// finish sets the value. Files of 2017 leave the kind out; then it follows from
// the value that is there.
func (r *attributeReader) finish() error {
	kind, err := r.settledKind()
	if err != nil {
		return err
	}
	if r.a.Value = r.value(kind); r.a.Value == nil {
		r.a.Extra += Extra(r.kindRaw)
	}
	return nil
}

// settledKind returns the kind as encoded, or that of the value.
func (r *attributeReader) settledKind() (int64, error) {
	seen := r.seen &^ (1 << kindUndefined)
	if seen == 0 {
		return r.kindWithoutValue()
	}
	found := int64(bits.TrailingZeros(seen))
	switch {
	case bits.OnesCount(seen) > 1:
		return 0, errors.New("it has values of several kinds")
	case r.kind != kindUndefined && r.kind != found:
		return 0, fmt.Errorf("its kind is %d but its value of kind %d", r.kind, found)
	}
	return found, nil
}

// kindWithoutValue returns the kind as encoded, whose value is zero or empty.
func (r *attributeReader) kindWithoutValue() (int64, error) {
	switch {
	case r.kind == kindUndefined:
		return 0, errors.New("it has neither kind nor value")
	case messageKinds[r.kind]:
		return 0, fmt.Errorf("its kind is %d but it has no value", r.kind)
	}
	return r.kind, nil
}

// messageKinds are the kinds of which a value is never left out: an empty message is no default.
var messageKinds = map[int64]bool{kindTensor: true, kindGraph: true, kindSparseTensor: true, kindType: true}

// valueOfKind returns the value of each kind, zero or empty if there was none.
var valueOfKind = map[int64]func(*attributeReader) any{
	kindFloat:         func(r *attributeReader) any { return r.f },
	kindInt:           func(r *attributeReader) any { return r.i },
	kindString:        func(r *attributeReader) any { return r.s },
	kindTensor:        func(r *attributeReader) any { return r.t },
	kindGraph:         func(r *attributeReader) any { return r.g },
	kindSparseTensor:  func(r *attributeReader) any { return r.sparse },
	kindType:          func(r *attributeReader) any { return r.typ },
	kindFloats:        func(r *attributeReader) any { return decodeFloats(r.floats) },
	kindInts:          func(r *attributeReader) any { return r.ints },
	kindStrings:       func(r *attributeReader) any { return r.strings },
	kindTensors:       func(r *attributeReader) any { return r.tensors },
	kindGraphs:        func(r *attributeReader) any { return r.graphs },
	kindSparseTensors: func(r *attributeReader) any { return r.sparses },
	kindTypes:         func(r *attributeReader) any { return r.types },
}

// value returns the value of a kind, or nil for a kind of a newer version of ONNX.
func (r *attributeReader) value(kind int64) any {
	if of, known := valueOfKind[kind]; known {
		return of(r)
	}
	return nil
}

func decodeFloats(raw []byte) []float32 {
	var list []float32
	for ; len(raw) > 0; raw = raw[4:] {
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	return list
}
