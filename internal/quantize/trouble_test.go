package quantize

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A troubled engine fails at one point, and counts the values and sessions that are open.
type troubled struct {
	interpreter
	open, bind, run, close error
	outputs                func([]tensor.Tensor) []tensor.Tensor // changes what a model makes
	values, sessions       int
}

func (e *troubled) Open(ctx context.Context, o backend.Options) (backend.Session, error) {
	if e.open != nil {
		return nil, e.open
	}
	s, err := e.interpreter.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	e.sessions++
	return &troubledSession{s, e}, nil
}

type troubledSession struct {
	backend.Session
	engine *troubled
}

// counted is a value whose closing is noticed.
type counted struct {
	held
	engine *troubled
}

func (v counted) Close() error {
	v.engine.values--
	return v.engine.close
}

func (s *troubledSession) Close() error {
	s.engine.sessions--
	return s.Session.Close()
}

func (s *troubledSession) Bind(t tensor.Tensor) (backend.Value, error) {
	if s.engine.bind != nil {
		return nil, s.engine.bind
	}
	s.engine.values++
	return counted{held{t}, s.engine}, nil
}

func (s *troubledSession) Run(ctx context.Context, inputs, outputs []backend.Value) error {
	if s.engine.run != nil {
		return s.engine.run
	}
	if err := s.Session.Run(ctx, inputs, outputs); err != nil {
		return err
	}
	var made []tensor.Tensor
	for _, v := range outputs {
		made = append(made, v.Tensor())
	}
	if s.engine.outputs != nil {
		made = s.engine.outputs(made)
	}
	for i, t := range made {
		s.engine.values++
		outputs[i] = counted{held{t}, s.engine}
	}
	return nil
}

var errTrouble = errors.New("the engine broke down")

func TestNothingIsLeftOpenWhenAnEngineFails(t *testing.T) {
	first := func(change func(t tensor.Tensor) tensor.Tensor) func([]tensor.Tensor) []tensor.Tensor {
		return func(list []tensor.Tensor) []tensor.Tensor { list[0] = change(list[0]); return list }
	}
	for _, c := range []struct {
		name   string
		engine *troubled
		want   string
	}{
		{"nothing fails", &troubled{}, ""},
		{"a model is not opened", &troubled{open: errTrouble}, "the engine broke down"},
		{"a sample is not bound", &troubled{bind: errTrouble}, "sample 0: the engine broke down"},
		{"a run fails", &troubled{run: errTrouble}, "sample 0: the engine broke down"},
		{"a value is not closed", &troubled{close: errTrouble}, "sample 0: the engine broke down"},
		{"an output of another size", &troubled{outputs: first(func(tensor.Tensor) tensor.Tensor { return tensor.Of([]float32{1, 2}, 2) })},
			"sample 0: the engine returned 2 minima"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Calibrate(t.Context(), residualModel(t), Calibration{Engine: c.engine, Samples: images(2, 1)}, Method{Name: MinMax})
			if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), "calibrating: "+c.want) {
				t.Errorf("Calibrate() fails with %v, want %q", err, c.want)
			}
			if c.engine.values != 0 || c.engine.sessions != 0 {
				t.Errorf("%d values and %d sessions are left open", c.engine.values, c.engine.sessions)
			}
		})
	}
}

// Equalizing and measuring noise run models too.
func TestTroubleOfAnEngineIsToldByAllWhoRunModels(t *testing.T) {
	c := Calibration{Engine: &troubled{run: errTrouble}, Samples: images(1)}
	if m, n, err := equalize(t.Context(), separableModel(t), c); !errors.Is(err, errTrouble) || m != nil || n != 0 || !strings.HasPrefix(err.Error(), "equalising: sample 0: ") {
		t.Errorf("equalize() = %v, %d, %v", m, n, err)
	}
	if score, err := SignalToNoise(t.Context(), residualModel(t), c); !errors.Is(err, errTrouble) || score != nil {
		t.Errorf("SignalToNoise() = %v", err)
	}
	good := &troubled{}
	c.Engine = good
	score, err := SignalToNoise(t.Context(), residualModel(t), c)
	if err != nil {
		t.Fatal(err)
	}
	good.run = errTrouble
	if s, err := score(t.Context(), residualModel(t)); !errors.Is(err, errTrouble) || s != 0 {
		t.Errorf("the score of a model that does not run is %v, %v", s, err)
	}
}

