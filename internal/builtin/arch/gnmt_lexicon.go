package arch

import "math/rand/v2"

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
