package audio

import "math"

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

// BandPitch returns the frequency in Hz in the middle of one of so many bands, counted from 0.
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
