//go:build ort && cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A world is what a program may have open: sessions of models whose results are known, and values of them.
type world struct {
	t        *testing.T
	rng      *rand.Rand
	sessions []backend.Session // of y = 2x, on rows of four
	values   []*known
}

// A known value has a tensor whose elements are known. Owner is who closes it: its session may go before it.
type known struct {
	value  backend.Value
	tensor tensor.Tensor
	owner  backend.Session
}

func (w *world) pick() *known { return w.values[w.rng.IntN(len(w.values))] }

// steps are what a program may do, in any order.
var steps = map[string]func(w *world){
	"open": func(w *world) {
		if len(w.sessions) < 4 {
			options := []backend.Options{{}, {DeviceMemory: true}, {OptimizeLevel: "none"}}[w.rng.IntN(3)]
			w.sessions = append(w.sessions, openModel(w.t, doubled("N"), options))
		}
	},
	"bind": func(w *world) {
		s := w.sessions[w.rng.IntN(len(w.sessions))]
		x := tensor.New(tensor.Float32, int64(w.rng.IntN(3)), 4) // no rows, too
		for i := range tensor.Data[float32](x) {
			tensor.Data[float32](x)[i] = float32(w.rng.IntN(1000))
		}
		w.values = append(w.values, &known{bind(w.t, s, x), x, s})
	},
	"run into a value": func(w *world) {
		s, in, out := w.sessions[w.rng.IntN(len(w.sessions))], w.pick(), w.pick()
		if in == out {
			return // nobody promises anything
		}
		before := slices.Clone(tensor.Data[float32](in.tensor))
		err := s.Run(w.t.Context(), values(in.value), values(out.value))
		if fits := in.tensor.Shape[0] == out.tensor.Shape[0]; !fits {
			if err == nil {
				w.t.Errorf("%v was written to %v", in.tensor, out.tensor)
			}
			return
		}
		w.compare(err, before, out.tensor)
	},
	"run into a new value": func(w *world) {
		s, in := w.sessions[w.rng.IntN(len(w.sessions))], w.pick()
		outputs := make([]backend.Value, 1)
		err := s.Run(w.t.Context(), values(in.value), outputs)
		if err != nil {
			w.t.Fatal(err)
		}
		w.compare(err, tensor.Data[float32](in.tensor), outputs[0].Tensor())
		w.values = append(w.values, &known{outputs[0], outputs[0].Tensor(), s})
	},
	"run that is not waited for": func(w *world) {
		ctx, cancel := context.WithCancel(w.t.Context())
		cancel()
		in := w.pick()
		if err := w.sessions[0].Run(ctx, values(in.value), make([]backend.Value, 1)); !errors.Is(err, context.Canceled) {
			w.t.Errorf("a run that was cancelled: %v", err)
		}
	},
	"close a value": func(w *world) {
		i := w.rng.IntN(len(w.values))
		if len(w.values) > 1 {
			w.close(w.values[i])
			w.values = slices.Delete(w.values, i, i+1)
		}
	},
	"close a session": func(w *world) {
		if len(w.sessions) < 2 {
			return
		}
		i := w.rng.IntN(len(w.sessions))
		s := w.sessions[i]
		if err := s.Close(); err != nil {
			w.t.Error(err)
		}
		w.sessions = slices.Delete(w.sessions, i, i+1)
		w.values = slices.DeleteFunc(w.values, func(k *known) bool { return k.owner == s })
		if len(w.values) == 0 {
			w.values = append(w.values, &known{bind(w.t, w.sessions[0], tensor.New(tensor.Float32, 1, 4)), tensor.New(tensor.Float32, 1, 4), w.sessions[0]})
			w.values[0].tensor = w.values[0].value.Tensor()
		}
	},
}

func (w *world) close(k *known) {
	for range 2 {
		if err := k.value.Close(); err != nil {
			w.t.Error(err)
		}
	}
	if err := w.sessions[0].Run(w.t.Context(), values(k.value), make([]backend.Value, 1)); err == nil || !strings.Contains(err.Error(), "the value is closed") {
		w.t.Errorf("a run of a closed value: %v", err)
	}
}

// compare wants twice the elements.
func (w *world) compare(err error, in []float32, out tensor.Tensor) {
	w.t.Helper()
	got := tensor.Data[float32](out)
	if err != nil || len(got) != len(in) {
		w.t.Fatalf("%v, %d elements, want %d", err, len(got), len(in))
	}
	for i := range got {
		if got[i] != 2*in[i] {
			w.t.Fatalf("element %d is %v, want %v", i, got[i], 2*in[i])
		}
		got[i] = float32(int(got[i]) % 1000) // numbers that stay exact
	}
}

// Whatever a program opens, runs and closes, in whatever order: results are right, and nothing that is closed is used.
func TestORTSessionsAndValuesMayComeAndGoInAnyOrder(t *testing.T) {
	names := []string{}
	for name := range steps {
		names = append(names, name)
	}
	slices.Sort(names)
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 7))}
			steps["open"](w)
			steps["bind"](w)
			for range 150 {
				steps[names[w.rng.IntN(len(names))]](w)
			}
		})
	}
}

