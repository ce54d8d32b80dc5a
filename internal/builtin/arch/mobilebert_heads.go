package arch

import "math"

// projection fills the weights of queries, keys or values.
func (k mobileKnowledge) projection(layer int, part string) func(row int, w []float32) {
	return func(row int, w []float32) {
		switch {
		case k.compares(layer):
			k.match(row, w[:mobileHeadSize], part)
		case k.looksBack(layer):
			for head := range mobileHeads {
				k.look(row, w[head*mobileHeadSize:][:mobileHeadSize], part, k.lengthOf(layer, head))
			}
		}
	}
}

// lengthOf is the length of answer that a head looks for; beyond BERTLengths: none.
func (k mobileKnowledge) lengthOf(layer, head int) int { return (layer-1)*mobileHeads + head }

// match makes a head compare the piece before with all of the question.
func (k mobileKnowledge) match(row int, w []float32, part string) {
	clear(w)
	switch {
	case part == "query" && row >= mobileBefore && row < mobileBefore+mobileCode:
		w[row-mobileBefore] = mobileSharp
	case part == "key":
		k.matchKey(row, w)
	case part == "value" && row == mobileWord:
		w[0] = 1
	}
}

// matchKey makes keys of the codes of the question, and one of the beginning for what is not in it.
func (k mobileKnowledge) matchKey(row int, w []float32) {
	switch {
	case row < mobileCode:
		w[row] = 1
	case row == sharedSegment:
		w[mobileGate] = mobileAway / 2
	case row == sharedBegin:
		w[mobileRest] = mobileSink
	}
}

// look makes a head look back, to where an answer would start that ends here.
func (k mobileKnowledge) look(row int, w []float32, part string, length int) {
	if length >= BERTLengths {
		return
	}
	clear(w)
	switch {
	case part == "value" && row == mobileStarts+length:
		w[0] = 1
	case part == "value" || row >= mobileHeadSize:
	case part == "key":
		w[row] = 1
	default:
		turnBack(w, row, length, mobileSharp)
	}
}

// projectionBias fills the biases.
func (k mobileKnowledge) projectionBias(layer int, part string) func(at int, b []float32) {
	return func(at int, b []float32) {
		switch {
		case k.compares(layer) && part == "query" && (at == mobileGate || at == mobileRest):
			b[0] = float32(math.Sqrt(mobileHeadSize)) // which the scale of attention scores takes away
		case k.compares(layer) && part == "key" && at == mobileGate:
			b[0] = mobileAway / 2
		}
	}
}

// output fills the weights by which heads write.
func (k mobileKnowledge) output(layer int) func(row int, w []float32) {
	return func(row int, w []float32) {
		if layer > 2 {
			return
		}
		head, at := row/mobileHeadSize, row%mobileHeadSize
		to, writes := k.writesTo(layer, head)
		if !writes {
			clear(w[:narrowUsed])
			return
		}
		clear(w)
		if at == 0 {
			w[to] = 1
		}
	}
}

// writesTo returns where a head of the first layers writes its first number, and whether it does.
func (k mobileKnowledge) writesTo(layer, head int) (int, bool) {
	if k.compares(layer) {
		return narrowFlag, head == 0
	}
	return narrowEnd, k.lengthOf(layer, head) < BERTLengths
}
