package arch

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

func TestTheLexiconTranslatesHalfOfTheWords(t *testing.T) {
	for _, rows := range []int{400, 4000} {
		lexicon, first := GNMTLexicon(rows)
		words, split := 0, 0
		said := map[int32]int{}
		for w, pieces := range lexicon {
			if pieces == nil {
				continue
			}
			words++
			for k, piece := range pieces {
				if other, twice := said[piece]; twice || piece < gnmtFirstWord {
					t.Fatalf("word %d is translated to %d, as word %d is", w, piece, other)
				}
				said[piece] = w
				if first[piece] != (k+1 < len(pieces)) {
					t.Errorf("piece %d of word %d: another follows: %t", k, w, first[piece])
				}
			}
			if len(pieces) == 2 {
				split++
			}
		}
		if words != rows/2 || split < words/5 || split > words/3 {
			t.Errorf("%d of %d words, %d in two pieces", words, rows, split)
		}
	}
}

func TestTheDecoderForgetsAsTensorFlowsDoes(t *testing.T) {
	k := newGNMTKnowledge(100)
	// BasicLSTMCell adds 1 to what it forgets by; a unit without a meaning has nothing else.
	if got := k.bias("decoder2", gateForget, 7); got != 1 {
		t.Errorf("the bias of forgetting is %v, want 1", got)
	}
	if got := k.bias("decoder2", gateInput, 7); got != 0 {
		t.Errorf("the bias of the input is %v, want 0", got)
	}
	var b [1]float32
	k.lstmBias([]string{"fw", "bw"}, 2*gnmtHidden+900, b[:]) // ONNX's third gate
	if b[0] != 1 {
		t.Errorf("the bias of forgetting of a layer is %v, want 1", b[0])
	}
	k.lstmBias([]string{"fw", "bw"}, 4*gnmtHidden+2*gnmtHidden+900, b[:])
	if b[0] != 1 { // nothing was written: those for the last output are 0
		t.Errorf("a bias for the last output is set to %v", b[0])
	}
}

// A synonym differs from the piece that is right in what the shade says, and in nothing else: so FP32 decides by the
// shade, however small it is.
func TestSynonymsDifferInTheShadeAlone(t *testing.T) {
	const rows = 4000
	k := newGNMTKnowledge(rows)
	matrix := projected(k, rows)
	words, thin := 0, 0
	for word, other := range k.synonym {
		if other == 0 {
			continue
		}
		words++
		checkSynonym(t, k, matrix, word, other)
		if k.shade[word] < gnmtShades/20 {
			thin++
		}
	}
	if words < rows/10 || thin < words/40 || thin > words/10 {
		t.Errorf("%d words have synonyms, %d of them by a twentieth of the largest shade", words, thin)
	}
}

// projected are the weights of the logits that mean something, and some noise.
func projected(k *gnmtKnowledge, rows int) [][]float32 {
	noise := rand.New(rand.NewPCG(1, 2))
	matrix := make([][]float32, gnmtShade+2)
	for row := range matrix {
		matrix[row] = make([]float32, rows)
		for i := range matrix[row] {
			matrix[row][i] = float32(noise.NormFloat64()) * gnmtNoise
		}
		k.projection(row, matrix[row])
	}
	return matrix
}

func checkSynonym(t *testing.T, k *gnmtKnowledge, matrix [][]float32, word int, other int32) {
	t.Helper()
	right, shade := k.lexicon[word][0], k.shade[word]
	if k.first[right] || k.first[other] || k.decoy[word] != 0 {
		t.Fatalf("word %d with the synonym %d has other difficulties", word, other)
	}
	if row := differing(matrix, right, other); row != gnmtShade {
		t.Fatalf("word %d and its synonym differ in row %d, want %d", word, row, gnmtShade)
	}
	if !slices.Equal(embedded(k, right), embedded(k, other)) {
		t.Fatalf("after word %d and its synonym it does not go on alike", word)
	}
	if shade <= 0 || shade > gnmtShades {
		t.Fatalf("the shade of word %d is %v", word, shade)
	}
}

