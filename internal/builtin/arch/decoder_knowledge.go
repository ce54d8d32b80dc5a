package arch

import (
	"math"
	"sync"
)

// decoderKnowledge are the weights by which a decoder copies a marked part of its prompt: it looks for
// the last place where the two tokens that it has just read follow each other, and says
// what comes then, until that is the end of a text. Of the numbers that stand for a token some
// have a meaning, in all layers:
//
//	content  a direction that is the token's own
//	before   that of the token before it
//	answer   that of the token that is to come
//	second   that of the token before the one before it
//	constant the same for all
//
// A head of the first layer looks one place back and copies content, one of the second copies what
// stands for before; by both a head of the fourth compares places. All other weights are noise. A
// cache with a hole, or one that is not advanced, and a prompt of which a part is missing,
// leave nothing to be found; rounding the weights adds to the noise.
//
// A nil decoderKnowledge knows nothing.
type decoderKnowledge struct {
	decoderSize
	content func() []float32 // of all tokens
	copies  map[int]copyHead
}

// Sizes up to which decoders know something. Larger ones are not worth the while: nobody waits for
// their answers to a whole data set.
const (
	knowingLayers = 8
	knowingHidden = 1024
)

// How strong the parts are.
const (
	decoderNoise   = 0.09
	decoderContent = 8
	decoderSharp   = 9  // of a head that looks one place back, for each of its pairs of numbers
	decoderPairs   = 12 // the quickest ones, which tell places apart
	decoderSlow    = 13 // from here on pairs hardly turn within a prompt
	decoderMatch   = 30 // of a head that compares
	decoderGain    = 2
	decoderAnswer  = 12
	decoderOther   = 0.5  // of the numbers without a meaning
	decoderScores  = 0.02 // of the noise of the last layer
)

// The parts, as multiples of the head size.
const (
	partContent = iota
	partBefore
	partAnswer
	partSecond
	partOther
)

// A copyHead is a head that copies a part of the token one place back.
type copyHead struct{ from, to int64 }

func newDecoderKnowledge(s decoderSize) *decoderKnowledge {
	k := &decoderKnowledge{decoderSize: s, copies: map[int]copyHead{0: {partContent, partBefore}, 1: {partBefore, partSecond}}}
	k.content = sync.OnceValue(k.contents)
	return k
}

// compares is the layer of the head that compares.
const compares = 3

// contents draws the directions.
func (k *decoderKnowledge) contents() []float32 {
	all := make([]float32, k.rows*k.headSize)
	source := bell{stream: streamSeed(0, "decoder contents"), outputs: k.rows, fan: k.headSize, scale: 1 / math.Sqrt(sumVariance)}
	list := &elementList{make([]float32, 0, len(all))}
	if _, err := source.WriteTo(list); err != nil {
		panic("networks: " + err.Error()) // a list takes everything
	}
	for t := range k.rows {
		own := list.elements[t*k.headSize:][:k.headSize]
		norm := 0.0
		for _, v := range own {
			norm += float64(v) * float64(v)
		}
		for i, v := range own {
			all[t*k.headSize+int64(i)] = float32(decoderContent * float64(v) / math.Sqrt(norm))
		}
	}
	return all
}

// after is by how much a normalised content is shorter or longer than decoderContent: contents of all
// tokens are as long as each other.
func (k *decoderKnowledge) after() float64 {
	others := decoderOther * decoderOther * float64(k.hidden-1-partOther*k.headSize)
	return decoderContent / math.Sqrt((2*decoderContent*decoderContent+others)/float64(k.hidden))
}

func (k *decoderKnowledge) constant() int { return int(k.hidden) - 1 }

// embedding fills the table of tokens.
func (k *decoderKnowledge) embedding() Filler {
	return Patched{Bell{decoderOther}, func(token int, x []float32) {
		clear(x[:partOther*k.headSize])
		copy(x, k.content()[int64(token)*k.headSize:][:k.headSize])
		x[k.constant()] = decoderContent
	}}
}

func (k *decoderKnowledge) noise(inputs int64) Filler {
	return Bell{decoderNoise / math.Sqrt(float64(inputs))}
}

