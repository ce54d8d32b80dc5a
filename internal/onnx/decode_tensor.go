package onnx

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A tensorReader gathers the fields of a tensor, whose elements can come in seven
// ways, and turns them into the one that Tensor knows.
type tensorReader struct {
	t        *Tensor
	location int64

	raw      []byte
	hasRaw   bool
	floats   []byte  // little-endian
	doubles  []byte  // little-endian
	int32s   []int64 // also of all types narrower than 32 bits
	int64s   []int64
	uint64s  []int64 // bits; also of uint32
	external []byte  // the fields of external data as found
}

func (t *Tensor) decode(msg []byte, _ int) error {
	r := &tensorReader{t: t}
	err := eachField(msg, &t.Extra, r.field)
	if err == nil {
		err = r.finish()
	}
	return in("tensor", t.Name, err)
}

func (r *tensorReader) field(f field) error {
	t := r.t
	switch f.num {
	case tensorDims:
		return f.varints(&t.Dims)
	case tensorDataType:
		return f.elemType(&t.Type)
	case tensorName:
		return f.string(&t.Name)
	case tensorDocString:
		return f.string(&t.Doc)
	case tensorExternalData:
		r.external = append(r.external, f.raw...)
		return decodeElement(f, &t.External, (*Property).decode)
	case tensorDataLocation:
		return f.int(&r.location)
	case tensorMetadataProps:
		return decodeElement(f, &t.Metadata, (*Property).decode)
	}
	return r.elements(f)
}

func (r *tensorReader) elements(f field) error {
	switch f.num {
	case tensorRawData:
		r.hasRaw = true
		r.raw = f.data[:len(f.data):len(f.data)]
		return f.message(func([]byte) error { return nil })
	case tensorStringData:
		return f.strings(&r.t.Strings)
	case tensorFloatData:
		return f.fixed(4, &r.floats)
	case tensorDoubleData:
		return f.fixed(8, &r.doubles)
	case tensorInt32Data:
		return f.varints(&r.int32s)
	case tensorInt64Data:
		return f.varints(&r.int64s)
	case tensorUint64Data:
		return f.varints(&r.uint64s)
	}
	return errUnknownField
}

// elemType reads an element type, which the format keeps in 32 bits.
func (f field) elemType(dst *ElemType) error {
	var v int64
	err := f.int(&v)
	*dst = ElemType(v)
	return err
}

// finish makes Data, Strings and External of what was found.
func (r *tensorReader) finish() error {
	r.settleExternal()
	found := r.lists()
	if r.hasRaw {
		found = append(found, Raw(r.raw))
	}
	forms := len(found)
	if len(r.t.Strings) > 0 {
		forms++
	}
	switch {
	case forms > 1:
		return errManyForms
	case forms == 0:
		return nil
	case len(found) == 0:
		return r.onlyStrings()
	case found[0] == nil:
		return fmt.Errorf("its elements come in a form that %v cannot have", r.t.Type)
	}
	r.t.Data = found[0]
	return nil
}

var errManyForms = errors.New("its elements come in more than one form")

func (r *tensorReader) onlyStrings() error {
	if r.t.Type != String {
		return fmt.Errorf("strings in a tensor of %v", r.t.Type)
	}
	return nil
}

// settleExternal makes External what the tensor's location says that it is.
func (r *tensorReader) settleExternal() {
	switch {
	case r.location != locationExternal:
		r.t.Extra += Extra(r.external) // of no meaning, but not ours to drop
		r.t.External = nil
	case r.t.External == nil:
		r.t.External = []Property{}
	}
}

// lists converts the typed lists of elements that are not empty. A list that the
// tensor's type must not use becomes nil.
func (r *tensorReader) lists() []Raw {
	var found []Raw
	add := func(n int, raw func() Raw) {
		if n > 0 {
			found = append(found, raw())
		}
	}
	typ := r.t.Type
	add(len(r.floats), func() Raw { return onlyFor(r.floats, typ, Float32, Complex64) })
	add(len(r.doubles), func() Raw { return onlyFor(r.doubles, typ, Float64, Complex128) })
	add(len(r.int32s), func() Raw { return packInts(r.int32s, int32Width(typ)) })
	add(len(r.int64s), func() Raw { return onlyFor(packInts(r.int64s, 8), typ, Int64) })
	add(len(r.uint64s), func() Raw { return onlyFor(packInts(r.uint64s, min(typ.Bits()/8, 8)), typ, Uint32, Uint64) })
	return found
}

func onlyFor(raw []byte, typ ElemType, allowed ...ElemType) Raw {
	for _, a := range allowed {
		if typ == a {
			return raw
		}
	}
	return nil
}

// int32Width returns how many bytes of the elements one entry of int32_data makes.
// Types of less than a byte share one: two or four elements to an entry. It is 0 for
// types that are never kept there.
func int32Width(typ ElemType) int {
	switch typ {
	case Int32:
		return 4
	case Int16, Uint16, Float16, BFloat16:
		return 2
	case Bool, Int8, Uint8, Int4, Uint4, Int2, Uint2, Float4E2M1,
		Float8E4M3FN, Float8E4M3FNUZ, Float8E5M2, Float8E5M2FNUZ, Float8E8M0:
		return 1
	}
	return 0
}

// packInts writes the low bytes of each integer, nil if the width is none.
func packInts(list []int64, width int) Raw {
	if width == 0 {
		return nil
	}
	raw := make(Raw, 0, len(list)*width+8)
	for _, v := range list {
		end := len(raw) + width
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))[:end] // the low bytes come first
	}
	return raw
}

func (t *SparseTensor) decode(msg []byte, depth int) error {
	err := eachField(msg, &t.Extra, func(f field) error {
		switch f.num {
		case sparseValues:
			return decodeInto(f, &t.Values, (*Tensor).decode, depth)
		case sparseIndices:
			return decodeInto(f, &t.Indices, (*Tensor).decode, depth)
		case sparseDims:
			return f.varints(&t.Dims)
		}
		return errUnknownField
	})
	if err == nil && t.Values == nil {
		err = errors.New("no values")
	}
	return in("sparse tensor", "", err)
}
