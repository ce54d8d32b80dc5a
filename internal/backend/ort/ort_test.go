//go:build ort && cgo

package ort

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// These tests use the real library, named by MLPERF_ORT_LIB:
//
//	MLPERF_ORT_LIB=$(scripts/install_onnxruntime.sh --print-path) go test -tags ort ./internal/backend/ort

func TestMain(m *testing.M) {
	if os.Getenv(LibraryVariable) == "" {
		fmt.Fprintf(os.Stderr, "%s is not set: tests with the tag ort need the library\n", LibraryVariable)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func openEngine(t testing.TB) *Engine {
	t.Helper()
	library, _, err := Search{}.Find()
	if err != nil {
		t.Fatal(err)
	}
	engine, err := New(library, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return engine
}

// withDevice runs the test again in a process of its own with the library that has a device: a process can open one library.
func withDevice(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	if os.Getenv("DEVICE_TEST") != "" {
		f(t)
		return
	}
	d, err := deviceNamed(name)
	testenv.Must(t, err)
	var library Library
	given := os.Getenv(LibraryVariable)
	t.Setenv(LibraryVariable, "")
	for _, file := range []string{given, ""} {
		l, _, err := Search{Explicit: file, Device: name}.Find()
		if _, missing := os.Stat(cmp.Or(d.libraryFile(l.Path), l.Path)); err == nil && missing == nil {
			library = l
		}
	}
	if library.Path == "" {
		t.Skipf("no ONNX Runtime with %s is installed: mlperf doctor --fix --device %s", d.title, name)
	}
	testenv.RunAgain(t, "DEVICE_TEST=1", LibraryVariable+"="+library.Path)
}

// provider says what a device can do.
func provider(t *testing.T, engine *Engine, name string) Provider {
	t.Helper()
	all, err := engine.Providers(t.Context())
	testenv.Must(t, err)
	return all[slices.IndexFunc(all, func(p Provider) bool { return p.Device == name })]
}

// write saves a model in a folder of the test.
func (g graph) write(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.onnx")
	testenv.Must(t, os.WriteFile(path, g.encode(), 0o644))
	return path
}

// identity is y = x of a type and shape.
func identity(t tensor.DType, axes ...any) graph {
	return graph{
		nodes:   []*format.Node{node("Identity", []string{"x"}, []string{"y"})},
		inputs:  []*format.Value{port("x", t, axes...)},
		outputs: []*format.Value{port("y", t, axes...)},
	}
}

func openModel(t testing.TB, g graph, options backend.Options) backend.Session {
	t.Helper()
	options.ModelPath = g.write(t)
	options.IntraThreads = cmp.Or(options.IntraThreads, 1)
	return openWith(t, openEngine(t), options)
}

func openWith(t testing.TB, engine *Engine, options backend.Options) backend.Session {
	t.Helper()
	session, err := engine.Open(context.Background(), options)
	testenv.Must(t, err)
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return session
}

func bind(t testing.TB, s backend.Session, x tensor.Tensor) backend.Value {
	t.Helper()
	v, err := s.Bind(x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func run(t testing.TB, s backend.Session, inputs, outputs []backend.Value) {
	t.Helper()
	testenv.Must(t, s.Run(context.Background(), inputs, outputs))
}

// compute runs a model whose output is like its input.
func compute(t testing.TB, s backend.Session, x tensor.Tensor) []float32 {
	t.Helper()
	y := tensor.New(tensor.Float32, x.Shape...)
	run(t, s, values(bind(t, s, x)), values(bind(t, s, y)))
	return tensor.Data[float32](y)
}

func values(v ...backend.Value) []backend.Value { return v }

func TestORTTensorsInPlace(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{})
	for _, batch := range []int{1, 3, 2} { // a free batch takes any
		x, y := tensor.New(tensor.Float32, int64(batch), 4), tensor.New(tensor.Float32, int64(batch), 4)
		in, out := bind(t, s, x), bind(t, s, y)
		for round := range 3 {
			for i := range tensor.Data[float32](x) {
				tensor.Data[float32](x)[i] = float32(i + 10*round)
			}
			run(t, s, values(in), values(out))
			for i, v := range tensor.Data[float32](y) {
				if want := 2 * float32(i+10*round); v != want {
					t.Fatalf("batch %d, round %d: y[%d] = %v, want %v", batch, round, i, v, want)
				}
			}
		}
	}
}

func TestORTRowsOfTensor(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{})
	store := tensor.New(tensor.Float32, 8, 4)
	for i := range tensor.Data[float32](store) {
		tensor.Data[float32](store)[i] = float32(i)
	}
	y := tensor.New(tensor.Float32, 1, 4)
	out := bind(t, s, y)
	for row := range 8 {
		run(t, s, values(bind(t, s, store.Rows(row, 1))), values(out))
		if got, want := tensor.Data[float32](y)[0], float32(8*row); got != want {
			t.Errorf("row %d: y[0] = %v, want %v", row, got, want)
		}
	}
}

var allTypes = []tensor.DType{
	tensor.Float32, tensor.Float64, tensor.Float16, tensor.BFloat16, tensor.Int8, tensor.Int16, tensor.Int32,
	tensor.Int64, tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Bool,
}

// pattern fills a tensor with bytes that differ from element to element and make valid bools.
func pattern(x tensor.Tensor) tensor.Tensor {
	for i := range x.Bytes() {
		x.Bytes()[i] = byte(i * 37)
		if x.Type == tensor.Bool {
			x.Bytes()[i] = byte(i % 2)
		}
	}
	return x
}

func TestORTElementTypes(t *testing.T) {
	for _, dtype := range allTypes {
		for _, given := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, output given %v", dtype, given), func(t *testing.T) {
				s := openModel(t, identity(dtype, "N", 3), backend.Options{})
				x := pattern(tensor.New(dtype, 2, 3))
				outputs := make([]backend.Value, 1)
				if given {
					outputs[0] = bind(t, s, tensor.New(dtype, 2, 3))
				}
				run(t, s, values(bind(t, s, x)), outputs)
				y := outputs[0].Tensor()
				if y.Type != dtype || !slices.Equal(y.Shape, x.Shape) || !slices.Equal(y.Bytes(), x.Bytes()) {
					t.Errorf("%v came back as %v: % x, want % x", x, y, y.Bytes(), x.Bytes())
				}
			})
		}
	}
}

