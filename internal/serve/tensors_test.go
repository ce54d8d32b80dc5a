package serve

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/serve/oipserver"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func portsFrom(list ...backend.Port) []backend.Port { return list }

func floats(name string, shape ...int64) backend.Port {
	p := backend.Port{Name: name, Type: tensor.Float32, Shape: shape}
	if len(shape) > 0 {
		p = named(p, "N")
	}
	return p
}

// named gives the first axis of a port a name.
func named(p backend.Port, axis string) backend.Port {
	p.Axes = make([]string, len(p.Shape))
	p.Axes[0] = axis
	return p
}

func TestBatchable(t *testing.T) {
	for _, c := range []struct {
		name            string
		inputs, outputs []backend.Port
		want            bool
	}{
		{"boxes of all images", portsFrom(floats("x", -1, 3)), portsFrom(named(floats("y", -1, 5), "num_dets")), false},
		{"another output is the batch", portsFrom(floats("x", -1, 3)), portsFrom(floats("y", -1, 5), named(floats("z", -1, 5), "num_dets")), false},
		{"inputs of two batches", portsFrom(floats("x", -1, 3), named(floats("r", -1, 5), "num_rois")), portsFrom(floats("y", -1, 5)), false},
		{"a free batch", portsFrom(floats("x", -1, 3)), portsFrom(floats("y", -1, 2)), true},
		{"a fixed batch", portsFrom(floats("x", 4, 3)), portsFrom(floats("y", 4, 2)), true},
		{"nothing beside the batch", portsFrom(floats("x", -1)), portsFrom(floats("y", -1)), true},
		{"another free extent", portsFrom(floats("x", -1, -1)), portsFrom(floats("y", -1, 2)), false},
		{"a free extent of an output", portsFrom(floats("x", -1, 3)), portsFrom(floats("y", -1, -1)), false},
		{"another batch of an output", portsFrom(floats("x", 4, 3)), portsFrom(floats("y", 2, 2)), false},
		{"an output without a batch", portsFrom(floats("x", -1, 3)), portsFrom(floats("y")), false},
		{"any shape", portsFrom(floats("x", -1, 3)), portsFrom(backend.Port{Name: "y", AnyShape: true}), false},
		{"strings", portsFrom(backend.Port{Name: "x", Type: tensor.String, Shape: tensor.Shape{-1}}), portsFrom(floats("y", -1, 2)), false},
		{"no inputs", nil, portsFrom(floats("y", -1, 2)), false},
		{"nothing", nil, nil, false},
	} {
		if got, unsure := batchable(workload.Ports{Inputs: c.inputs, Outputs: c.outputs}); got != c.want || unsure {
			t.Errorf("%s: %v, unsure %v, want %v", c.name, got, unsure, c.want)
		}
	}
}

