package quantize

import (
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// mixedModel has what residualModel has not: an LSTM with its weights behind a Reshape, a Gemm with factors, a
// transposed convolution, a Sigmoid behind what only moves elements, and a suppression of boxes.
func mixedModel(t testing.TB) *onnx.Model {
	t.Helper()
	ones := func(name string, dims ...int64) *onnx.Tensor {
		n := int64(1)
		for _, d := range dims {
			n *= d
		}
		return onnx.TensorOf(name, slices.Repeat([]float32{0.5}, int(n)), dims...)
	}
	m := handmade(17, []*onnx.Node{
		node("Transpose", "turn", []string{"x"}, "turned", onnx.Attr("perm", []int64{1, 0, 2})),
		node("Reshape", "shape", []string{"w", "w_shape"}, "w3"),
		node("LSTM", "lstm", []string{"turned", "w3", "r", "b"}, "steps", onnx.Attr("hidden_size", int64(2))),
		node("Squeeze", "squeeze", []string{"steps", "one"}, "squeezed"),
		node("Gemm", "gemm", []string{"squeezed", "g", "g_bias"}, "product", onnx.Attr("alpha", float32(2)), onnx.Attr("transB", int64(1))),
		node("Cast", "cast", []string{"shape_of"}, "casted", onnx.Attr("to", int64(onnx.Float32))),
		node("MatMul", "matmul", []string{"product", "m"}, "moved"),
		node("Reshape", "pixels", []string{"moved", "pixels_shape"}, "image"),
		node("ConvTranspose", "up", []string{"image", "u"}, "large"),
		node("Conv", "conv", []string{"large", "c"}, "small", onnx.Attr("group", int64(1))),
		node("Concat", "concat", []string{"small", "small"}, "both", onnx.Attr("axis", int64(1))),
		node("Sigmoid", "sigmoid", []string{"both"}, "y"),
	}, ones("w", 8, 3), onnx.TensorOf("w_shape", []int64{1, 8, 3}, 3), ones("r", 1, 8, 2), ones("b", 1, 16), onnx.TensorOf("one", []int64{1}, 1),
		ones("g", 4, 2), ones("g_bias", 4), ones("m", 4, 4), onnx.TensorOf("pixels_shape", []int64{-1, 1, 2, 2}, 4),
		ones("u", 1, 2, 2, 2), ones("c", 3, 2, 1, 1))
	m.Graph.Nodes = slices.Insert(m.Graph.Nodes, 5, node("Shape", "shape of", []string{"x"}, "shape_of"))
	return m
}

// strange are numbers that nobody would write into a model.
var strange = []int64{0, 1, 2, 3, 7, 8, -1, -7, 1 << 31, 1 << 62, -1 << 63}

// An editor makes a model foreign, as a list of bytes says.
type editor struct {
	model *onnx.Model
	bytes []byte
}

func (e *editor) next(n int) int {
	if len(e.bytes) == 0 || n == 0 {
		return 0
	}
	b := int(e.bytes[0])
	e.bytes = e.bytes[1:]
	return b % n
}

func (e *editor) number() int64 { return strange[e.next(len(strange))] }

// edit changes one thing.
func (e *editor) edit() {
	g := e.model.Graph
	n := g.Nodes[e.next(len(g.Nodes))]
	t := g.Initializers[e.next(len(g.Initializers))]
	edits := []func(){
		func() {
			n.SetAttr([]string{"group", "axis", "to", "transA", "transB", "hidden_size", "layout"}[e.next(7)], e.number())
		},
		func() {
			n.SetAttr([]string{"strides", "pads", "axes", "perm", "kernel_shape"}[e.next(5)], []int64{e.number(), e.number()})
		},
		func() { n.Inputs = slices.Delete(n.Inputs, 0, min(len(n.Inputs), 1+e.next(2))) },
		func() { n.Inputs = append(n.Inputs, g.Initializers[e.next(len(g.Initializers))].Name) },
		func() { n.Outputs = append(n.Outputs, output(n, 0)+"'") },
		func() { n.Outputs = nil },
		func() { n.Op = g.Nodes[e.next(len(g.Nodes))].Op },
		func() { n.Name = []string{"", "stem", "other"}[e.next(3)] },
		func() { t.Dims = append(t.Dims, 1) },
		func() { slices.Reverse(t.Dims) },
		func() { t.Dims = t.Dims[:min(len(t.Dims), e.next(3))] },
		func() { t.Dims, t.Data = []int64{0, 3}, onnx.Raw{} },
		func() { t.Type = []onnx.ElemType{onnx.Int32, onnx.Uint32, onnx.Float32, 99}[e.next(4)] },
		func() { e.replaceInts(t) },
		func() { e.model.Opsets[0].Version = 7 + int64(e.next(16)) },
		func() { e.model.IRVersion = 3 + int64(e.next(6)) },
		func() { g.Outputs = append(g.Outputs, &onnx.Value{Name: output(n, 0)}) },
		func() { g.Inputs = append(g.Inputs, &onnx.Value{Name: t.Name, Type: onnx.Type{Elem: t.Type}}) },
	}
	edits[e.next(len(edits))]()
}

// replaceInts puts strange numbers into a list of integers: a shape, or axes.
func (e *editor) replaceInts(t *onnx.Tensor) {
	if t.Type != onnx.Int64 || len(t.Dims) != 1 {
		return
	}
	list := make([]int64, t.Dims[0])
	for i := range list {
		list[i] = e.number()
	}
	t.Data = onnx.TensorOf(t.Name, list, t.Dims...).Data
}

// Whatever a model says, it is refused with an error, or what comes of it is sound.
func FuzzForeignModels(f *testing.F) {
	bases := []*onnx.Model{residualModel(f), mixedModel(f)}
	for i := range bases {
		f.Add(i == 0, []byte{})
	}
	f.Add(true, []byte{0, 0, 0, 0, 4})
	f.Add(false, []byte{2, 1, 12, 9, 9, 9})
	f.Fuzz(func(t *testing.T, first bool, data []byte) {
		m := clone(bases[1])
		if first {
			m = clone(bases[0])
		}
		for _, w := range m.Graph.Initializers {
			w.Dims = slices.Clone(w.Dims)
		}
		for e := (&editor{m, data[:min(len(data), 60)]}); len(e.bytes) > 0; {
			e.edit()
		}
		made := map[string]func() (*onnx.Model, error){
			"Dynamic":   func() (*onnx.Model, error) { q, _, err := Dynamic(m, Options{}); return q, err },
			"ToFloat16": func() (*onnx.Model, error) { h, _, err := ToFloat16(m, Float16Options{}); return h, err },
			"Quantize":  func() (*onnx.Model, error) { q, _, err := Quantize(m, anyRanges(m), Options{}); return q, err },
		}
		for how, convert := range made {
			before := encoded(t, m)
			got, err := convert()
			if encoded(t, m) != before {
				t.Errorf("%s changed the model that it was given", how)
			}
			if err == nil && got.Check() != nil {
				t.Errorf("%s: %v", how, got.Check())
			}
			if err != nil && strings.Contains(err.Error(), "the result is not valid") {
				t.Errorf("%s made nonsense of a model that was sound: %v", how, err)
			}
		}
		FewBits(m)
		watch(m)
	})
}

// anyRanges are ranges of all values of a model, as if it had been calibrated.
func anyRanges(m *onnx.Model) Ranges {
	r := Ranges{Method: Method{Name: MinMax}, Samples: 1, Values: map[string]Range{}, Means: map[string][]float32{}}
	p, err := Prepare(m)
	if err != nil {
		return r
	}
	plan := newPlan(p, Options{})
	for _, name := range plan.values() {
		r.Values[name] = Range{-1, 2}
	}
	for _, c := range plan.channelMeans() {
		if c.count < 1<<20 {
			r.Means[c.value] = make([]float32, c.count)
		}
	}
	return r
}

// watch makes the models by which a model is observed.
func watch(m *onnx.Model) {
	p, err := Prepare(m)
	if err != nil {
		return
	}
	newPlan(p, Options{SkipFirst: true, SkipLast: true}).heads()
	plan := newPlan(p, Options{})
	var values []*observed
	for _, name := range plan.values() {
		values = append(values, &observed{name: name})
	}
	if len(values) > 0 {
		extremesModel(p, values, plan.channelMeans())
	}
}
