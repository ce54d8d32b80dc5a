package decode

import (
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/hostmem"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A slab is memory of the cache: of the device, if the session has it, or else of the host.
type slab struct {
	d    *Decoder
	host tensor.Tensor
	kept backend.Memory // nil: host
}

// slab allocates elements of the cache, which Close of the decoder frees.
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

// memory allocates host memory, which Close of the decoder frees.
func (d *Decoder) memory(t tensor.DType, shape ...int64) (tensor.Tensor, error) {
	m, free, err := hostmem.New(t, shape...)
	if err == nil {
		d.free = append(d.free, free)
	}
	return m, err
}

// value binds the elements from one on. Close of the decoder closes it.
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

// copy copies elements to another place in the slab. The next run returns an error of the device.
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

// integers is memory of int64 or int32, as a model takes them.
type integers struct {
	long  []int64
	short []int32
}

func newIntegers(t tensor.DType, n int) integers {
	if t == tensor.Int32 {
		return integers{short: make([]int32, n)}
	}
	return integers{long: make([]int64, n)}
}

func (n integers) set(i, value int) {
	if n.short != nil {
		n.short[i] = int32(value)
		return
	}
	n.long[i] = int64(value)
}

func (n integers) get(i int) int {
	if n.short != nil {
		return int(n.short[i])
	}
	return int(n.long[i])
}

// tensor is a view of count integers.
func (n integers) tensor(from, count int, shape ...int64) tensor.Tensor {
	if n.short != nil {
		return tensor.Of(n.short[from:from+count], shape...)
	}
	return tensor.Of(n.long[from:from+count], shape...)
}
