package arch

import (
	"math"
	"slices"
	"testing"
)

// meant is how many units of a layer of GNMT have a meaning. All others are noise, which is left out here.
const meant = gnmtShade + 1

// A reader is a row of weights, of which most are zero.
type reader []struct {
	at     int
	weight float64
}

// readerOf keeps the weights of a row that are not zero.
func readerOf(w []float32) (r reader) {
	for i, v := range w {
		if v != 0 {
			r = append(r, struct {
				at     int
				weight float64
			}{i, float64(v)})
		}
	}
	return r
}

func (r reader) of(x []float64) (sum float64) {
	for _, e := range r {
		sum += e.weight * x[e.at]
	}
	return sum
}

// A gnmtCell is a layer of GNMT without noise: for each gate and unit what it reads of the input and of the last output.
type gnmtCell struct {
	x, h [4][meant]reader
	bias [4][meant]float32
}

// layerCell reads a layer of the encoder as the graph does, row by row in ONNX's order of gates.
func layerCell(k *gnmtKnowledge, inputs int, cells []string, at int) *gnmtCell {
	c := &gnmtCell{}
	for place, gate := range onnxGates {
		for unit := range meant {
			row := (at*4+place)*gnmtHidden + unit
			x, h, b := make([]float32, inputs), make([]float32, gnmtHidden), make([]float32, 1)
			k.lstm(cells[at], row, x, nil)
			k.lstm(cells[at], row, nil, h)
			k.lstmBias(cells, (at*8+place)*gnmtHidden+unit, b)
			c.x[gate][unit], c.h[gate][unit], c.bias[gate][unit] = readerOf(x), readerOf(h), b[0]
		}
	}
	return c
}

// stepCell reads a layer of the decoder, whose gates have TensorFlow's order.
func stepCell(k *gnmtKnowledge, name string) *gnmtCell {
	c := &gnmtCell{}
	for gate := range 4 {
		for unit := range meant {
			x, h := make([]float32, 2*gnmtHidden), make([]float32, gnmtHidden)
			k.cell(name, gate*gnmtHidden+unit, x, h)
			c.x[gate][unit], c.h[gate][unit], c.bias[gate][unit] = readerOf(x), readerOf(h), k.cellBias(name, gate*gnmtHidden+unit)
		}
	}
	return c
}

// A memoryOf a layer is what it keeps between steps.
type memoryOf struct{ c, h []float64 }

func nothingKept() memoryOf {
	return memoryOf{make([]float64, gnmtHidden), make([]float64, gnmtHidden)}
}

func (c *gnmtCell) step(m memoryOf, x []float64) memoryOf {
	next := nothingKept()
	for unit := range meant {
		var z [4]float64
		for gate := range z {
			z[gate] = float64(c.bias[gate][unit]) + c.x[gate][unit].of(x) + c.h[gate][unit].of(m.h)
		}
		next.c[unit] = logistic(z[gateForget])*m.c[unit] + logistic(z[gateInput])*math.Tanh(z[gateCandidate])
		next.h[unit] = logistic(z[gateOutput]) * math.Tanh(next.c[unit])
	}
	return next
}

// row is what fill makes of nothing.
func row(n int, fill func(w []float32)) []float64 {
	w := make([]float32, n)
	fill(w)
	wide := make([]float64, n)
	for i, v := range w {
		wide[i] = float64(v)
	}
	return wide
}

// A translator is GNMT without noise.
type translator struct {
	k                     *gnmtKnowledge
	forth, back, lower    *gnmtCell
	decoder               [2]*gnmtCell
	keys, query, projects [meant]reader // row by row
}

// matrix are the rows of a product that mean something.
func matrix(columns int, fill func(row int, w []float32)) (m [meant]reader) {
	for i := range m {
		w := make([]float32, columns)
		fill(i, w)
		m[i] = readerOf(w)
	}
	return m
}

func newTranslator(k *gnmtKnowledge) *translator {
	both := []string{"fw", "bw"}
	return &translator{
		k: k, forth: layerCell(k, gnmtHidden, both, 0), back: layerCell(k, gnmtHidden, both, 1), lower: layerCell(k, 2*gnmtHidden, []string{"uni0"}, 0),
		decoder: [2]*gnmtCell{stepCell(k, "decoder0"), stepCell(k, "decoder1")},
		keys:    matrix(4*gnmtPairs, k.keys), query: matrix(4*gnmtPairs, k.query), projects: matrix(k.rows, k.projection),
	}
}

// times multiplies the units that mean something with rows of weights.
func times(x []float64, rows *[meant]reader, columns int) []float64 {
	y := make([]float64, columns)
	for i, r := range rows {
		for _, e := range r {
			y[e.at] += x[i] * e.weight
		}
	}
	return y
}

// A reading is what the decoder knows of a sentence, and of what it has written.
type reading struct {
	memory  [][]float64
	layers  [2]memoryOf
	context []float64
}

