//go:build ort && cgo && linux

package ort

import (
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// keep takes memory of a session's device.
func keep(t *testing.T, s backend.Session, elements int64) backend.Memory {
	t.Helper()
	m, err := s.(backend.Keeper).Keep(tensor.Float32, elements)
	if err != nil || m == nil {
		t.Fatalf("memory of the device: %v, %v", m, err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func part(t *testing.T, m backend.Memory, from int64, shape ...int64) backend.Value {
	t.Helper()
	v, err := m.Value(from, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// What a run leaves in the device's memory the next one finds there, and elements can be moved in it.
func TestORTWhatIsKeptOnTheDeviceIsFoundThere(t *testing.T) {
	inPlayer(t, func(t *testing.T) {
		s, err := played(t).Open(t.Context(), backend.Options{ModelPath: doubled("N").write(t), Device: "cuda", DeviceMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		m := keep(t, s, 16)
		x, y := tensor.Of([]float32{1, 2, 3, 4}, 1, 4), tensor.New(tensor.Float32, 1, 4)
		run(t, s, values(bind(t, s, x)), values(part(t, m, 4, 1, 4)))
		before := len(calls(t))
		second, third := part(t, m, 4, 1, 4), part(t, m, 8, 1, 4)
		for range 3 {
			run(t, s, values(second), values(third))
		}
		for _, call := range calls(t)[before:] {
			if strings.HasPrefix(call, "copied") {
				t.Errorf("%q where both are on the device", call)
			}
		}
		if err := m.Copy(0, 8, 4); err != nil {
			t.Fatal(err)
		}
		out := values(bind(t, s, y))
		run(t, s, values(part(t, m, 0, 1, 4)), out)
		if got, want := tensor.Data[float32](y), []float32{8, 16, 24, 32}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		run(t, s, values(part(t, m, 12, 1, 4)), out)
		if got := tensor.Data[float32](y); !slices.Equal(got, make([]float32, 4)) {
			t.Errorf("memory that nobody wrote holds half of %v, want zeros", got)
		}
		run(t, s, values(bind(t, s, x)), out) // a buffer again
		if got, want := tensor.Data[float32](y), []float32{2, 4, 6, 8}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestORTWhatIsKeptIsForItsOwnSession(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{DeviceMemory: true})
	m := keep(t, s, 16)
	kept := part(t, m, 0, 1, 4)
	other := openModel(t, doubled("N"), backend.Options{DeviceMemory: true})
	plain := openModel(t, doubled("N"), backend.Options{})
	host := func(s backend.Session) backend.Value { return bind(t, s, tensor.New(tensor.Float32, 1, 4)) }
	for _, c := range []struct {
		name    string
		s       backend.Session
		in, out backend.Value
		want    string
	}{
		{"another session", other, kept, host(other), "memory of another session"},
		{"the outputs of another session", other, host(other), kept, "memory of another session"},
		{"a session without memory", plain, kept, host(plain), "only take part in a run of its own session"},
		{"the outputs of one without memory", plain, host(plain), kept, "only take part in a run of its own session"},
		{"a run whose output is not given", s, kept, nil, "with values for all outputs"},
	} {
		if err := c.s.Run(t.Context(), values(c.in), values(c.out)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if m, err := plain.(backend.Keeper).Keep(tensor.Float32, 4); m != nil || err != nil {
		t.Errorf("the processor's memory is %v, %v; want none", m, err)
	}
	if err := kept.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Run(t.Context(), values(kept), values(host(s))); err == nil || !strings.Contains(err.Error(), "the value is closed") {
		t.Errorf("a closed value: %v", err)
	}
}

func TestORTPartsThatAreNotInMemoryAreRefused(t *testing.T) {
	m := keep(t, openModel(t, doubled("N"), backend.Options{DeviceMemory: true}), 16)
	for name, err := range map[string]error{
		"a part that ends behind it":  refusal(m.Value(13, 1, 4)),
		"a part that begins before":   refusal(m.Value(-1, 1, 4)),
		"a free axis":                 refusal(m.Value(0, -1, 4)),
		"a copy that ends behind it":  m.Copy(0, 13, 4),
		"a copy to a place behind it": m.Copy(13, 0, 4),
		"a copy of less than nothing": m.Copy(0, 0, -1),
	} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func refusal(_ backend.Value, err error) error { return err }

// Lengths are bound as they are now in each run: an operator may want them in the processor's memory.
func TestORTCountsAreReadAnewInEachRun(t *testing.T) {
	g := onnxGraph{
		nodes:   []message{onnxNode("Add", []string{"n", "n"}, []string{"y"})},
		inputs:  []message{onnxPort("n", tensor.Int64, 2)},
		outputs: []message{onnxPort("y", tensor.Int64, 2)},
	}
	s := openModel(t, g, backend.Options{DeviceMemory: true})
	n, y := tensor.Of([]int64{1, 2}, 2), tensor.New(tensor.Int64, 2)
	in, out := values(bind(t, s, n)), values(bind(t, s, y))
	for turn := range int64(3) {
		tensor.Data[int64](n)[1] = turn
		run(t, s, in, out)
		if got := tensor.Data[int64](y)[1]; got != 2*turn {
			t.Errorf("got %d, want %d", got, 2*turn)
		}
	}
}
