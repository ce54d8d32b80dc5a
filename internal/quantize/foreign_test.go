package quantize

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// reasonFor is why a layer stays in FP32.
func reasonFor(excluded []ExcludedLayer, layer string) string {
	for _, x := range excluded {
		if x.Layer == layer {
			return x.Reason
		}
	}
	return ""
}

func TestWeightsThatAreOfAnotherSizeThanTheirShapeSaysStayAsTheyAre(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(g *onnx.Graph)
	}{
		{"the shape asks for more", func(g *onnx.Graph) { replace(g, onnx.TensorOf("shape", []int64{1, 32, 5}, 3)) }},
		{"the shape asks for less", func(g *onnx.Graph) { replace(g, onnx.TensorOf("shape", []int64{1, 32, 3}, 3)) }},
		{"the shape has more elements than there are numbers", func(g *onnx.Graph) { replace(g, onnx.TensorOf("shape", []int64{1 << 40, 1 << 40, 1 << 40}, 3)) }},
		{"the shape is not known", func(g *onnx.Graph) { replace(g, onnx.TensorOf("shape", []int64{1, -1, 4}, 3)) }},
		{"the shape is no list of integers", func(g *onnx.Graph) { replace(g, onnx.TensorOf("shape", []float32{1, 32, 4}, 3)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := clone(recurrentModel(t))
			c.change(m.Graph)
			q, report, err := Dynamic(m, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := reasonFor(report.Excluded, "lstm"); got != "its weights are not constant" || find(t, q, "lstm").Op != "LSTM" {
				t.Errorf("the LSTM is %s, excluded because %q", find(t, q, "lstm").Op, got)
			}
		})
	}
	t.Run("there are none", func(t *testing.T) {
		m := clone(recurrentModel(t))
		replace(m.Graph, onnx.TensorOf("r", []float32{}, 1, 32, 0))
		_, report, err := Dynamic(m, Options{})
		if got := reasonFor(report.Excluded, "lstm"); err != nil || got != "its weights are empty" {
			t.Errorf("the LSTM is excluded because %q, %v", got, err)
		}
	})
}

// replace puts a constant in the place of one of the same name.
func replace(g *onnx.Graph, t *onnx.Tensor) {
	i := slices.IndexFunc(g.Initializers, func(old *onnx.Tensor) bool { return old.Name == t.Name })
	g.Initializers[i] = t
}

func TestGroupsThatDoNotDivideTheFiltersStayInFP32(t *testing.T) {
	m, ranges := calibrated(t)
	for _, groups := range []int64{3, 0, -8, 1 << 62} {
		odd := clone(m)
		find(t, odd, "block").SetAttr("group", groups)
		q, report, err := Quantize(odd, ranges, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("its 8 filters are not %d groups", groups)
		if got := reasonFor(report.Excluded, "block"); got != want {
			t.Errorf("the layer is excluded because %q, want %q", got, want)
		}
		if err := q.Check(); err != nil {
			t.Errorf("%d groups: %v", groups, err)
		}
	}
}

// Each of many levels moves what it reads in two ways, and puts it together again.
func TestWhatIsMovedApartAndTogetherIsFollowedOnce(t *testing.T) {
	var nodes []*onnx.Node
	last := "x"
	for i := range 200 {
		a, b, both := fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i), fmt.Sprintf("both%d", i)
		nodes = append(nodes, node("Transpose", a, []string{last}, a), node("Transpose", b, []string{last}, b),
			node("Concat", both, []string{a, b}, both, onnx.Attr("axis", int64(0))))
		last = both
	}
	for op, want := range map[string]bool{"Sigmoid": true, "Tanh": false} {
		m := handmade(13, append(slices.Clip(nodes), node(op, "end", []string{last}, "y")))
		p := &plan{model: m, index: m.Graph.Index()}
		if got := p.onlySigmoid("x"); got != want {
			t.Errorf("only a Sigmoid sees x, with %s at the end: %v", op, got)
		}
	}
}

func TestOnlyASigmoidOfONNXCounts(t *testing.T) {
	custom := node("Sigmoid", "s", []string{"x"}, "y")
	custom.Domain = "com.example"
	for name, nodes := range map[string][]*onnx.Node{
		"nobody reads it":         {node("Sigmoid", "s", []string{"other"}, "y")},
		"another domain":          {custom},
		"somebody else too":       {node("Sigmoid", "s", []string{"x"}, "y"), node("Relu", "r", []string{"x"}, "z")},
		"it is a shape":           {node("Reshape", "r", []string{"other", "x"}, "moved"), node("Sigmoid", "s", []string{"moved"}, "y")},
		"it is resized":           {node("Resize", "r", []string{"x"}, "moved"), node("Sigmoid", "s", []string{"moved"}, "y")},
		"what is moved comes out": {node("Transpose", "t", []string{"x"}, "y"), node("Sigmoid", "s", []string{"y"}, "z")},
	} {
		m := handmade(13, nodes)
		if (&plan{model: m, index: m.Graph.Index()}).onlySigmoid("x") {
			t.Errorf("%s: only a Sigmoid sees x", name)
		}
	}
}

// A score that is no number reaches no target, and is worse than any other.
func TestAScoreThatIsNoNumberIsNotEnough(t *testing.T) {
	m, ranges := calibrated(t)
	for _, c := range []struct {
		name   string
		scores []float64 // one after the other, the last one again and again
		target float64
		want   float64
		missed bool
	}{
		{"never a number", []float64{math.NaN()}, 0.5, math.NaN(), true},
		{"a number later, though too low", []float64{math.NaN(), 0.3, math.NaN()}, 0.5, 0.3, true},
		{"no number after one that is too low", []float64{0.3, math.NaN()}, 0.5, 0.3, true},
		{"enough after no number", []float64{math.NaN(), 0.7}, 0.5, 0.7, false},
		{"a target that is no number", []float64{0.7}, math.NaN(), 0.7, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			scores := slices.Clone(c.scores)
			s := Search{Target: c.target, Rank: costs(map[string]float64{}), Score: func(context.Context, *onnx.Model) (float64, error) {
				score := scores[0]
				scores = scores[min(1, len(scores)-1):]
				return score, nil
			}}
			got, err := s.Run(t.Context(), m, ranges, Options{})
			if errors.Is(err, ErrTargetMissed) != c.missed || !c.missed && err != nil {
				t.Errorf("Run() fails with %v", err)
			}
			if got.Score != c.want && !(math.IsNaN(got.Score) && math.IsNaN(c.want)) {
				t.Errorf("the best score is %v, want %v", got.Score, c.want)
			}
		})
	}
}

