package arch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// tinyWhisper has all parts of the real one and knows nothing.
var tinyWhisper = whisperSize{layers: 2, hidden: 64, queryHeads: 1, rows: 40}

func whisperOf(t *testing.T, s whisperSize, role string) *onnx.Model {
	t.Helper()
	b := NewBuilder("whisper", 3)
	newWhisperNet(b, s, role).build(role)
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The file that reads the first tokens and the one that reads one more say together what the first says of all of them.
func TestBothDecodersOfWhisperSayTheSame(t *testing.T) {
	first, next := whisperOf(t, tinyWhisper, whisperDecoder), whisperOf(t, tinyWhisper, whisperFollower)
	tokens, heard := []int64{1, 2, 17, 30, 9}, rounded(randoms(1, 1, whisperSteps, tinyWhisper.hidden))
	read := func(n int) map[string]array {
		return evaluate(t, first, map[string]array{"input_ids": numbers(tokens[:n], 1, int64(n)), "encoder_hidden_states": heard})
	}
	whole, kept := read(len(tokens)), read(2)
	for i, token := range tokens[2:] {
		in := map[string]array{"input_ids": numbers([]int64{token}, 1, 1)}
		for _, v := range next.Graph.Inputs[1:] {
			in[v.Name] = kept[strings.Replace(v.Name, "past_key_values", "present", 1)]
		}
		said := evaluate(t, next, in)
		rows := int(tinyWhisper.rows)
		checkArray(t, fmt.Sprintf("the scores behind token %d", 2+i), said["logits"],
			array{onnx.Float32, []int64{1, 1, tinyWhisper.rows}, whole["logits"].data[(2+i)*rows:][:rows]})
		for name, a := range said { // what was heard is not given out again
			if strings.HasPrefix(name, "present.") {
				kept[name] = a
			}
		}
	}
	checkArray(t, "the keys that are kept", kept["present.1.decoder.key"], whole["present.1.decoder.key"])
	silent := map[string]array{"input_ids": numbers(tokens, 1, 5), "encoder_hidden_states": heard.of(func(float64) float64 { return 0 })}
	if slices.Equal(evaluate(t, first, silent)["logits"].data, whole["logits"].data) {
		t.Error("the scores do not depend on what is heard")
	}
}

// A token sees itself and those before it.
func TestTheFirstDecoderOfWhisperLooksBackOnly(t *testing.T) {
	m := whisperOf(t, tinyWhisper, whisperDecoder)
	heard := rounded(randoms(1, 1, whisperSteps, tinyWhisper.hidden))
	logits := func(tokens ...int64) array {
		return evaluate(t, m, map[string]array{"input_ids": numbers(tokens, 1, int64(len(tokens))), "encoder_hidden_states": heard})["logits"]
	}
	a, b, rows := logits(1, 2, 17), logits(1, 2, 18), int(tinyWhisper.rows)
	if !slices.Equal(a.data[:2*rows], b.data[:2*rows]) || slices.Equal(a.data[2*rows:], b.data[2*rows:]) {
		t.Error("a token changes what is said of those before it, or nothing of itself")
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
