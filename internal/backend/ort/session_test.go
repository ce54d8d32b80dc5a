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
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// ONNX Runtime would read memory of others through values and sessions that are closed.

// ways are options of sessions that run through bindings, and with buffers of a device.
func ways() map[string]backend.Options {
	return map[string]backend.Options{"bound": {}, "on a device": {DeviceMemory: true}}
}

func TestORTClosedSession(t *testing.T) {
	for way, options := range ways() {
		t.Run(way, func(t *testing.T) {
			s, other := openModel(t, doubled("N"), options), openModel(t, doubled("N"), options)
			x, y := tensor.New(tensor.Float32, 1, 4), tensor.New(tensor.Float32, 1, 4)
			in, out := bind(t, other, x), bind(t, other, y) // which live on
			own := bind(t, s, tensor.New(tensor.Float32, 1, 4))
			run(t, s, values(in), values(out))
			run(t, s, values(in), make([]backend.Value, 1))
			for range 2 { // the second time it is closed already
				testenv.Must(t, s.Close())
			}
			for name, outputs := range map[string][]backend.Value{
				"with the output that it wrote before": {out}, "with one of its own": {own}, "with another one": {bind(t, other, tensor.New(tensor.Float32, 1, 4))}, "with none": {nil},
			} {
				err := s.Run(t.Context(), values(in), outputs)
				if !errors.Is(err, errClosed) && (err == nil || !strings.Contains(err.Error(), "the value is closed")) {
					t.Errorf("a run %s: %v", name, err)
				}
			}
			if _, err := s.Bind(x); !errors.Is(err, errClosed) {
				t.Errorf("a value for it: %v", err)
			}
			if m, err := s.(backend.Keeper).Keep(tensor.Float32, 4); m != nil || err != nil && !errors.Is(err, errClosed) {
				t.Errorf("memory of its device: %v, %v", m, err)
			}
			tensor.Data[float32](x)[3] = 21
			run(t, other, values(in), values(out)) // the values are as good as before
			if got := tensor.Data[float32](y)[3]; got != 42 {
				t.Errorf("another session computes %v, want 42", got)
			}
		})
	}
}

// A world has what a program may have open: sessions of models with known results, and values of them.
type world struct {
	t        *testing.T
	rng      *rand.Rand
	sessions []backend.Session // of y = 2x, on rows of four
	values   []*known
}

// A known value has a tensor with known elements. Its owner closes it, and may be closed before it.
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
			return // the result is undefined
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
	"run with a cancelled context": func(w *world) {
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

// In whatever order a program opens, runs and closes, results are right, and a run does not use closed values.
func TestORTRandomSteps(t *testing.T) {
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

// Several goroutines open, run and close their own sessions, with one library and one value that all read.
func TestORTConcurrentOpenAndClose(t *testing.T) {
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
