package quantize

import (
	"math"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

func TestWeightsAreRoundedHalfToEven(t *testing.T) {
	// The largest magnitude, 127, makes the scale 1.
	w := []float32{127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.4999, -127}
	q := quantizeWeights(w, []int64{1, 9}, 0, false, 127, nil)
	if want := []int8{127, 0, 2, 2, 0, -2, -2, 0, -127}; !slices.Equal(q.values, want) || q.scales[0] != 1 {
		t.Errorf("quantizeWeights() = %v with scales %v, want %v with 1", q.values, q.scales, want)
	}
}

func TestWeightsHaveScalesOfTheirUnits(t *testing.T) {
	w := []float32{1.27, -0.01, 12.7, 0.1, 0, 0}
	for _, c := range []struct {
		name      string
		dims      []int64
		axis      int
		perTensor bool
		limit     int
		scales    []float32
		values    []int8
	}{
		{"per filter", []int64{3, 2}, 0, false, 127, []float32{0.01, 0.1, 1}, []int8{127, -1, 127, 1, 0, 0}},
		{"per column", []int64{3, 2}, 1, false, 127, []float32{0.1, 0.1 / 127}, []int8{13, -13, 127, 127, 0, 0}},
		{"per tensor", []int64{3, 2}, 0, true, 127, []float32{0.1}, []int8{13, 0, 127, 1, 0, 0}},
		{"seven bits", []int64{3, 2}, 0, true, 63, []float32{12.7 / 63}, []int8{6, 0, 63, 0, 0, 0}},
	} {
		q := quantizeWeights(w, c.dims, c.axis, c.perTensor, c.limit, nil)
		near := slices.EqualFunc(q.scales, c.scales, func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-7 })
		if !near || !slices.Equal(q.values, c.values) {
			t.Errorf("%s: quantizeWeights() = %v with scales %v, want %v with %v", c.name, q.values, q.scales, c.values, c.scales)
		}
	}
}

func TestTinyWeightsWithALargeBiasGetAScaleThatTheBiasFits(t *testing.T) {
	w, bias := []float32{1e-9, 1}, []float32{1000, 1000}
	q := quantizeWeights(w, []int64{2, 1}, 0, false, 127, []weightUse{{bias, 0.01}})
	values, clamped := quantizeBias(bias, q.biasScales(0.01))
	if clamped != 0 || values[0] < 1<<29 || values[0] > 1<<30+1<<7 {
		t.Errorf("the bias became %v, %d clamped, want about 2³⁰ for the first", values, clamped)
	}
	for i, v := range values {
		if got := float64(v) * float64(q.scales[i]) * 0.01; math.Abs(got-1000) > 1e-3 {
			t.Errorf("bias %d stands for %v, want 1000", i, got)
		}
	}
}

func TestBiasesAreRoundedHalfToEvenAndLimited(t *testing.T) {
	values, clamped := quantizeBias([]float32{0.5, 1.5, -2.5, 1e12, -1e12}, []float32{1})
	if want := []int32{0, 2, -2, math.MaxInt32, -math.MaxInt32}; !slices.Equal(values, want) || clamped != 2 {
		t.Errorf("quantizeBias() = %v, %d, want %v, 2", values, clamped, want)
	}
}

// A layer with the wrong weights and the shifts taken off has the same mean as the right one.
func TestMeanShiftsAreWhatTheErrorsAddToTheMean(t *testing.T) {
	for _, c := range []struct {
		name   string
		op     string
		attrs  []onnx.Attribute
		dims   []int64
		errors []float32
		means  []float32
		want   []float64
	}{
		{"convolution", "Conv", nil, []int64{2, 2, 1, 2}, []float32{1, 2, 3, 4, 0, 0, 5, 0}, []float32{10, 100}, []float64{730, 500}},
		{"depthwise", "Conv", []onnx.Attribute{onnx.Attr("group", int64(2))}, []int64{2, 1, 2, 1}, []float32{1, 2, 3, 4}, []float32{10, 100}, []float64{30, 700}},
		{"groups", "Conv", []onnx.Attribute{onnx.Attr("group", int64(2))}, []int64{2, 2, 1, 1}, []float32{1, 2, 3, 4}, []float32{1, 10, 100, 1000}, []float64{21, 4300}},
		{"matrix", "Gemm", nil, []int64{2, 3}, []float32{1, 2, 3, 4, 5, 6}, []float32{1, 10}, []float64{41, 52, 63}},
		{"transposed matrix", "Gemm", []onnx.Attribute{onnx.Attr("transB", int64(1))}, []int64{3, 2}, []float32{1, 2, 3, 4, 5, 6}, []float32{1, 10}, []float64{21, 43, 65}},
	} {
		n := node(c.op, "n", nil, "y", c.attrs...)
		if got := meanShifts(n, c.errors, c.dims, c.means); !slices.Equal(got, c.want) {
			t.Errorf("%s: meanShifts() = %v, want %v", c.name, got, c.want)
		}
	}
}
