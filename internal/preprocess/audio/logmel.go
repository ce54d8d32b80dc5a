package audio

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Rate is how many samples a second recordings have.
const Rate = 16000

// Features is how many numbers a row of RNN-T's features has.
const Features = bandCount * spliced

// Settings of the reference (pytorch/configs/rnnt.toml, parts/features.py).
const (
	transform   = 512 // samples
	windowSize  = 320 // 20 ms
	hop         = 160 // 10 ms
	bandCount   = 80
	spliced     = 3 // frames that make a row
	preEmphasis = 0.97
	dither      = 1e-5
	logFloor    = 1e-20
	deviation   = 1e-5 // added to standard deviations
)

// MinSamples is the length of the shortest recording: it is reflected at both ends.
const MinSamples = transform/2 + 1

// Rows returns how many rows of features a recording has.
func Rows(samples int) int {
	frames := (samples + hop - 1) / hop
	return (frames + spliced - 1) / spliced
}

// A LogMel computes the features of RNN-T. It is for one goroutine, and keeps its memory.
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

// NewLogMel returns a LogMel.
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

// Features appends the rows of features of a recording, Rows(len(samples)) of them. A recording
// that is shorter than MinSamples is an error.
func (m *LogMel) Features(dst, samples []float32) ([]float32, error) {
	if len(samples) < MinSamples {
		return dst, fmt.Errorf("the recording has %d samples, expected at least %d", len(samples), MinSamples)
	}
	m.logMel(samples)
	rows, first := Rows(len(samples)), len(dst)
	for _, v := range m.logs[:min(len(m.logs), rows*Features)] {
		dst = append(dst, float32(v))
	}
	dst = append(dst, make([]float32, first+rows*Features-len(dst))...) // missing frames of the last row
	features := dst[first:]
	// Each column gets mean 0 and deviation 1. A single row becomes 0: the reference divides by
	// zero there.
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
	return dst, nil
}

// logMel computes the logarithms of the energies, frame by frame.
func (m *LogMel) logMel(samples []float32) {
	// High frequencies are emphasised, and the recording is reflected at both ends.
	const side = transform / 2
	n := len(samples)
	m.padded = tensor.Grown(m.padded, n+2*side)
	inner := m.padded[side : side+n]
	inner[0] = float64(samples[0])
	for i := 1; i < n; i++ {
		inner[i] = float64(samples[i]) - preEmphasis*float64(samples[i-1])
	}
	for i := 1; i <= side; i++ {
		m.padded[side-i] = inner[i]
		m.padded[side+n-1+i] = inner[n-1-i]
	}
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

// A band is a triangular filter over the bins of a spectrum.
type band struct {
	first   int // bin
	weights []float64
}

// melBands returns n filters, spaced evenly on Slaney's scale up to a frequency and of
// equal area, for a transform of size samples (librosa.filters.mel).
func melBands(n, size int, rate, highest float64) []band {
	edges := make([]float64, n+2)
	for i := range edges {
		edges[i] = melToHertz(hertzToMel(highest) * float64(i) / float64(n+1))
	}
	bands := make([]band, n)
	for i := range bands {
		low, middle, high := edges[i], edges[i+1], edges[i+2]
		for bin := range size/2 + 1 {
			f := rate * float64(bin) / float64(size)
			weight := min((f-low)/(middle-low), (high-f)/(high-middle)) * 2 / (high - low)
			if weight <= 0 {
				continue
			}
			if bands[i].weights == nil {
				bands[i].first = bin
			}
			bands[i].weights = append(bands[i].weights, weight)
		}
	}
	return bands
}

// BandPitch returns the frequency in Hz in the middle of a band, counted from 0, of so many.
func BandPitch(band, bands int) float64 {
	return melToHertz(hertzToMel(Rate/2) * float64(band+1) / float64(bands+1))
}

// Slaney's scale is linear up to 1000 Hz and logarithmic above.
const (
	hertzPerMel = 200.0 / 3
	bendHertz   = 1000.0
	bendMel     = bendHertz / hertzPerMel
)

// logStep is the logarithm of the ratio of frequencies that are one mel apart.
var logStep = math.Log(6.4) / 27

func hertzToMel(f float64) float64 {
	if f < bendHertz {
		return f / hertzPerMel
	}
	return bendMel + math.Log(f/bendHertz)/logStep
}

func melToHertz(m float64) float64 {
	if m < bendMel {
		return m * hertzPerMel
	}
	return bendHertz * math.Exp(logStep*(m-bendMel))
}

// energy is the energy of a spectrum in the band.
func (b *band) energy(power []float64) float64 {
	sum := 0.0
	for i, v := range power[b.first:][:len(b.weights)] {
		sum += v * b.weights[i]
	}
	return sum
}
