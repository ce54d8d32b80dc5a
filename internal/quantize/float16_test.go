package quantize

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

func TestEveryFloat16SurvivesTheWayThroughFloat32(t *testing.T) {
	for h := range 1 << 16 {
		x := float32Of(uint16(h))
		got := float16Of(x)
		if math.IsNaN(float64(x)) {
			if got&0x7c00 != 0x7c00 || got&0x3ff == 0 {
				t.Errorf("float16Of(NaN) = %#04x, which is none", got)
			}
			continue
		}
		if got != uint16(h) {
			t.Errorf("float16Of(%v) = %#04x, want %#04x", x, got, h)
		}
	}
}

func TestFloat16RoundsToNearestAndTiesToEven(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name string
		x    float32
		want uint16
	}{
		{"zero", 0, 0}, {"minus zero", float32(math.Copysign(0, -1)), 0x8000}, {"one", 1, 0x3c00}, {"minus two", -2, 0xc000},
		{"tie between 1 and the next goes down to even", 1 + 0x1p-11, 0x3c00},
		{"tie above the next goes up to even", 1 + 3*0x1p-11, 0x3c02},
		{"just above a tie goes up", 1 + 0x1p-11 + 0x1p-23, 0x3c01},
		{"just below a tie goes down", 1 + 0x1p-11 - 0x1p-23, 0x3c00},
		{"carry into the exponent", 2 - 0x1p-12, 0x4000},
		{"largest", maxHalf, 0x7bff}, {"below the tie with infinity", 65519.996, 0x7bff},
		{"tie with infinity", 65520, 0x7c00}, {"too large", 1e9, 0x7c00}, {"too small", -1e9, 0xfc00},
		{"infinity", inf, 0x7c00}, {"minus infinity", -inf, 0xfc00},
		{"smallest normal", 0x1p-14, 0x0400}, {"largest subnormal", 0x1p-14 - 0x1p-24, 0x03ff},
		{"rounds up from subnormal to normal", 0x1p-14 - 0x1p-26, 0x0400},
		{"smallest subnormal", 0x1p-24, 1}, {"tie with zero", 0x1p-25, 0}, {"above the tie with zero", 0x1p-25 + 0x1p-40, 1},
		{"tie between subnormals", 3 * 0x1p-25, 2}, {"vanishes", -0x1p-26, 0x8000}, {"float32 subnormal", 1e-40, 0},
	} {
		if got := float16Of(c.x); got != c.want {
			t.Errorf("%s: float16Of(%v) = %#04x, want %#04x", c.name, c.x, got, c.want)
		}
	}
}

// Any float32 becomes one of the two float16 around it, the nearer one.
func FuzzFloat16IsTheNearest(f *testing.F) {
	for _, x := range []float32{0, 1, -1.0001, 65504, 65521, 6e-8, 1e-5, 3.14159} {
		f.Add(math.Float32bits(x))
	}
	f.Fuzz(func(t *testing.T, bits uint32) {
		x := math.Float32frombits(bits)
		h := float16Of(x)
		got := float64(float32Of(h))
		if math.IsNaN(float64(x)) != math.IsNaN(got) || h>>15 != uint16(bits>>31) {
			t.Fatalf("float16Of(%v) = %#04x", x, h)
		}
		if math.IsNaN(got) || math.IsInf(got, 0) {
			if !math.IsNaN(got) && math.Abs(float64(x)) < 65520 {
				t.Fatalf("float16Of(%v) is infinite", x)
			}
			return
		}
		for _, neighbour := range []uint16{h - 1, h + 1} {
			other := float64(float32Of(neighbour))
			if neighbour>>15 != h>>15 || math.IsNaN(other) || math.IsInf(other, 0) {
				continue
			}
			if math.Abs(other-float64(x)) < math.Abs(got-float64(x)) {
				t.Fatalf("float16Of(%v) = %v, but %v is nearer", x, got, other)
			}
		}
	})
}

func TestRoundingCountsWhatIsLost(t *testing.T) {
	tensor := onnx.TensorOf("w", []float32{1, 1e6, -1e6, 1e-9, 0, float32(math.Inf(1)), 0.1}, 7)
	half, counts, err := halfTensor("h", tensor)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Rounding{Elements: 7, Clamped: 2, Flushed: 1}); counts != want {
		t.Errorf("the counts are %+v, want %+v", counts, want)
	}
	bits, err := onnx.Elements[uint16](half)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float32{1, 65504, -65504, 0, 0, float32(math.Inf(1)), 0.099975586} {
		if got := float32Of(bits[i]); got != want {
			t.Errorf("element %d is %v, want %v", i, got, want)
		}
	}
}

func TestASingleSmallNumberStaysAboveZero(t *testing.T) {
	half, counts, err := halfTensor("h", onnx.TensorOf("epsilon", []float32{-1e-12}))
	if err != nil {
		t.Fatal(err)
	}
	bits, err := onnx.Elements[uint16](half)
	if err != nil || len(bits) != 1 || bits[0] != 0x8001 || counts.Raised != 1 {
		t.Errorf("halfTensor(-1e-12) = %#04x, %+v, %v; want the smallest magnitude", bits, counts, err)
	}
}

func TestHalfWriterTakesPiecesOfAnyLength(t *testing.T) {
	var raw, want []byte
	for i := range 100 {
		x := float32(i) / 7
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
		want = binary.LittleEndian.AppendUint16(want, float16Of(x))
	}
	for size := 1; size < 13; size++ {
		var got bytes.Buffer
		h := halfWriter{w: &got}
		for rest := raw; len(rest) > 0; {
			n := min(size, len(rest))
			if written, err := h.Write(rest[:n]); written != n || err != nil {
				t.Fatalf("Write() = %d, %v, want %d", written, err, n)
			}
			rest = rest[n:]
		}
		if !bytes.Equal(got.Bytes(), want) || h.written != int64(len(want)) {
			t.Errorf("in pieces of %d bytes the result differs", size)
		}
	}
}

func BenchmarkHalfWriter(b *testing.B) {
	raw := make([]byte, 1<<20)
	for i := range raw {
		raw[i] = byte(i * 7)
	}
	h := halfWriter{w: &bytes.Buffer{}}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		h.w.(*bytes.Buffer).Reset()
		if _, err := h.Write(raw); err != nil {
			b.Fatal(err)
		}
	}
}