// Progress of a search tells layers as they are ranked, and tries as they are scored.
func TestASearchTellsWhatItDoes(t *testing.T) {
	m, ranges := calibrated(t)
	var told []string
	s := Search{
		Score: costs(map[string]float64{"stem": 1, "block": 8}), Target: 95,
		Progress: func(what string, done, total int) { told = append(told, fmt.Sprint(what, " ", done, "/", total)) },
	}
	if _, err := s.Run(t.Context(), m, ranges, Options{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"search 1/0", "layers 1/4", "layers 2/4", "layers 3/4", "layers 4/4", "search 2/0"}
	if !slices.Equal(told, want) {
		t.Errorf("told is %q, want %q", told, want)
	}
	s.Progress = nil
	if _, err := s.Run(t.Context(), m, ranges, Options{}); err != nil {
		t.Errorf("with nobody to tell: %v", err)
	}
}

func TestASearchRefusesWhatItCannotQuantise(t *testing.T) {
	m, ranges := calibrated(t)
	never := func(context.Context, *onnx.Model) (float64, error) {
		t.Error("a model was scored")
		return 0, nil
	}
	quantized, _, err := Quantize(m, ranges, Options{})
	if err != nil {
		t.Fatal(err)
	}
	lacking := Ranges{Method: ranges.Method, Samples: 1, Values: map[string]Range{}}
	for _, c := range []struct {
		name    string
		model   *onnx.Model
		ranges  Ranges
		options Options
		want    string
	}{
		{"a quantised model", quantized, ranges, Options{}, "searching: the model is quantised already"},
		{"an unknown layer", m, ranges, Options{Exclude: []string{"nose"}}, `searching: the model has no layer "nose" to exclude`},
		{"no layers", m, ranges, Options{Ops: []string{"Add"}}, "searching: there is nothing to quantise: Conv \"stem\" stays in FP32 because the operator is excluded, and so do 3 others"},
		{"an unknown operator", m, ranges, Options{Ops: []string{"Erf"}}, `searching: operator "Erf" cannot be quantised; those that can are [Add AveragePool `},
		{"ranges of another model", m, lacking, Options{}, "searching: quantising: the ranges lack "},
	} {
		found, err := Search{Score: never, Target: 1}.Run(t.Context(), c.model, c.ranges, c.options)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || found.Model != nil {
			t.Errorf("%s: Run() = %v, %v, want %q", c.name, found.Model, err, c.want)
		}
		if _, err := Sensitivity(t.Context(), c.model, c.ranges, c.options, never, nil); err == nil {
			t.Errorf("%s: Sensitivity() accepts it", c.name)
		}
	}
}

// Nodes that look like layers and are none stay as they are, and nobody is told of them.
func TestNodesThatAreNoLayersOfONNXStay(t *testing.T) {
	w := func(name string) *onnx.Tensor { return onnx.TensorOf(name, []float32{1, 2, 3, 4}, 2, 2) }
	m := handmade(13, []*onnx.Node{
		node("MatMul", "constant", []string{"a", "b"}, "c"),
		{Op: "MatMul", Name: "foreign", Domain: "com.example", Inputs: []string{"x", "a"}, Outputs: []string{"d"}},
		{Op: "MatMul", Name: "overloaded", Overload: "mine", Inputs: []string{"x", "a"}, Outputs: []string{"e"}},
		{Op: "MatMul", Name: "unnamed output", Inputs: []string{"x", "a"}, Outputs: []string{"", ""}},
		node("MatMul", "layer", []string{"x", "c2"}, "f"),
		node("Sum", "sum", []string{"c", "d", "e", "f"}, "y"),
	}, w("a"), w("b"), w("c2"))
	m.Opsets = append(m.Opsets, onnx.Opset{Domain: "com.example", Version: 1})
	ranges := Ranges{Method: Method{Name: MinMax}, Samples: 1, Values: map[string]Range{"x": {-1, 1}, "f": {-1, 1}}}
	q, report, err := Quantize(m, ranges, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Layers) != 1 || report.Layers[0].Layer != "layer" || len(report.Excluded) != 0 {
		t.Errorf("layers %v, excluded %v, want the layer alone", report.Layers, report.Excluded)
	}
	for name, inputs := range map[string][]string{"constant": {"a", "b"}, "foreign": {"x", "a"}, "overloaded": {"x", "a"}} {
		if got := find(t, q, name).Inputs; !slices.Equal(got, inputs) {
			t.Errorf("%s reads %q, want %q", name, got, inputs)
		}
	}
}

// What varies is not folded, nor is what others read, nor what does not fit.
func TestConvolutionsKeepWhatCannotBeFolded(t *testing.T) {
	k := onnx.TensorOf("k", []float32{2, -4}, 1, 2, 1, 1)
	for _, c := range []struct {
		name   string
		change func(m *onnx.Model)
	}{
		{"a bias that varies", func(m *onnx.Model) {
			m.Graph.Nodes = slices.Insert(m.Graph.Nodes, 0, node("Abs", "vary", []string{"b"}, "bias"))
			m.Graph.Nodes[1].Inputs[2] = "bias"
		}},
		{"weights that vary", func(m *onnx.Model) {
			m.Graph.Nodes = slices.Insert(m.Graph.Nodes, 0, node("Abs", "vary", []string{"w"}, "weights"))
			m.Graph.Nodes[1].Inputs[1] = "weights"
		}},
		{"weights that a caller may replace", func(m *onnx.Model) { m.Graph.Inputs = append(m.Graph.Inputs, &onnx.Value{Name: "w"}) }},
		{"a factor that a caller may replace", func(m *onnx.Model) { m.Graph.Inputs = append(m.Graph.Inputs, &onnx.Value{Name: "k"}) }},
		{"a result that is an output", func(m *onnx.Model) { m.Graph.Outputs = append(m.Graph.Outputs, &onnx.Value{Name: "c"}) }},
		{"a factor for more channels than there are", func(m *onnx.Model) {
			replace(m.Graph, onnx.TensorOf("k", []float32{1, 2, 3}, 1, 3, 1, 1))
		}},
		{"a factor of another type", func(m *onnx.Model) { replace(m.Graph, onnx.TensorOf("k", []float64{2, 4}, 1, 2, 1, 1)) }},
		{"an operator from elsewhere", func(m *onnx.Model) {
			m.Graph.Nodes[1].Domain = "com.example"
			m.Opsets = append(m.Opsets, onnx.Opset{Domain: "com.example", Version: 1})
		}},
	} {
		m := clone(convolution([]*onnx.Node{node("Mul", "n", []string{"c", "k"}, "y")}, k))
		c.change(m)
		before := encoded(t, m)
		if n, err := foldAffine(m); n != 0 || err != nil || encoded(t, m) != before {
			t.Errorf("%s: %d nodes were folded, %v", c.name, n, err)
		}
	}
}

// A convolution without a bias gets one from what is folded into it.
func TestAConvolutionWithoutABiasGetsOne(t *testing.T) {
	m := handmade(13, []*onnx.Node{
		node("Conv", "conv", []string{"x", "w"}, "c"), node("Add", "n", []string{"c", "k"}, "y"),
	}, onnx.TensorOf("w", []float32{1, 2}, 2, 1, 1, 1), onnx.TensorOf("k", []float32{3, 4}, 2, 1, 1))
	want := evaluate(t, m, floats([]float32{1, 2, 3, 4}, 1, 1, 2, 2), "y")[0]
	folded := clone(m)
	if n, err := foldAffine(folded); n != 1 || err != nil {
		t.Fatalf("%d nodes were folded, %v", n, err)
	}
	if got := evaluate(t, folded, floats([]float32{1, 2, 3, 4}, 1, 1, 2, 2), "y")[0]; differ(want, got) > 0 {
		t.Errorf("the result is %v, want %v", got.data, want.data)
	}
	if bias := find(t, folded, "conv").Input(2); bias == "" {
		t.Error("the convolution has no bias")
	}
}

// A Scan means from operator set 9 on what it means in 13; what it holds is brought there too.
func TestBodiesAreUpgradedWithTheirModel(t *testing.T) {
	body := &onnx.Graph{Nodes: []*onnx.Node{node("Clip", "inner", []string{"s"}, "t", onnx.Attr("max", float32(6)))}, Inputs: []*onnx.Value{{Name: "s"}}, Outputs: []*onnx.Value{{Name: "t"}}}
	m := handmade(9, []*onnx.Node{node("Scan", "n", []string{"x"}, "y", onnx.Attr("body", body), onnx.Attr("num_scan_inputs", int64(1)))})
	if err := upgrade(m); err != nil {
		t.Fatal(err)
	}
	inner := m.Graph.Nodes[0].Attributes[0].Value.(*onnx.Graph).Nodes[0]
	if len(inner.Inputs) != 3 || inner.Inputs[1] != "" || inner.Attr("max") != nil {
		t.Errorf("the inner node reads %q", inner.Inputs)
	}
	if m.Opset("") != quantizedOpset || m.IRVersion != quantizedIRVersion {
		t.Errorf("the model has operator set %d and version %d", m.Opset(""), m.IRVersion)
	}
	several := handmade(9, []*onnx.Node{node("Loop", "n", []string{"x"}, "y", onnx.Attr("bodies", []*onnx.Graph{body}))})
	if err := upgrade(several); err == nil || !strings.Contains(err.Error(), `attribute "bodies" holds several graphs`) {
		t.Errorf("several bodies: %v", err)
	}
	broken := &onnx.Graph{Nodes: []*onnx.Node{node("Frobnicate", "inner", []string{"s"}, "t")}}
	if err := upgrade(handmade(9, []*onnx.Node{node("If", "n", []string{"x"}, "y", onnx.Attr("then_branch", broken))})); err == nil || !strings.Contains(err.Error(), `Frobnicate "inner"`) {
		t.Errorf("a branch that nobody knows: %v", err)
	}
}

// Transposed convolutions in FP32 are kept from being quantised by ONNX Runtime like others.
func TestATransposedConvolutionInFP32ReadsAScaleForEachChannel(t *testing.T) {
	m := handmade(13, []*onnx.Node{
		node("Conv", "conv", []string{"x", "w"}, "c"), node("ConvTranspose", "up", []string{"c", "u"}, "y"),
	}, onnx.TensorOf("w", []float32{1, 2, -3}, 3, 1, 1, 1), onnx.TensorOf("u", []float32{1, 2, 3}, 3, 1, 1, 1))
	ranges := Ranges{Method: Method{Name: MinMax}, Samples: 1, Values: map[string]Range{"x": {-1, 1}, "c": {-3, 3}}}
	q, _, err := Quantize(m, ranges, Options{})
	if err != nil {
		t.Fatal(err)
	}
	index := q.Graph.Index()
	from := index.Producer(find(t, q, "up").Inputs[0])
	if !isOp(from, "DequantizeLinear") || onnx.AttrOr(from, "axis", int64(0)) != 1 {
		t.Fatalf("it reads what %v makes", from)
	}
	if scale := index.Initializer(from.Inputs[1]); !slices.Equal(scale.Dims, []int64{3}) {
		t.Errorf("there are scales %v, want one for each of 3 channels", scale.Dims)
	}
}
