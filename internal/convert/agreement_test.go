package convert

import (
	"math"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestComparison(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name      string
		want, got tensor.Tensor
		agreement report.Agreement
		useless   bool
	}{
		{"the same", tensor.Of([]float32{1, 2, 4, 3}, 2, 2), tensor.Of([]float32{1, 2, 4, 3}, 2, 2), report.Agreement{Answers: 2, Equal: 2}, false},
		{"a class of two changes", tensor.Of([]float32{0, 4, 0, 3}, 2, 2), tensor.Of([]float32{0, 4, 5, 3}, 2, 2),
			report.Agreement{Answers: 2, Equal: 1, LargestError: 1.25, Noise: 1}, true},
		{"most classes change", tensor.Of([]float32{100, 101, 100, 101, 100, 101}, 3, 2), tensor.Of([]float32{102, 101, 102, 101, 100, 101}, 3, 2),
			report.Agreement{Answers: 3, Equal: 1, LargestError: 2. / 101, Noise: 0.0115}, true},
		{"channels of an image", tensor.Of([]float32{1, 5, 2, 4}, 1, 2, 1, 2), tensor.Of([]float32{1, 3, 2, 4}, 1, 2, 1, 2),
			report.Agreement{Answers: 2, Equal: 1, LargestError: 0.4, Noise: 0.2949}, false},
		{"a map of one channel has no answers", tensor.Of([]float32{1, 4}, 1, 1, 1, 2), tensor.Of([]float32{2, 4}, 1, 1, 1, 2),
			report.Agreement{LargestError: 0.25, Noise: 0.2425}, false},
		{"one number", tensor.Of([]float32{2}), tensor.Of([]float32{1}), report.Agreement{LargestError: 0.5, Noise: 0.5}, false},
		{"nothing", tensor.Of([]float32{}, 0, 3), tensor.Of([]float32{}, 0, 3), report.Agreement{}, false},
		{"zeros", tensor.Of([]float32{0, 0}, 1, 1, 1, 2), tensor.Of([]float32{0, 3}, 1, 1, 1, 2), report.Agreement{LargestError: 1, Noise: 1}, true},
		{"whole numbers", tensor.Of([]int64{7, 8, 9}, 3), tensor.Of([]int64{7, 8, 7}, 3), report.Agreement{Answers: 3, Equal: 2}, false},
		{"another shape", tensor.Of([]float32{1, 2, 4, 3}, 2, 2), tensor.Of([]float32{1, 2}, 1, 2), report.Agreement{Answers: 2}, true},
		{"not a number in FP32 too", tensor.Of([]float32{nan, inf, 4}, 3), tensor.Of([]float32{nan, 1, 4}, 3), report.Agreement{Answers: 1, Equal: 1}, false},
		{"not a number any more", tensor.Of([]float32{1, 2, 4}, 3), tensor.Of([]float32{nan, inf, 4}, 3), report.Agreement{Answers: 1, Broken: 2}, true},
	} {
		x := comparison{spans: make([]span, 1)}
		x.add(0, c.want, c.got)
		x.finish()
		a, near := x.Agreement, func(a, b float64) bool { return math.Abs(a-b) < 1e-4 }
		if a.Answers != c.agreement.Answers || a.Equal != c.agreement.Equal || a.Broken != c.agreement.Broken ||
			!near(a.LargestError, c.agreement.LargestError) || !near(a.Noise, c.agreement.Noise) {
			t.Errorf("%s: %+v, want %+v", c.name, a, c.agreement)
		}
		if a.Useless() != c.useless {
			t.Errorf("%s: useless %v: %v", c.name, a.Useless(), a)
		}
	}
}

// The order of boxes says nothing about a conversion.
func TestOutputsThatAreCompared(t *testing.T) {
	g := &onnx.Graph{
		Nodes: []*onnx.Node{
			{Op: "Relu", Inputs: []string{"x"}, Outputs: []string{"scores"}},
			{Op: "TopK", Inputs: []string{"scores", "k"}, Outputs: []string{"best", "which"}},
			{Op: "Neg", Inputs: []string{"best"}, Outputs: []string{"after"}},
			{Op: "Loop", Inputs: []string{"", "", "x"}, Outputs: []string{"chosen"}, Attributes: []onnx.Attribute{
				onnx.Attr("body", &onnx.Graph{Nodes: []*onnx.Node{{Op: "NonMaxSuppression", Outputs: []string{"inner"}}}})}},
		},
		Outputs: []*onnx.Value{{Name: "which"}, {Name: "scores"}, {Name: "after"}, {Name: "chosen"}, {Name: "x"}},
	}
	if got := ordered(g); !slices.Equal(got, []int{1, 4}) {
		t.Errorf("outputs %v are compared, want 1 and 4", got)
	}
}
