package arch

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mlperf-go/mlperf/internal/onnx"
)

func filled(t *testing.T, f Filler, seed uint64, name string, dims ...int64) []float32 {
	t.Helper()
	source, err := f.fill(seed, name, dims)
	if err != nil {
		t.Fatal(err)
	}
	floats, err := onnx.Elements[float32](&onnx.Tensor{Name: name, Type: onnx.Float32, Dims: dims, Data: source})
	if err != nil {
		t.Fatal(err)
	}
	return floats
}

func moments(x []float32) (mean, deviation float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		deviation += (float64(v) - mean) * (float64(v) - mean)
	}
	return mean, math.Sqrt(deviation / float64(len(x)))
}

// The expected numbers are exact, and those of a second implementation in Python.
func TestRandomWeightsAreTheSameEverywhere(t *testing.T) {
	for _, c := range []struct {
		name   string
		filler Filler
		want   []uint32
	}{
		{"He", He{}, []uint32{0x3fe99630, 0xbedbf870, 0x3f3b83ca, 0x3f291925}},
		{"He of mean zero", He{Gain: 0.4, ZeroMean: true}, []uint32{0x3ee6dd0a, 0xbee6dd0a, 0x3c6bbb6c, 0xbc6bbb6c}},
		{"uniform", Uniform{-0.1, 0.3}, []uint32{0x3e5bcc48, 0x3e0d22cb, 0x3d9f8a60, 0x3e320143}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []uint32
			for _, v := range filled(t, c.filler, 7, "tensor", 2, 2) {
				got = append(got, math.Float32bits(v))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("weights are %#x, want %#x", got, c.want)
			}
		})
	}
}

func TestEachTensorHasItsOwnStream(t *testing.T) {
	one := filled(t, He{}, 1, "a", 8, 8)
	if !slices.Equal(one, filled(t, He{}, 1, "a", 8, 8)) {
		t.Error("the same seed and name give different weights")
	}
	if slices.Equal(one, filled(t, He{}, 2, "a", 8, 8)) {
		t.Error("another seed gives the same weights")
	}
	if slices.Equal(one, filled(t, He{}, 1, "b", 8, 8)) {
		t.Error("another name gives the same weights")
	}
}

func TestHeWeightsHaveTheVarianceOfTheFanIn(t *testing.T) {
	const outputs, fan = 64, 32 * 3 * 3
	for _, gain := range []float64{1, 0.4} {
		mean, deviation := moments(filled(t, He{Gain: gain}, 1, "w", outputs, 32, 3, 3))
		want := gain * math.Sqrt(2.0/fan)
		if math.Abs(deviation-want) > 0.02*want || math.Abs(mean) > 0.02*want {
			t.Errorf("gain %v: mean %v, deviation %v, want 0, %v", gain, mean, deviation, want)
		}
	}
}

func TestHeWeightsAreBellShaped(t *testing.T) {
	w := filled(t, He{}, 1, "w", 100, 1000)
	_, deviation := moments(w)
	var within1, within2 float64
	for _, v := range w {
		switch size := math.Abs(float64(v)) / deviation; {
		case size > 3.47:
			t.Fatalf("a weight is %v deviations from the mean", size)
		case size < 1:
			within1++
			within2++
		case size < 2:
			within2++
		}
	}
	// For the sum of four uniform numbers: 0.6687 within one deviation, 0.9592 within two.
	if p := within1 / 1e5; math.Abs(p-0.669) > 0.006 {
		t.Errorf("%v of the weights are within one deviation, want 0.669", p)
	}
	if p := within2 / 1e5; math.Abs(p-0.959) > 0.003 {
		t.Errorf("%v of the weights are within two deviations, want 0.959", p)
	}
}

func TestZeroMeanWeightsSumToZeroForEachOutput(t *testing.T) {
	const outputs, fan = 10, 147
	w := filled(t, He{ZeroMean: true}, 1, "w", outputs, 3, 7, 7)
	plain := filled(t, He{}, 1, "w", outputs, 3, 7, 7)
	for o := range outputs {
		mean, deviation := moments(w[o*fan:][:fan])
		plainMean, _ := moments(plain[o*fan:][:fan])
		if math.Abs(mean) > 1e-7*deviation {
			t.Errorf("output %d has the mean %v, of weights of %v", o, mean, deviation)
		}
		if got, want := float64(w[o*fan]), float64(plain[o*fan])-plainMean; math.Abs(got-want) > 1e-6 {
			t.Errorf("output %d: first weight %v, want that of plain weights less their mean, %v", o, got, want)
		}
	}
}

