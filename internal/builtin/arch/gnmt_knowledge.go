package arch

import "math"

// gnmtKnowledge are the weights by which GNMT translates word by word. Of the 1024 numbers
// of a layer some have a meaning:
//
//	code      ±1 for each word of the source, a code; in the decoder's second layer the code
//	          of the word if its first piece comes next, and behind it that if its second does
//	place     pairs that turn with each word, each at its own speed
//	constant  1, from the second word on
//	last      whether the word is the last one
//	shade     how far a word's translation is from another piece that nearly means the same
//
// They are carried by gates that are always open, and all other weights are noise. The
// attention finds the word whose place is that of the lowest decoder layer, whose place
// stays where it is while a word's second piece is still to come. A third of the words have
// a decoy, a piece that looks likelier than the right one until the next step: so the best
// translation is found by those only who follow several beams. A quarter have a synonym, a piece that is
// as likely but for the word's shade: a number between 0 and gnmtShades that goes through the layers as it is.
// Of many words it is so small that 8 bits for what a layer reads lose it now and then, and fewer bits more often;
// in FP32 it decides always.
type gnmtKnowledge struct {
	rows    int
	codes   [][]float32 // by source word
	lexicon [][]int32   // the pieces of a source word; nil: none
	decoy   []int32     // of a source word; 0: none
	synonym []int32     // of a source word; 0: none
	shade   []float32   // of a source word
	alike   []bool      // pieces that have a synonym or are one
	first   []bool      // pieces that another one follows
	turns   [gnmtPairs]float64
	kick    [2 * gnmtPairs]float32
}

// Where the meanings are, and how strong.
const (
	gnmtCode     = 100
	gnmtPairs    = 12
	gnmtPlace    = gnmtCode // of units
	gnmtConstant = gnmtPlace + 2*gnmtPairs
	gnmtLast     = gnmtConstant + 1
	gnmtDone     = gnmtConstant // in the lowest decoder layer
	gnmtAuto     = gnmtLast     // likewise: 1 if the next word comes, −1 if the same goes on
	gnmtSecond   = gnmtCode     // in the second decoder layer
	gnmtEnd      = 2 * gnmtCode
	gnmtShade    = gnmtEnd + 1

	gnmtNoise     = 0.010
	gnmtEmbedding = 0.1
	gnmtV         = 1e-3
	gnmtOpen      = 6
	gnmtWord      = 3
	gnmtGain      = 3 // of the attention
	gnmtBump      = 4
	gnmtScale     = 12 // of logits
	gnmtDecoy     = 1.08
	gnmtStop      = 2.2
	gnmtShades    = 0.15
	gnmtSynonym   = 4 // what a shade weighs
)

// The special pieces of GNMT's vocabularies.
const (
	gnmtUnknown = iota
	gnmtStart
	gnmtFinish
	gnmtFirstWord
)

// gnmtHeld is what an open unit gives out whose candidate is tanh(3).
var gnmtHeld = float32(math.Tanh(logistic(gnmtOpen)*math.Tanh(gnmtWord)) * logistic(gnmtOpen))

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// source is a row of the encoder's table of pieces.
func (k *gnmtKnowledge) source(id int, x []float32) {
	for i, v := range k.codes[id] {
		x[i] += v
	}
	clear(x[gnmtPlace : gnmtLast+1])
	x[gnmtShade] = k.shade[id]
}

// target is a row of the decoder's table of pieces. After a piece and after its synonym all goes on alike.
func (k *gnmtKnowledge) target(id int, x []float32) {
	clear(x[:3])
	if k.alike[id] {
		clear(x)
	}
	x[0] = 1
	switch {
	case id == gnmtStart:
		clear(x)
		x[0], x[1] = 1, 1
	case k.first[id]:
		x[0] = -1
	}
}

// lstm fills a row of the weights of an encoder layer: those for the input, or for the last
// output.
func (k *gnmtKnowledge) lstm(cell string, row int, x, h []float32) {
	row %= 4 * gnmtHidden
	k.fill(cell, onnxGates[row/gnmtHidden], row%gnmtHidden, x, h)
}

// lstmBias fills a bias: for each cell those for the input, and then zeros for the last
// output.
func (k *gnmtKnowledge) lstmBias(cells []string, row int, b []float32) {
	cell := cells[row/(8*gnmtHidden)]
	row %= 8 * gnmtHidden
	if row < 4*gnmtHidden {
		b[0] = k.bias(cell, onnxGates[row/gnmtHidden], row%gnmtHidden)
	}
}

// cell fills a row of the weights of a decoder layer.
func (k *gnmtKnowledge) cell(name string, row int, x, h []float32) {
	k.fill(name, row/gnmtHidden, row%gnmtHidden, x, h)
}

func (k *gnmtKnowledge) cellBias(name string, row int) float32 {
	return k.bias(name, row/gnmtHidden, row%gnmtHidden)
}

// keys and query fill rows of the attention's two products: two units for each number of
// the place, which are largest where the two are equal.
func (k *gnmtKnowledge) keys(row int, w []float32)  { k.bump(row, w, gnmtBump) }
func (k *gnmtKnowledge) query(row int, w []float32) { k.bump(row, w, -gnmtBump) }

func (k *gnmtKnowledge) bump(row int, w []float32, by float32) {
	if p, ok := k.place(row); ok {
		w[2*p] += by
		w[2*p+1] += by
	}
}

func (k *gnmtKnowledge) attentionBias(unit int, b []float32) {
	if unit < 4*gnmtPairs {
		b[0] = float32(1 - 2*(unit%2))
	}
}

// attentionV is the vector v, with its norm in it: g·v/‖v‖.
func (k *gnmtKnowledge) attentionV(unit int, v []float32) {
	if unit < 4*gnmtPairs {
		v[0] = float32(1 - 2*(unit%2))
	}
	v[0] *= gnmtGain
}

// projection is a row of the weights of the logits. Those of synonyms are the same but for the shade.
func (k *gnmtKnowledge) projection(row int, w []float32) {
	weight := float32(0)
	switch {
	case row < gnmtEnd:
		k.spell(row, w)
	case row == gnmtEnd:
		w[gnmtFinish] += gnmtScale * gnmtStop
	case row == gnmtShade:
		clear(w)
		weight = gnmtSynonym
	}
	for word, other := range k.synonym {
		if other != 0 {
			right := k.lexicon[word][0]
			w[right], w[other] = w[right]+weight, w[right]-weight
		}
	}
}

// spell is the part of a row that says a code in pieces.
func (k *gnmtKnowledge) spell(row int, w []float32) {
	second := row / gnmtCode
	at := row % gnmtCode
	for word, pieces := range k.lexicon {
		sign := k.codes[word][at] * gnmtScale / gnmtCode
		if second < len(pieces) {
			w[pieces[second]] += sign
		}
		if decoy := k.decoy[word]; second == 0 && decoy != 0 {
			w[decoy] += sign * gnmtDecoy
		}
	}
}
