package audio

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// Settings of openai-whisper (whisper/audio.py).
const (
	// WhisperSamples is the longest recording, 30 s; shorter ones are followed by silence.
	WhisperSamples = 30 * Rate
	// WhisperFrames is how many columns of features a recording has, one each 10 ms.
	WhisperFrames = WhisperSamples / hop

	whisperTransform = 400 // samples, 25 ms
	whisperFloor     = 1e-10
	whisperRange     = 8 // powers of ten below the largest energy
)

// A Whisper computes the features of Whisper: the logarithms of the energy in 80 bands of
// frequency, or 128 from large-v3 on, cut off 80 dB below the largest. It is for one goroutine,
// and keeps its memory.
type Whisper struct {
	fft      *fourier.FFT
	window   []float64
	bands    []band
	frame    []float64
	spectrum []complex128
	power    []float64
}

// NewWhisper returns a Whisper of 80 or 128 bands.
func NewWhisper(bands int) *Whisper {
	w := &Whisper{
		fft: fourier.NewFFT(whisperTransform), window: make([]float64, whisperTransform),
		bands: melBands(bands, whisperTransform, Rate, Rate/2),
		frame: make([]float64, whisperTransform), power: make([]float64, whisperTransform/2+1),
	}
	for i := range w.window {
		w.window[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/whisperTransform)
	}
	return w
}

// Len is the number of features of a recording, however long it is.
func (w *Whisper) Len() int { return len(w.bands) * WhisperFrames }

// Features writes the features of a recording into dst, of length Len: a row of WhisperFrames for
// each band. A recording that is empty or longer than WhisperSamples is an error.
func (w *Whisper) Features(dst, samples []float32) error {
	if len(samples) == 0 || len(samples) > WhisperSamples {
		return fmt.Errorf("the recording has %d samples, expected 1 to %d, which are 30 s", len(samples), WhisperSamples)
	}
	largest := math.Inf(-1)
	for column := range WhisperFrames {
		// The 30 s are reflected at both ends. Most frames are silent, and need no transform.
		silent := true
		for i, weight := range w.window {
			at := column*hop - whisperTransform/2 + i
			if at < 0 {
				at = -at
			}
			if at >= WhisperSamples {
				at = 2*(WhisperSamples-1) - at
			}
			v := 0.0
			if at < len(samples) {
				v = float64(samples[at])
			}
			silent = silent && v == 0
			w.frame[i] = v * weight
		}
		if !silent {
			w.spectrum = w.fft.Coefficients(w.spectrum, w.frame)
			for i, c := range w.spectrum {
				w.power[i] = real(c)*real(c) + imag(c)*imag(c)
			}
		}
		for i := range w.bands {
			energy := 0.0
			if !silent {
				energy = w.bands[i].energy(w.power)
			}
			v := math.Log10(max(energy, whisperFloor))
			dst[i*WhisperFrames+column] = float32(v)
			largest = max(largest, v)
		}
	}
	floor := float32(largest) - whisperRange
	for i, v := range dst {
		dst[i] = (max(v, floor) + 4) / 4
	}
	return nil
}
