package arch

import (
	"math"
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
