//go:build goexperiment.simd && amd64 && !go1.27

package jpeg

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestVectors compares the functions with vector instructions with those without.
func TestVectors(t *testing.T) {
	if !vectors {
		t.Skip("this processor has no AVX2")
	}
	defer func() { vectors = true }()
	random := rand.New(rand.NewPCG(1, 1))
	same := func(what string, size int, f func(dst []uint8)) {
		t.Helper()
		var got [2][]uint8
		for i := range got {
			vectors, got[i] = i == 1, bytes.Repeat([]byte{0xA5}, size)
			f(got[i])
		}
		if !bytes.Equal(got[0], got[1]) {
			t.Fatalf("%s: %d with vectors, want %d", what, got[1], got[0])
		}
	}
	noise := func(n int) []uint8 {
		b := make([]uint8, n)
		for i := range b {
			b[i] = uint8(random.Uint32()) &^ uint8(random.Uint32()>>31*0xFF) // half of them 0
		}
		return b
	}
	for range 20000 {
		var b block
		nonZero := random.Uint64() >> random.IntN(64)
		bits := random.IntN(16)
		for i := range b {
			if nonZero>>i&1 != 0 {
				b[i] = int16(random.Uint32()) >> bits
			}
		}
		same("inverse", 8*11, func(dst []uint8) { inverse(dst, 11, &b, nonZero) })
	}
	for n := 1; n < 100; n++ {
		a, b, c := noise(n), noise(n), noise(n)
		same("fromYCbCr", 3*n, func(dst []uint8) { fromYCbCr(dst, a, b, c) })
		same("widen", 2*n, func(dst []uint8) { widen(dst, a, b, 8, 7) })
		same("widen", 2*n, func(dst []uint8) { widen(dst, a, a, 4, 8) })
	}
	for luma := range 256 { // every colour
		y, b, r := bytes.Repeat([]uint8{uint8(luma)}, 1<<16), make([]uint8, 1<<16), make([]uint8, 1<<16)
		for i := range b {
			b[i], r[i] = uint8(i), uint8(i>>8)
		}
		same("fromYCbCr", 3<<16, func(dst []uint8) { fromYCbCr(dst, y, b, r) })
	}
}
