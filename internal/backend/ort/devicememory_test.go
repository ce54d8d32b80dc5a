//go:build ort && cgo && linux

package ort

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	format "github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestORTDeviceBuffers(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{DeviceMemory: true})
	if got := s.Info().Facts["device_memory"]; got != "Cpu" {
		t.Errorf("the results name the memory %q, want Cpu", got)
	}
	for _, rows := range []int64{1, 3, 3, 2} { // a buffer is used again, and replaced by one of another size
		x, y := tensor.New(tensor.Float32, rows, 4), tensor.New(tensor.Float32, rows, 4)
		in, out := values(bind(t, s, x)), values(bind(t, s, y))
		for turn := range 3 {
			for i := range tensor.Data[float32](x) {
				tensor.Data[float32](x)[i] = float32(i + turn)
			}
			run(t, s, in, out)
			for i, got := range tensor.Data[float32](y) {
				if got != 2*float32(i+turn) {
					t.Fatalf("%d rows, turn %d: y[%d] = %v, want %v", rows, turn, i, got, 2*(i+turn))
				}
			}
		}
	}
}

func TestORTSessionsWithoutDeviceMemory(t *testing.T) {
	engine := openEngine(t)
	for _, types := range [][2]tensor.DType{{tensor.String, tensor.Float32}, {tensor.Float32, tensor.String}} {
		g := graph{
			nodes:   []*format.Node{node("Cast", []string{"x"}, []string{"y"}, format.Attr("to", int64(format.ElemTypeOf(types[1]))))},
			inputs:  []*format.Value{port("x", types[0], "N")},
			outputs: []*format.Value{port("y", types[1], "N")},
		}
		_, err := engine.Open(t.Context(), backend.Options{ModelPath: g.write(t), DeviceMemory: true})
		if device := new(deviceError); !errors.As(err, &device) || !strings.Contains(err.Error(), "not for strings") {
			t.Errorf("%v, want an error about the device", err)
		}
	}
}

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

// The next run finds the results of the last one in the device's memory.
func TestORTMemoryKeepsResults(t *testing.T) {
	withFakeDevices(t, func(t *testing.T) {
		s := openWith(t, openFake(t), backend.Options{ModelPath: doubled("N").write(t), Device: "cuda", DeviceMemory: true})
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
		testenv.Must(t, m.Copy(0, 8, 4))
		out := values(bind(t, s, y))
		run(t, s, values(part(t, m, 0, 1, 4)), out)
		if got, want := tensor.Data[float32](y), []float32{8, 16, 24, 32}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		run(t, s, values(part(t, m, 12, 1, 4)), out)
		if got := tensor.Data[float32](y); !slices.Equal(got, make([]float32, 4)) {
			t.Errorf("fresh memory holds half of %v, want zeros", got)
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

func TestORTMemoryOfAnotherSession(t *testing.T) {
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

func TestORTPartsOutsideMemory(t *testing.T) {
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
func TestORTCountsAreReadInEachRun(t *testing.T) {
	g := graph{
		nodes:   []*format.Node{node("Add", []string{"n", "n"}, []string{"y"})},
		inputs:  []*format.Value{port("n", tensor.Int64, 2)},
		outputs: []*format.Value{port("y", tensor.Int64, 2)},
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

func TestORTClosedMemory(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{DeviceMemory: true})
	m, err := s.(backend.Keeper).Keep(tensor.Float32, 16)
	if err != nil {
		t.Fatal(err)
	}
	before := part(t, m, 0, 1, 4)
	out := bind(t, s, tensor.New(tensor.Float32, 1, 4))
	run(t, s, values(before), values(out))
	for range 2 {
		testenv.Must(t, m.Close())
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

func TestORTMemoryClosesWithSession(t *testing.T) {
	s := openModel(t, doubled("N"), backend.Options{DeviceMemory: true})
	m, err := s.(backend.Keeper).Keep(tensor.Float32, 16)
	if err != nil {
		t.Fatal(err)
	}
	v := part(t, m, 0, 1, 4)
	testenv.Must(t, s.Close())
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

func TestORTCopyInMemory(t *testing.T) {
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
		testenv.Must(t, m.Copy(c.to, c.from, c.n))
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
