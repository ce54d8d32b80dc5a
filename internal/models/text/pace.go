package text

import "time"

// A pace estimates the time of steps, as a line over the number of active sentences, and the steps of a sentence for each of
// its pieces. Older measurements count less. Before the first measurement a step takes no time.
type pace struct {
	n, live, took, liveLive, liveTook float64 // sums over steps
	steps, pieces                     float64 // of finished sentences
}

// Weights of a measurement after the next one.
const (
	forgettingSteps     = 0.998
	forgettingSentences = 0.95
)

// add measures a step.
func (p *pace) add(live int, took time.Duration) {
	x, y := float64(live), took.Seconds()
	for _, sum := range []struct {
		of  *float64
		add float64
	}{{&p.n, 1}, {&p.live, x}, {&p.took, y}, {&p.liveLive, x * x}, {&p.liveTook, x * y}} {
		*sum.of = forgettingSteps**sum.of + sum.add
	}
}

// ended measures a sentence.
func (p *pace) ended(steps, pieces int) {
	p.steps = forgettingSentences*p.steps + float64(steps)
	p.pieces = forgettingSentences*p.pieces + float64(pieces)
}

// left estimates the steps that a sentence still needs, at least one.
func (p *pace) left(made, pieces int) int {
	if p.pieces == 0 {
		return max(1, pieces-made)
	}
	return max(1, int(p.steps/p.pieces*float64(pieces)+0.5)-made)
}

// takes estimates the time of steps.
func (p *pace) takes(steps, live int) time.Duration {
	if p.n == 0 {
		return 0
	}
	slope, middle := p.took/p.live, p.live/p.n // if all measurements have the same number, proportional to it
	if spread := p.liveLive/p.n - middle*middle; spread > 0.01 {
		slope = max(0, (p.liveTook/p.n-middle*p.took/p.n)/spread)
	}
	step := p.took/p.n + slope*(float64(live)-middle)
	return time.Duration(float64(steps) * step * float64(time.Second))
}
