package arch

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// written is what a source writes.
func writtenBy(t *testing.T, s onnx.Source) []byte {
	t.Helper()
	var b bytes.Buffer
	if n, err := s.WriteTo(&b); err != nil || n != s.Size() || int64(b.Len()) != n {
		t.Fatalf("%d bytes of %d, %v", n, s.Size(), err)
	}
	return b.Bytes()
}

// TestFourBitsAreWithinHalfAStep of the weights: those of a unit follow each other, block by block.
func TestFourBitsAreWithinHalfAStep(t *testing.T) {
	const inputs, units = 64, 6
	source, err := Bell{0.3}.fill(1, "test", []int64{inputs, units})
	if err != nil {
		t.Fatal(err)
	}
	m := int4Matrix{inputs: inputs, units: units, source: source}
	w, err := m.read()
	if err != nil {
		t.Fatal(err)
	}
	packed, scales := writtenBy(t, int4Weights{m}), writtenBy(t, int4Scales{m})
	for unit := range units {
		for i := range inputs {
			scale := float64(math.Float32frombits(binary.LittleEndian.Uint32(scales[4*(unit*2+i/int4Block):])))
			nibble := packed[(unit*inputs+i)/2] >> (4 * (i % 2)) & 15
			if got, want := scale*(float64(nibble)-8), float64(w[i*units+unit]); math.Abs(got-want) > scale/2+1e-7 {
				t.Fatalf("weight %d of unit %d is %v, want %v within %v", i, unit, got, want, scale/2)
			}
		}
	}
}

func TestWeightsThatMeanNothingAreDrawnInFourBits(t *testing.T) {
	m := int4Matrix{inputs: 4096, units: 8, stream: streamSeed(1, "test")}
	sum, squares := 0.0, 0.0
	packed := writtenBy(t, int4Weights{m})
	for _, b := range packed {
		for _, v := range []float64{float64(b & 15), float64(b >> 4)} {
			sum, squares = sum+v-7.5, squares+(v-7.5)*(v-7.5)
		}
	}
	n := float64(2 * len(packed))
	if d := math.Sqrt(squares / n); math.Abs(sum/n) > 0.1 || math.Abs(d-evenDeviation) > 0.05 {
		t.Errorf("mean %v, deviation %v", sum/n, d)
	}
	if scales := writtenBy(t, int4Scales{m}); len(scales) != 4*8*4096/int4Block {
		t.Errorf("%d bytes of scales", len(scales))
	}
}

func TestHalvesAreNumbers(t *testing.T) {
	data := writtenBy(t, halves{streamSeed(1, "test"), 10_003})
	negative := 0
	for i := 0; i < len(data); i += 2 {
		bits := binary.LittleEndian.Uint16(data[i:])
		if exponent := bits >> 10 & 31; exponent < 12 || exponent > 15 {
			t.Fatalf("number %d has the exponent %d", i/2, exponent)
		}
		negative += int(bits >> 15)
	}
	if negative < 4800 || negative > 5200 {
		t.Errorf("%d of 10003 are negative", negative)
	}
}
