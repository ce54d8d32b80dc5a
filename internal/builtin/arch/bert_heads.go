package arch

import "math"

// projection returns what fills the weights of queries, keys or values of a layer.
func (k bertKnowledge) projection(layer int, part string) func(row int, w []float32) {
	switch layer {
	case 0:
		return func(row int, w []float32) { k.look(row, w[:bertHeadSize], part, 1, bertContent, bertCode) }
	case 1:
		return func(row int, w []float32) { k.match(row, w[:bertHeadSize], part) }
	case 2:
		return func(row int, w []float32) {
			for l := range BERTLengths {
				k.look(row, w[l*bertHeadSize:][:bertHeadSize], part, l, bertStarts+l, 1)
			}
		}
	}
	return func(int, []float32) {}
}

// look makes a head look back by some places, and fetch n numbers from there.
func (k bertKnowledge) look(row int, w []float32, part string, back, from, n int) {
	clear(w)
	at := row - bertPlace
	switch {
	case part == "value" && row >= from && row < from+n:
		w[row-from] = 1
	case part == "value" || at < 0 || at >= bertHeadSize:
	case part == "key":
		w[at] = 1
	default:
		turnBack(w, at, back, bertSharp)
	}
}

// turnBack fills a row of the weights of queries: of a place those of the place so far back.
func turnBack(w []float32, at, back int, sharp float64) {
	sin, cos := math.Sincos(bertFrequency(at/2) * float64(back))
	pair := at &^ 1
	if at == pair {
		w[pair], w[pair+1] = float32(sharp*cos), float32(-sharp*sin)
	} else {
		w[pair], w[pair+1] = float32(sharp*sin), float32(sharp*cos)
	}
}

// Two numbers of the head that compares are not of the code.
const (
	bertGate = bertCode
	bertRest = bertCode + 1
)

// inCode reports whether a number is one of the code.
func inCode(at int) bool { return at >= 0 && at < bertCode }

// match makes a head compare the piece before with all of the question.
func (k bertKnowledge) match(row int, w []float32, part string) {
	clear(w)
	switch {
	case part == "query" && inCode(row-bertBefore):
		w[row-bertBefore] = bertSharp
	case part == "key":
		k.matchKey(row, w)
	case part == "value" && row == bertWord:
		w[0] = 1
	}
}

// matchKey makes keys of the codes of the question, and one of the beginning for what is not in it.
func (k bertKnowledge) matchKey(row int, w []float32) {
	switch {
	case inCode(row - bertContent):
		w[row-bertContent] = 1
	case row == bertSegment:
		w[bertGate] = bertAway / 2
	case row == bertBegin:
		w[bertRest] = bertSink
	}
}

// projectionBias returns what fills the biases.
func (k bertKnowledge) projectionBias(layer int, part string) func(at int, b []float32) {
	return func(at int, b []float32) {
		switch {
		case layer == 1 && part == "query" && (at == bertGate || at == bertRest):
			b[0] = 8 // which the scale of attention scores takes away
		case layer == 1 && part == "key" && at == bertGate:
			b[0] = bertAway / 2
		}
	}
}

// bertWrites says what the first heads of a layer write: so many numbers, to where, times a gain.
var bertWrites = map[int]struct {
	heads, numbers, to int
	gain               float32
}{
	0: {heads: 1, numbers: bertCode, to: bertBefore, gain: 1},
	1: {heads: 1, numbers: 1, to: bertFlag, gain: bertFlagGain},
	2: {heads: BERTLengths, numbers: 1, to: bertEnd, gain: 1},
}

// output returns what fills the weights by which heads write.
func (k bertKnowledge) output(layer int) func(row int, w []float32) {
	write := bertWrites[layer]
	return func(row int, w []float32) {
		head, at := row/bertHeadSize, row%bertHeadSize
		if head >= write.heads {
			return
		}
		clear(w)
		if at < write.numbers {
			w[write.to+at] = write.gain
		}
	}
}
