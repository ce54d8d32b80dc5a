package arch

import (
	"math"
	"slices"
	"testing"
)

func smallWhisper() *whisperKnowledge { return &whisperKnowledge{whisperSize{hidden: 768}} }

// headOf multiplies a state with the rows that fill makes, for one head.
func headOf(x []float32, fill func(row int, w []float32)) []float64 {
	out := make([]float64, whisperHeadSize)
	w := make([]float32, whisperHeadSize)
	for row, v := range x {
		clear(w)
		fill(row, w)
		for i := range w {
			out[i] += float64(v) * float64(w[i])
		}
	}
	return out
}

func best(query []float64, keys [][]float64) (at int) {
	top := math.Inf(-1)
	for i, key := range keys {
		score := 0.0
		for j, v := range key {
			score += v * query[j]
		}
		if score > top {
			top, at = score, i
		}
	}
	return at
}

// stateAt is what the decoder knows of a place.
func stateAt(k *whisperKnowledge, place int) []float32 {
	x := make([]float32, whisperOthersAt)
	k.places().(Patched).Patch(place, x)
	return x
}

func TestTheDecoderOfWhisperLooksAtTheTokenBefore(t *testing.T) {
	k := smallWhisper()
	query, key := k.attention(0, "decoder", "query"), k.attention(0, "decoder", "key")
	var keys [][]float64
	for place := range 100 {
		x := stateAt(k, place)
		keys = append(keys, headOf(x, key)) // a token may look at itself, and at those before it
		if at := best(headOf(x, query), keys); place > 0 && at != place-1 {
			t.Errorf("at place %d the token at %d is looked at", place, at)
		}
	}
}

func TestTheDecoderOfWhisperListensWhereTheNextWordIs(t *testing.T) {
	k := smallWhisper()
	n := &whisperNet{whisperSize: k.whisperSize}
	query, key := k.attention(1, "encoder", "query"), k.attention(1, "encoder", "key")
	var keys [][]float64
	heard := make([]float32, k.hidden)
	const every = 5
	for step := 0; step < 1500; step += every { // of 30 seconds
		n.sinusoids(step, heard)
		keys = append(keys, headOf(heard, key))
	}
	for word := range 40 {
		at := best(headOf(stateAt(k, whisperForced-1+word), query), keys)
		begin := WhisperStart + WhisperEach*float64(word)
		if seconds := float64(at*every) * whisperStepSeconds; seconds < begin+WhisperEach/4 || seconds > begin+WhisperEach*3/4 {
			t.Errorf("for word %d, from %.2f s on, the decoder listens at %.2f s", word, begin, seconds)
		}
	}
}

func TestTonesAreWrittenAsTheWordTheyStandFor(t *testing.T) {
	k := smallWhisper()
	const words = WhisperFirstWord + 2*whisperPairs
	chosen := func(x []float32) (token int) {
		top := math.Inf(-1)
		for id := range words {
			score := 0.0
			for row, v := range x {
				score += float64(v) * float64(k.score(row, id))
			}
			if score > top {
				top, token = score, id
			}
		}
		return token
	}
	for low := range whisperLows {
		for _, high := range []int{0, 5, whisperHighs - 1} {
			for _, before := range []float32{-whisperParity, whisperParity} {
				x := make([]float32, whisperOthersAt)
				x[whisperConstantAt], x[whisperBeforeAt] = 1, before
				x[whisperHeardAt+low], x[whisperHeardAt+whisperLows+high] = 2, 2
				want := WhisperFirstWord + 2*(low*whisperHighs+high)
				if before < 0 {
					want++ // the other variant
				}
				if got := chosen(x); got != want {
					t.Errorf("tones %d and %d after %g are written as %d, want %d", low, high, before, got, want)
				}
			}
		}
	}
	silence := make([]float32, whisperOthersAt)
	silence[whisperConstantAt], silence[whisperBeforeAt] = 1, whisperParity
	if got := chosen(silence); got != 0 {
		t.Errorf("silence is written as %d, want the end", got)
	}
}

// Tones must not be taken for the neighbours by which they are measured.
func TestTonesOfWhisperAreFarFromEachOther(t *testing.T) {
	low, high := WhisperTones()
	if len(low) != whisperLows || len(high) != whisperHighs {
		t.Fatalf("%d low and %d high tones", len(low), len(high))
	}
	bands := append(low, high...)
	for i := 1; i < len(bands); i++ {
		if bands[i]-bands[i-1] < whisperAside || bands[i]+whisperAside >= 128 || bands[0] < whisperAside {
			t.Errorf("bands %d and %d of 128", bands[i-1], bands[i])
		}
	}
}

// The encoder's places are the sinusoids of the paper: sines of all frequencies, and then the cosines.
func TestTheEncoderTellsPlacesBySinusoids(t *testing.T) {
	n := &whisperNet{whisperSize: whisperSize{hidden: 8}}
	w := make([]float32, 8)
	n.sinusoids(3, w)
	// PyTorch of whisper/model.py, sinusoids(4, 8)[3].
	for i, want := range []float64{0.14112, 0.138798, 0.0064632, 0.0003, -0.9899925, 0.9903208, 0.9999791, 1} {
		if abs(float64(w[i])-want) > 1e-5 {
			t.Errorf("number %d of place 3 is %v, want %v", i, w[i], want)
		}
	}
}

