package text

import "time"

// A pace is what a decoder is known to need: how long steps take, by how many sentences make them, as a line through
// those that were measured; and how many steps a sentence makes for each of its pieces. Older measurements count
// less and less. What has not been measured takes no time.
type pace struct {
	n, live, took, liveLive, liveTook float64 // sums over steps
	steps, pieces                     float64 // of sentences that are translated
}

// What a step, or a sentence, counts after the next one.
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

// left is how many steps a sentence still makes, at least one.
func (p *pace) left(made, pieces int) int {
	if p.pieces == 0 {
		return max(1, pieces-made)
	}
	return max(1, int(p.steps/p.pieces*float64(pieces)+0.5)-made)
}

// takes is what a number of steps take.
func (p *pace) takes(steps, live int) time.Duration {
	if p.n == 0 {
		return 0
	}
	slope, middle := p.took/p.live, p.live/p.n // as long as all were alike, twice as many take twice as long
	if spread := p.liveLive/p.n - middle*middle; spread > 0.01 {
		slope = max(0, (p.liveTook/p.n-middle*p.took/p.n)/spread)
	}
	step := p.took/p.n + slope*(float64(live)-middle)
	return time.Duration(float64(steps) * step * float64(time.Second))
}