// read runs the encoder. Its two upper layers hold nothing and hand on what they read.
func (t *translator) read(sentence []int) *reading {
	n := len(sentence)
	words, backs := make([][]float64, n), make([][]float64, n)
	for i, id := range sentence {
		words[i] = row(gnmtHidden, func(x []float32) { t.k.source(id, x) })
	}
	back := nothingKept()
	for i := n - 1; i >= 0; i-- {
		back = t.back.step(back, words[i])
		backs[i] = back.h
	}
	r := &reading{context: make([]float64, gnmtHidden)}
	forth, lower := nothingKept(), nothingKept()
	for i := range words {
		forth = t.forth.step(forth, words[i])
		lower = t.lower.step(lower, slices.Concat(forth.h, backs[i]))
		r.memory = append(r.memory, lower.h)
	}
	r.layers = [2]memoryOf{back, lower}
	return r
}

// write goes on with a piece, and returns the scores of the next one.
func (t *translator) write(r *reading, piece int) []float64 {
	x := row(gnmtHidden, func(x []float32) { t.k.target(piece, x) })
	r.layers[0] = t.decoder[0].step(r.layers[0], slices.Concat(x, r.context))
	r.context = t.attend(r)
	r.layers[1] = t.decoder[1].step(r.layers[1], slices.Concat(r.layers[0].h, r.context))
	return times(r.layers[1].h, &t.projects, t.k.rows)
}

func (t *translator) attend(r *reading) []float64 {
	query := times(r.layers[0].h, &t.query, 4*gnmtPairs)
	weights, sum := make([]float64, len(r.memory)), 0.0
	for i, m := range r.memory {
		score := 0.0
		for unit, key := range times(m, &t.keys, 4*gnmtPairs) {
			score += math.Tanh(key+query[unit]+row(1, func(b []float32) { t.k.attentionBias(unit, b) })[0]) * row(1, func(v []float32) { t.k.attentionV(unit, v) })[0]
		}
		weights[i] = math.Exp(score)
		sum += weights[i]
	}
	context := make([]float64, gnmtHidden)
	for i, m := range r.memory {
		for unit, v := range m {
			context[unit] += weights[i] / sum * v
		}
	}
	return context
}

func likeliest(scores []float64) int { return slices.Index(scores, slices.Max(scores)) }

// plainWords are words that have neither a decoy nor a synonym, in one piece and in two.
func plainWords(k *gnmtKnowledge) (whole, split []int) {
	for w, pieces := range k.lexicon {
		switch {
		case len(pieces) == 0 || k.decoy[w] != 0 || k.synonym[w] != 0:
		case len(pieces) == 1:
			whole = append(whole, w)
		default:
			split = append(split, w)
		}
	}
	return whole, split
}

func TestGNMTTranslatesWordByWord(t *testing.T) {
	k := newGNMTKnowledge(200)
	tr := newTranslator(k)
	whole, split := plainWords(k)
	for _, sentence := range [][]int{
		{whole[0]},
		{split[0]},
		{whole[0], whole[1], whole[2], split[0], whole[3]},
		{split[0], split[1], whole[0], split[0], whole[0], whole[0], split[2], whole[4], split[3], whole[1], whole[5], split[1]},
	} {
		var want []int
		for _, w := range sentence {
			for _, piece := range k.lexicon[w] {
				want = append(want, int(piece))
			}
		}
		want = append(want, gnmtFinish)
		var got []int
		r := tr.read(sentence)
		for piece := gnmtStart; len(got) < len(want)+3 && piece != gnmtFinish; got = append(got, piece) {
			piece = likeliest(tr.write(r, piece))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v is translated to %v, want %v", sentence, got, want)
		}
	}
}

// A decoy is taken for the first of two pieces, of which the second does not come.
func TestADecoyLooksLikelierUntilTheNextStep(t *testing.T) {
	k := newGNMTKnowledge(200)
	tr := newTranslator(k)
	tried := 0
	for w, decoy := range k.decoy {
		if decoy == 0 || len(k.lexicon[w]) != 1 || tried == 5 {
			continue
		}
		tried++
		sentence, right := []int{w, w}, int(k.lexicon[w][0])
		scores := tr.write(tr.read(sentence), gnmtStart)
		if likeliest(scores) != int(decoy) {
			t.Errorf("word %d: piece %d looks likelier than the decoy %d", w, likeliest(scores), decoy)
		}
		after := func(piece int) float64 {
			r := tr.read(sentence)
			first := tr.write(r, gnmtStart)
			next := tr.write(r, piece)
			return first[piece] - logSumExp(first) + slices.Max(next) - logSumExp(next)
		}
		if with, without := after(int(decoy)), after(right); with > without-0.5 {
			t.Errorf("word %d: after two steps the decoy has %.2f, the right piece %.2f", w, with, without)
		}
	}
	if tried != 5 {
		t.Errorf("%d words have a decoy", tried)
	}
}

// The shade of a word goes through all layers as it is: it decides which of two pieces is the likelier one.
func TestTheShadeDecidesBetweenSynonyms(t *testing.T) {
	k := newGNMTKnowledge(200)
	tr := newTranslator(k)
	for w, other := range k.synonym {
		if other == 0 || w%5 != 0 {
			continue
		}
		right := k.lexicon[w][0]
		for _, sentence := range [][]int{{w}, {w, w, w}} {
			scores := tr.write(tr.read(sentence), gnmtStart)
			margin := scores[right] - scores[other]
			if shade := 2 * gnmtSynonym * float64(k.shade[w]); likeliest(scores) != int(right) || margin < shade || margin > gnmtWord*shade {
				t.Errorf("word %d of shade %g: %d is likelier than %d by %g", w, k.shade[w], right, other, margin)
			}
		}
	}
}
