package decode

import (
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// numbers is memory for whole numbers of one of the two types that models take.
type numbers struct {
	long  []int64
	short []int32
}

func newNumbers(t tensor.DType, n int) numbers {
	if t == tensor.Int32 {
		return numbers{short: make([]int32, n)}
	}
	return numbers{long: make([]int64, n)}
}

func (n numbers) set(i, value int) {
	if n.short != nil {
		n.short[i] = int32(value)
		return
	}
	n.long[i] = int64(value)
}

func (n numbers) get(i int) int {
	if n.short != nil {
		return int(n.short[i])
	}
	return int(n.long[i])
}

// tensor is a view of some of them.
func (n numbers) tensor(from, count int, shape ...int64) tensor.Tensor {
	if n.short != nil {
		return tensor.Of(n.short[from:from+count], shape...)
	}
	return tensor.Of(n.long[from:from+count], shape...)
}
