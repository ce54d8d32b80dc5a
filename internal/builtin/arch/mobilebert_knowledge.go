package arch

import (
	"math"
	"math/rand/v2"
)

// mobileKnowledge are the weights by which MobileBERT answers what follows a word in a text, in
// the way of bertKnowledge, with less room. Of the 512 numbers between layers some have a
// meaning:
//
//	content   a code of ±1 of the piece
//	before    the code of the piece before it, which the trigram knows
//	place     cosines and sines of its place
//	segment, word, begin, length, flag, starts, end   as in BERT
//
// The first layer compares the piece before with the question and joins flag and length;
// the second and third look back to where an answer would start, four lengths and then two.
// In a layer's bottleneck these have places of their own; all else is noise.
type mobileKnowledge struct{ layers int }

// Where the meanings are, between layers.
const (
	mobileCode    = 28 // numbers of a code
	mobileContent = 0
	mobileBefore  = mobileContent + mobileCode
	mobilePlace   = mobileBefore + mobileCode
	mobileSegment = mobilePlace + mobileHeadSize + iota - 3
	mobileWord
	mobileBegin
	mobileLength
	mobileFlag   = mobileLength + BERTLengths
	mobileStarts = mobileFlag + 1
	mobileEnd    = mobileStarts + BERTLengths
	mobileFree   = mobileEnd + 1 // noise from here on
)

// Where they are in a layer, and how strong.
const (
	narrowFlag   = 0
	narrowEnd    = 0
	narrowLength = 1
	narrowStarts = narrowLength + BERTLengths
	narrowUsed   = narrowStarts + BERTLengths

	sharedSegment = 2 * mobileCode
	sharedBegin   = sharedSegment + 1

	// Two numbers of the head that compares are not of the code.
	mobileGate = mobileCode
	mobileRest = mobileCode + 1

	mobileNoise = 0.35
	mobileSharp = 4
	mobileSink  = 15
	mobileAway  = -30
)

// noise is the deviation of weights that read so many numbers.
func (k mobileKnowledge) noise(inputs int64) float64 {
	return mobileNoise / math.Sqrt(float64(inputs)*float64(k.layers))
}

// piece is a row of the table of pieces.
func (k mobileKnowledge) piece(id int, x []float32) {
	clear(x[:mobileCode+3+BERTLengths])
	if id == bertBeginID {
		x[mobileCode+1] = 1
	}
	if id < BERTFirstWord {
		return
	}
	bits := rand.NewPCG(uint64(id), 0x30b1).Uint64()
	for i := range mobileCode {
		x[i] = float32(bits>>i&1)*2 - 1
	}
	x[mobileCode] = 1
	x[mobileCode+2+bertAnswer(id)-1] = 1
}

// trigram fills the layer that reads the next piece, the piece and the one before.
func (k mobileKnowledge) trigram(row int, w []float32) {
	clear(w[:mobileFree])
	at := row % mobileNarrow
	switch part := row / mobileNarrow; {
	case part == 2 && at < mobileCode:
		w[mobileBefore+at] = 1
	case part != 1:
	case at < mobileCode:
		w[mobileContent+at] = 1
	case at == mobileCode:
		w[mobileWord] = 1
	case at == mobileCode+1:
		w[mobileBegin] = 1
	case at < mobileCode+2+BERTLengths:
		w[mobileLength+at-mobileCode-2] = 1
	}
}

// segment and place are rows of the tables of segments and places.
func (k mobileKnowledge) segment(segment int, x []float32) { x[mobileSegment] = float32(2*segment - 1) }

func (k mobileKnowledge) place(at int, x []float32) {
	for i := range mobileHeadSize / 2 {
		sin, cos := math.Sincos(bertFrequency(i) * float64(at))
		x[mobilePlace+2*i], x[mobilePlace+2*i+1] = float32(math.Sqrt2*cos), float32(math.Sqrt2*sin)
	}
}

// compares and looksBack are what the layers do.
func (mobileKnowledge) compares(layer int) bool  { return layer == 0 }
func (mobileKnowledge) looksBack(layer int) bool { return layer == 1 || layer == 2 }

// narrow fills the bottleneck that the dense layers work in.
func (k mobileKnowledge) narrow(layer int) func(row int, w []float32) {
	return func(row int, w []float32) {
		if layer > 2 {
			return
		}
		clear(w[:narrowUsed])
		if l := row - mobileLength; k.compares(layer) && l >= 0 && l < BERTLengths {
			w[narrowLength+l] = 1
		}
	}
}

// shared fills the bottleneck of queries and keys.
func (k mobileKnowledge) shared(layer int) func(row int, w []float32) {
	return func(row int, w []float32) {
		switch {
		case k.compares(layer):
			clear(w[:sharedBegin+1])
			switch {
			case row < mobileBefore+mobileCode:
				w[row] = 1
			case row == mobileSegment:
				w[sharedSegment] = 1
			case row == mobileBegin:
				w[sharedBegin] = 1
			}
		case k.looksBack(layer):
			clear(w[:mobileHeadSize])
			if at := row - mobilePlace; at >= 0 && at < mobileHeadSize {
				w[at] = 1
			}
		}
	}
}

// inner and outer fill the dense layers: a unit for each length, where the flag is up.
func (k mobileKnowledge) inner(layer, pair int) func(row int, w []float32) {
	return func(row int, w []float32) {
		if !k.compares(layer) || pair != 0 {
			return
		}
		clear(w[:BERTLengths])
		if row == narrowFlag {
			for l := range BERTLengths {
				w[l] = 1
			}
		}
		if l := row - narrowLength; l >= 0 && l < BERTLengths {
			w[l] = 1
		}
	}
}

func (k mobileKnowledge) innerBias(layer, pair int) func(at int, b []float32) {
	return func(at int, b []float32) {
		if k.compares(layer) && pair == 0 && at < BERTLengths {
			b[0] = -1.5
		}
	}
}

func (k mobileKnowledge) outer(layer, pair int) func(row int, w []float32) {
	return func(row int, w []float32) {
		if k.compares(layer) && pair == 0 && row < BERTLengths {
			clear(w)
			w[narrowStarts+row] = 2
		}
	}
}

// widen fills the bottleneck by which a layer writes.
func (k mobileKnowledge) widen(layer int) func(row int, w []float32) {
	return func(row int, w []float32) {
		if layer > 2 {
			return
		}
		if row < narrowUsed {
			clear(w)
		}
		if to, has := k.widened(layer, row); has {
			w[to] = 1
		}
	}
}

// widened returns where a number of one of the first layers goes, and whether it has a meaning.
func (k mobileKnowledge) widened(layer, row int) (int, bool) {
	switch l := row - narrowStarts; {
	case k.looksBack(layer):
		return mobileEnd, row == narrowEnd
	case row == narrowFlag:
		return mobileFlag, true
	default:
		return mobileStarts + l, l >= 0 && l < BERTLengths
	}
}

// scores fills the weights of the two scores.
func (k mobileKnowledge) scores(row int, w []float32) {
	switch row {
	case mobileFlag:
		w[0], w[1] = 6, 0
	case mobileEnd:
		w[0], w[1] = 0, 6
	case mobileSegment:
		w[0], w[1] = 3, 3
	}
}
