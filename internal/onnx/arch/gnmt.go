package arch

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The size of GNMT with four layers (standard_hparams/wmt16_gnmt_4_layer.json).
const (
	gnmtHidden = 1024
	gnmtRows   = 32320 // pieces of the official vocabulary
	gnmtLayers = 4     // of encoder and decoder
	gnmtState  = (2*gnmtLayers + 1) * gnmtHidden

	// gnmtCandidates is how many of the likeliest pieces the decoder gives out.
	gnmtCandidates = 11
)

// The axes of GNMT's inputs and outputs.
const (
	axisSentences = "sentences"
	axisPieces    = "pieces" // of the longest sentence
	axisActive    = "active" // sentences that are still translated
	axisRows      = "rows"   // beams of all of them
	axisBefore    = "before" // beams of the step before
)

// GNMTEncoder is the encoder of GNMT (Wu et al., arXiv:1609.08144): one bidirectional layer
// and three more, the last two with residuals. There is no official ONNX file: names are
// ours. Besides the memory, which the decoder attends to, it gives out the keys by which
// that is found, and the state with which the decoder begins.
func GNMTEncoder() Architecture {
	memory := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisSentences), onnx.Free(axisPieces), onnx.Fixed(gnmtHidden)}}
	return Architecture{
		Name:     "gnmt-encoder",
		Title:    "GNMT encoder, 4 layers of 1024",
		Official: "https://zenodo.org/record/2530924",
		Inputs: []onnx.Value{
			{Name: "pieces", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{onnx.Free(axisSentences), onnx.Free(axisPieces)}}},
			{Name: "lengths", Type: onnx.Type{Elem: onnx.Int32, Shape: onnx.Shape{onnx.Free(axisSentences)}}},
		},
		Outputs: []onnx.Value{
			{Name: "memory", Type: memory}, {Name: "keys", Type: memory},
			{Name: "state", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisSentences), onnx.Fixed(gnmtState)}}},
		},
		Rows:   gnmtRows,
		Seed:   45,
		layers: gnmtEncoderLayers,
	}
}

func gnmtEncoderLayers(b *Builder, o Options) {
	ids := b.Input("pieces", onnx.Int64, onnx.Shape{onnx.Free(axisSentences), onnx.Free(axisPieces)})
	lengths := b.Input("lengths", onnx.Int32, onnx.Shape{onnx.Free(axisSentences)})
	net := gnmtNet{Builder: b, knows: gnmtKnowledgeFor(o)}
	table := b.Weight("embedding", Patched{Bell{gnmtEmbedding}, net.knows.source}, o.Rows, gnmtHidden)
	x := b.Transpose("embedded/turned", b.Gather("embedded", table, ids, 0), 1, 0, 2)

	y, states := net.bidirectional(x, lengths)
	for i := range gnmtLayers - 1 {
		z, state := net.layer(fmt.Sprintf("uni%d", i), y, lengths)
		states = append(states, state...)
		if y = z; i > 0 {
			y = b.Add(fmt.Sprintf("uni%d/sum", i), z, net.below)
		}
		net.below = y
	}
	memory := b.Transpose("memory/turned", y, 1, 0, 2)
	keys := b.MatMul("keys", memory, b.Weight("keys/weights", Patched{Bell{gnmtNoise}, net.knows.keys}, gnmtHidden, gnmtHidden))
	context := b.Binary("Mul", "context", states[0], b.scalar(0))
	b.Output(b.rename(memory, "memory"), b.rename(keys, "keys"), b.rename(b.Concat("states", 1, append(states, context)...), "state"))
}

type gnmtNet struct {
	*Builder
	knows *gnmtKnowledge
	below *onnx.Value // the output of the layer below, for residuals
}

// layerOf adds an LSTM of which the parts read the same input.
func (n gnmtNet) layerOf(name string, x, lengths *onnx.Value, cells ...string) []*onnx.Value {
	cell := func(row int) string { return cells[row/(4*gnmtHidden)] }
	return n.Builder.lstm(name, x, lengths, recurrent{
		Hidden: gnmtHidden, Cells: int64(len(cells)),
		Weights:    Patched{Bell{gnmtNoise}, func(row int, x []float32) { n.knows.lstm(cell(row), row, x, nil) }},
		Recurrence: Patched{Bell{gnmtNoise}, func(row int, h []float32) { n.knows.lstm(cell(row), row, nil, h) }},
		Bias:       Patched{Constant(0), func(row int, b []float32) { n.knows.lstmBias(cells, row, b) }},
	})
}

