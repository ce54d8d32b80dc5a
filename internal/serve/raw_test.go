package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func portsFrom(list ...backend.Port) []backend.Port { return list }

func floats(name string, shape ...int64) backend.Port {
	return backend.Port{Name: name, Type: tensor.Float32, Shape: shape}
}

func TestSamplesRunSideBySideWhereOnlyTheBatchIsFree(t *testing.T) {
	for _, c := range []struct {
		name            string
		inputs, outputs []backend.Port
		want            bool
	}{
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
		if got := batchable(workload.Ports{Inputs: c.inputs, Outputs: c.outputs}); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestAModelThatTheProtocolCannotSayIsRefused(t *testing.T) {
	odd := workload.Ports{Inputs: portsFrom(floats("x", 1)), Outputs: portsFrom(backend.Port{Name: "y", Other: "sequence"})}
	_, err := rawModel("m", newTable(1)).Open(workload.Setup{Ports: map[string]workload.Ports{workload.Only: odd}})
	if err == nil || err.Error() != "port y is a sequence, which the protocol does not have" {
		t.Errorf("%v", err)
	}
}

func TestPortsOfAnyShapeAreDescribedAsFree(t *testing.T) {
	own := tensor.Shape{2, -1}
	got := portsOf(portsFrom(backend.Port{Name: "a", Type: tensor.Float16, Shape: own}, backend.Port{Name: "b", Type: tensor.Int8, AnyShape: true}, floats("c")))
	if fmt.Sprint(got) != "[{a FP16 [2 -1]} {b INT8 [-1]} {c FP32 []}]" {
		t.Errorf("%v", got)
	}
	got[0].Shape[0] = 7
	if own[0] != 2 {
		t.Error("the description has the memory of the port")
	}
}

func TestOutputsAreThoseThatWereAskedFor(t *testing.T) {
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
		specs, list, err := chosen(ports, outputs[:c.has], c.wanted)
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

func TestInputsAreComparedWithThePorts(t *testing.T) {
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

func TestABudgetIsNotUsedTwice(t *testing.T) {
	b := &table{budget: 100}
	for i, step := range []struct {
		bytes int64
		want  bool
	}{{60, true}, {40, true}, {1, false}, {-40, true}, {41, false}, {40, true}, {-100, true}, {1000, true}, {1, false}} {
		if got := b.reserve(step.bytes); got != step.want {
			t.Errorf("step %d: reserve(%d) = %v, want %v", i, step.bytes, got, step.want)
		}
	}
	if used := b.used.Load(); used != 1000 {
		t.Errorf("%d bytes are used, want those of the one that is larger than all", used)
	}
}

func TestWhatRanIsCounted(t *testing.T) {
	var c counts
	at := time.UnixMilli(5000)
	c.add(&request{submitted: at.Add(-30 * time.Millisecond), started: at.Add(-20 * time.Millisecond), samples: 3, first: true}, at)
	c.add(&request{submitted: at.Add(-10 * time.Millisecond), started: at.Add(-20 * time.Millisecond), samples: 2}, at.Add(time.Millisecond))
	c.add(&request{submitted: at.Add(-5 * time.Millisecond), samples: 7, first: true, err: errors.New("broken")}, at)
	ms := func(n uint64) uint64 { return n * 1e6 }
	want := protocol.ModelStatistics{Name: "m", Version: "v", LastInference: 5001, InferenceCount: 5, ExecutionCount: 1, InferenceStats: protocol.InferenceSum{
		Success: protocol.Sum{Count: 2, NS: ms(41)}, Fail: protocol.Sum{Count: 1, NS: ms(5)}, Queue: protocol.Sum{Count: 2, NS: ms(10)}, // less than nothing is nothing
		ComputeInput: protocol.Sum{Count: 2}, ComputeInfer: protocol.Sum{Count: 2, NS: ms(41)}, ComputeOutput: protocol.Sum{Count: 2}}}
	if got := c.read("m", "v"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestASharedSessionHasTheOutputsThatAreWanted(t *testing.T) {
	info := backend.Info{Outputs: portsFrom(floats("a", 1), floats("b", 1), floats("c", 1))}
	for _, c := range []struct {
		wanted []string
		want   string
	}{{nil, "a b c"}, {[]string{"c", "a"}, "c a"}, {[]string{}, ""}, {[]string{"d"}, `the model has no output "d"`}} {
		s, err := newShared(&table{}, info, c.wanted)
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

func TestARowIsWaitedForUntilTheContextEnds(t *testing.T) {
	f := newFreeRows(1)
	if row, err := f.wait(t.Context()); row != 0 || err != nil {
		t.Fatal(row, err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := f.wait(ctx); err != why {
		t.Errorf("%v, want %v", err, why)
	}
	f.give(0)
	if row, ok := f.take(); row != 0 || !ok {
		t.Errorf("%d, %v", row, ok)
	}
}

func TestTheFirstFreeRowIsTaken(t *testing.T) {
	f := newFreeRows(130)
	for want := range 130 {
		if row, ok := f.take(); !ok || row != want {
			t.Fatalf("row %d is taken, %v, want %d", row, ok, want)
		}
	}
	if row, ok := f.take(); ok {
		t.Errorf("row %d is taken, and none is free", row)
	}
	f.give(129)
	f.give(7)
	f.give(70)
	for _, want := range []int{7, 70, 129} {
		if row, err := f.wait(t.Context()); err != nil || row != want {
			t.Errorf("row %d is taken, %v, want %d", row, err, want)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := f.wait(ended); err == nil {
		t.Error("a row is taken, and none is free")
	}
}

func TestNobodySharesARow(t *testing.T) {
	const room = 5
	f := newFreeRows(room)
	var used [room]atomic.Int32
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			for range 200 {
				row, err := f.wait(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if used[row].Add(1) != 1 {
					t.Errorf("row %d is taken twice", row)
				}
				used[row].Add(-1)
				f.give(row)
			}
		})
	}
	all.Wait()
	if len(f.room) != room {
		t.Errorf("%d of %d rows are free when all is over", len(f.room), room)
	}
}