func TestORTScalars(t *testing.T) {
	for _, dtype := range allTypes {
		for _, given := range []bool{true, false} {
			t.Run(fmt.Sprintf("%v, output given %v", dtype, given), func(t *testing.T) {
				s := openModel(t, identity(dtype), backend.Options{})
				x := pattern(tensor.New(dtype))
				in, outputs := bind(t, s, x), make([]backend.Value, 1)
				for round := range byte(3) {
					x.Bytes()[0] = round & 1 // the value must follow
					if given && outputs[0] == nil {
						outputs[0] = bind(t, s, tensor.New(dtype))
					} else if !given {
						outputs[0] = nil
					}
					run(t, s, values(in), outputs)
					if y := outputs[0].Tensor(); len(y.Shape) != 0 || !slices.Equal(y.Bytes(), x.Bytes()) {
						t.Fatalf("round %d: %v came back as %v: % x, want % x", round, x, y, y.Bytes(), x.Bytes())
					}
				}
			})
		}
	}
}

func TestORTStrings(t *testing.T) {
	s := openModel(t, identity(tensor.String, "N", 2), backend.Options{})
	texts := []string{"eins", "", "drei\nvier", "größe"}
	in := bind(t, s, tensor.OfStrings(texts, 2, 2))
	out := tensor.New(tensor.String, 2, 2)
	given := bind(t, s, out)
	for _, last := range []string{"größe", "changed"} {
		texts[3] = last
		run(t, s, values(in), values(given))
		if !slices.Equal(out.Strings(), texts) {
			t.Errorf("strings %q came back as %q", texts, out.Strings())
		}
		made := make([]backend.Value, 1)
		run(t, s, values(in), made)
		if got := made[0].Tensor(); !slices.Equal(got.Strings(), texts) || got.Shape.String() != "[2 2]" {
			t.Errorf("strings %q came back as %v %q", texts, got, got.Strings())
		}
	}
}

func TestORTScalarString(t *testing.T) {
	s := openModel(t, identity(tensor.String), backend.Options{})
	in, outputs := bind(t, s, tensor.OfStrings([]string{"one"})), make([]backend.Value, 1)
	run(t, s, values(in), outputs)
	if got := outputs[0].Tensor(); len(got.Shape) != 0 || got.Strings()[0] != "one" {
		t.Errorf("got %v %q", got, got.Strings())
	}
}