// Several goroutines open, run and close what is theirs, with one library and one value that all read.
func TestORTManyOpenAndCloseAtOnce(t *testing.T) {
	shared := openModel(t, doubled("N"), backend.Options{})
	x := tensor.Of([]float32{1, 2, 3, 4}, 1, 4)
	in := bind(t, shared, x)
	path := doubled("N").write(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for range 8 {
				s, err := openEngine(t).Open(t.Context(), backend.Options{ModelPath: path, IntraThreads: 1})
				if err != nil {
					t.Error(err)
					return
				}
				y := tensor.New(tensor.Float32, 1, 4)
				out, err := s.Bind(y)
				for range 20 {
					err = errors.Join(err, s.Run(t.Context(), values(in), values(out)), shared.Run(t.Context(), values(in), make([]backend.Value, 1)))
				}
				if err = errors.Join(err, s.Close()); err != nil || tensor.Data[float32](y)[3] != 8 {
					t.Errorf("%v, %v", err, tensor.Data[float32](y))
				}
			}
		})
	}
	all.Wait()
}

// Outputs whose shape follows from the axes of inputs are made before the run; those that do not have to be given.
func TestORTOutputsOfHalfPrecisionHaveTheShapeOfTheirAxes(t *testing.T) {
	transposed := onnxGraph{
		nodes:   []message{onnxNode("Transpose", []string{"x"}, []string{"y"}), onnxNode("Identity", []string{"x"}, []string{"z"})},
		inputs:  []message{onnxPort("x", tensor.Float16, "N", "M", 2)},
		outputs: []message{onnxPort("y", tensor.Float16, 2, "M", "N"), onnxPort("z", tensor.Float16, "N", "M", 2)},
	}
	s := openModel(t, transposed, backend.Options{})
	for _, shape := range [][]int64{{1, 1, 2}, {3, 5, 2}, {4, 0, 2}, {2, 3, 2}} {
		outputs := make([]backend.Value, 2)
		run(t, s, values(bind(t, s, pattern(tensor.New(tensor.Float16, shape...)))), outputs)
		if got, want := fmt.Sprint(outputs[0].Tensor().Shape, outputs[1].Tensor().Shape), fmt.Sprint([]int64{2, shape[1], shape[0]}, shape); got != want {
			t.Errorf("outputs of %v have the shapes %s, want %s", shape, got, want)
		}
	}
	found := onnxGraph{
		nodes:   []message{onnxNode("Compress", []string{"x", "which"}, []string{"y"})},
		inputs:  []message{onnxPort("x", tensor.Float16, "N"), onnxPort("which", tensor.Bool, "N")},
		outputs: []message{onnxPort("y", tensor.Float16, "found")},
	}
	s = openModel(t, found, backend.Options{})
	in := values(bind(t, s, tensor.New(tensor.Float16, 2)), bind(t, s, truthOf2(1, 0)))
	outputs := make([]backend.Value, 1)
	if err := s.Run(t.Context(), in, outputs); err == nil || !strings.Contains(err.Error(), "output y: the shape of float16[?] is not known before the run") || outputs[0] != nil {
		t.Errorf("an output whose shape only the run knows: %v", err)
	}
	run(t, s, in, values(bind(t, s, tensor.New(tensor.Float16, 1))))
}

func truthOf2(list ...byte) tensor.Tensor {
	t, _ := tensor.FromBytes(tensor.Bool, list, int64(len(list)))
	return t
}

func TestORTAnOutputThatIsAskedForTwiceIsRefused(t *testing.T) {
	engine := openEngine(t)
	path := doubled("N").write(t)
	if _, err := engine.Open(t.Context(), backend.Options{ModelPath: path, Outputs: []string{"y", "y"}}); err == nil || !strings.Contains(err.Error(), `the output "y" is asked for twice`) {
		t.Errorf("twice: %v", err)
	}
	if _, err := engine.Open(t.Context(), backend.Options{ModelPath: path, Outputs: []string{"z"}}); err == nil || !strings.Contains(err.Error(), `no output "z"; it has y`) {
		t.Errorf("one that there is not: %v", err)
	}
	fixed := doubled(2).write(t)
	if _, err := engine.Open(t.Context(), backend.Options{ModelPath: fixed, FreeDimensions: map[string]int64{"N": 2}}); err == nil || !strings.Contains(err.Error(), `it has no free axis "N"; it has none`) {
		t.Errorf("an axis of a model that has none: %v", err)
	}
}

// A file that is damaged anywhere is a model that computes, or an error that names it.
func TestORTDamagedModelFilesAreModelsOrErrors(t *testing.T) {
	engine, rng := openEngine(t), rand.New(rand.NewPCG(3, 9))
	good := doubled("N").encode()
	tried := map[bool]int{}
	for round := range 150 {
		damaged := slices.Clone(good)
		for range 1 + rng.IntN(3) {
			damaged[rng.IntN(len(damaged))] = byte(rng.IntN(256))
		}
		if round%3 == 0 {
			damaged = damaged[:rng.IntN(len(damaged))]
		}
		path := t.TempDir() + "/m.onnx"
		put(t, path, damaged)
		s, err := engine.Open(t.Context(), backend.Options{ModelPath: path, IntraThreads: 1})
		tried[err == nil]++
		if err != nil {
			if !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("damaged to %x: %v, want one line that names the file", damaged, err)
			}
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if tried[true] == 0 || tried[false] < 50 {
		t.Errorf("%d files were models, %d not: want some of both", tried[true], tried[false])
	}
}
