package oip

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// The parameters of a tensor in shared memory, as Triton calls them.
const (
	regionKey = "shared_memory_region"
	offsetKey = "shared_memory_offset"
	sizeKey   = "shared_memory_byte_size"
)

// classificationKey is the parameter of an output whose classes are asked for.
const classificationKey = "classification"

// A wireParameter is the value of a parameter in gRPC.
type wireParameter struct {
	number int64
	text   string
}

// parameter reads an entry of a map of parameters.
func parameter(b []byte) (key string, value wireParameter, err error) {
	var inner []byte
	err = fields(b, func(r *scanner, f wireField) (err error) {
		switch f.number {
		case 1:
			key, err = r.text(f)
		case 2:
			inner, err = r.merged(f, inner)
		default:
			err = r.pass(f)
		}
		return err
	})
	if err != nil {
		return "", value, err
	}
	err = fields(inner, func(r *scanner, f wireField) (err error) {
		if f.kind == protowire.VarintType {
			value.number = int64(f.value)
		}
		if f.number == fieldText {
			value.text, err = r.text(f)
			return err
		}
		return r.pass(f)
	})
	return key, value, err
}

// take reads a parameter of a tensor, if it is about shared memory. One that asks for something else is an error.
func (w *Window) take(r *scanner, f wireField) error {
	b, err := r.element(f)
	if err != nil {
		return err
	}
	key, value, err := parameter(b)
	switch key {
	case classificationKey:
		if err == nil && value != (wireParameter{}) {
			err = errClassification
		}
	case regionKey:
		w.Region = value.text
	case offsetKey:
		w.Offset = value.number
	case sizeKey:
		w.Size = value.number
	}
	return err
}

// marshal implements marshaler: SystemSharedMemoryRegisterRequest.
func (g *Region) marshal() (mem.BufferSlice, error) { return whole(g.append(nil)) }

func (g *Region) append(dst []byte) []byte {
	dst = appendText(appendText(dst, 1, g.Name), 2, g.Key)
	return appendNumber(appendNumber(dst, 3, uint64(g.Offset)), 4, uint64(g.Size))
}

func (g *Region) unmarshal(s mem.BufferSlice) error { return each(s, g.take) }

func (g *Region) take(r *scanner, f wireField) (err error) {
	switch {
	case f.number == 1:
		g.Name, err = r.text(f)
	case f.number == 2:
		g.Key, err = r.text(f)
	case f.number == 3 && f.kind == protowire.VarintType:
		g.Offset = int64(f.value)
	case f.number == 4 && f.kind == protowire.VarintType:
		g.Size = int64(f.value)
	default:
		err = r.pass(f)
	}
	return err
}

// A RegionList is the answer of SystemSharedMemoryStatus: a map by name.
type RegionList struct{ Regions []Region }

func (l *RegionList) marshal() (mem.BufferSlice, error) {
	var b []byte
	for _, g := range l.Regions {
		b = appendMessage(b, 1, appendMessage(appendText(nil, 1, g.Name), 2, g.append(nil)))
	}
	return whole(b)
}