// An output that the run allocates is in ONNX Runtime's memory, which it uses again: 8 MB are neither copied nor cleared.
func TestORTAllocatedOutputIsNotCopied(t *testing.T) {
	s := openModel(t, identity(tensor.Float32, "N"), backend.Options{})
	in, outputs := values(bind(t, s, tensor.New(tensor.Float32, 2<<20))), make([]backend.Value, 1)
	once := func() {
		outputs[0] = nil
		run(t, s, in, outputs)
		testenv.Must(t, outputs[0].Close())
	}
	once()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		once()
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("ten runs with outputs of 8 MB allocated %d bytes in Go", n)
	}
}

func TestORTEmptyTensors(t *testing.T) {
	for _, dtype := range []tensor.DType{tensor.Float32, tensor.Int64, tensor.Float16, tensor.Bool} {
		s := openModel(t, identity(dtype, "N", 3), backend.Options{})
		outputs := make([]backend.Value, 1)
		run(t, s, values(bind(t, s, tensor.New(dtype, 0, 3))), outputs)
		if got := outputs[0].Tensor(); got.Shape.String() != "[0 3]" || got.Len() != 0 {
			t.Errorf("%v: got %v", dtype, got)
		}
		run(t, s, values(bind(t, s, tensor.New(dtype, 0, 3))), values(bind(t, s, tensor.New(dtype, 0, 3))))
	}
}

func TestORTAllocatedOutput(t *testing.T) {
	g := graph{
		nodes:   []*format.Node{node("NonZero", []string{"x"}, []string{"y"})},
		inputs:  []*format.Value{port("x", tensor.Float32, "N")},
		outputs: []*format.Value{port("y", tensor.Int64, 1, "found")},
	}
	s := openModel(t, g, backend.Options{})
	outputs := make([]backend.Value, 1)
	run(t, s, values(bind(t, s, tensor.Of([]float32{0, 5, 0, 7}, 4))), outputs)
	y := outputs[0].Tensor()
	if !slices.Equal(tensor.Data[int64](y), []int64{1, 3}) || y.Shape.String() != "[1 2]" {
		t.Errorf("NonZero = %v %v, want [1 3]", y, tensor.Data[int64](y))
	}
	if err := outputs[0].Close(); err != nil {
		t.Error(err)
	}
}

// An output of one run is in memory that a later one uses only when it is closed, whatever shapes both have.
func TestORTAllocatedOutputsOfChangingShapes(t *testing.T) {
	s := openModel(t, identity(tensor.Float32, "N"), backend.Options{})
	var kept []backend.Value
	check := func() {
		for _, v := range kept {
			data := tensor.Data[float32](v.Tensor())
			if i := slices.IndexFunc(data, func(x float32) bool { return x != float32(len(data)) }); i >= 0 {
				t.Fatalf("element %d of %d is %v after a later run", i, len(data), data[i])
			}
		}
	}
	for round, n := range []int{5, 300_000, 5, 1, 700_000, 0, 300_000, 5, 299_999} {
		x := tensor.Of(slices.Repeat([]float32{float32(n)}, n), int64(n))
		outputs := make([]backend.Value, 1)
		run(t, s, values(bind(t, s, x)), outputs)
		if got := outputs[0].Tensor(); !slices.Equal(got.Shape, x.Shape) {
			t.Fatalf("round %d: an output of %v has shape %v", round, x, got.Shape)
		}
		kept = append(kept, outputs[0])
		check()
		if round%3 == 2 {
			testenv.Must(t, kept[0].Close())
			kept = kept[1:]
		}
	}
}

func TestORTModelWithoutInputs(t *testing.T) {
	g := graph{
		nodes:   []*format.Node{node("Identity", []string{"w"}, []string{"y"})},
		weights: []*format.Tensor{format.TensorOf("w", []float32{7}, 1)},
		outputs: []*format.Value{port("y", tensor.Float32, 1)},
	}
	s := openModel(t, g, backend.Options{})
	y := tensor.New(tensor.Float32, 1)
	run(t, s, nil, values(bind(t, s, y)))
	if got := tensor.Data[float32](y)[0]; got != 7 {
		t.Errorf("y = %v, want 7", got)
	}
	outputs := make([]backend.Value, 1)
	run(t, s, nil, outputs)
	if got := tensor.Data[float32](outputs[0].Tensor()); !slices.Equal(got, []float32{7}) {
		t.Errorf("y = %v, want 7", got)
	}
}

