//go:build cgo

package ort

import (
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestARunThatIsCountedHasSomethingToDo(t *testing.T) {
	port := func(name string, d tensor.DType, shape ...int64) modelPort {
		return modelPort{Port: backend.Port{Name: name, Type: d, Shape: shape}}
	}
	for _, c := range []struct {
		name  string
		port  modelPort
		batch int
		want  tensor.Tensor
	}{
		{"pixels are zeros", port("image", tensor.Float32, -1, 3, 1), 2, tensor.New(tensor.Float32, 2, 3, 1)},
		{"tokens are zeros", port("input_ids", tensor.Int64, -1, -1), 1, tensor.Of([]int64{0}, 1, 1)},
		{"the lengths of sequences are zeros", port("seqlens_k", tensor.Int32, -1), 2, tensor.Of([]int32{0, 0}, 2)},
		{"the length of the longest is one", port("total_sequence_length", tensor.Int32, 1), 2, tensor.Of([]int32{1}, 1)},
		{"a number that is a scalar is one", port("count", tensor.Int64), 1, tensor.Of([]int64{1})},
		{"two numbers are no count", port("size", tensor.Int64, 2), 1, tensor.Of([]int64{0, 0}, 2)},
		{"a row of one is no count", port("input_ids", tensor.Int64, 1, 1), 1, tensor.Of([]int64{0}, 1, 1)},
		{"a fraction that is a scalar is zero", port("guidance", tensor.Float32, 1), 1, tensor.Of([]float32{0}, 1)},
		{"masks let all through", port("Attention_Mask", tensor.Int64, -1, 2), 2, tensor.Of([]int64{1, 1, 1, 1}, 2, 2)},
		{"masks of truth do", port("key_padding_mask", tensor.Bool, 1, 2), 1, truthOf(1, 1)},
		{"masks that are added do as zeros", port("attention_mask", tensor.Float32, 1, 2), 1, tensor.Of([]float32{0, 0}, 1, 2)},
		{"no batch is one of one", port("image", tensor.Uint8, -1, 2), 0, tensor.Of([]uint8{0, 0}, 1, 2)},
		{"fixed batches stay", port("image", tensor.Uint8, 3, -1), 7, tensor.Of([]uint8{0, 0, 0}, 3, 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := smallInput(c.port, c.batch)
			if got.Type != c.want.Type || !slices.Equal(got.Shape, c.want.Shape) || !slices.Equal(got.Bytes(), c.want.Bytes()) {
				t.Errorf("%v is %v of %v, want %v of %v", c.port, got.Bytes(), got, c.want.Bytes(), c.want)
			}
		})
	}
}

func truthOf(list ...byte) tensor.Tensor {
	t, _ := tensor.FromBytes(tensor.Bool, list, 1, int64(len(list)))
	return t
}
