package arch

// What the built-in network knows: most of what it says of the noise is the latents themselves,
// which are nothing else at first. It passes them on, once as they are and once turned round, as
// the difference of two SiLUs is what went in; the rest follows from the text and is noise to
// nobody else. So images become those of their captions, and not of the latents they begin with.
//
// The last norm has a group for what is passed on. Numbers that are always the same keep its size.
const (
	passed       = 2 * latentChannels
	passedSteady = 3    // the number that is always the same
	passedGain   = 2.25 // what the norm divides by: √((1+3²)/2)
	textGain     = 0.3  // of the rest
)

func (n *sdxlUNetNet) knownIn() Filler {
	if !n.knows {
		return diffusionWeights()
	}
	return Patched{diffusionWeights(), func(row int, w []float32) {
		if row >= 2*passed {
			return
		}
		clear(w)
		if row < passed {
			w[row/2*9+4] = 1 - 2*float32(row%2)
		}
	}}
}

func (n *sdxlUNetNet) knownInBias() Filler {
	return Patched{Constant(0), func(row int, w []float32) {
		if n.knows && row >= passed && row < 2*passed {
			w[0] = passedSteady * (1 - 2*float32(row%2))
		}
	}}
}

// nothing is added to what is passed on.
func (n *sdxlUNetNet) nothing(row int, w []float32) {
	if row < 2*passed {
		clear(w)
	}
}

// passOn takes what comes across from the beginning, behind what comes from below.
func (n *sdxlUNetNet) passOn(row int, w []float32) {
	if row < 2*passed {
		clear(w)
		w[len(w)-int(n.channels[0])+row] = 1
	}
}

func (n *sdxlUNetNet) knownOut() Filler {
	if !n.knows {
		return diffusionWeights()
	}
	return Patched{He{Gain: textGain, ZeroMean: true}, func(row int, w []float32) {
		clear(w[:2*passed*9])
		w[2*row*9+4], w[(2*row+1)*9+4] = passedGain, -passedGain
	}}
}