func TestORTConcurrentRuns(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{})
	shared := tensor.New(tensor.Float32, 1, 4) // inputs may be shared
	for i := range 4 {
		tensor.Data[float32](shared)[i] = 21
	}
	in := bind(t, s, shared)
	var group sync.WaitGroup
	for g := range 16 {
		group.Go(func() {
			x, y := tensor.New(tensor.Float32, 1, 4), tensor.New(tensor.Float32, 1, 4)
			mine, out := bind(t, s, x), bind(t, s, y)
			for round := range 200 {
				tensor.Data[float32](x)[0] = float32(g*1000 + round)
				inputs, want := values(mine), 2*float32(g*1000+round)
				if round%3 == 0 {
					inputs, want = values(in), 42
				}
				if err := s.Run(context.Background(), inputs, values(out)); err != nil {
					t.Error(err)
					return
				}
				if got := tensor.Data[float32](y)[0]; got != want {
					t.Errorf("goroutine %d, round %d: y[0] = %v, want %v", g, round, got, want)
					return
				}
			}
			if err := errors.Join(mine.Close(), out.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestORTSharedScalarsAndStrings(t *testing.T) {
	numbers := openModel(t, identity(tensor.Int64), backend.Options{})
	texts := openModel(t, identity(tensor.String, 1), backend.Options{})
	n := bind(t, numbers, tensor.Of([]int64{42}))
	word := bind(t, texts, tensor.OfStrings([]string{"shared"}, 1))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			y, w := tensor.New(tensor.Int64), tensor.New(tensor.String, 1)
			outN, outW := bind(t, numbers, y), bind(t, texts, w)
			for range 100 {
				if err := errors.Join(numbers.Run(context.Background(), values(n), values(outN)), texts.Run(context.Background(), values(word), values(outW))); err != nil {
					t.Error(err)
					return
				}
			}
			if tensor.Data[int64](y)[0] != 42 || w.Strings()[0] != "shared" {
				t.Errorf("got %v and %q", tensor.Data[int64](y)[0], w.Strings()[0])
			}
		})
	}
	group.Wait()
}

func TestORTRunAllocatesNothing(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{})
	out := values(bind(t, s, tensor.New(tensor.Float32, 1, 4)))
	a := values(bind(t, s, tensor.New(tensor.Float32, 1, 4)))
	b := values(bind(t, s, tensor.New(tensor.Float32, 1, 4)))
	run(t, s, a, out)
	if n := testing.AllocsPerRun(100, func() { run(t, s, a, out) }); n != 0 {
		t.Errorf("a run with the same input allocates %v times, want 0", n)
	}
	if n := testing.AllocsPerRun(100, func() { run(t, s, b, out); run(t, s, a, out) }); n != 0 {
		t.Errorf("two runs with changing inputs allocate %v times, want 0", n)
	}
	scalar := openModel(t, identity(tensor.Float32), backend.Options{})
	in, y := values(bind(t, scalar, tensor.New(tensor.Float32))), values(bind(t, scalar, tensor.New(tensor.Float32)))
	run(t, scalar, in, y)
	if n := testing.AllocsPerRun(100, func() { run(t, scalar, in, y) }); n != 0 {
		t.Errorf("a run with an unchanged scalar allocates %v times, want 0", n)
	}
}

func TestORTValuesOfAnotherSession(t *testing.T) {
	first, second := openModel(t, doubled("N"), backend.Options{}), openModel(t, doubled("N"), backend.Options{})
	between := make([]backend.Value, 1)
	run(t, first, values(bind(t, first, tensor.Of([]float32{1, 2, 3, 4}, 1, 4))), between)
	y := tensor.New(tensor.Float32, 1, 4)
	out := values(bind(t, first, y))
	run(t, second, between, out)
	run(t, first, between, out) // the same output leads a binding of the other session now
	run(t, second, between, out)
	if got := tensor.Data[float32](y); !slices.Equal(got, []float32{4, 8, 12, 16}) {
		t.Errorf("doubled twice = %v", got)
	}
}