func TestUniformWeightsFillTheirRangeEvenly(t *testing.T) {
	w := filled(t, Uniform{-1, 3}, 1, "w", 20000)
	mean, deviation := moments(w)
	if slices.Min(w) < -1 || slices.Max(w) > 3 || math.Abs(mean-1) > 0.03 || math.Abs(deviation-4/math.Sqrt(12)) > 0.03 {
		t.Errorf("from %v to %v, mean %v, deviation %v", slices.Min(w), slices.Max(w), mean, deviation)
	}
}

func TestGivenAndConstantWeightsAreWrittenAsTheyAre(t *testing.T) {
	given := make(Given, 2*chunk+3)
	for i := range given {
		given[i] = float32(i)
	}
	if diff := cmp.Diff([]float32(given), filled(t, given, 0, "w", int64(len(given)))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float32{2, 2, 2}, filled(t, Constant(2), 0, "w", 3)); diff != "" {
		t.Error(diff)
	}
	if _, err := given.fill(0, "w", []int64{3}); err == nil {
		t.Error("weights of the wrong number are accepted")
	}
	if _, err := (He{}).fill(0, "w", []int64{3}); err == nil {
		t.Error("He weights without a fan-in are accepted")
	}
}

// Sizes around the buffers' must make no difference to what is written.
func TestSourcesWriteAsManyBytesAsTheySay(t *testing.T) {
	for _, n := range []int64{1, chunk - 1, chunk, chunk + 1, 3*chunk + 5} {
		for _, f := range []Filler{He{}, He{ZeroMean: true}, Uniform{0, 1}, Constant(1), make(Given, n)} {
			for _, dims := range [][]int64{{1, n}, {n, 1}} {
				source, err := f.fill(1, "w", dims)
				if err != nil {
					t.Fatal(err)
				}
				var buf bytes.Buffer
				written, err := source.WriteTo(&buf)
				if err != nil || written != 4*n || source.Size() != 4*n || int64(buf.Len()) != 4*n {
					t.Errorf("%T %v: wrote %d (%d) of %d bytes, %v", f, dims, written, buf.Len(), source.Size(), err)
				}
			}
		}
	}
}

func TestRoundedWeightsFitInto8Bits(t *testing.T) {
	const outputs, fan = 6, 40
	plain := filled(t, He{ZeroMean: true}, 1, "w", outputs, fan)
	rounded := filled(t, Rounded{He{ZeroMean: true}}, 1, "w", outputs, fan)
	for o := range outputs {
		row, exact := rounded[o*fan:][:fan], plain[o*fan:][:fan]
		largest := max(slices.Max(row), -slices.Min(row))
		for i, w := range row {
			level := float64(w) / float64(largest) * 127
			if math.Abs(level-math.Round(level)) > 1e-4 {
				t.Errorf("weight %d of output %d is %v steps of the largest", i, o, level)
			}
			if math.Abs(float64(w-exact[i])) > float64(largest)/127/2*1.001 {
				t.Errorf("weight %d of output %d is %v, was %v", i, o, w, exact[i])
			}
		}
	}
	again := filled(t, Rounded{Rounded{He{ZeroMean: true}}}, 1, "w", outputs, fan)
	for i := range again {
		if math.Abs(float64(again[i]-rounded[i])) > 1e-6*math.Abs(float64(rounded[i])) {
			t.Fatalf("weight %d is %v if rounded twice, %v if once", i, again[i], rounded[i])
		}
	}
}

func TestRoundedZerosStayZero(t *testing.T) {
	if w := filled(t, Rounded{Constant(0)}, 1, "w", 2, 3); slices.Max(w) != 0 || slices.Min(w) != 0 {
		t.Errorf("weights are %v", w)
	}
}

// For an even input a kernel acts by its sum, for noise by the sum of its squares.
func TestSmoothKernelsKeepEvenInputsAndDampNoise(t *testing.T) {
	const outputs, inputs, places = 64, 32, 9
	for _, c := range []struct{ share, noise float64 }{{0, 1}, {0.5, 0.5 + 0.5/places}, {1, 1.0 / places}} {
		w := filled(t, Smooth{He{}, c.share}, 1, "w", outputs, inputs, 3, 3)
		var even, noise float64
		for k := 0; k < len(w); k += places {
			sum := 0.0
			for _, v := range w[k:][:places] {
				sum += float64(v)
				noise += float64(v) * float64(v) / outputs
			}
			even += sum * sum / outputs
		}
		// He weights have a variance of 2 over the fan-in.
		if want := 2.0; math.Abs(even-want) > 0.1*want {
			t.Errorf("share %v: even inputs are amplified by %v, want %v", c.share, even, want)
		}
		if want := 2 * c.noise; math.Abs(noise-want) > 0.1*want {
			t.Errorf("share %v: noise is amplified by %v, want %v", c.share, noise, want)
		}
	}
}