// bidirectional adds the lowest layer. The state is that of the way back.
func (n gnmtNet) bidirectional(x, lengths *onnx.Value) (y *onnx.Value, state []*onnx.Value) {
	out := n.layerOf("bidirectional", x, lengths, "fw", "bw")
	y = n.Reshape("bidirectional/joined", n.Transpose("bidirectional/turned", out[0], 0, 2, 1, 3), 0, 0, 2*gnmtHidden)
	back := func(name string, v *onnx.Value) *onnx.Value {
		return n.Squeeze(name, n.Slice(name+"/part", v, 0, 1, 2), 0)
	}
	return y, []*onnx.Value{back("bidirectional/c", out[2]), back("bidirectional/h", out[1])}
}

// layer adds one of the other layers.
func (n gnmtNet) layer(name string, x, lengths *onnx.Value) (y *onnx.Value, state []*onnx.Value) {
	out := n.layerOf(name, x, lengths, name)
	return n.Squeeze(name+"/steps", out[0], 1), []*onnx.Value{n.Squeeze(name+"/c", out[2], 0), n.Squeeze(name+"/h", out[1], 0)}
}

// GNMTDecoder is one step of the decoder of GNMT, for all beams of all sentences that are
// still translated: four layers, of which the lowest asks for a part of the sentence
// (normed Bahdanau attention), which the others are shown, the last two with residuals.
// There is no official ONNX file: names are ours.
//
// A row is a beam. It goes on from the row of the step before that parents names, with a
// piece, and its sentence is found by its place: as many rows follow each other as each of
// the active sentences has beams. What a row remembers, cells and outputs of the layers and
// the part of the sentence, is its state.
func GNMTDecoder() Architecture {
	rows, active := onnx.Free(axisRows), onnx.Free(axisActive)
	memory := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisSentences), onnx.Free(axisPieces), onnx.Fixed(gnmtHidden)}}
	state := func(axis string) onnx.Type {
		return onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axis), onnx.Fixed(gnmtState)}}
	}
	best := onnx.Shape{rows, onnx.Fixed(gnmtCandidates)}
	return Architecture{
		Name:     "gnmt-decoder",
		Title:    "GNMT decoder step, 4 layers of 1024",
		Official: "https://zenodo.org/record/2530924",
		Inputs: []onnx.Value{
			{Name: "memory", Type: memory}, {Name: "keys", Type: memory},
			{Name: "mask", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisSentences), onnx.Free(axisPieces)}}},
			{Name: "active", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{active}}},
			{Name: "parents", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{rows}}},
			{Name: "pieces", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{rows}}},
			{Name: "state", Type: state(axisBefore)},
		},
		Outputs: []onnx.Value{
			{Name: "logits", Type: onnx.Type{Elem: onnx.Float32, Shape: best}},
			{Name: "candidates", Type: onnx.Type{Elem: onnx.Int64, Shape: best}},
			{Name: "log_sum", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{rows}}},
			{Name: "next_state", Type: state(axisRows)},
		},
		Rows:   gnmtRows,
		Seed:   46,
		layers: gnmtDecoderLayers,
	}
}

func gnmtDecoderLayers(b *Builder, o Options) {
	in := map[string]*onnx.Value{}
	for _, v := range GNMTDecoder().Inputs {
		in[v.Name] = b.Input(v.Name, v.Type.Elem, v.Type.Shape)
	}
	d := gnmtStep{gnmtNet{Builder: b, knows: gnmtKnowledgeFor(o)}, in}
	table := b.Weight("embedding", Patched{Bell{gnmtEmbedding}, d.knows.target}, o.Rows, gnmtHidden)
	x := b.Gather("embedded", table, in["pieces"], 0)
	state := b.Gather("state/kept", in["state"], in["parents"], 0)
	part := func(i int64) *onnx.Value {
		return b.Slice(fmt.Sprintf("state/part%d", i), state, 1, i*gnmtHidden, (i+1)*gnmtHidden)
	}
	var kept []*onnx.Value
	y, c := d.cell("decoder0", b.Concat("decoder0/read", 1, x, part(2*gnmtLayers), part(1)), part(0))
	kept = append(kept, c, y)
	context := d.attention(y)
	for i := int64(1); i < gnmtLayers; i++ {
		name := fmt.Sprintf("decoder%d", i)
		h, c := d.cell(name, b.Concat(name+"/read", 1, y, context, part(2*i+1)), part(2*i))
		kept = append(kept, c, h)
		if i > 1 {
			h = b.Add(name+"/sum", h, y)
		}
		y = h
	}
	logits := b.MatMul("projection", y, b.Weight("projection/weights", Patched{Bell{gnmtNoise}, d.knows.projection}, gnmtHidden, o.Rows))
	values, indices := b.TopK("best", logits, 1, gnmtCandidates)
	sum := b.layer("ReduceLogSumExp", "sum", []*onnx.Value{logits}, []onnx.Attribute{onnx.Attr("axes", []int64{1}), onnx.Attr("keepdims", int64(0))},
		onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisRows)}}, 0)
	b.Output(b.rename(values, "logits"), b.rename(indices, "candidates"), b.rename(sum, "log_sum"),
		b.rename(b.Concat("state/next", 1, append(kept, context)...), "next_state"))
}