func TestORTWrongValues(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{})
	other := openModel(t, doubled(2), backend.Options{})
	good := bind(t, s, tensor.New(tensor.Float32, 1, 4))
	closed := bind(t, s, tensor.New(tensor.Float32, 1, 4))
	testenv.Must(t, closed.Close())
	out := func() backend.Value { return bind(t, s, tensor.New(tensor.Float32, 1, 4)) }
	tests := []struct {
		name            string
		session         backend.Session
		inputs, outputs []backend.Value
		want            string
	}{
		{"element type of an input", s, values(bind(t, s, tensor.New(tensor.Float64, 1, 4))), values(out()), "input x: got float64[1 4], the model has float32[? 4]"},
		{"extent of an input", s, values(bind(t, s, tensor.New(tensor.Float32, 1, 5))), values(out()), "input x: got float32[1 5], the model has float32[? 4]"},
		{"rank of an input", s, values(bind(t, s, tensor.New(tensor.Float32, 4))), values(out()), "input x: got float32[4]"},
		{"element type of an output", s, values(good), values(bind(t, s, tensor.New(tensor.Int32, 1, 4))), "output y: got int32[1 4]"},
		{"batch of an output", s, values(good), values(bind(t, s, tensor.New(tensor.Float32, 2, 4))), "{2,4}"},
		{"batch of a fixed model", other, values(good), values(bind(t, s, tensor.New(tensor.Float32, 2, 4))), "input x: got float32[1 4], the model has float32[2 4]"},
		{"number of inputs", s, values(good, good), values(out()), "got 2 inputs and 1 outputs, it has 1 and 1"},
		{"a closed value", s, values(closed), values(out()), "the value is closed"},
		{"no input at all", s, values(nil), values(out()), "input x: the value was not bound by this engine"},
		{"no input, output allocated", s, values(nil), values(nil), "input x: the value was not bound by this engine"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.session.Run(context.Background(), test.inputs, test.outputs)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
	y := out()
	run(t, s, values(good), values(y)) // and the session still works
}

func TestORTFailedRunUnpins(t *testing.T) {
	g := identity(tensor.Float16, "N") // its output is allocated before the run
	g.nodes = append(g.nodes, node("Abs", []string{"x"}, []string{"z"}))
	g.outputs = append(g.outputs, port("z", tensor.Float16, "N"))
	s := openModel(t, g, backend.Options{})
	in := bind(t, s, tensor.New(tensor.Float16, 2))
	for range 100 {
		outputs := []backend.Value{nil, bind(t, s, tensor.New(tensor.Float16, 3))}
		if err := s.Run(context.Background(), values(in), outputs); err == nil || outputs[0] != nil {
			t.Fatalf("got %v and %v, want an error and no output", err, outputs[0])
		}
		if err := s.Run(context.Background(), values(in), []backend.Value{nil, nil, nil}); err == nil {
			t.Fatal("three outputs were taken, want an error")
		}
		wrong := []backend.Value{nil, bind(t, s, tensor.New(tensor.Int8, 2))}
		if err := s.Run(context.Background(), values(in), wrong); err == nil || wrong[0] != nil {
			t.Fatalf("got %v and %v, want an error and no output", err, wrong[0])
		}
	}
	runtime.GC() // ends the program if it finds a pinned value without an owner
	runtime.GC()
}

func TestORTUnboundTypes(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{})
	if _, err := s.Bind(tensor.Tensor{}); err == nil {
		t.Error("Bind of no tensor succeeded, want an error")
	}
}

func TestORTFailedRunNamesNode(t *testing.T) {
	g := doubled("N")
	g.nodes = []*format.Node{node("MatMul", []string{"x", "x"}, []string{"y"})}
	s := openModel(t, g, backend.Options{})
	x := bind(t, s, tensor.New(tensor.Float32, 2, 4))
	for _, outputs := range [][]backend.Value{{nil}, {bind(t, s, tensor.New(tensor.Float32, 2, 4))}} {
		err := s.Run(context.Background(), values(x), outputs)
		if err == nil || !strings.Contains(err.Error(), "node my_MatMul (MatMul)") {
			t.Errorf("got %v, want an error that names the node", err)
		}
	}
}

func TestORTNaN(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{})
	y := tensor.New(tensor.Float32, 1, 4)
	run(t, s, values(bind(t, s, tensor.Of([]float32{float32(math.NaN()), 1, 2, 3}, 1, 4))), values(bind(t, s, y)))
	if v := tensor.Data[float32](y)[0]; v == v {
		t.Errorf("NaN + NaN = %v", v)
	}
}
