package quantize

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// An array is a value of a graph that a test runs. Its elements are exact: what an
// operator makes is rounded to the element type.
type array struct {
	elem  onnx.ElemType
	shape []int64
	data  []float64
}

func newArray(elem onnx.ElemType, shape ...int64) array {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return array{elem, shape, make([]float64, n)}
}

func floats(data []float32, shape ...int64) array {
	a := newArray(onnx.Float32, shape...)
	copy(a.data, widen(data))
	return a
}

// round makes the elements such that the type can hold them.
func (a array) round() array {
	for i, x := range a.data {
		switch a.elem {
		case onnx.Float32:
			a.data[i] = float64(float32(x))
		case onnx.Float16:
			a.data[i] = float64(float32Of(float16Of(float32(x))))
		}
	}
	return a
}

func (a array) float32s() []float32 {
	list := make([]float32, len(a.data))
	for i, x := range a.data {
		list[i] = float32(x)
	}
	return list
}

// float32Of returns the number that the bits of a float16 stand for: the definition.
func float32Of(h uint16) float32 {
	sign := 1 - 2*float64(h>>15)
	exponent, fraction := int(h>>10&0x1f), float64(h&0x3ff)
	switch exponent {
	case 0:
		return float32(math.Copysign(math.Ldexp(fraction, -24), sign))
	case 31:
		if fraction != 0 {
			return float32(math.NaN())
		}
		return float32(math.Inf(int(sign)))
	}
	return float32(sign * math.Ldexp(1024+fraction, exponent-25))
}

// constantArray reads an initializer.
func constantArray(t *onnx.Tensor) (array, error) {
	a := array{elem: t.Type, shape: t.Dims}
	var err error
	switch t.Type {
	case onnx.Float32:
		a.data, err = elementsOf[float32](t)
	case onnx.Float16:
		var bits []float64
		bits, err = elementsOf[uint16](t)
		for _, b := range bits {
			a.data = append(a.data, float64(float32Of(uint16(b))))
		}
	case onnx.Int8:
		a.data, err = elementsOf[int8](t)
	case onnx.Uint8:
		a.data, err = elementsOf[uint8](t)
	case onnx.Int32:
		a.data, err = elementsOf[int32](t)
	case onnx.Int64:
		a.data, err = elementsOf[int64](t)
	default:
		err = fmt.Errorf("constant %q is of type %v", t.Name, t.Type)
	}
	return a, err
}

func elementsOf[T onnx.Element](t *onnx.Tensor) ([]float64, error) {
	list, err := onnx.Elements[T](t)
	wide := make([]float64, len(list))
	for i, v := range list {
		wide[i] = float64(v)
	}
	return wide, err
}

// interpret runs a graph by the definitions of its operators and returns all its values.
func interpret(m *onnx.Model, inputs map[string]array) (map[string]array, error) {
	values := make(map[string]array)
	for name, a := range inputs {
		values[name] = a
	}
	for _, t := range m.Graph.Initializers {
		a, err := constantArray(t)
		if err != nil {
			return nil, err
		}
		values[t.Name] = a
	}
	for _, n := range m.Graph.Nodes {
		apply := operators[n.Op]
		if apply == nil {
			return nil, fmt.Errorf("the interpreter does not know %s", n.Op)
		}
		var in []array
		for _, name := range n.Inputs {
			if _, known := values[name]; name != "" && !known {
				return nil, fmt.Errorf("%s %q reads %q, which is not there", n.Op, n.Name, name)
			}
			in = append(in, values[name])
		}
		values[n.Outputs[0]] = apply(n, in).round()
	}
	return values, nil
}

// An interpreter is an engine that runs graphs by the definitions of their operators.
type interpreter struct {
	sessions int // that are open
	opened   int // that were ever opened
}

func (*interpreter) Name() string { return "interpreter" }
func (*interpreter) Close() error { return nil }

func (*interpreter) Ports(_ context.Context, o backend.Options) (inputs, outputs []backend.Port, err error) {
	return backend.ReadPorts(o.ModelPath)
}

func (e *interpreter) Open(_ context.Context, o backend.Options) (backend.Session, error) {
	m, err := onnx.ReadFile(o.ModelPath)
	if err != nil {
		return nil, err
	}
	// The file is gone when the session runs: keep what is in it.
	for _, t := range m.Graph.Initializers {
		raw, err := t.Bytes()
		if err != nil {
			return nil, err
		}
		t.Data = onnx.Raw(raw)
	}
	e.sessions++
	e.opened++
	return &interpreted{engine: e, model: m}, nil
}

type interpreted struct {
	engine *interpreter
	model  *onnx.Model
}

type held struct{ tensor tensor.Tensor }

func (h held) Tensor() tensor.Tensor { return h.tensor }
func (held) Close() error            { return nil }

func (s *interpreted) Info() backend.Info {
	var info backend.Info
	for _, v := range s.model.Graph.Inputs {
		info.Inputs = append(info.Inputs, backend.Port{Name: v.Name})
	}
	for _, v := range s.model.Graph.Outputs {
		info.Outputs = append(info.Outputs, backend.Port{Name: v.Name})
	}
	return info
}

func (*interpreted) Bind(t tensor.Tensor) (backend.Value, error) { return held{t}, nil }

func (s *interpreted) Close() error { s.engine.sessions--; return nil }

func (s *interpreted) Run(_ context.Context, inputs, outputs []backend.Value) error {
	feeds := make(map[string]array)
	for i, v := range s.model.Graph.Inputs {
		t := inputs[i].Tensor()
		feeds[v.Name] = floats(tensor.Data[float32](t), t.Shape...)
	}
	values, err := interpret(s.model, feeds)
	if err != nil {
		return err
	}
	for i, v := range s.model.Graph.Outputs {
		a := values[v.Name]
		if a.elem == onnx.Int64 {
			list := make([]int64, len(a.data))
			for j, x := range a.data {
				list[j] = int64(x)
			}
			outputs[i] = held{tensor.Of(list, a.shape...)}
			continue
		}
		outputs[i] = held{tensor.Of(a.float32s(), a.shape...)}
	}
	return nil
}

// evaluate runs a model with one float32 input and returns some of its values.
func evaluate(t testing.TB, m *onnx.Model, input array, wanted ...string) []array {
	t.Helper()
	if err := m.Check(); err != nil {
		t.Fatalf("the model is not valid: %v", err)
	}
	values, err := interpret(m, map[string]array{m.Graph.Inputs[0].Name: input})
	if err != nil {
		t.Fatal(err)
	}
	var list []array
	for _, name := range wanted {
		if _, ok := values[name]; !ok {
			t.Fatalf("the model makes no %q", name)
		}
		list = append(list, values[name])
	}
	return list
}
