package arch

import (
	"math"
	"slices"
	"testing"
)

// A state is what stands for a piece in BERT, as far as it has a meaning.
type state [bertFree]float32

// standing is a piece at a place, in the question (0) or in the text (1).
func standing(k bertKnowledge, id, place, segment int) *state {
	var row [1024]float32
	k.piece(id, row[:])
	k.place(place, row[:])
	k.segment(segment, row[:])
	return (*state)(row[:bertFree])
}

// through multiplies a state with weights whose rows fill makes, of so many columns, and adds a bias.
func (s *state) through(columns int, fill func(row int, w []float32), bias func(at int, b []float32)) []float64 {
	out := make([]float64, columns)
	w := make([]float32, columns)
	for row, x := range s {
		if x == 0 {
			continue
		}
		clear(w)
		fill(row, w)
		for i, v := range w {
			out[i] += float64(x) * float64(v)
		}
	}
	for i := range out {
		var b [1]float32
		if bias != nil {
			bias(i, b[:])
		}
		out[i] += float64(b[0])
	}
	return out
}

// attention is how much a head of a layer looks from a state at others.
func attention(k bertKnowledge, layer, head int, from *state, at []*state) []float64 {
	const columns = BERTLengths * bertHeadSize // of all heads that know something
	part := func(s *state, part string) []float64 {
		return s.through(columns, k.projection(layer, part), k.projectionBias(layer, part))[head*bertHeadSize:][:bertHeadSize]
	}
	query := part(from, "query")
	weights := make([]float64, len(at))
	total := 0.0
	for i, s := range at {
		score := 0.0
		for j, v := range part(s, "key") {
			score += query[j] * v
		}
		weights[i] = math.Exp(score / math.Sqrt(bertHeadSize))
		total += weights[i]
	}
	for i := range weights {
		weights[i] /= total
	}
	return weights
}

func TestHeadsOfBERTLookBackAsFarAsTheyShould(t *testing.T) {
	k := bertKnowledge{layers: 3}
	const places = 24
	var row []*state
	for p := range places {
		row = append(row, standing(k, BERTFirstWord+17*p, p, 1))
	}
	for _, c := range []struct{ layer, head, back int }{{0, 0, 1}, {2, 0, 0}, {2, 1, 1}, {2, 3, 3}, {2, 5, 5}} {
		for _, p := range []int{5, places - 1} {
			weights := attention(k, c.layer, c.head, row[p], row)
			if w := weights[p-c.back]; w < 0.95 {
				t.Errorf("layer %d, head %d at place %d: %.3f of the attention is %d places back, want nearly all", c.layer, c.head, p, w, c.back)
			}
		}
	}
}

// What the head of the first layer fetches is written where the piece before is remembered.
func TestTheFirstLayerRemembersThePieceBefore(t *testing.T) {
	k := bertKnowledge{layers: 3}
	x := standing(k, BERTFirstWord+5, 0, 1)
	seen := x.through(bertHeadSize, func(row int, w []float32) { k.projection(0, "value")(row, w) }, nil)
	var after [bertFree]float64
	write := k.output(0)
	for row, v := range seen {
		w := make([]float32, bertFree)
		write(row, w)
		for i := range w {
			after[i] += v * float64(w[i])
		}
	}
	for i, v := range after {
		want := 0.0
		if inCode(i - bertBefore) {
			want = float64(x[i-bertBefore+bertContent])
		}
		if v != want {
			t.Errorf("number %d is %v, want %v", i, v, want)
		}
	}
}

// The second layer finds a word of the question that is the piece before, and the mark of the beginning if there is none.
func TestTheSecondLayerFindsWhatIsAskedFor(t *testing.T) {
	k := bertKnowledge{layers: 3}
	asked, other, text := BERTFirstWord+100, BERTFirstWord+200, BERTFirstWord+300
	pieces := []*state{standing(k, bertBeginID, 0, 0), standing(k, asked, 1, 0), standing(k, other, 2, 0), standing(k, text, 3, 1), standing(k, asked, 4, 1)}
	for _, c := range []struct {
		name   string
		before int
		want   int
	}{{"a word that is asked for", asked, 1}, {"another one", other, 2}, {"a word of the text alone", text, 0}} {
		at := standing(k, text+7, 5, 1)
		copy(at[bertBefore:bertBefore+bertCode], standing(k, c.before, 0, 0)[bertContent:])
		weights := attention(k, 1, 0, at, append(pieces, at))
		if weights[c.want] < 0.9 {
			t.Errorf("behind %s the attention is %.3f, want nearly all at piece %d", c.name, weights, c.want)
		}
	}
	// What is fetched says whether it was a word, and is written into the flag.
	word := pieces[1].through(bertHeadSize, k.projection(1, "value"), nil)
	begin := pieces[0].through(bertHeadSize, k.projection(1, "value"), nil)
	w := make([]float32, bertFree)
	k.output(1)(0, w)
	if word[0] != 1 || begin[0] != 0 || w[bertFlag] != bertFlagGain {
		t.Errorf("a word is fetched as %v, the beginning as %v, and written as %v", word[0], begin[0], w[bertFlag])
	}
}

