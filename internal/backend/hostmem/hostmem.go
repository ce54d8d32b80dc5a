// Package hostmem makes tensors in memory outside the Go heap, for sample stores and buffers of instances.
//
//	store, free, err := hostmem.New(tensor.Float32, 1024, 3, 224, 224) // 617 MB
//	defer free()
//	pixels := tensor.Data[float32](store)
//
// An engine written in C keeps the address of a tensor between calls, which the rules of cgo allow for memory that
// Go does not own. A store of hundreds of megabytes does not delay the garbage collector there, which starts when
// the heap has doubled, and goes back to the system as soon as it is freed.
//
// Systems other than Unix have tensors of the Go heap instead.
package hostmem

import (
	"fmt"
	"slices"
	"sync"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// New returns a zeroed tensor, aligned to a page, and a function that frees its memory. After that nothing may touch the
// tensor or a view of it; calling free again does nothing.
//
// It fails if the system refuses the memory, and for strings. A negative axis is a panic, as in tensor.New.
func New(d tensor.DType, shape ...int64) (t tensor.Tensor, free func() error, err error) {
	if d.Size() == 0 {
		return tensor.Tensor{}, nil, fmt.Errorf("a tensor of type %v cannot lie outside the Go heap", d)
	}
	if len(shape) > 0 && slices.Min(shape) >= 0 && tensor.Shape(shape).Len() < 0 {
		return tensor.Tensor{}, nil, fmt.Errorf("allocating %v%v: it has more elements than any memory", d, tensor.Shape(shape))
	}
	size := tensor.Shape(shape).Len() * int64(d.Size())
	if size <= 0 { // no elements; New panics on a negative axis
		return tensor.New(d, shape...), func() error { return nil }, nil
	}
	memory, release, err := allocate(int(size))
	if err != nil {
		return tensor.Tensor{}, nil, fmt.Errorf("allocating %.1f MB for %v%v: %w", float64(size)/1e6, d, tensor.Shape(shape), err)
	}
	t, err = tensor.FromBytes(d, memory, shape...)
	if err != nil {
		_ = release()
		return tensor.Tensor{}, nil, err
	}
	return t, sync.OnceValue(release), nil
}