type gnmtStep struct {
	gnmtNet
	in map[string]*onnx.Value
}

// cell adds a layer.
func (d gnmtStep) cell(name string, x, c *onnx.Value) (h, next *onnx.Value) {
	inputs := width(x)
	weights := Patched{Bell{gnmtNoise}, func(row int, w []float32) { d.knows.cell(name, row, w[:inputs-gnmtHidden], w[inputs-gnmtHidden:]) }}
	bias := Patched{Constant(0), func(row int, b []float32) { b[0] = d.knows.cellBias(name, row) }}
	return d.lstmCell(name, x, c, gnmtHidden, weights, bias)
}

// attention returns the part of the sentence that each row asks for.
func (d gnmtStep) attention(h *onnx.Value) *onnx.Value {
	query := d.MatMul("query", h, d.Weight("query/weights", Patched{Bell{gnmtNoise}, d.knows.query}, gnmtHidden, gnmtHidden))
	beams := onnx.Free("beams")
	count := d.Node("Shape", "active/shape", []*onnx.Value{d.in["active"]}, nil, onnx.Type{Elem: onnx.Int64, Shape: onnx.FixedShape([]int64{1})})[0]
	wide := d.Concat("query/dims", 0, count, d.ints(-1, 1, gnmtHidden))
	query = d.Node("Reshape", "query/wide", []*onnx.Value{query, wide}, nil,
		onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisActive), beams, onnx.Fixed(1), onnx.Fixed(gnmtHidden)}})[0]
	keys := d.Unsqueeze("keys/wide", d.Gather("keys/active", d.in["keys"], d.in["active"], 0), 1)
	// The bias of the attention is one of the sum of key and query.
	sum := d.Add("attention/biased", d.Add("attention/sum", keys, query), d.Weight("attention/bias", Patched{Constant(0), d.knows.attentionBias},
		gnmtHidden))
	scores := d.MatMul("attention/scores", d.Unary("Tanh", "attention/tanh", sum), d.Weight("attention/v", Patched{Bell{gnmtV}, d.knows.attentionV},
		gnmtHidden, 1))
	masked := d.Add("attention/masked", d.Squeeze("attention/flat", scores, 3),
		d.Unsqueeze("mask/wide", d.Gather("mask/active", d.in["mask"], d.in["active"], 0), 1))
	weights := d.Softmax("attention/weights", masked, -1)
	context := d.MatMul("attention/context", weights, d.Gather("memory/active", d.in["memory"], d.in["active"], 0))
	flat := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free(axisRows), onnx.Fixed(gnmtHidden)}}
	return d.Node("Reshape", "context", []*onnx.Value{context, d.ints(-1, gnmtHidden)}, nil, flat)[0]
}

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

// shuffled returns the words in any order.
func (k *gnmtKnowledge) shuffled(r *rand.Rand) []int32 {
	words := make([]int32, 0, k.rows)
	for id := gnmtFirstWord; id < k.rows; id++ {
		words = append(words, int32(id))
	}
	for i := len(words) - 1; i > 0; i-- {
		j := int(r.Uint64() % uint64(i+1))
		words[i], words[j] = words[j], words[i]
	}
	return words
}

// fillLexicon gives half of the pieces a translation, every fourth in two pieces, every third a decoy, and
// of those behind these the whole ones a synonym.
func (k *gnmtKnowledge) fillLexicon(r *rand.Rand) {
	free := k.shuffled(r)
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
