package hostmem

import (
	"math"
	"runtime"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestNew(t *testing.T) {
	for _, d := range []tensor.DType{tensor.Float32, tensor.Int64, tensor.Uint8, tensor.Float16, tensor.Bool} {
		x, free, err := New(d, 3, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if x.Type != d || x.Len() != 3000 || x.Shape.String() != "[3 1000]" {
			t.Errorf("got %v with %d elements, want %v[3 1000]", x, x.Len(), d)
		}
		for i, b := range x.Bytes() {
			if b != 0 {
				t.Fatalf("%v: byte %d is %d, want 0", d, i, b)
			}
			x.Bytes()[i] = 1
		}
		if row := x.Rows(2, 1); row.Len() != 1000 || row.Bytes()[0] != 1 {
			t.Errorf("%v: a view shows other memory", d)
		}
		for range 2 { // the second time does nothing
			if err := free(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestMemoryIsNotInTheHeap(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("memory comes from the Go heap here")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, free, err := New(tensor.Float32, 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	runtime.ReadMemStats(&after)
	if grown := after.HeapAlloc - before.HeapAlloc; after.HeapAlloc > before.HeapAlloc && grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
}

func TestNewFails(t *testing.T) {
	if _, _, err := New(tensor.String, 1); err == nil {
		t.Error("a tensor of strings was made, want an error")
	}
	if _, _, err := New(tensor.Invalid, 1); err == nil {
		t.Error("a tensor of no type was made, want an error")
	}
	if runtime.GOOS == "linux" {
		if _, _, err := New(tensor.Uint8, math.MaxInt64/2); err == nil {
			t.Error("half the address space was allocated, want an error")
		}
	}
	if x, free, err := New(tensor.Float32, 0, 4); err != nil || x.Len() != 0 || free() != nil {
		t.Errorf("no elements: got %v, %v", x, err)
	}
}

func BenchmarkFirstTouch(b *testing.B) {
	const size = 256 << 20
	touch := func(memory []byte) {
		for i := 0; i < len(memory); i += 4096 {
			memory[i] = 1
		}
	}
	b.Run("outside the heap", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			x, free, err := New(tensor.Uint8, size)
			if err != nil {
				b.Fatal(err)
			}
			touch(x.Bytes())
			free()
		}
	})
	b.Run("Go heap", func(b *testing.B) {
		b.SetBytes(size)
		for b.Loop() {
			touch(tensor.New(tensor.Uint8, size).Bytes())
		}
	})
}
