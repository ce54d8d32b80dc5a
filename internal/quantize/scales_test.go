package quantize

import (
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

func TestFactorsOfMatrixProductsAreFoldedIntoTheirConstants(t *testing.T) {
	w := onnx.TensorOf("w", []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	b := onnx.TensorOf("b", []float32{1, 10, 100}, 3)
	for name, attributes := range map[string][]onnx.Attribute{
		"alpha": {onnx.Attr("alpha", float32(0.5))},
		"beta":  {onnx.Attr("beta", float32(3))},
		"both":  {onnx.Attr("alpha", float32(2)), onnx.Attr("beta", float32(-1))},
		"none":  nil,
	} {
		// Another product reads the same constants, without factors.
		m := handmade(13, []*onnx.Node{
			node("Gemm", "n", []string{"x", "w", "b"}, "p", attributes...),
			node("Gemm", "o", []string{"x", "w", "b"}, "q"),
			node("Add", "sum", []string{"p", "q"}, "y"),
		}, w, b)
		folded := clone(m)
		if err := foldScales(folded); err != nil {
			t.Fatal(err)
		}
		x := floats([]float32{1, 2, 3, 4}, 2, 2)
		want, got := evaluate(t, m, x, "y"), evaluate(t, folded, x, "y")
		if d := differ(want[0], got[0]); d > 1e-6 {
			t.Errorf("%s: the result differs by %v", name, d)
		}
		n := find(t, folded, "n")
		if n.Attr("alpha") != nil || n.Attr("beta") != nil {
			t.Errorf("%s: factors are left", name)
		}
		if find(t, folded, "o").Inputs[1] != "w" {
			t.Errorf("%s: the other product has other weights", name)
		}
	}
}
