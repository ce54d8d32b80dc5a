package arch

import (
	"bytes"
	"io"
	"math"
	"slices"
	"testing"
)

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
