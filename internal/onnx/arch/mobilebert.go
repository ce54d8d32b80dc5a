package arch

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// The size of MobileBERT (uncased_L-24_H-128_B-512_A-4_F-4_OPT).
const (
	mobileHidden    = 512 // between layers
	mobileNarrow    = 128 // inside them, and of the table of pieces
	mobileInner     = 512
	mobileHeads     = 4
	mobileHeadSize  = mobileNarrow / mobileHeads
	mobileForwards  = 4 // pairs of dense layers in a layer
	mobileLayers    = 24
	mobilePositions = 512
)

// MobileBERT is MobileBERT for questions about texts (Sun et al., arXiv:2004.02984): 24 thin
// layers, each between two bottlenecks, with four pairs of dense layers, ReLU instead of
// Gelu, and a scale and a shift where BERT has norms. A piece is known by three: itself and
// both of its neighbours.
//
// It answers the questions that the built-in BERT answers. See mobileKnowledge for how.
func MobileBERT() Architecture {
	a := BERT()
	a.Name, a.Title = "mobilebert", "MobileBERT SQuAD v1.1"
	a.Official = "https://github.com/mlcommons/mobile_open/tree/main/language/bert"
	a.Layers, a.Seed, a.layers = mobileLayers, 18, mobileBERTLayers
	return a
}

func mobileBERTLayers(b *Builder, o Options) {
	ids := b.Input("input_ids", onnx.Int64, bertShape())
	mask := b.Input("input_mask", onnx.Int64, bertShape())
	segments := b.Input("segment_ids", onnx.Int64, bertShape())
	net := thinNet{b, mobileKnowledge{layers: int(o.Layers)}}
	x := net.embeddings(ids, segments)
	bias := bertNet{Builder: b}.maskBias(mask)
	for i := range int(o.Layers) {
		x = net.layer(i, x, bias)
	}
	bertNet{Builder: b}.spans(b.Linear("squad", x, 2, Patched{Bell{mobileNoise / 4}, net.knows.scores}, nil))
}

type thinNet struct {
	*Builder
	knows mobileKnowledge
}

// scale adds what MobileBERT has in the place of a norm: x·w + b.
func (n thinNet) scale(name string, x *onnx.Value) *onnx.Value {
	size := width(x)
	return n.Add(name, n.Binary("Mul", name+"/scaled", x, n.Weight(name+"/gamma", Constant(1), size)), n.Weight(name+"/beta", Constant(0), size))
}

// linear adds a dense layer whose weights have a meaning in some places.
func (n thinNet) linear(name string, x *onnx.Value, units int64, weights func(row int, w []float32), bias func(row int, b []float32)) *onnx.Value {
	if bias == nil {
		bias = func(int, []float32) {}
	}
	return n.Linear(name, x, units, Patched{Bell{n.knows.noise(width(x))}, weights}, Patched{Constant(0), bias})
}

// embeddings joins those of three pieces, and adds those of places and segments.
func (n thinNet) embeddings(ids, segments *onnx.Value) *onnx.Value {
	table := n.Weight("embeddings/word", Patched{Bell{0.5}, n.knows.piece}, bertPieces, mobileNarrow)
	x := n.Gather("embeddings/pieces", table, ids, 0)
	three := n.Concat("embeddings/three", 2, n.shifted("embeddings/next", x, 1, 0), x, n.shifted("embeddings/last", x, 0, 1))
	wide := n.linear("embeddings/wide", three, mobileHidden, n.knows.trigram, nil)
	kinds := n.Weight("embeddings/token_type", Patched{Constant(0), n.knows.segment}, 2, mobileHidden)
	x = n.Add("embeddings/sum", wide, n.Gather("embeddings/segments", kinds, segments, 0))
	places := bertNet{Builder: n.Builder}.tableOfPlaces(ids, Patched{Constant(0), n.knows.place}, mobilePositions, mobileHidden)
	return n.scale("embeddings/norm", n.Add("embeddings/all", x, places))
}

// shifted moves pieces by one place, forward or back, and puts zeros in the place that is left.
func (n thinNet) shifted(name string, x *onnx.Value, cut, fill int64) *onnx.Value {
	// Pad takes away what is below zero: for [batch sequence numbers], at the beginnings and
	// at the ends.
	pads := n.ints(0, fill-cut, 0, 0, cut-fill, 0)
	return n.Builder.layer("Pad", name, []*onnx.Value{x, pads}, nil, x.Type, 0)
}

// layer adds one of the layers.
func (n thinNet) layer(i int, x, bias *onnx.Value) *onnx.Value {
	name := fmt.Sprintf("layer%d", i)
	narrow := n.scale(name+"/bottleneck/norm", n.linear(name+"/bottleneck", x, mobileNarrow, n.knows.narrow(i), nil))
	shared := n.scale(name+"/shared/norm", n.linear(name+"/shared", x, mobileNarrow, n.knows.shared(i), nil))
	y := n.attention(i, name+"/attention", shared, x, bias)
	y = n.scale(name+"/attention/norm", n.Add(name+"/attention/sum", y, narrow))
	for k := range mobileForwards {
		part := fmt.Sprintf("%s/forward%d", name, k)
		inner := n.Relu(part+"/relu", n.linear(part+"/inner", y, mobileInner, n.knows.inner(i, k), n.knows.innerBias(i, k)))
		y = n.scale(part+"/norm", n.Add(part+"/sum", n.linear(part+"/outer", inner, mobileNarrow, n.knows.outer(i, k), nil), y))
	}
	wide := n.linear(name+"/output", y, mobileHidden, n.knows.widen(i), nil)
	return n.scale(name+"/norm", n.Add(name+"/sum", wide, x))
}

// attention adds four heads. Queries and keys come from a bottleneck that they share, values
// from what the layer reads.
func (n thinNet) attention(i int, name string, shared, x, bias *onnx.Value) *onnx.Value {
	head := func(part string, of *onnx.Value) *onnx.Value {
		y := n.linear(name+"/"+part, of, mobileNarrow, n.knows.projection(i, part), n.knows.projectionBias(i, part))
		return n.heads(name+"/"+part, y, mobileHeads, mobileHeadSize)
	}
	query, value := head("query", shared), head("value", x)
	key := n.Transpose(name+"/key/turned", head("key", shared), 0, 1, 3, 2)
	scores := n.Binary("Mul", name+"/scaled", n.MatMul(name+"/scores", query, key), n.scalar(1/float32(math.Sqrt(mobileHeadSize))))
	weights := n.Softmax(name+"/weights", n.Add(name+"/masked", scores, bias), -1)
	y := n.Transpose(name+"/context/turned", n.MatMul(name+"/context", weights, value), 0, 2, 1, 3)
	return n.linear(name+"/output", n.Reshape(name+"/joined", y, 0, 0, mobileNarrow), mobileNarrow, n.knows.output(i), nil)
}

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
