//go:build unix

package hostmem

import (
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// New returns a zeroed tensor, aligned to a page, and a function that frees its memory.
// After that nothing may touch the tensor or a view of it. Calling free again does nothing.
//
// It fails if the system refuses the memory, and for strings. A negative axis is a panic, as in
// tensor.New.
func New(d tensor.DType, shape ...int64) (t tensor.Tensor, free func() error, err error) {
	size := tensor.Shape(shape).Len() * int64(d.Size())
	if d.Size() == 0 {
		return tensor.Tensor{}, nil, fmt.Errorf("a tensor of type %v cannot lie outside the Go heap", d)
	}
	if len(shape) > 0 && slices.Min(shape) >= 0 && tensor.Shape(shape).Len() < 0 {
		return tensor.Tensor{}, nil, fmt.Errorf("allocating %v%v: it has more elements than any memory", d, tensor.Shape(shape))
	}
	if size <= 0 { // no elements; New panics on a negative axis
		return tensor.New(d, shape...), func() error { return nil }, nil
	}
	memory, err := unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return tensor.Tensor{}, nil, fmt.Errorf("allocating %.1f MB for %v%v: %w", float64(size)/1e6, d, tensor.Shape(shape), err)
	}
	preferHugePages(memory)
	t, err = tensor.FromBytes(d, memory, shape...)
	if err != nil {
		unix.Munmap(memory)
		return tensor.Tensor{}, nil, err
	}
	return t, sync.OnceValue(func() error { return unix.Munmap(memory) }), nil
}
