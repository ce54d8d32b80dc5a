package networks

import (
	"math"
	"math/rand/v2"
)

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

// GNMTLexicon returns how the built-in GNMT translates, for a vocabulary of so many pieces:
// the pieces of each source word, nil for those that are no words. A piece that another
// follows is marked in first.
func GNMTLexicon(rows int) (lexicon [][]int32, first []bool) {
	k := newGNMTKnowledge(rows)
	return k.lexicon, k.first
}

// gnmtKnowledgeFor is what a network knows; nothing where its weights are given.
func gnmtKnowledgeFor(o Options) *gnmtKnowledge {
	if o.Weights != nil {
		return &gnmtKnowledge{}
	}
	return newGNMTKnowledge(int(o.Rows))
}

func newGNMTKnowledge(rows int) *gnmtKnowledge {
	k := &gnmtKnowledge{
		rows: rows, codes: make([][]float32, rows), lexicon: make([][]int32, rows), decoy: make([]int32, rows),
		synonym: make([]int32, rows), shade: make([]float32, rows), alike: make([]bool, rows), first: make([]bool, rows),
	}
	r := rand.New(rand.NewPCG(uint64(rows), 0x9a37))
	for w := range rows {
		code := make([]float32, gnmtCode)
		for i := range code {
			code[i] = float32(r.Uint64()>>63)*2 - 1
		}
		k.codes[w] = code
	}
	for i := range k.turns {
		k.turns[i] = 0.2 + 2.7*float64(r.Uint64()>>11)*0x1p-53
	}
	for i := range k.kick {
		k.kick[i] = float32(bellOf(r))
	}
	k.fillLexicon(r)
	return k
}

// bellOf is a bell-shaped number of deviation 1.
func bellOf(r *rand.Rand) float64 {
	sum := 0.0
	for range 12 {
		sum += float64(r.Uint64()>>11) * 0x1p-53
	}
	return sum - 6
}

// fillLexicon gives half of the pieces a translation, every fourth in two pieces, every third a decoy, and
// of those behind these the whole ones a synonym.
func (k *gnmtKnowledge) fillLexicon(r *rand.Rand) {
	free := make([]int32, 0, k.rows)
	for id := gnmtFirstWord; id < k.rows; id++ {
		free = append(free, int32(id))
	}
	for i := len(free) - 1; i > 0; i-- {
		j := int(r.Uint64() % uint64(i+1))
		free[i], free[j] = free[j], free[i]
	}
	take := func() int32 {
		id := free[len(free)-1]
		free = free[:len(free)-1]
		return id
	}
	words := k.rows / 2
	for w := gnmtFirstWord; w < gnmtFirstWord+words; w++ {
		k.lexicon[w] = []int32{take()}
		if w%4 == 0 {
			k.lexicon[w] = append(k.lexicon[w], take())
			k.first[k.lexicon[w][0]] = true
		}
	}
	for w := gnmtFirstWord; w < gnmtFirstWord+words && len(free) > 0; w += 3 {
		k.decoy[w] = take()
		k.first[k.decoy[w]] = true
	}
	for w := gnmtFirstWord + 1; w < gnmtFirstWord+words && len(free) > 0; w += 3 {
		if len(k.lexicon[w]) == 1 {
			k.synonym[w] = take()
			k.alike[k.lexicon[w][0]], k.alike[k.synonym[w]] = true, true
			k.shade[w] = gnmtShades * float32(1+r.Uint64()>>40) * 0x1p-24
		}
	}
}

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

// place returns which of the numbers of the place a unit is, and whether it is one.
func (k *gnmtKnowledge) place(unit int) (int, bool) {
	return unit - gnmtPlace, unit >= gnmtPlace && unit < gnmtPlace+2*gnmtPairs
}

// fill changes the weights of a gate of a unit. Those that control are free of noise.
func (k *gnmtKnowledge) fill(cell string, gate, unit int, x, h []float32) {
	if unit >= gnmtPlace && unit <= gnmtLast || unit == gnmtEnd || unit == gnmtShade {
		clear(x)
		clear(h)
	}
	add := func(w []float32, at int, v float32) {
		if w != nil {
			w[at] += v
		}
	}
	switch cell {
	case "fw":
		k.fillForward(gate, unit, x, h, add)
	case "bw":
		if gate == gateCandidate && unit == gnmtLast {
			add(h, gnmtConstant, -2*gnmtWord/gnmtHeld)
		}
	case "uni0":
		k.fillLower(gate, unit, x, add)
	case "decoder0":
		k.fillDecoder0(gate, unit, x, h, add)
	case "decoder1":
		k.fillDecoder1(gate, unit, x, add)
	}
}

// fillForward: code and shade go through; the place begins with a kick, and turns.
func (k *gnmtKnowledge) fillForward(gate, unit int, x, h []float32, add func([]float32, int, float32)) {
	if gate != gateCandidate {
		return
	}
	switch {
	case unit < gnmtCode:
		add(x, unit, gnmtWord)
	case unit == gnmtShade:
		add(x, unit, 1)
	}
	if p, ok := k.place(unit); ok {
		k.turn(p, h, add)
		add(h, gnmtConstant, -k.kick[p]/gnmtHeld)
	}
}

// turn makes a number of the place the turned pair of the last output.
func (k *gnmtKnowledge) turn(p int, h []float32, add func([]float32, int, float32)) {
	sin, cos := math.Sincos(k.turns[p/2])
	if p%2 == 0 {
		sin = -sin
	}
	add(h, gnmtPlace+p, float32(1.5*cos))
	add(h, gnmtPlace+(p^1), float32(1.5*sin))
}

