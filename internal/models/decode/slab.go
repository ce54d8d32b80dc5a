package decode

import (
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/hostmem"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A slab is memory of the cache: where the model computes, if its session has memory there, and else the
// processor's.
type slab struct {
	d    *Decoder
	host tensor.Tensor
	kept backend.Memory // nil: the processor's
}

// slab takes memory for elements of the cache, which is freed with the decoder.
func (d *Decoder) slab(elements int64) (slab, error) {
	s := slab{d: d}
	if keeper, ok := d.session.(backend.Keeper); ok {
		kept, err := keeper.Keep(d.layout.Element, elements)
		if err != nil {
			return s, err
		}
		if kept != nil {
			s.kept = kept
			d.free = append(d.free, kept.Close)
			return s, nil
		}
	}
	var err error
	s.host, err = d.memory(d.layout.Element, elements)
	return s, err
}

// memory takes memory of the processor that is freed with the decoder.
func (d *Decoder) memory(t tensor.DType, shape ...int64) (tensor.Tensor, error) {
	m, free, err := hostmem.New(t, shape...)
	if err == nil {
		d.free = append(d.free, free)
	}
	return m, err
}

// value binds the elements from one on. The value is closed with the decoder.
func (s slab) value(from int64, shape ...int64) (backend.Value, error) {
	if s.kept == nil {
		size := int64(s.d.layout.Element.Size())
		part, err := tensor.FromBytes(s.d.layout.Element, s.host.Bytes()[from*size:][:tensor.Shape(shape).Len()*size], shape...)
		if err != nil {
			return nil, err
		}
		return s.d.bind(part)
	}
	v, err := s.kept.Value(from, shape...)
	if err == nil {
		s.d.values = append(s.d.values, v)
	}
	return v, err
}

// copy copies elements to another place in the slab. What goes wrong in a device is said by the next run.
func (s slab) copy(to, from, elements int64) {
	if s.kept == nil {
		size, mem := int64(s.d.layout.Element.Size()), s.host.Bytes()
		copy(mem[to*size:][:elements*size], mem[from*size:])
		return
	}
	if err := s.kept.Copy(to, from, elements); err != nil && s.d.broken == nil {
		s.d.broken = err
	}
}
