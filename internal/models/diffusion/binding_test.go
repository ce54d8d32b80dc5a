package diffusion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A countingSession is a session that knows which values are bound and not yet closed.
type countingSession struct {
	info   backend.Info
	open   map[string]int // by the length of the tensor, which tells them apart
	refuse int            // the length of what cannot be bound; 0: none
	runs   [][2][]int     // lengths of inputs and outputs
}

type entry struct {
	l *countingSession
	t tensor.Tensor
}

var errBind, errClose = errors.New("no memory on the device"), errors.New("already closed")

func (e entry) Tensor() tensor.Tensor { return e.t }

func (e entry) Close() error {
	key := fmt.Sprint(e.t.Len())
	if e.l.open[key]--; e.l.open[key] < 0 {
		return errClose
	}
	return nil
}

func (l *countingSession) Info() backend.Info { return l.info }
func (l *countingSession) Close() error       { return nil }

func (l *countingSession) Bind(t tensor.Tensor) (backend.Value, error) {
	if int(t.Len()) == l.refuse {
		return nil, errBind
	}
	l.open[fmt.Sprint(t.Len())]++
	return entry{l, t}, nil
}

func (l *countingSession) Run(_ context.Context, inputs, outputs []backend.Value) error {
	var run [2][]int
	for i, values := range [][]backend.Value{inputs, outputs} {
		for _, v := range values {
			run[i] = append(run[i], int(v.Tensor().Len()))
		}
	}
	l.runs = append(l.runs, run)
	return nil
}

// unclosed is how many values are bound.
func (l *countingSession) unclosed() (n int) {
	for _, count := range l.open {
		n += count
	}
	return n
}

// decoder is a session of the decoder, and the tensors of its ports.
func decoder(t *testing.T) (*countingSession, ports, map[string]tensor.Tensor) {
	t.Helper()
	files := official().files()
	p, err := sdxlPorts().find(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &countingSession{info: backend.Info{Inputs: files[vaeDecoder].Inputs, Outputs: files[vaeDecoder].Outputs}, open: map[string]int{}}
	return l, p, map[string]tensor.Tensor{vaeDecoder + ".latent_sample": tensor.New(tensor.Float32, 4), vaeDecoder + ".sample": tensor.New(tensor.Float32, 3)}
}

func TestBindInPortOrder(t *testing.T) {
	l, p, tensors := decoder(t)
	c, err := bind(l, p, vaeDecoder, tensors)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.run(t.Context()); err != nil || len(l.runs) != 1 || !slices.Equal(l.runs[0][0], []int{4}) || !slices.Equal(l.runs[0][1], []int{3}) {
		t.Errorf("runs of %v, %v, want one of 4 numbers to 3", l.runs, err)
	}
	if l.unclosed() != 2 {
		t.Errorf("%d values are bound, want 2", l.unclosed())
	}
	if err := c.close(); err != nil || l.unclosed() != 0 {
		t.Errorf("after closing %d values are bound, %v", l.unclosed(), err)
	}
	if err := c.close(); !errors.Is(err, errClose) {
		t.Errorf("what values say when they are closed: %v", err)
	}
	var none *call
	if err := none.close(); err != nil {
		t.Errorf("closing what was never bound: %v", err)
	}
}

// Whatever cannot be bound, nothing stays bound.
func TestBindFailure(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(l *countingSession, tensors map[string]tensor.Tensor)
		want   string
	}{
		{"an input that has no memory", func(l *countingSession, _ map[string]tensor.Tensor) { l.refuse = 4 }, "vae_decoder … latent_sample … no memory on the device"},
		{"an output that has no memory", func(l *countingSession, _ map[string]tensor.Tensor) { l.refuse = 3 }, "vae_decoder … sample … no memory on the device"},
		{"an unknown output", func(l *countingSession, _ map[string]tensor.Tensor) {
			l.info.Outputs = append(slices.Clone(l.info.Outputs), port("moments", tensor.Float32, 1))
		}, "vae_decoder … unknown … moments"},
		{"an input without a tensor", func(_ *countingSession, tensors map[string]tensor.Tensor) {
			delete(tensors, vaeDecoder+".latent_sample")
		}, "vae_decoder … unknown … latent_sample"},
	} {
		l, p, tensors := decoder(t)
		c.change(l, tensors)
		if _, err := bind(l, p, vaeDecoder, tensors); !testenv.Names(err, c.want) || l.unclosed() != 0 {
			t.Errorf("%s: %v with %d values bound, want %q and none", c.name, err, l.unclosed(), c.want)
		}
	}
}

func TestFillTypes(t *testing.T) {
	for _, d := range integers {
		x := tensor.New(d, 3)
		setIntegers(x, []int64{49406, 0, 49407})
		if got := fmt.Sprint(numbersOf(x)); got != "[49406 0 49407]" {
			t.Errorf("tokens as %v are %s", d, got)
		}
	}
	for _, d := range numbers {
		for _, shape := range []tensor.Shape{nil, {1}, {3}} {
			x := tensor.New(d, shape...)
			fill(x, 951)
			for _, v := range numbersOf(x) {
				if v != 951 {
					t.Errorf("a step as %v%v is %v", d, shape, numbersOf(x))
				}
			}
		}
	}
}

func numbersOf(t tensor.Tensor) (values []float64) {
	for i := range t.Len() {
		switch t.Type {
		case tensor.Int64:
			values = append(values, float64(tensor.Data[int64](t)[i]))
		case tensor.Int32:
			values = append(values, float64(tensor.Data[int32](t)[i]))
		default:
			values = append(values, float64(tensor.Data[float32](t)[i]))
		}
	}
	return values
}