// Without names of axes samples run side by side only where the operators say nothing else.
func TestUnnamedAxes(t *testing.T) {
	ports := workload.Ports{Inputs: portsFrom(named(floats("x", -1, 3), "unk__1")), Outputs: portsFrom(named(floats("y", -1, 3), "unk__2"))}
	for _, c := range []struct {
		operator, domain string
		want             bool
	}{{"Relu", "", true}, {"NonZero", "", false}, {"NonMaxSuppression", "", false}, {"Compress", "ai.onnx", false}, {"EfficientNMS_TRT", "trt", false}} {
		m := &onnx.Model{IRVersion: 8, Opsets: []onnx.Opset{{Version: 17}}, Graph: &onnx.Graph{Name: "g", Nodes: []*onnx.Node{{Op: c.operator, Domain: c.domain, Inputs: []string{"x"}, Outputs: []string{"y"}}}}}
		path := filepath.Join(t.TempDir(), "m.onnx")
		if err := m.WriteFile(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		table := newTable(1)
		if _, err := tensorsWorkload("m", table).Open(workload.Setup{ModelPath: path, Ports: map[string]workload.Ports{workload.Only: ports}}); err != nil || table.batched != c.want {
			t.Errorf("%s: batched %v, %v, want %v", c.operator, table.batched, err, c.want)
		}
	}
}

// An outputSession has an output of as many rows as its inputs have numbers above 0, whatever room there is.
type outputSession struct{ runs []int64 }

type outputValue struct{ t tensor.Tensor }

func (v outputValue) Tensor() tensor.Tensor { return v.t }
func (outputValue) Close() error            { return nil }

func (*outputSession) Info() backend.Info                          { return backend.Info{} }
func (*outputSession) Bind(t tensor.Tensor) (backend.Value, error) { return outputValue{t}, nil }
func (*outputSession) Close() error                                { return nil }
func (s *outputSession) Run(_ context.Context, inputs, outputs []backend.Value) error {
	in := inputs[0].Tensor()
	s.runs = append(s.runs, in.Shape[0])
	var positive []float32
	for _, v := range tensor.Data[float32](in) {
		if v > 0 {
			positive = append(positive, v)
		}
	}
	if outputs[0] != nil && outputs[0].Tensor().Len() != len(positive) {
		return errors.New("shape verification failed")
	}
	outputs[0] = outputValue{tensor.Of(positive, int64(len(positive)))}
	return nil
}

// Where the first axis of an output turns out not to be the batch, each sample runs alone, then and later.
func TestSamplesRunApart(t *testing.T) {
	ports := workload.Ports{Inputs: portsFrom(named(floats("x", -1, 2), "")), Outputs: portsFrom(named(floats("y", -1), ""))}
	table := newTable(3)
	table.ports, table.batched = ports, true
	store, err := workload.NewStore(3, func(int) []workload.Slot { return table.slots() })
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	copy(tensor.Data[float32](store.Slot(0, 0, 3)), []float32{1, 2, 3, 4, -5, -6})
	session := &outputSession{}
	made, err := table.newPredictor(workload.Sessions{workload.Only: session}, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	if err := made.Use(store); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := made.Predict(t.Context(), []workload.Item{{Row: 0}, {Row: 1}, {Row: 2}}, quiet{}); err != nil {
			t.Fatal(err)
		}
		for row, want := range [][]float32{{1, 2}, {3, 4}, nil} {
			if r := table.requests[row]; r.err != nil || !slices.Equal(tensor.Data[float32](r.outputs[0]), want) {
				t.Errorf("row %d: %v, %v, want %v", row, r.outputs, r.err, want)
			}
		}
	}
	if want := []int64{3, 1, 1, 1, 1, 1, 1}; !slices.Equal(session.runs, want) {
		t.Errorf("runs of %v samples, want %v", session.runs, want)
	}
}

type quiet struct{}

func (quiet) FirstToken(int, []byte) {}
func (quiet) Done(int, []byte, int)  {}

func TestUnknownPortsAreRefused(t *testing.T) {
	odd := workload.Ports{Inputs: portsFrom(floats("x", 1)), Outputs: portsFrom(backend.Port{Name: "y", Other: "sequence"})}
	_, err := tensorsWorkload("m", newTable(1)).Open(workload.Setup{Ports: map[string]workload.Ports{workload.Only: odd}})
	if !testenv.Names(err, "port y … sequence") {
		t.Errorf("%v", err)
	}
}

func TestWantedOutputs(t *testing.T) {
	ports := portsFrom(floats("a", 1), floats("b", 2))
	outputs := []tensor.Tensor{tensor.Of([]float32{1}, 1), tensor.Of([]float32{2, 3}, 2)}
	for _, c := range []struct {
		wanted []string
		has    int
		want   string
	}{
		{nil, 2, "a FP32[1],b FP32[2]"}, {[]string{"b"}, 2, "b FP32[2]"}, {[]string{"b", "a"}, 2, "b FP32[2],a FP32[1]"},
		{[]string{"c"}, 2, `the model gave no output "c"`}, {nil, 1, `the model gave no output "b"`},
	} {
		specs, list, err := wantedOf(ports, outputs[:c.has], c.wanted)
		var names []string
		for i, s := range specs {
			if list[i].Shape.Len() != s.Shape.Len() {
				t.Errorf("%v is %v", s, list[i])
			}
			names = append(names, s.String())
		}
		got := strings.Join(names, ",")
		if err != nil {
			got = err.Error()
		}
		if got != c.want || err != nil && protocol.CodeOf(err) != protocol.Internal {
			t.Errorf("of %v: %s, want %s", c.wanted, got, c.want)
		}
	}
}

func TestInputsFitThePorts(t *testing.T) {
	m := &tensorsModel{table: &table{batched: true, ports: workload.Ports{Inputs: portsFrom(floats("x", -1, 2), floats("z", -1, 1)), Outputs: portsFrom(floats("y", -1, 2))}}}
	spec := func(name string, d tensor.DType, shape ...int64) protocol.Spec {
		return protocol.Spec{Name: name, Type: d, Shape: shape}
	}
	x, z := spec("x", tensor.Float32, 3, 2), spec("z", tensor.Float32, 3, 1)
	for _, c := range []struct {
		name   string
		inputs []protocol.Spec
		wanted []string
		want   string
		code   protocol.Code
	}{
		{"right ones", []protocol.Spec{x, z}, nil, "36 bytes", 0},
		{"in another order", []protocol.Spec{z, x}, []string{"y"}, "36 bytes", 0},
		{"one is missing", []protocol.Spec{x}, nil, "1 inputs, the model has 2", protocol.InvalidArgument},
		{"one that the model has not", []protocol.Spec{x, spec("w", tensor.Float32, 3, 1)}, nil, `the model has no input "w"`, protocol.InvalidArgument},
		{"another type", []protocol.Spec{x, spec("z", tensor.Int32, 3, 1)}, nil, "input z INT32[3 1], the model has FP32[? 1]", protocol.InvalidArgument},
		{"another shape", []protocol.Spec{x, spec("z", tensor.Float32, 3, 2)}, nil, "input z FP32[3 2], the model has FP32[? 1]", protocol.InvalidArgument},
		{"no samples", []protocol.Spec{spec("x", tensor.Float32, 0, 2), spec("z", tensor.Float32, 0, 1)}, nil, "input x FP32[0 2] has no elements", protocol.InvalidArgument},
		{"batches that differ", []protocol.Spec{x, spec("z", tensor.Float32, 2, 1)}, nil, "inputs of 3 and of 2 samples", protocol.InvalidArgument},
		{"as many samples as may be", []protocol.Spec{spec("x", tensor.Float32, 64, 2), spec("z", tensor.Float32, 64, 1)}, nil, "768 bytes", 0},
		{"one more", []protocol.Spec{spec("x", tensor.Float32, 65, 2), spec("z", tensor.Float32, 65, 1)}, nil, "the inputs take 780 bytes, the model takes at most 768", protocol.TooLarge},
		{"elements beyond all memory", []protocol.Spec{spec("x", tensor.Float32, 1<<50, 2), spec("z", tensor.Float32, 1<<50, 1)}, nil, "is larger than the 768 bytes that the model takes", protocol.TooLarge},
		{"an output that the model has not", []protocol.Spec{x, z}, []string{"q"}, `the model has no output "q"`, protocol.InvalidArgument},
		{"an output twice", []protocol.Spec{x, z}, []string{"y", "y"}, `the output "y" is asked for twice`, protocol.InvalidArgument},
	} {
		bytes, err := m.check(&protocol.Head{Tensors: c.inputs, Wanted: c.wanted})
		got := fmt.Sprint(bytes, " bytes")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || err != nil && protocol.CodeOf(err) != c.code {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestStatistics(t *testing.T) {
	var c counts
	at := time.UnixMilli(5000)
	c.add(&request{submitted: at.Add(-30 * time.Millisecond), started: at.Add(-20 * time.Millisecond), samples: 3, first: true}, at)
	c.add(&request{submitted: at.Add(-10 * time.Millisecond), started: at.Add(-20 * time.Millisecond), samples: 2}, at.Add(time.Millisecond))
	c.add(&request{submitted: at.Add(-5 * time.Millisecond), samples: 7, first: true, err: errors.New("broken")}, at)
	ms := func(n uint64) uint64 { return n * 1e6 }
	want := protocol.ModelStatistics{Name: "m", Version: "v", LastInference: 5001, InferenceCount: 5, ExecutionCount: 1, InferenceStats: protocol.InferenceSum{
		Success: protocol.Sum{Count: 2, NS: ms(41)}, Fail: protocol.Sum{Count: 1, NS: ms(5)}, Queue: protocol.Sum{Count: 2, NS: ms(10)}, // less than nothing is nothing
		ComputeInput: protocol.Sum{Count: 2}, ComputeInfer: protocol.Sum{Count: 2, NS: ms(41)}, ComputeOutput: protocol.Sum{Count: 2}}}
	if got := (&described{metadata: &protocol.ModelMetadata{Name: "m", Versions: []string{"v"}}, count: &c}).Statistics(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestSharedSessionOutputs(t *testing.T) {
	info := backend.Info{Outputs: portsFrom(floats("a", 1), floats("b", 1), floats("c", 1))}
	for _, c := range []struct {
		wanted []string
		want   string
	}{{nil, "a b c"}, {[]string{"c", "a"}, "c a"}, {[]string{}, ""}, {[]string{"d"}, `the model has no output "d"`}} {
		s, err := shareSession(&table{}, info, c.wanted)
		var names []string
		if err != nil {
			names = []string{err.Error()}
		} else {
			for _, p := range s.Info().Outputs {
				names = append(names, p.Name)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("of %q: %s, want %s", c.wanted, got, c.want)
		}
	}
	if len(info.Outputs) != 3 {
		t.Error("what is known of the model has changed")
	}
}

func TestMaxBytesFollowsFromTheInputs(t *testing.T) {
	port := func(d tensor.DType, shape ...int64) backend.Port {
		return backend.Port{Name: "x", Type: d, Shape: shape}
	}
	for _, c := range []struct {
		name    string
		inputs  []backend.Port
		batched bool
		want    int64
	}{
		{"fixed", []backend.Port{port(tensor.Float32, 2, 3), port(tensor.Int8, 5)}, false, 29},
		{"samples side by side", []backend.Port{port(tensor.Float32, -1, 3)}, true, 64 * 12},
		{"a fixed batch", []backend.Port{port(tensor.Float32, 2, 3)}, true, 24},
		{"samples of one", []backend.Port{port(tensor.Float32, -1, 3)}, false, 12 + freeBytes},
		{"a free extent", []backend.Port{port(tensor.Int16, 4, -1, 3)}, false, 24 + freeBytes},
		{"two free ones", []backend.Port{port(tensor.Int16, 1, -1), port(tensor.Int16, 1, -1)}, false, 4 + freeBytes},
		{"strings", []backend.Port{port(tensor.String, 1), port(tensor.Int16, 3)}, false, 6 + freeBytes},
		{"any shape", []backend.Port{{Name: "x", Type: tensor.Float32, AnyShape: true}}, false, freeBytes},
		{"a free length beside known ones", []backend.Port{port(tensor.Float32, -1, 1000, 3), port(tensor.Float32, -1, -1)}, false, 4*3001 + freeBytes},
		{"a scalar", []backend.Port{port(tensor.Float64)}, false, 8},
	} {
		m := &tensorsModel{table: &table{ports: workload.Ports{Inputs: c.inputs}, batched: c.batched}}
		if got := m.MaxBytes(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
		samples := int64(0)
		if c.batched && c.inputs[0].Batch() < 0 {
			samples = maxSamples
		}
		if got := m.MaxSamples(); got != samples {
			t.Errorf("%s: %d samples, want %d", c.name, got, samples)
		}
	}
}

// Each request to a model of a fixed batch has all of its rows: as many of them as the room has fit.
func TestBudgetOfAFixedBatch(t *testing.T) {
	offer, err := Open(t.Context(), newSource(t, 6, 0), Options{Name: "m", Room: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer offer.Close()
	for i := range 16 {
		j, err := offer.files[0].model.Begin(&protocol.Head{Tensors: []protocol.Spec{{Name: "x", Type: tensor.Float32, Shape: tensor.Shape{6, 2}}}})
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		defer j.End()
	}
}

// A request beyond the budget is refused, and frees its row.
func TestBudgetIsShared(t *testing.T) {
	offer, err := Open(t.Context(), newSource(t, -1, 0), Options{Name: "m", Room: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer offer.Close()
	m := offer.files[0].model
	m.table.budget = 100
	begin := func(rows int64) (oipserver.Job, error) {
		return m.Begin(&protocol.Head{Tensors: []protocol.Spec{{Name: "x", Type: tensor.Float32, Shape: tensor.Shape{rows, 2}}}})
	}
	alone, err := begin(20) // larger than the budget, which it has to itself
	if err != nil {
		t.Fatal(err)
	}
	for range 5 { // more often than the table has rows
		if _, err := begin(2); protocol.CodeOf(err) != protocol.Unavailable || !testenv.Names(err, "160 bytes … 16") {
			t.Errorf("beside it: %v", err)
		}
	}
	one, err := begin(1) // takes nothing of the budget
	if err != nil {
		t.Fatal(err)
	}
	one.End()
	alone.End()
	next, err := begin(2)
	if err != nil {
		t.Fatalf("after it: %v", err)
	}
	next.End()
	if used := m.table.used.Load(); used != 0 {
		t.Errorf("%d bytes are used after the end", used)
	}
}

func TestFreeRows(t *testing.T) {
	f := newFreeRows(130)
	for want := range 130 {
		if row, err := f.acquire(); err != nil || row != want {
			t.Fatalf("acquire() = %d, %v, want %d", row, err, want)
		}
	}
	if row, err := f.acquire(); protocol.CodeOf(err) != protocol.Unavailable {
		t.Errorf("acquire() = %d, %v of a full table", row, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	if row, err := f.wait(ctx); err != why {
		t.Errorf("wait() = %d, %v, want %v", row, err, why)
	}
	for _, row := range []int{129, 7, 70} {
		f.release(row)
	}
	for _, want := range []int{7, 70, 129} {
		if row, err := f.wait(t.Context()); err != nil || row != want {
			t.Errorf("wait() = %d, %v, want %d", row, err, want)
		}
	}
}

// As many requests as there is room for fit into the budget, where the model fixes how large they are.
func TestBudgetOfFixedInputs(t *testing.T) {
	table := newTable(8)
	table.ports = workload.Ports{Inputs: portsFrom(floats("x", 1, 3)), Outputs: portsFrom(floats("det", -1, 5))}
	m := newTensors(table, "m", "1", "p", func() bool { return true })
	for k := range 8 {
		if _, err := m.Begin(&protocol.Head{Tensors: []protocol.Spec{{Name: "x", Type: tensor.Float32, Shape: tensor.Shape{1, 3}}}}); err != nil {
			t.Errorf("request %d: %v", k, err)
		}
	}
}
