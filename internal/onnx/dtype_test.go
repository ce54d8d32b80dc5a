package onnx

import (
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestEveryTypeThatTensorsHaveIsAnElementType(t *testing.T) {
	for d := tensor.Float32; d <= tensor.String; d++ {
		elem := ElemTypeOf(d)
		if elem.DType() != d || !strings.EqualFold(elem.String(), d.String()) {
			t.Errorf("ElemTypeOf(%v) = %v, of which the tensor type is %v", d, elem, elem.DType())
		}
	}
	for _, elem := range []ElemType{Undefined, Complex64, BFloat16 + 1, Float8E5M2, -1, 99} {
		if d := elem.DType(); d != tensor.Invalid {
			t.Errorf("%v is taken for %v", elem, d)
		}
	}
	if elem := ElemTypeOf(tensor.Invalid); elem != Undefined {
		t.Errorf("ElemTypeOf(Invalid) = %v", elem)
	}
}