func TestPairedOutputsDifferByAStep(t *testing.T) {
	w := filled(t, Paired{He{}, 0.5}, 1, "w", 6, 4)
	once := filled(t, He{}, 1, "w", 3, 4)
	for i := range once {
		first, second := w[i/4*8+i%4], w[i/4*8+4+i%4]
		if first != once[i] || second != first-0.5 {
			t.Errorf("weights %d are %v and %v, want %v and half less", i, first, second, once[i])
		}
	}
	if v := filled(t, Paired{Uniform{0, 1}, 1}, 1, "v", 4); v[1] != v[0]-1 || v[3] != v[2]-1 || v[2] == v[0] {
		t.Errorf("a vector of pairs is %v", v)
	}
}

func TestOpposedInputsCancel(t *testing.T) {
	const outputs, inputs, places = 3, 4, 2
	w := filled(t, Opposed{He{}}, 1, "w", outputs, inputs, places)
	for i, v := range w {
		if i/places%2 == 0 && w[i+places] != -v {
			t.Errorf("weight %d is %v, that of the other of the pair %v", i, v, w[i+places])
		}
	}
}

// Two ReLUs a step apart, read with opposed weights, saturate.
func TestAPairLimitsWhatPasses(t *testing.T) {
	bias := filled(t, Paired{Constant(0), 1.5}, 1, "bias", 2)
	weights := filled(t, Opposed{Constant(2)}, 1, "weights", 1, 2)
	relu := func(x float32) float32 { return max(x, 0) }
	for in, want := range map[float32]float32{-1: 0, 0.5: 1, 1.5: 3, 100: 3} {
		if got := weights[0]*relu(in+bias[0]) + weights[1]*relu(in+bias[1]); got != want {
			t.Errorf("%v passes as %v, want %v", in, got, want)
		}
	}
}

func TestDerivedWeightsRefuseShapesThatDoNotFit(t *testing.T) {
	for _, c := range []struct {
		filler Filler
		dims   []int64
	}{
		{Smooth{He{}, 0.5}, []int64{3, 4}},
		{Smooth{He{}, 1.5}, []int64{3, 4, 5}},
		{Paired{}, []int64{3, 4}},
		{Paired{}, nil},
		{Opposed{}, []int64{4, 3}},
		{Opposed{}, []int64{4}},
		{Rounded{He{}}, []int64{4}},
		{Rounded{Given{1}}, []int64{4}},
	} {
		if _, err := c.filler.fill(1, "w", c.dims); err == nil {
			t.Errorf("%T for %v is accepted", c.filler, c.dims)
		}
	}
}

// A source can be read again, and from several goroutines.
func TestDerivedWeightsAreTheSameEveryTime(t *testing.T) {
	for _, f := range []Filler{Rounded{}, Smooth{Of: He{}, Share: 0.5}, Paired{Step: 1}, Opposed{}, Rounded{Opposed{Smooth{He{ZeroMean: true}, 0.7}}}} {
		source, err := f.fill(1, "w", []int64{64, 32, 3, 3})
		if err != nil {
			t.Fatal(err)
		}
		results := make(chan []byte)
		for range 4 {
			go func() {
				var buf bytes.Buffer
				if n, err := source.WriteTo(&buf); err != nil || n != source.Size() || n != int64(buf.Len()) || n != 4*64*32*9 {
					t.Errorf("%T: wrote %d bytes of %d: %v", f, n, source.Size(), err)
				}
				results <- buf.Bytes()
			}()
		}
		first := <-results
		for range 3 {
			if !bytes.Equal(first, <-results) {
				t.Errorf("%T differs from one time to the next", f)
			}
		}
	}
}

func TestDerivedWeightsReportWhatCannotBeWritten(t *testing.T) {
	source, err := Rounded{Smooth{He{}, 0.5}}.fill(1, "w", []int64{64, 64, 3, 3})
	if err != nil {
		t.Fatal(err)
	}
	reader, full := io.Pipe()
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := source.WriteTo(full); err == nil {
		t.Error("a full disk is no error")
	}
}

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
