//go:build ort && cgo

package ort

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// slow is a model of products of matrices, one after the other, about a millisecond each for 256 rows of 256.
func slow(steps int) graph {
	const side = 256
	w := make([]float32, side*side)
	for i := range side {
		w[i*side+i] = 1
	}
	g := graph{
		inputs:  []*format.Value{port("x0", tensor.Float32, "N", side)},
		outputs: []*format.Value{port(fmt.Sprint("x", steps), tensor.Float32, "N", side)},
		weights: []*format.Tensor{format.TensorOf("w", w, side, side)},
	}
	for i := range steps {
		step := node("MatMul", []string{fmt.Sprint("x", i), "w"}, []string{fmt.Sprint("x", i+1)})
		step.Name = fmt.Sprint("step", i)
		g.nodes = append(g.nodes, step)
	}
	return g
}

// inSomeWays runs a test with values for the outputs, which go through a binding, and without.
func inSomeWays(t *testing.T, s backend.Session, rows int64, f func(t *testing.T, in, out []backend.Value)) {
	for _, way := range []string{"bound", "plain"} {
		t.Run(way, func(t *testing.T) {
			in, out := bind(t, s, tensor.New(tensor.Float32, rows, 256)), make([]backend.Value, 1)
			if way == "bound" {
				out[0] = bind(t, s, tensor.New(tensor.Float32, rows, 256))
			}
			f(t, values(in), out)
		})
	}
}

func TestORTContextEndsRun(t *testing.T) {
	s, part := openModel(t, slow(20000), backend.Options{}), openModel(t, slow(200), backend.Options{})
	inSomeWays(t, s, 256, func(t *testing.T, in, out []backend.Value) {
		begin := time.Now()
		testenv.Must(t, part.Run(t.Context(), values(bind(t, part, tensor.New(tensor.Float32, 256, 256))), make([]backend.Value, 1)))
		whole := 100 * time.Since(begin) // on this machine, as busy as it is
		enough := errors.New("enough")
		for range 3 { // each time with another context
			ctx, cancel := context.WithCancelCause(t.Context())
			begin := time.Now()
			time.AfterFunc(30*time.Millisecond, func() { cancel(enough) })
			err := s.Run(ctx, in, out)
			if !errors.Is(err, enough) || !strings.HasPrefix(err.Error(), "running the model: ") {
				t.Errorf("the run ended with %v, want %v", err, enough)
			}
			if took := time.Since(begin); took > whole/2 {
				t.Errorf("the run took %v after the context was done, all of it about %v", took, whole)
			}
			if err := s.Run(ctx, in, out); !errors.Is(err, enough) {
				t.Errorf("a run that begins too late ended with %v, want %v", err, enough)
			}
		}
	})
}

func TestORTRunAfterEndedRun(t *testing.T) {
	s := openModel(t, slow(500), backend.Options{})
	inSomeWays(t, s, 256, func(t *testing.T, in, out []backend.Value) {
		tensor.Data[float32](in[0].Tensor())[3] = 7
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if err := s.Run(ctx, in, out); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the run ended with %v, want %v", err, context.DeadlineExceeded)
		}
		other, cancelOther := context.WithCancel(t.Context())
		defer cancelOther()
		testenv.Must(t, s.Run(other, in, out))
		if got := tensor.Data[float32](out[0].Tensor())[3]; got != 7 {
			t.Errorf("the next run gave %v, want 7", got)
		}
	})
}

func TestORTContextEndsItsRunOnly(t *testing.T) {
	s := openModel(t, slow(300), backend.Options{})
	inSomeWays(t, s, 256, func(t *testing.T, in, out []backend.Value) {
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			out := out
			if out[0] == nil {
				out = make([]backend.Value, 1)
			} else {
				out = values(bind(t, s, tensor.New(tensor.Float32, 256, 256)))
			}
			if err := s.Run(t.Context(), in, out); err != nil {
				t.Errorf("the other run: %v", err)
			}
		})
		time.AfterFunc(10*time.Millisecond, cancel)
		if err := s.Run(ctx, in, out); !errors.Is(err, context.Canceled) {
			t.Errorf("the run ended with %v, want %v", err, context.Canceled)
		}
		group.Wait()
	})
}

func TestORTContextAllocatesNothing(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{})
	in, out := values(bind(t, s, tensor.New(tensor.Float32, 1, 4))), values(bind(t, s, tensor.New(tensor.Float32, 1, 4)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n := testing.AllocsPerRun(100, func() {
		testenv.Must(t, s.Run(ctx, in, out))
	}); n != 0 {
		t.Errorf("%v allocations a run, want none", n)
	}
}

func TestORTRunTakesTurn(t *testing.T) {
	s := openModel(t, doubled(1), backend.Options{})
	s.(*session).turn = make(turn, 1)
	x := bind(t, s, tensor.New(tensor.Float32, 1, 4))
	y := bind(t, s, tensor.New(tensor.Float32, 1, 4))
	testenv.Must(t, s.(*session).turn.take(t.Context()))
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := s.Run(ctx, values(x), values(y)); !errors.Is(err, why) {
		t.Errorf("a run while another has the turn: %v, want %v", err, why)
	}
	s.(*session).turn.leave()
	for range 2 { // the first gives it back
		run(t, s, values(x), values(y))
	}
}