// qkv fills the weights of queries, keys and values of a layer, side by side.
func (k *decoderKnowledge) qkv(layer int) Filler {
	if k == nil {
		return nil
	}
	head, copies := k.copies[layer]
	switch {
	case copies:
		return Patched{k.noise(k.hidden), func(row int, w []float32) { k.lookBack(row, k.clearHead(w), layer, head) }}
	case layer == compares:
		return Patched{k.noise(k.hidden), func(row int, w []float32) { k.compare(row, k.clearHead(w)) }}
	}
	return k.noise(k.hidden)
}

// A qkvRow has the places of the first head in a row of weights.
type qkvRow struct{ query, key, value []float32 }

// clearHead makes room for a head with a meaning.
func (k *decoderKnowledge) clearHead(w []float32) qkvRow {
	q, kv := k.queryHeads*k.headSize, k.kvHeads*k.headSize
	r := qkvRow{w[:k.headSize], w[q:][:k.headSize], w[q+kv:][:k.headSize]}
	clear(r.query)
	clear(r.key)
	clear(r.value)
	return r
}

// lookBack makes a head look one place back: the query is the key, turned by one place.
func (k *decoderKnowledge) lookBack(row int, w qkvRow, layer int, head copyHead) {
	if row == k.constant() {
		size := k.after()
		if layer > 0 {
			size *= 0.83 // a part more is there by then
		}
		amplitude := math.Sqrt(decoderSharp*math.Sqrt(float64(k.headSize))) / size
		for i := range decoderPairs {
			sin, cos := math.Sincos(-k.frequency(i))
			first, second := k.pair(int64(i))
			w.query[first], w.query[second] = float32(amplitude*cos), float32(amplitude*sin)
			w.key[first] = float32(amplitude)
		}
	}
	if at := int64(row) - head.from*k.headSize; at >= 0 && at < k.headSize {
		w.value[at] = 1
	}
}

// compare makes a head look for the place before which the same two tokens are.
func (k *decoderKnowledge) compare(row int, w qkvRow) {
	slow := k.headSize/2 - decoderSlow
	strength := decoderGain * math.Sqrt(decoderMatch*math.Sqrt(float64(k.headSize))/float64(2*slow)) / k.after()
	part, at := int64(row)/k.headSize, int64(row)%k.headSize
	mix := func(w []float32, which uint64) {
		for i := range slow {
			first, second := k.pair(decoderSlow + i)
			w[first], w[second] = float32(strength*k.mixing(which, at, 2*i)), float32(strength*k.mixing(which, at, 2*i+1))
		}
	}
	switch part {
	case partContent:
		mix(w.query, 0)
		w.value[at] = 1
	case partBefore:
		mix(w.query, 1)
		mix(w.key, 0)
	case partSecond:
		mix(w.key, 1)
	}
}

// mixing is a number of the matrices by which contents are compared.
func (k *decoderKnowledge) mixing(which uint64, from, to int64) float64 {
	s := streamSeed(which<<32|uint64(from)<<16|uint64(to), "decoder mixing")
	sum := 0.0
	for range 4 {
		sum += float64(uint16(s[0])) - 32767.5
		s[0] >>= 16
	}
	return sum / math.Sqrt(sumVariance)
}

// out fills the weights by which heads write.
func (k *decoderKnowledge) out(layer int) Filler {
	if k == nil {
		return nil
	}
	head, copies := k.copies[layer]
	to, strength := head.to, decoderContent/k.after()
	switch {
	case copies && layer > 0:
		strength /= 0.83
	case layer == compares:
		to, strength = partAnswer, decoderAnswer/k.after()
	}
	noise := k.noise(k.queryHeads * k.headSize)
	if !copies && layer != compares {
		return noise
	}
	return Patched{noise, func(row int, w []float32) {
		if int64(row) < k.headSize {
			clear(w)
			w[to*k.headSize+int64(row)] = float32(strength)
		}
	}}
}

// down fills the weights by which the dense part of a layer writes.
func (k *decoderKnowledge) down(int) Filler {
	if k == nil {
		return nil
	}
	return k.noise(k.inner)
}

// head fills the weights of the scores: how much the answer is like each token.
func (k *decoderKnowledge) head() Filler {
	if k == nil {
		return nil
	}
	return Patched{Bell{decoderScores / math.Sqrt(float64(k.hidden))}, func(row int, w []float32) {
		if at := int64(row) - partAnswer*k.headSize; at >= 0 && at < k.headSize {
			for t := range w {
				w[t] += k.content()[int64(t)*k.headSize+at]
			}
		}
	}}
}