func TestRefusalsNameTheLayerAndTheReason(t *testing.T) {
	weights := onnx.TensorOf("w", make([]float32, 8), 2, 4)
	for _, c := range []struct {
		name  string
		nodes []*onnx.Node
		want  string
	}{
		{"a matrix of three axes", []*onnx.Node{node("Reshape", "r", []string{"w", "three"}, "w3"), node("MatMul", "m", []string{"x", "w3"}, "y")}, "its weights are not constant"},
		{"a kernel of two axes", []*onnx.Node{node("Conv", "c", []string{"x", "w"}, "y")}, "its weights have the shape [2 4]"},
		{"a factor that stays", []*onnx.Node{node("Gemm", "g", []string{"x", "w"}, "y", onnx.Attr("transA", int64(1)))}, "it scales or transposes its input"},
	} {
		m := handmade(13, c.nodes, weights, onnx.TensorOf("three", []int64{1, 2, 4}, 3))
		_, _, err := Quantize(m, Ranges{Method: Method{Name: MinMax}}, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// An engine need not hand out an input as it is.
func TestInputsAreObservedThroughANode(t *testing.T) {
	m := residualModel(t)
	before := encoded(t, m)
	v := valuesModel(m, []string{"image", "stem:0", "logits:0"})
	if encoded(t, m) != before {
		t.Error("the model was changed")
	}
	if err := v.Check(); err != nil {
		t.Fatal(err)
	}
	out := v.Graph.Outputs
	if len(out) != 3 || out[1].Name != "stem:0" || out[2].Name != "logits:0" {
		t.Fatalf("the outputs are %v", out)
	}
	p := v.Graph.Index().Producer(out[0].Name)
	if p == nil || p.Op != "Identity" || p.Inputs[0] != "image" || out[0].Type.Elem != onnx.Float32 {
		t.Errorf("the input is handed out as %v", out[0])
	}
}

func TestAHeadReadsAMatrix(t *testing.T) {
	m := clone(residualModel(t))
	// In the place of the last layer a convolution of what was pooled.
	m.Graph.Nodes = slices.DeleteFunc(m.Graph.Nodes, func(n *onnx.Node) bool { return n.Op == "Flatten" || n.Op == "Gemm" })
	w := onnx.TensorOf("head", make([]float32, 40), 5, 8, 1, 1)
	m.Graph.Initializers = append(m.Graph.Initializers, w)
	head := node("Conv", "head", []string{"mean:0", "head"}, "logits:0")
	m.Graph.Nodes = append(m.Graph.Nodes, head)
	for _, c := range []struct {
		name   string
		change func()
		gemm   bool
	}{
		{"one pixel", func() {}, true},
		{"strides and pads that change nothing", func() {
			head.SetAttr("strides", []int64{1, 1})
			head.SetAttr("pads", []int64{0, 0, 0, 0})
		}, true},
		{"two groups", func() { head.SetAttr("group", int64(2)) }, false},
		{"pads", func() { head.SetAttr("pads", []int64{0, 1, 0, 0}) }, false},
		{"strides", func() { head.SetAttr("strides", []int64{1, 2}) }, false},
		{"what was not pooled", func() { head.Inputs[0] = "depthwise/relu6:0" }, false},
		{"a larger kernel", func() { w.Dims, w.Data = []int64{5, 8, 1, 3}, onnx.TensorOf("", make([]float32, 120), 120).Data }, false},
	} {
		head.Attributes, head.Inputs = nil, []string{"mean:0", "head"}
		c.change()
		made := clone(m)
		headsToGemm(made)
		n := find(t, made, "head")
		if got := n.Op == "Gemm"; got != c.gemm {
			t.Errorf("%s: the head is a %s", c.name, n.Op)
		}
		if !c.gemm {
			continue
		}
		if matrix := made.Graph.Index().Initializer(n.Inputs[1]); !slices.Equal(matrix.Dims, []int64{5, 8}) || onnx.AttrOr(n, "transB", int64(0)) != 1 {
			t.Errorf("%s: the head reads weights of the shape %v", c.name, matrix.Dims)
		}
		if err := made.Check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