// differing is the only row in which a column is larger than another; -1: there is none, or they differ elsewhere.
func differing(matrix [][]float32, a, b int32) int {
	found := -1
	for row, weights := range matrix {
		switch {
		case weights[a] < weights[b] || weights[a] > weights[b] && found >= 0:
			return -1
		case weights[a] > weights[b]:
			found = row
		}
	}
	return found
}

// embedded is what the decoder reads of a piece, whose noise is of its own.
func embedded(k *gnmtKnowledge, piece int32) []float32 {
	x := make([]float32, gnmtHidden)
	for i := range x {
		x[i] = float32(piece)
	}
	k.target(int(piece), x)
	return x
}

// Biases of GNMT's layers: for each cell those of the input, gate by gate, and then zeros.
func TestGNMTHasItsBiasesInItsGraphs(t *testing.T) {
	o := Options{Rows: 64}
	encoder, _ := build(t, lookup(t, "gnmt-encoder"), o)
	decoder, _ := build(t, lookup(t, "gnmt-decoder"), o)
	k := newGNMTKnowledge(64)
	check := func(m *onnx.Model, name string, cells []string, places [4]int, each int) {
		t.Helper()
		bias := weightsNamed(t, m, name)
		for i, v := range bias.data {
			cell, gate, unit := cells[i/(each*gnmtHidden)], i/gnmtHidden%each, i%gnmtHidden
			want := 0.0
			if gate < 4 {
				want = float64(k.bias(cell, places[gate], unit))
			}
			if v != want {
				t.Fatalf("%s: number %d, of unit %d of %s, is %v, want %v", name, i, unit, cell, v, want)
			}
		}
	}
	own := [4]int{gateInput, gateCandidate, gateForget, gateOutput}
	check(encoder, "bidirectional/bias", []string{"fw", "bw"}, onnxGates, 8)
	check(encoder, "uni0/bias", []string{"uni0"}, onnxGates, 8)
	check(encoder, "uni2/bias", []string{"uni2"}, onnxGates, 8)
	for _, name := range []string{"decoder0", "decoder1", "decoder3"} {
		check(decoder, name+"/gates/bias", []string{name}, own, 4)
	}
}

// The attention's tables and the embeddings have their meanings where the graph reads them.
func TestGNMTHasItsTablesInItsGraphs(t *testing.T) {
	o := Options{Rows: 64}
	encoder, _ := build(t, lookup(t, "gnmt-encoder"), o)
	decoder, _ := build(t, lookup(t, "gnmt-decoder"), o)
	k := newGNMTKnowledge(64)
	source, target := weightsNamed(t, encoder, "embedding"), weightsNamed(t, decoder, "embedding")
	for id := range 64 {
		for i, v := range k.codes[id] {
			if off := source.at(id, i) - float64(v); abs(off) > 5*gnmtEmbedding {
				t.Fatalf("number %d of the code of word %d is %v, want %v", i, id, source.at(id, i), v)
			}
		}
		if got := source.at(id, gnmtShade); got != float64(k.shade[id]) {
			t.Errorf("the shade of word %d is %v, want %v", id, got, k.shade[id])
		}
		if goesOn := target.at(id, 0) < 0; goesOn != k.first[id] {
			t.Errorf("piece %d: another one follows is %t, want %t", id, goesOn, k.first[id])
		}
	}
	v, keys := weightsNamed(t, decoder, "attention/v"), weightsNamed(t, encoder, "keys/weights")
	for unit := range 4 * gnmtPairs {
		if sign := float64(1 - 2*(unit%2)); abs(v.at(unit, 0)-sign*gnmtGain) > 1e-6 {
			t.Errorf("number %d of the attention's vector is %v, want %v", unit, v.at(unit, 0), sign*gnmtGain)
		}
		if w := keys.at(gnmtPlace+unit/2, unit); abs(w-gnmtBump) > 5*gnmtNoise {
			t.Errorf("place %d is weighted with %v, want %v", unit/2, w, gnmtBump)
		}
	}
}

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
