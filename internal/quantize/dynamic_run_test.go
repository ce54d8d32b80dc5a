package quantize

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// dynamicMatMul is ONNX Runtime's DynamicQuantizeMatMul by its description: bytes of what it reads, with the range that it
// has, extended to zero, times integer weights with their scales, and a bias.
func dynamicMatMul(_ *onnx.Node, in []array) array {
	x, w, scales := in[0], in[1], in[2]
	low, high := min(slices.Min(x.data), 0), max(slices.Max(x.data), 0)
	scale := float64(float32((high - low) / 255))
	zero := math.RoundToEven(min(255, max(0, -low/scale)))
	if scale == 0 {
		scale, zero = 1, 0
	}
	inputs, units := int(w.shape[0]), int(w.shape[1])
	y := newArray(onnx.Float32, append(slices.Clone(x.shape[:len(x.shape)-1]), int64(units))...)
	for i := range y.data {
		row, unit := i/units, i%units
		sum := 0.0
		for k := range inputs {
			q := min(255, max(0, math.RoundToEven(x.data[row*inputs+k]/scale)+zero))
			sum += (q - zero) * w.data[k*units+unit]
		}
		y.data[i] = sum * scale * scales.data[min(unit, len(scales.data)-1)]
		if len(in) > 4 {
			y.data[i] += in[4].data[unit]
		}
	}
	return y
}

// withDynamic runs a model of which some products were quantised.
func withDynamic(t *testing.T, m *onnx.Model, x array, output string) array {
	t.Helper()
	var nodes []*onnx.Node
	for _, n := range m.Graph.Nodes {
		c := *n
		if c.Op == "DynamicQuantizeMatMul" {
			if c.Domain != "com.microsoft" || len(c.Attributes) > 0 {
				t.Fatalf("%s is of the domain %q and has the attributes %v", c.Name, c.Domain, c.Attributes)
			}
		}
		nodes = append(nodes, &c)
	}
	values, err := interpretWith(m, nodes, map[string]array{m.Graph.Inputs[0].Name: x})
	if err != nil {
		t.Fatal(err)
	}
	return values[output]
}

// interpretWith is interpret for nodes that may be of ONNX Runtime's own operators.
func interpretWith(m *onnx.Model, nodes []*onnx.Node, inputs map[string]array) (map[string]array, error) {
	for _, n := range nodes {
		if n.Op != "DynamicQuantizeMatMul" {
			continue
		}
		values, err := interpret(&onnx.Model{Graph: &onnx.Graph{Initializers: m.Graph.Initializers, Nodes: nodes[:slices.Index(nodes, n)]}}, inputs)
		if err != nil {
			return nil, err
		}
		var in []array
		for _, name := range n.Inputs {
			in = append(in, values[name])
		}
		inputs[n.Outputs[0]] = dynamicMatMul(n, in).round()
		rest := slices.DeleteFunc(slices.Clone(nodes), func(other *onnx.Node) bool { return other == n })
		return interpretWith(m, rest, inputs)
	}
	return interpret(&onnx.Model{Graph: &onnx.Graph{Initializers: m.Graph.Initializers, Nodes: nodes}}, inputs)
}

// perceptron is a model of products with and without a bias, turned and not, with a Relu between them.
func perceptron(rng *rand.Rand) (m *onnx.Model, x array) {
	width := 16 + rng.IntN(16)
	x = newArray(onnx.Float32, int64(1+rng.IntN(3)), int64(width))
	for i := range x.data {
		x.data[i] = rng.NormFloat64()
	}
	var nodes []*onnx.Node
	var weights []*onnx.Tensor
	numbers := func(name string, dims ...int64) string {
		n := int64(1)
		for _, d := range dims {
			n *= d
		}
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(rng.NormFloat64()) / 4
		}
		weights = append(weights, onnx.TensorOf(name, data, dims...))
		return name
	}
	in := "x"
	for i := range 1 + rng.IntN(3) {
		units := 16 + rng.IntN(16)
		name := fmt.Sprint("p", i)
		switch rng.IntN(3) {
		case 0:
			nodes = append(nodes, node("MatMul", name, []string{in, numbers(name+"w", int64(width), int64(units))}, name+"y"))
		case 1:
			nodes = append(nodes, node("Gemm", name, []string{in, numbers(name+"w", int64(width), int64(units)), numbers(name+"b", int64(units))}, name+"y"))
		default:
			nodes = append(nodes, node("Gemm", name, []string{in, numbers(name+"w", int64(units), int64(width)), numbers(name+"b", int64(units))}, name+"y", onnx.Attr("transB", int64(1))))
		}
		nodes = append(nodes, node("Relu", name+"r", []string{name + "y"}, name+"z"))
		in, width = name+"z", units
	}
	nodes = append(nodes, node("Identity", "last", []string{in}, "y"))
	m = handmade(13, nodes, weights...)
	m.Graph.Inputs[0].Type.Shape = onnx.Shape{onnx.Free("n"), onnx.Fixed(x.shape[1])}
	return m, x.round()
}

