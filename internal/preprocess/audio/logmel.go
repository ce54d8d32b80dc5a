package audio

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// What the reference sets (pytorch/configs/rnnt.toml, parts/features.py).
const (
	Rate     = 16000 // samples a second
	Features = bandCount * spliced

	transform   = 512 // samples
	windowSize  = 320 // 20 ms
	hop         = 160 // 10 ms
	bandCount   = 80
	spliced     = 3 // frames that make a row, and of which each has one
	preEmphasis = 0.97
	dither      = 1e-5
	logFloor    = 1e-20
	deviation   = 1e-5 // that is added to standard deviations
)

// MinSamples is the length of the shortest recording: at both ends it is reflected.
const MinSamples = transform/2 + 1

// Rows returns how many rows of features a recording has.
func Rows(samples int) int { return ceil(ceil(samples, hop), spliced) }

func ceil(a, b int) int { return (a + b - 1) / b }

// A LogMel computes features. It is for one goroutine, and keeps its memory.
type LogMel struct {
	fft    *fourier.FFT
	window []float64
	bands  []band

	padded   []float64
	frame    []float64
	spectrum []complex128
	power    []float64
	logs     []float64
}

// NewLogMel returns the features of RNN-T.
func NewLogMel() *LogMel {
	m := &LogMel{
		fft: fourier.NewFFT(transform), window: make([]float64, windowSize),
		bands: melBands(bandCount, transform, Rate, Rate/2),
		frame: make([]float64, transform), power: make([]float64, transform/2+1),
	}
	for i := range m.window {
		m.window[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/(windowSize-1))
	}
	return m
}

// Features appends the rows of features of a recording, Rows(len(samples)) of them. A
// recording that is shorter than MinSamples is an error.
func (m *LogMel) Features(dst, samples []float32) ([]float32, error) {
	if len(samples) < MinSamples {
		return dst, fmt.Errorf("the recording has %d samples, want at least %d", len(samples), MinSamples)
	}
	m.logMel(samples)
	frames, rows := len(m.logs)/bandCount, Rows(len(samples))
	first := len(dst)
	for row := range rows {
		for k := range spliced {
			if frame := row*spliced + k; frame < frames {
				for _, v := range m.logs[frame*bandCount:][:bandCount] {
					dst = append(dst, float32(v))
				}
			} else {
				dst = append(dst, make([]float32, bandCount)...)
			}
		}
	}
	normalise(dst[first:], rows)
	return dst, nil
}

// logMel computes the logarithms of the energies, frame by frame.
func (m *LogMel) logMel(samples []float32) {
	m.pad(samples)
	m.logs = m.logs[:0]
	for start := 0; start+transform <= len(m.padded); start += hop {
		const lead = (transform - windowSize) / 2
		for i, w := range m.window {
			m.frame[lead+i] = m.padded[start+lead+i] * w
		}
		m.spectrum = m.fft.Coefficients(m.spectrum, m.frame)
		for i, c := range m.spectrum {
			m.power[i] = real(c)*real(c) + imag(c)*imag(c) + dither*dither
		}
		for i := range m.bands {
			m.logs = append(m.logs, math.Log(m.bands[i].energy(m.power)+logFloor))
		}
	}
}

// pad emphasises high frequencies, and reflects the recording at both ends.
func (m *LogMel) pad(samples []float32) {
	const side = transform / 2
	n := len(samples)
	if cap(m.padded) < n+2*side {
		m.padded = make([]float64, n+2*side)
	}
	m.padded = m.padded[:n+2*side]
	inner := m.padded[side : side+n]
	inner[0] = float64(samples[0])
	for i := 1; i < n; i++ {
		inner[i] = float64(samples[i]) - preEmphasis*float64(samples[i-1])
	}
	for i := 1; i <= side; i++ {
		m.padded[side-i] = inner[i]
		m.padded[side+n-1+i] = inner[n-1-i]
	}
}

// normalise gives each column mean 0 and deviation 1. A single row becomes 0: the reference
// divides by zero there.
func normalise(features []float32, rows int) {
	for k := range Features {
		sum, squares := 0.0, 0.0
		for row := range rows {
			sum += float64(features[row*Features+k])
		}
		mean := sum / float64(rows)
		for row := range rows {
			d := float64(features[row*Features+k]) - mean
			squares += d * d
		}
		scale := math.Sqrt(squares/float64(max(1, rows-1))) + deviation
		for row := range rows {
			v := &features[row*Features+k]
			*v = float32((float64(*v) - mean) / scale)
		}
	}
}
