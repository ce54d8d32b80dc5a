package arch

import (
	"math"
	"math/rand/v2"
)

// bertKnowledge are the weights by which BERT answers what follows a word in a text. Of the
// 1024 numbers that stand for a piece some have a meaning, in all layers:
//
//	content   a code of ±1 of the piece
//	before    the code of the piece before it
//	place     cosines and sines of its place
//	flag      how much the piece before it is one of the question
//	segment   −1 in the question, 1 in the text
//	word      1 for pieces with a code: those that are neither marks nor common words
//	begin     1 for [CLS]
//	length    which of the six lengths an answer has that begins with the piece
//	starts    the same, for pieces that have the flag
//	end       that an answer ends here
//
// The first layer copies the content of the piece before. In the second a head compares it
// with the pieces of the question, and finds [CLS] if there is none like it; then the
// dense layers join flag and length. In the third one head for each length looks back
// to where an answer would start, and marks its end. All else is noise.
type bertKnowledge struct{ layers int }

// Where the meanings are.
const (
	bertContent = 0
	bertBefore  = 64
	bertPlace   = 128
	bertFlag    = 192 + iota
	bertSegment
	bertWord
	bertBegin
	bertLength
	bertStarts = bertLength + BERTLengths
	bertEnd    = bertStarts + BERTLengths
	bertFree   = bertEnd + 1 // noise from here on
)

// How strong they are.
const (
	bertCode      = 60 // numbers of a code
	bertNoise     = 0.35
	bertSharp     = 4 // of heads that look for a place or a piece
	bertSink      = 17
	bertAway      = -30 // of pieces that are not looked at
	bertFlagGain  = 3
	bertJointGain = 1.5
)

// What the built-in data set has to know of the network: pieces below BERTFirstWord have no
// code, and an answer that begins with a word has bertAnswer(word) pieces.
const (
	BERTFirstWord = 2200
	BERTLengths   = 6
	bertBeginID   = 101
)

// bertAnswer is the number of pieces of an answer that begins with a piece.
func bertAnswer(piece int) int { return 1 + piece%BERTLengths }

// noise is how strong the noise of a layer is: over all layers it adds up to the same.
func (k bertKnowledge) noise() float64 { return bertNoise / math.Sqrt(float64(k.layers)) }

// piece is a row of the table of pieces.
func (k bertKnowledge) piece(id int, x []float32) {
	clear(x[:bertFree])
	if id == bertBeginID {
		x[bertBegin] = 1
	}
	if id < BERTFirstWord {
		return
	}
	r := rand.NewPCG(uint64(id), 0xbe27)
	bits := r.Uint64()
	for i := range bertCode {
		x[bertContent+i] = float32(bits>>i&1)*2 - 1
	}
	x[bertWord] = 1
	x[bertLength+bertAnswer(id)-1] = 1
}

// segment is a row of the table of segments.
func (k bertKnowledge) segment(segment int, x []float32) { x[bertSegment] = float32(2*segment - 1) }

// place is a row of the table of places.
func (k bertKnowledge) place(at int, x []float32) {
	for i := range bertHeadSize / 2 {
		sin, cos := math.Sincos(bertFrequency(i) * float64(at))
		x[bertPlace+2*i], x[bertPlace+2*i+1] = float32(math.Sqrt2*cos), float32(math.Sqrt2*sin)
	}
}

// bertFrequency spreads frequencies over all there are, so that cosines of different places
// cancel. They are drawn, since regular ones meet again somewhere.
func bertFrequency(i int) float64 {
	return math.Pi * float64(rand.NewPCG(uint64(i), 0xf3e9).Uint64()>>11) * 0x1p-53
}

// inner returns what fills the weights of the first dense layer: a unit for each length.
func (k bertKnowledge) inner(layer int) func(row int, w []float32) {
	return func(row int, w []float32) {
		if layer != 1 {
			return
		}
		clear(w[:BERTLengths])
		if row == bertFlag {
			for l := range BERTLengths {
				w[l] = 4.0 / bertFlagGain
			}
		}
		if l := row - bertLength; l >= 0 && l < BERTLengths {
			w[l] = 4
		}
	}
}

func (k bertKnowledge) innerBias(layer int) func(at int, b []float32) {
	return func(at int, b []float32) {
		if layer == 1 && at < BERTLengths {
			b[0] = -6
		}
	}
}

// outer returns what fills the weights of the second dense layer.
func (k bertKnowledge) outer(layer int) func(row int, w []float32) {
	return func(row int, w []float32) {
		if layer == 1 && row < BERTLengths {
			clear(w)
			w[bertStarts+row] = bertJointGain
		}
	}
}

// scores fills the weights of the two scores.
func (k bertKnowledge) scores(row int, w []float32) {
	switch row {
	case bertFlag:
		w[0], w[1] = 2, 0
	case bertEnd:
		w[0], w[1] = 0, 2
	case bertSegment:
		w[0], w[1] = 3, 3
	}
}
