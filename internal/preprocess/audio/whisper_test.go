package audio

import (
	"fmt"
	"math"
	"math/cmplx"
	"strings"
	"testing"
)

func TestFeaturesOfWhisperAreThoseOfScipy(t *testing.T) {
	samples := recording(t, "chirp_905ms")
	for _, bands := range []int{80, 128} {
		shape, want := golden(t, fmt.Sprintf("whisper_%d", bands))
		w, err := NewWhisper(bands)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, w.Len())
		for range 2 { // the second time with memory that was used
			if err := w.Features(got, samples); err != nil {
				t.Fatal(err)
			}
		}
		columns := int(shape[1])
		for i, v := range want {
			column := i % columns
			if column == columns-1 {
				column = WhisperFrames - 1
			}
			if have := got[i/columns*WhisperFrames+column]; math.Abs(float64(have-v)) > 2e-6 {
				t.Fatalf("%d bands: band %d, column %d is %v, want %v", bands, i/columns, column, have, v)
			}
		}
	}
}

func TestSilenceIsTheSameEverywhere(t *testing.T) {
	w, err := NewWhisper(80)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, w.Len())
	if err := w.Features(got, make([]float32, 1000)); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if v != -1.5 {
			t.Fatalf("feature %d is %v, want (log10(1e-10) + 4) / 4", i, v)
		}
	}
}

func TestTheEndOfThirtySecondsIsReflected(t *testing.T) {
	w, err := NewWhisper(80)
	if err != nil {
		t.Fatal(err)
	}
	samples := make([]float32, WhisperSamples)
	samples[WhisperSamples-1] = 1
	got := make([]float32, w.Len())
	if err := w.Features(got, samples); err != nil {
		t.Fatal(err)
	}
	if first, last := got[0], got[WhisperFrames-1]; !(last > first) {
		t.Errorf("the first column has %v, the last %v, where the sound is", first, last)
	}
}

func TestRecordingsThatWhisperDoesNotTake(t *testing.T) {
	if _, err := NewWhisper(40); err == nil || !strings.Contains(err.Error(), "40 bands, want 80 or 128") {
		t.Errorf("NewWhisper(40): %v", err)
	}
	w, err := NewWhisper(80)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, WhisperSamples + 1} {
		if err := w.Features(make([]float32, w.Len()), make([]float32, n)); err == nil || !strings.Contains(err.Error(), "480000") {
			t.Errorf("a recording of %d samples: %v", n, err)
		}
	}
	if err := w.Features(make([]float32, 3), make([]float32, 3)); err == nil || !strings.Contains(err.Error(), "room for 3") {
		t.Errorf("three features: %v", err)
	}
}

func BenchmarkWhisper(b *testing.B) {
	w, err := NewWhisper(128)
	if err != nil {
		b.Fatal(err)
	}
	samples := make([]float32, WhisperSamples)
	for i := range samples {
		samples[i] = float32(math.Sin(float64(i) / 9))
	}
	dst := make([]float32, w.Len())
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Features(dst, samples); err != nil {
			b.Fatal(err)
		}
	}
}

// A click near an end is in the frames there twice: as it is, and reflected.
func TestBothEndsAreReflected(t *testing.T) {
	w, err := NewWhisper(80)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ column, click, reflected int }{
		{0, 30, -30},
		{1, 25, -25},
		{WhisperFrames - 1, WhisperSamples - 30, WhisperSamples + 28},
	} {
		samples := make([]float32, WhisperSamples)
		samples[c.click] = 1
		got := make([]float32, w.Len())
		if err := w.Features(got, samples); err != nil {
			t.Fatal(err)
		}
		start := c.column*hop - whisperTransform/2
		energies := clickEnergies(c.click-start, c.reflected-start)
		for i := range w.bands {
			want := float32(math.Log10(max(w.bands[i].energy(energies), whisperFloor))+4) / 4
			if have := got[i*WhisperFrames+c.column]; math.Abs(float64(have-want)) > 1e-5 {
				t.Errorf("a click at %d: column %d, band %d is %v, want %v", c.click, c.column, i, have, want)
			}
		}
	}
}

// clickEnergies is the spectrum of a frame with two clicks, by the definition of the transform.
func clickEnergies(places ...int) []float64 {
	energies := make([]float64, whisperTransform/2+1)
	for k := range energies {
		var sum complex128
		for _, at := range places {
			angle := 2 * math.Pi * float64(at) / whisperTransform
			sum += complex(0.5-0.5*math.Cos(angle), 0) * cmplx.Exp(complex(0, -angle*float64(k)))
		}
		energies[k] = real(sum)*real(sum) + imag(sum)*imag(sum)
	}
	return energies
}
