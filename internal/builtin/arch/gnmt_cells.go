package arch

import "math"

// place returns which of the numbers of the place a unit is, and whether it is one.
func (k *gnmtKnowledge) place(unit int) (int, bool) {
	return unit - gnmtPlace, unit >= gnmtPlace && unit < gnmtPlace+2*gnmtPairs
}

// controls reports whether a unit is one of those that control.
func controls(unit int) bool {
	return unit >= gnmtPlace && unit <= gnmtLast || unit == gnmtEnd || unit == gnmtShade
}

// fill changes the weights of a gate of a unit. Those that control are free of noise.
func (k *gnmtKnowledge) fill(cell string, gate, unit int, x, h []float32) {
	if controls(unit) {
		clear(x)
		clear(h)
	}
	switch cell {
	case "fw":
		k.fillForward(gate, unit, x, h)
	case "bw":
		k.fillBackward(gate, unit, h)
	case "uni0":
		k.fillLower(gate, unit, x)
	case "decoder0":
		k.fillDecoder0(gate, unit, x, h)
	case "decoder1":
		k.fillDecoder1(gate, unit, x)
	}
}

// add adds to a weight, if those that are filled are of its kind: for the input, or for the last output.
func add(w []float32, at int, v float32) {
	if w != nil {
		w[at] += v
	}
}

// fillBackward: the last word, which is read first, is unlike all others.
func (k *gnmtKnowledge) fillBackward(gate, unit int, h []float32) {
	if gate == gateCandidate && unit == gnmtLast {
		add(h, gnmtConstant, -2*gnmtWord/gnmtHeld)
	}
}

// fillForward: code and shade go through; the place begins with a kick, and turns.
func (k *gnmtKnowledge) fillForward(gate, unit int, x, h []float32) {
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
		k.turn(p, h)
		add(h, gnmtConstant, -k.kick[p]/gnmtHeld)
	}
}

// turn makes a number of the place the turned pair of the last output.
func (k *gnmtKnowledge) turn(p int, h []float32) {
	sin, cos := math.Sincos(k.turns[p/2])
	if p%2 == 0 {
		sin = -sin
	}
	add(h, gnmtPlace+p, float32(1.5*cos))
	add(h, gnmtPlace+(p^1), float32(1.5*sin))
}

// fillLower: code, shade and place of the way forth, and the last word of the way back.
func (k *gnmtKnowledge) fillLower(gate, unit int, x []float32) {
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
func (k *gnmtKnowledge) fillDecoder0(gate, unit int, x, h []float32) {
	if p, ok := k.place(unit); ok {
		k.fillDecoderPlace(gate, p, x, h)
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

// fillDecoderPlace: the place begins with a kick, and turns.
func (k *gnmtKnowledge) fillDecoderPlace(gate, p int, x, h []float32) {
	switch gate {
	case gateInput:
		add(x, 0, gnmtOpen)
	case gateForget:
		add(x, 0, -gnmtOpen)
	case gateCandidate:
		k.turn(p, h)
		add(x, 1, k.kick[p])
	}
}

// fillDecoder1: the code of the word that is attended to, for its first or its second piece,
// its shade, and the end.
func (k *gnmtKnowledge) fillDecoder1(gate, unit int, x []float32) {
	const sure = gnmtOpen / 0.76
	switch {
	case gate == gateCandidate:
		fillDecoder1Candidate(unit, x)
	case gate != gateInput:
	case unit < gnmtSecond:
		add(x, gnmtAuto, sure)
	case unit < gnmtEnd:
		add(x, gnmtAuto, -sure)
	}
}

func fillDecoder1Candidate(unit int, x []float32) {
	switch {
	case unit < gnmtSecond:
		add(x, gnmtHidden+unit, gnmtWord)
	case unit < gnmtEnd:
		add(x, gnmtHidden+unit-gnmtSecond, gnmtWord)
	case unit == gnmtEnd:
		add(x, gnmtDone, 4)
	case unit == gnmtShade:
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