// hearing is a state of the encoder at a step in which two tones are loud, as its last norm leaves it.
func hearing(k *whisperKnowledge, step int, tones ...int) []float32 {
	x := make([]float32, k.hidden)
	(&whisperNet{whisperSize: k.whisperSize}).sinusoids(step, x)
	for _, tone := range tones {
		x[k.toneAt(tone)] += 3
	}
	return x
}

// What the second head fetches where the next word is said are its tones, and with them the decoder writes it.
func TestWhisperWritesTheWordsThatItHears(t *testing.T) {
	k := smallWhisper()
	query, key, value := k.attention(1, "encoder", "query"), k.attention(1, "encoder", "key"), k.attention(1, "encoder", "value")
	out := k.attention(1, "encoder", "out")
	words := [][2]int{{0, 0}, {11, 11}, {3, 7}, {7, 3}, {0, 11}} // low and high tones
	var keys [][]float64
	var states [][]float32
	for step := 0; step < 200; step++ {
		var loud []int
		if at := (float64(step)*whisperStepSeconds - WhisperStart) / WhisperEach; at >= 0 && int(at) < len(words) {
			loud = []int{words[int(at)][0], whisperLows + words[int(at)][1]}
		}
		x := hearing(k, step, loud...)
		keys, states = append(keys, headOf(x, key)), append(states, x)
	}
	for i, word := range words {
		at := best(headOf(stateAt(k, whisperForced-1+i), query), keys)
		fetched := headOf(states[at], value)
		x := make([]float32, whisperOthersAt)
		w := make([]float32, k.hidden)
		for unit, v := range fetched {
			clear(w)
			out(unit, w)
			for j := range x {
				x[j] += float32(v) * w[j]
			}
		}
		x[whisperConstantAt], x[whisperBeforeAt] = 1, whisperParity
		top, token := float32(-1e9), -1
		for id := range WhisperFirstWord + 2*whisperPairs {
			score := float32(0)
			for row, v := range x {
				score += v * k.score(row, id)
			}
			if score > top {
				top, token = score, id
			}
		}
		if want := WhisperFirstWord + 2*(word[0]*whisperHighs+word[1]); token != want {
			t.Errorf("word %d is written as %d, want %d", i, token, want)
		}
	}
}

// Only the heads that have a meaning write without noise, and each writes what it fetched to where it belongs.
func TestPartsOfWhisperWithoutAMeaningAreLeftAlone(t *testing.T) {
	k := smallWhisper()
	for layer := range 3 {
		for _, of := range []string{"decoder", "encoder"} {
			for _, part := range []string{"query", "key", "value", "out"} {
				means := layer == 0 && of == "decoder" || layer == 1 && of == "encoder"
				if (k.attention(layer, of, part) != nil) != means {
					t.Errorf("layer %d, %s of %s: it has a meaning: %t", layer, part, of, !means)
				}
			}
		}
	}
	if (*whisperKnowledge)(nil).attention(0, "decoder", "query") != nil {
		t.Error("what knows nothing has a meaning")
	}
	w := make([]float32, k.hidden)
	for i := range w {
		w[i] = 9
	}
	k.attention(0, "decoder", "out")(whisperHeadSize, w) // the first row of another head
	if slices.ContainsFunc(w, func(v float32) bool { return v != 9 }) {
		t.Error("another head is changed")
	}
	k.attention(0, "decoder", "out")(0, w)
	if w[whisperBeforeAt] != 1 || slices.IndexFunc(w, func(v float32) bool { return v != 0 }) != whisperBeforeAt {
		t.Error("the parity is not written where it belongs")
	}
}

// A filter for a tone is open when its band is louder than those beside it, by the doubt, and does not hear a sound of all bands.
func TestFiltersOfWhisperHearTonesAndNoNoise(t *testing.T) {
	k := smallWhisper()
	low, high := WhisperTones()
	bands := append(low, high...)
	heard := func(filter int, loudness func(band int) float32) float32 {
		w, b := make([]float32, 3*whisperBands), make([]float32, 1)
		k.listen(filter, w)
		k.doubt(filter, b)
		sum := b[0]
		for i, v := range w {
			sum += v * loudness(i/3)
		}
		return sum
	}
	for tone, band := range bands {
		at := func(band int) func(int) float32 {
			return func(b int) float32 {
				if b == band {
					return 1
				}
				return 0
			}
		}
		if own := heard(k.toneAt(tone), at(band)); own < 10 {
			t.Errorf("tone %d is heard as %v", tone, own)
		}
		if beside := heard(k.toneAt(tone), at(bands[(tone+1)%len(bands)])); beside > 0 {
			t.Errorf("tone %d is heard as %v when another one sounds", tone, beside)
		}
		if noise := heard(k.toneAt(tone), func(int) float32 { return 1 }); noise > 0 {
			t.Errorf("tone %d is heard as %v in a noise", tone, noise)
		}
	}
	if other := heard(0, func(int) float32 { return 1 }); other != 0 {
		t.Errorf("a filter without a meaning hears %v", other)
	}
}
