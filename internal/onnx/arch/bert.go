package arch

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The size of BERT-large (language/bert, bert_config.json).
const (
	bertPieces    = 30522
	bertHidden    = 1024
	bertHeads     = 16
	bertHeadSize  = bertHidden / bertHeads
	bertInner     = 4096
	bertPositions = 512
	bertLayers    = 24
)

// BERT is BERT-large for questions about texts (Devlin et al., arXiv:1810.04805): 24
// layers of attention and two dense layers, each followed by a layer norm, and for every
// piece of the text two scores, that the answer starts and that it ends there. Options.Layers
// makes it shorter.
//
// It answers one kind of question: what follows a word in the text. See bertKnowledge for
// how; all other weights are noise, which makes it err now and then.
func BERT() Architecture {
	text := onnx.Type{Elem: onnx.Int64, Shape: bertShape()}
	scores := onnx.Type{Elem: onnx.Float32, Shape: bertShape()}
	return Architecture{
		Name:     "bert",
		Title:    "BERT-large SQuAD v1.1",
		Official: "https://zenodo.org/record/3733910",
		Inputs:   []onnx.Value{{Name: "input_ids", Type: text}, {Name: "input_mask", Type: text}, {Name: "segment_ids", Type: text}},
		Outputs:  []onnx.Value{{Name: "output_start_logits", Type: scores}, {Name: "output_end_logits", Type: scores}},
		Layers:   bertLayers,
		Seed:     11,
		layers:   bertLayersOf,
	}
}

// bertShape is that of all inputs and outputs. Unlike in the official file the length of the
// text is free, so that it need not be filled up to 384 pieces.
func bertShape() onnx.Shape { return onnx.Shape{onnx.Free(onnx.BatchAxis), onnx.Free("sequence")} }

func bertLayersOf(b *Builder, o Options) {
	ids := b.Input("input_ids", onnx.Int64, bertShape())
	mask := b.Input("input_mask", onnx.Int64, bertShape())
	segments := b.Input("segment_ids", onnx.Int64, bertShape())
	net := bertNet{b, bertKnowledge{layers: int(o.Layers)}}
	x := net.embeddings(ids, segments)
	bias := net.maskBias(mask)
	for i := range int(o.Layers) {
		x = net.layer(i, x, bias)
	}
	net.spans(b.Linear("squad", x, 2, Patched{Bell{0.25 / 32}, net.knows.scores}, nil))
}

// spans makes two outputs of the two scores of each piece.
func (n bertNet) spans(logits *onnx.Value) {
	for i, name := range []string{"output_start_logits", "output_end_logits"} {
		part := n.Slice(fmt.Sprintf("squad/part%d", i), logits, 2, int64(i), int64(i)+1)
		n.Output(n.rename(n.Squeeze(fmt.Sprintf("squad/logits%d", i), part, 2), name))
	}
}

type bertNet struct {
	*Builder
	knows bertKnowledge
}

// embeddings adds up those of pieces, places and segments.
func (n bertNet) embeddings(ids, segments *onnx.Value) *onnx.Value {
	pieces := n.Weight("embeddings/word", Patched{Bell{1}, n.knows.piece}, bertPieces, bertHidden)
	kinds := n.Weight("embeddings/token_type", Patched{Constant(0), n.knows.segment}, 2, bertHidden)
	x := n.Add("embeddings/sum", n.Gather("embeddings/pieces", pieces, ids, 0), n.Gather("embeddings/segments", kinds, segments, 0))
	x = n.Add("embeddings/all", x, n.tableOfPlaces(ids, Patched{Constant(0), n.knows.place}, bertPositions, bertHidden))
	return n.LayerNorm("embeddings/norm", x, bertEpsilon, nil, nil)
}

const bertEpsilon = 1e-12

// tableOfPlaces is the part of the table of places that the text is long.
func (n bertNet) tableOfPlaces(ids *onnx.Value, places Filler, rows, width int64) *onnx.Value {
	table := n.Weight("embeddings/position", places, rows, width)
	number := onnx.Type{Elem: onnx.Int64, Shape: onnx.FixedShape([]int64{2})}
	shape := n.Node("Shape", "embeddings/shape", []*onnx.Value{ids}, nil, number)[0]
	length := n.Slice("embeddings/length", shape, 0, 1, 2)
	part := onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{onnx.Free("sequence"), onnx.Fixed(width)}}
	return n.Node("Slice", "embeddings/places", []*onnx.Value{table, n.ints(0), length, n.ints(0)}, nil, part)[0]
}

// maskBias is −10000 where there is nothing but padding, in the shape of attention scores.
func (n bertNet) maskBias(mask *onnx.Value) *onnx.Value {
	off := n.Binary("Sub", "mask/off", n.scalar(1), n.Cast("mask/float", mask, onnx.Float32))
	x := n.Binary("Mul", "mask/bias", off, n.scalar(-10000))
	return n.Unsqueeze("mask/heads", n.Unsqueeze("mask/queries", x, 1), 1)
}

// layer adds one of the 24 layers.
func (n bertNet) layer(i int, x, bias *onnx.Value) *onnx.Value {
	name := fmt.Sprintf("layer%d", i)
	x = n.LayerNorm(name+"/attention/norm", n.Add(name+"/attention/sum", n.attention(i, name+"/attention", x, bias), x), bertEpsilon, nil, nil)
	inner := n.Linear(name+"/inner", x, bertInner,
		Patched{Bell{1.0 / 32}, n.knows.inner(i)}, Patched{Constant(0), n.knows.innerBias(i)})
	outer := n.Linear(name+"/outer", n.Gelu(name+"/gelu", inner), bertHidden, Patched{Bell{n.knows.noise() / 64}, n.knows.outer(i)}, nil)
	return n.LayerNorm(name+"/norm", n.Add(name+"/sum", outer, x), bertEpsilon, nil, nil)
}

// attention adds 16 heads, each of which looks at all pieces of the text.
func (n bertNet) attention(i int, name string, x, bias *onnx.Value) *onnx.Value {
	head := func(part string) *onnx.Value {
		y := n.Linear(name+"/"+part, x, bertHidden,
			Patched{Bell{1.0 / 32}, n.knows.projection(i, part)}, Patched{Constant(0), n.knows.projectionBias(i, part)})
		return n.heads(name+"/"+part, y, bertHeads, bertHeadSize)
	}
	query, value := head("query"), head("value")
	key := n.Transpose(name+"/key/turned", head("key"), 0, 1, 3, 2)
	scores := n.Binary("Mul", name+"/scaled", n.MatMul(name+"/scores", query, key), n.scalar(1/float32(math.Sqrt(bertHeadSize))))
	weights := n.Softmax(name+"/weights", n.Add(name+"/masked", scores, bias), -1)
	y := n.Transpose(name+"/context/turned", n.MatMul(name+"/context", weights, value), 0, 2, 1, 3)
	y = n.Reshape(name+"/joined", y, 0, 0, bertHidden)
	return n.Linear(name+"/output", y, bertHidden, Patched{Bell{n.knows.noise() / 32}, n.knows.output(i)}, nil)
}

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
