package arch

import (
	"bytes"
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
