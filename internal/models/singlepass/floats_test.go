package singlepass

import (
	"math"
	"testing"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

func TestFloat16RoundTrip(t *testing.T) {
	for bits := range 1 << 16 {
		v := fromHalf(uint16(bits))
		if math.IsNaN(float64(v)) {
			continue
		}
		if got := toHalf(v); got != uint16(bits) {
			t.Fatalf("%#04x is %v, which becomes %#04x", bits, v, got)
		}
	}
}

func TestFloat16RoundsToTheNearest(t *testing.T) {
	for v, want := range map[float32]uint16{
		0: 0, 1: 0x3c00, -2: 0xc000, 65504: 0x7bff, 65519.99: 0x7bff, 65520: 0x7c00, 1e30: 0x7c00, -1e30: 0xfc00,
		1 + 0x1p-11: 0x3c00, 1 + 3*0x1p-11: 0x3c02, 1 + 0x1p-11 + 0x1p-20: 0x3c01,
		0x1p-24: 1, 0x1p-25: 0, 3 * 0x1p-25: 2, 0x1p-14: 0x0400, 123.675: 0x57bb,
	} {
		if got := toHalf(v); got != want {
			t.Errorf("toHalf(%v) = %#04x, want %#04x", v, got, want)
		}
	}
	if got := toHalf(float32(math.NaN())); got&0x7c00 != 0x7c00 || got&0x3ff == 0 {
		t.Errorf("toHalf(NaN) = %#04x", got)
	}
}

func TestAsFloat32(t *testing.T) {
	var memory []float32
	half, err := tensor.FromBytes(tensor.Float16, []byte{0, 0x3c, 0, 0xc0}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	brain, err := tensor.FromBytes(tensor.BFloat16, []byte{0x80, 0x3f, 0, 0xc0}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []tensor.Tensor{half, brain, tensor.Of([]float64{1, -2}, 1, 2)} {
		got := AsFloat32(from, &memory)
		if data := tensor.Data[float32](got); got.String() != "float32[1 2]" || data[0] != 1 || data[1] != -2 {
			t.Errorf("%v is %v with %v", from, got, data)
		}
	}
}