// An answer starts where the flag is, of the length that the piece has.
func TestTheSecondLayerJoinsFlagAndLength(t *testing.T) {
	k := bertKnowledge{layers: 3}
	for _, flag := range []float32{0, bertFlagGain} {
		for id := BERTFirstWord; id < BERTFirstWord+BERTLengths; id++ {
			x := standing(k, id, 9, 1)
			x[bertFlag] = flag
			units := x.through(BERTLengths, k.inner(1), k.innerBias(1))
			for l, v := range units {
				if open := v > 0; open != (flag > 0 && l == bertAnswer(id)-1) {
					t.Errorf("flag %v, an answer of %d pieces: unit %d is %v", flag, bertAnswer(id), l, v)
				}
			}
		}
	}
	w := make([]float32, bertFree)
	k.outer(1)(2, w)
	if i := slices.IndexFunc(w, func(v float32) bool { return v != 0 }); i != bertStarts+2 || w[i] != bertJointGain {
		t.Errorf("unit 2 writes number %d", i)
	}
}

func TestOnlyWordsHaveACode(t *testing.T) {
	k := bertKnowledge{layers: 3}
	var words []*state
	for _, id := range []int{0, bertBeginID, BERTFirstWord - 1} {
		x := standing(k, id, 0, 0)
		if x[bertWord] != 0 || slices.ContainsFunc(x[bertContent:bertBefore], func(v float32) bool { return v != 0 }) || (x[bertBegin] == 1) != (id == bertBeginID) {
			t.Errorf("piece %d, no word, is %v", id, x)
		}
	}
	for id := BERTFirstWord; id < BERTFirstWord+300; id++ {
		x := standing(k, id, 0, 1)
		lengths := 0
		for l, v := range x[bertLength:bertStarts] {
			if v != 0 {
				lengths++
			}
			if (l+1 == 1+id%BERTLengths) != (v == 1) {
				t.Errorf("piece %d begins an answer of %d pieces: %v", id, l+1, v)
			}
		}
		if lengths != 1 || x[bertWord] != 1 || x[bertSegment] != 1 || x[bertBegin] != 0 {
			t.Errorf("piece %d is %v", id, x)
		}
		words = append(words, x)
	}
	for i, a := range words {
		for _, b := range words[:i] {
			same := 0
			for n := range bertCode {
				if a[bertContent+n] == b[bertContent+n] {
					same++
				}
			}
			if same > bertCode*9/10 {
				t.Errorf("two codes agree in %d of %d numbers", same, bertCode)
			}
		}
	}
}

// Whether an answer starts or ends somewhere is what the two scores say, and nothing of it in the question.
func TestTheScoresAreThoseOfStartAndEnd(t *testing.T) {
	score := func(flag, end, segment float32) (start, stop float64) {
		var x state
		x[bertFlag], x[bertEnd], x[bertSegment] = flag, end, segment
		s := x.through(2, bertKnowledge{layers: 3}.scores, nil)
		return s[0], s[1]
	}
	start, _ := score(bertFlagGain, 0, 1)
	none, _ := score(0, 0, 1)
	question, _ := score(bertFlagGain, 0, -1)
	_, end := score(0, 1, 1)
	_, notEnd := score(bertFlagGain, 0, 1)
	if start <= none || start <= question || end <= notEnd {
		t.Errorf("scores of a start %v, elsewhere %v, in the question %v; of an end %v, elsewhere %v", start, none, question, end, notEnd)
	}
}

// The meanings between layers have numbers of their own, and fit.
func TestMeaningsOfMobileBERTDoNotOverlap(t *testing.T) {
	used := map[int]string{}
	for _, m := range []struct {
		name     string
		first, n int
	}{
		{"content", mobileContent, mobileCode}, {"before", mobileBefore, mobileCode}, {"place", mobilePlace, mobileHeadSize}, {"segment", mobileSegment, 1},
		{"word", mobileWord, 1}, {"begin", mobileBegin, 1}, {"length", mobileLength, BERTLengths}, {"flag", mobileFlag, 1},
		{"starts", mobileStarts, BERTLengths}, {"end", mobileEnd, 1},
	} {
		for i := m.first; i < m.first+m.n; i++ {
			if other, taken := used[i]; taken || i >= mobileFree {
				t.Errorf("number %d is of %s and %s", i, m.name, other)
			}
			used[i] = m.name
		}
	}
}

// The trigram puts the code of a piece where it is known as itself, and where it is known as the
// piece before; nothing of the next piece is kept.
func TestATrigramKnowsThePieceBefore(t *testing.T) {
	k := mobileKnowledge{layers: 24}
	for part, want := range []int{-1, mobileContent, mobileBefore} {
		w := make([]float32, mobileHidden)
		k.trigram(part*mobileNarrow+5, w)
		for i, v := range w[:mobileFree] {
			if (v == 1) != (want >= 0 && i == want+5) {
				t.Errorf("part %d, number %d is %v", part, i, v)
			}
		}
	}
}

// The heads of two layers look for each length once.
func TestEachLengthHasAHead(t *testing.T) {
	k, heads := mobileKnowledge{}, map[int]int{}
	for layer := range mobileLayers {
		for head := range mobileHeads {
			if k.looksBack(layer) && k.lengthOf(layer, head) < BERTLengths {
				heads[k.lengthOf(layer, head)]++
			}
		}
	}
	for l := range BERTLengths {
		if heads[l] != 1 {
			t.Errorf("%d heads for answers of %d pieces", heads[l], l+1)
		}
	}
}