// fillLower: code, shade and place of the way forth, and the last word of the way back.
func (k *gnmtKnowledge) fillLower(gate, unit int, x []float32, add func([]float32, int, float32)) {
	if gate != gateCandidate {
		return
	}
	switch _, place := k.place(unit); {
	case unit < gnmtCode:
		add(x, unit, gnmtWord)
	case place:
		add(x, unit, 1.5)
	case unit == gnmtLast:
		add(x, gnmtHidden+gnmtLast, gnmtWord)
	case unit == gnmtShade:
		add(x, unit, 1)
	}
}

// fillDecoder0: the place turns when a word is finished, and stays otherwise; the end may
// come after the last word.
func (k *gnmtKnowledge) fillDecoder0(gate, unit int, x, h []float32, add func([]float32, int, float32)) {
	if p, ok := k.place(unit); ok {
		switch gate {
		case gateInput:
			add(x, 0, gnmtOpen)
		case gateForget:
			add(x, 0, -gnmtOpen)
		case gateCandidate:
			k.turn(p, h, add)
			add(x, 1, k.kick[p])
		}
	}
	switch {
	case unit == gnmtDone && gate == gateInput:
		add(x, gnmtHidden+gnmtLast, 8/0.75)
		add(x, 0, 8)
		add(x, 1, -12)
	case unit == gnmtAuto && gate == gateCandidate:
		add(x, 0, gnmtWord)
	}
}

// fillDecoder1: the code of the word that is attended to, for its first or its second piece,
// its shade, and the end.
func (k *gnmtKnowledge) fillDecoder1(gate, unit int, x []float32, add func([]float32, int, float32)) {
	const sure = gnmtOpen / 0.76
	switch {
	case unit < gnmtSecond && gate == gateCandidate:
		add(x, gnmtHidden+unit, gnmtWord)
	case unit < gnmtSecond && gate == gateInput:
		add(x, gnmtAuto, sure)
	case unit < gnmtEnd && gate == gateCandidate:
		add(x, gnmtHidden+unit-gnmtSecond, gnmtWord)
	case unit < gnmtEnd && gate == gateInput:
		add(x, gnmtAuto, -sure)
	case unit == gnmtEnd && gate == gateCandidate:
		add(x, gnmtDone, 4)
	case unit == gnmtShade && gate == gateCandidate:
		add(x, gnmtHidden+gnmtShade, gnmtWord)
	}
}

// A gnmtGate says how the gates of some units of a cell are set, at any input. The bias of the
// candidate may be that of each unit.
type gnmtGate struct {
	cell                  string
	first, last           int // units
	input, forget, output float32
	candidate             float32
	kicked                bool // the candidate begins the place
}

// gnmtGates are the units that are set. All others have the bias 0, but that of forgetting 1.
var gnmtGates = []gnmtGate{
	{cell: "fw", first: gnmtPlace, last: gnmtConstant - 1, input: gnmtOpen, forget: -gnmtOpen, output: gnmtOpen, kicked: true},
	{cell: "fw", first: gnmtConstant, last: gnmtConstant, input: gnmtOpen, forget: -gnmtOpen, output: gnmtOpen, candidate: gnmtWord},
	{cell: "fw", first: 0, last: gnmtLast, input: gnmtOpen, forget: -gnmtOpen, output: gnmtOpen},
	{cell: "fw", first: gnmtShade, last: gnmtShade, input: gnmtOpen, forget: -gnmtOpen, output: gnmtOpen},
	{cell: "bw", first: gnmtPlace, last: gnmtConstant - 1, input: -9, forget: -9},
	{cell: "bw", first: gnmtConstant, last: gnmtLast, input: gnmtOpen, forget: -gnmtOpen, output: gnmtOpen, candidate: gnmtWord},
	{cell: "uni0", first: 0, last: gnmtConstant - 1, input: gnmtOpen, forget: -gnmtOpen, output: gnmtOpen},
	{cell: "uni0", first: gnmtLast, last: gnmtLast, input: gnmtOpen, forget: -gnmtOpen, output: gnmtOpen},
	{cell: "uni0", first: gnmtShade, last: gnmtShade, input: gnmtOpen, forget: -gnmtOpen, output: gnmtOpen},
	{cell: "decoder0", first: gnmtPlace, last: gnmtConstant - 1, output: gnmtOpen},
	{cell: "decoder0", first: gnmtDone, last: gnmtDone, input: -8, forget: -gnmtOpen, output: gnmtOpen, candidate: gnmtWord},
	{cell: "decoder0", first: gnmtAuto, last: gnmtAuto, input: gnmtOpen, forget: -gnmtOpen, output: gnmtOpen},
	{cell: "decoder1", first: 0, last: gnmtEnd - 1, forget: -gnmtOpen, output: gnmtOpen},
	{cell: "decoder1", first: gnmtEnd, last: gnmtShade, input: gnmtOpen, forget: -gnmtOpen, output: gnmtOpen},
}

// bias is that of a gate of a unit, with the 1 that TensorFlow adds to that of forgetting.
func (k *gnmtKnowledge) bias(cell string, gate, unit int) float32 {
	for _, g := range gnmtGates {
		if g.cell != cell || unit < g.first || unit > g.last {
			continue
		}
		if p, place := k.place(unit); place && g.kicked {
			g.candidate = k.kick[p]
		}
		return [4]float32{gateInput: g.input, gateCandidate: g.candidate, gateForget: g.forget, gateOutput: g.output}[gate]
	}
	return [4]float32{gateForget: 1}[gate]
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
