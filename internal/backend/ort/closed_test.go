//go:build ort && cgo && linux

package ort

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// What was closed must say so: ONNX Runtime would read memory that is somebody else's by then.

// ways are sessions that run in all ways that there are: through bindings, plainly, and with buffers of a device.
func ways() map[string]backend.Options {
	return map[string]backend.Options{"bound": {}, "on a device": {DeviceMemory: true}}
}

func TestORTASessionThatIsClosedRunsNoMore(t *testing.T) {
	for way, options := range ways() {
		t.Run(way, func(t *testing.T) {
			s, other := openModel(t, doubled("N"), options), openModel(t, doubled("N"), options)
			x, y := tensor.New(tensor.Float32, 1, 4), tensor.New(tensor.Float32, 1, 4)
			in, out := bind(t, other, x), bind(t, other, y) // which live on
			own := bind(t, s, tensor.New(tensor.Float32, 1, 4))
			run(t, s, values(in), values(out))
			run(t, s, values(in), make([]backend.Value, 1))
			for range 2 { // the second time it is closed already
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
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

func TestORTMemoryThatIsClosedIsNoLongerUsed(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{DeviceMemory: true})
	m, err := s.(backend.Keeper).Keep(tensor.Float32, 16)
	if err != nil {
		t.Fatal(err)
	}
	before := part(t, m, 0, 1, 4)
	out := bind(t, s, tensor.New(tensor.Float32, 1, 4))
	run(t, s, values(before), values(out))
	for range 2 {
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := "the memory is closed"
	if v, err := m.Value(0, 1, 4); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a part of it: %v, %v", v, err)
	}
	if err := m.Copy(0, 4, 4); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a copy in it: %v", err)
	}
	for name, c := range map[string][2]backend.Value{"from": {before, out}, "to": {out, before}} {
		if err := s.Run(t.Context(), values(c[0]), values(c[1])); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a run %s it: %v", name, err)
		}
	}
	run(t, s, values(bind(t, s, tensor.New(tensor.Float32, 1, 4))), values(out))
}

func TestORTMemoryGoesWithItsSession(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{DeviceMemory: true})
	m, err := s.(backend.Keeper).Keep(tensor.Float32, 16)
	if err != nil {
		t.Fatal(err)
	}
	v := part(t, m, 0, 1, 4)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Copy(0, 4, 4); err == nil {
		t.Error("elements are copied in memory of a session that is closed")
	}
	if _, err := m.Value(0, 1, 4); err == nil {
		t.Error("there is a part of memory of a session that is closed")
	}
	if err := errors.Join(v.Close(), m.Close()); err != nil {
		t.Error(err)
	}
}

func TestORTElementsAreMovedWithinTheirMemory(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{DeviceMemory: true})
	for name, c := range map[string]struct {
		to, from, n int64
		want        []float32
	}{
		"nothing":               {3, 0, 0, []float32{2, 4, 6, 8, 10, 12, 14, 16}},
		"to where it is":        {2, 2, 4, []float32{2, 4, 6, 8, 10, 12, 14, 16}},
		"the first one":         {7, 0, 1, []float32{2, 4, 6, 8, 10, 12, 14, 2}},
		"the last one":          {0, 7, 1, []float32{16, 4, 6, 8, 10, 12, 14, 16}},
		"half to the end":       {4, 0, 4, []float32{2, 4, 6, 8, 2, 4, 6, 8}},
		"three from the middle": {5, 2, 3, []float32{2, 4, 6, 8, 10, 6, 8, 10}},
	} {
		m := keep(t, s, 8)
		x := tensor.Of([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4)
		run(t, s, values(bind(t, s, x)), values(part(t, m, 0, 2, 4)))
		if err := m.Copy(c.to, c.from, c.n); err != nil {
			t.Fatal(err)
		}
		y := tensor.New(tensor.Float32, 2, 4)
		run(t, s, values(part(t, m, 0, 2, 4)), values(bind(t, s, y)))
		for i := range tensor.Data[float32](y) {
			tensor.Data[float32](y)[i] /= 2
		}
		if got := tensor.Data[float32](y); !slices.Equal(got, c.want) {
			t.Errorf("%s: the memory holds %v, want %v", name, got, c.want)
		}
	}
}