func TestProductsOfIntegersAtRunTimeComputeNearlyTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for range 60 {
		m, x := perceptron(rng)
		o := Options{PerTensor: rng.IntN(2) == 0, SevenBitWeights: rng.IntN(3) == 0}
		before := encoded(t, m)
		q, report, err := Dynamic(m, o)
		if err != nil {
			t.Fatal(err)
		}
		if encoded(t, m) != before {
			t.Fatal("the original was changed")
		}
		want, got := evaluate(t, m, x, "y")[0], withDynamic(t, q, x, "y")
		least := 24.0 // dB, of three layers of 7 bits with one scale for all
		if s := signalOverNoise(want, got); s < least {
			t.Errorf("%d layers with %+v: %.1f dB between signal and noise, want %v", len(report.Layers), o, s, least)
		}
		if ops := ops(q); ops["MatMul"]+ops["Gemm"] != 0 || ops["DynamicQuantizeMatMul"] != len(report.Layers) {
			t.Errorf("the nodes are %v for %d layers", ops, len(report.Layers))
		}
	}
}

func TestProductsThatShareWeightsShareTheirIntegersAtRunTime(t *testing.T) {
	w := onnx.TensorOf("w", slices.Repeat([]float32{0.5, -1}, 128), 16, 16)
	m := handmade(13, []*onnx.Node{
		node("MatMul", "first", []string{"x", "w"}, "h"),
		node("MatMul", "second", []string{"h", "w"}, "i"),
		node("Gemm", "turned", []string{"i", "w"}, "y", onnx.Attr("transB", int64(1))),
	}, w)
	q, _, err := Dynamic(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	first, second, turned := find(t, q, "first"), find(t, q, "second"), find(t, q, "turned")
	if first.Inputs[1] != second.Inputs[1] || first.Inputs[2] != second.Inputs[2] {
		t.Errorf("the same weights are %q and %q", first.Inputs[1:], second.Inputs[1:])
	}
	if turned.Inputs[1] == first.Inputs[1] {
		t.Errorf("weights that are turned are the same, %q", turned.Inputs[1])
	}
	if n := len(q.Graph.Initializers); n != 4 { // integers and scales, twice; the floats are gone
		t.Errorf("%d constants are left", n)
	}
}

// What a product has that DynamicQuantizeMatMul cannot do leaves it as it is.
func TestProductsThatStayInFP32AtRunTimeSayWhy(t *testing.T) {
	wide := onnx.TensorOf("wide", make([]float32, 16*16), 16, 16)
	cube := onnx.TensorOf("cube", make([]float32, 2*16*16), 2, 16, 16)
	row := onnx.TensorOf("row", make([]float32, 16), 16)
	for name, c := range map[string]struct {
		node *onnx.Node
		want string // the reason; empty: it is no layer at all
	}{
		"another product":         {node("MatMul", "odd", []string{"h", "h"}, "y"), ""},
		"a constant on the left":  {node("MatMul", "odd", []string{"wide", "h"}, "y"), ""},
		"two constants":           {node("MatMul", "odd", []string{"wide", "wide"}, "c"), ""},
		"of another domain":       {&onnx.Node{Op: "MatMul", Domain: "mine", Name: "odd", Inputs: []string{"h", "wide"}, Outputs: []string{"y"}}, ""},
		"weights of three axes":   {node("MatMul", "odd", []string{"h", "cube"}, "y"), "its weights have the shape [2 16 16], not that of a matrix"},
		"weights of one axis":     {node("MatMul", "odd", []string{"h", "row"}, "y"), "its weights have the shape [16], not that of a matrix"},
		"an input that is turned": {node("Gemm", "odd", []string{"h", "wide"}, "y", onnx.Attr("transA", int64(1))), "it scales or transposes its input"},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := []*onnx.Node{node("MatMul", "good", []string{"x", "wide"}, "h"), c.node}
			if c.node.Outputs[0] != "y" {
				nodes = append(nodes, node("Add", "sum", []string{"h", c.node.Outputs[0]}, "y"))
			}
			m := handmade(13, nodes, wide, cube, row)
			m.Opsets = append(m.Opsets, onnx.Opset{Domain: "mine", Version: 1})
			q, report, err := Dynamic(m, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := reasonFor(report.Excluded, "odd"); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("it stays because %q, want %q", got, c.want)
			}
			if len(report.Layers) != 1 || find(t, q, "odd").Op != c.node.Op {
				t.Errorf("the layers are %v, and it became a %s", report.Layers, find(t, q, "odd").Op)
			}
		})
	}
}

func TestABiasThatIsNoRowStaysInFP32AtRunTime(t *testing.T) {
	for name, bias := range map[string]*onnx.Tensor{
		"one for all":      onnx.TensorOf("b", []float32{1}),
		"one for each row": onnx.TensorOf("b", make([]float32, 3), 3, 1),
		"a matrix":         onnx.TensorOf("b", make([]float32, 3*16), 3, 16),
	} {
		w := onnx.TensorOf("w", slices.Repeat([]float32{1, 2}, 128), 16, 16)
		m := handmade(13, []*onnx.Node{
			node("MatMul", "good", []string{"x", "w"}, "h"), node("Gemm", "odd", []string{"h", "w", "b"}, "y"),
		}, w, bias)
		q, report, err := Dynamic(m, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := reasonFor(report.Excluded, "odd"); got == "" || find(t, q, "odd").Op != "Gemm" {
			t.Errorf("%s: it became a %s, for the reason %q", name, find(t, q, "odd").Op, got)
		}
	}
}
