package convert

import (
	"fmt"
	"slices"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/quantize"
)

// PrecisionOf says in what a model computes that consists of files: int4 or int8 if operators of one of them
// take integers for weights, fp16 if most bytes of its floating-point constants are half precision, else fp32.
func PrecisionOf(paths ...string) (string, error) {
	var integers []int64 // bits
	bytes := map[onnx.ElemType]int64{}
	for _, path := range paths {
		m, err := onnx.ReadFile(path)
		if err != nil {
			return "", err
		}
		if bits := quantize.FewBits(m); bits > 0 {
			integers = append(integers, bits)
		}
		for t := range m.Tensors() {
			n, _ := t.Len() // no elements where the shape is impossible
			bytes[t.Type] += n * int64(t.Type.Bits()) / 8
		}
	}
	switch {
	case len(integers) > 0:
		return fmt.Sprintf("int%d", slices.Min(integers)), nil
	case bytes[onnx.Float16]+bytes[onnx.BFloat16] > bytes[onnx.Float32]:
		return FP16, nil
	}
	return FP32, nil
}
