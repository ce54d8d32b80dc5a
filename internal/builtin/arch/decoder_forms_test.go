package arch

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// tiny is a decoder that has all parts of the real ones and knows nothing.
var tiny = decoderSize{layers: 2, hidden: 32, queryHeads: 4, kvHeads: 2, headSize: 8, inner: 32, rows: 40, context: 24, theta: 100}

// decoderOf writes a decoder whose weights follow from nothing but their names. As knowing says it copies, or knows nothing.
func decoderOf(t testing.TB, s decoderSize, form decoderForm, knowing bool) *onnx.Model {
	t.Helper()
	b := NewBuilder("decoder", 7)
	d := newDecoderNet(b, s, form)
	if !knowing {
		// A network that knows nothing has its table in 16 bits, which is not what is looked at here.
		d.knows = &decoderKnowledge{decoderSize: s, content: func() []float32 { return make([]float32, s.rows*s.headSize) }}
	}
	d.build()
	m, _, err := b.Model()
	if err != nil {
		t.Fatal(err)
	}
	inMemory(t, m)
	return m
}

// inMemory makes the weights of a model once, for several runs.
func inMemory(t testing.TB, m *onnx.Model) {
	t.Helper()
	for _, c := range m.Graph.Initializers {
		raw, err := c.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		c.Data = onnx.Raw(raw)
	}
}

// A turn is what a decoder is given in one call: tokens behind what it has kept.
type turn struct {
	tokens []int64
	kept   map[string]array // of the call before; nil: nothing
	past   int
}

// feeds are the inputs of a decoder in a form, for one text.
func (s decoderSize) feeds(form decoderForm, now turn) map[string]array {
	n := len(now.tokens)
	total := int64(now.past + n)
	in := map[string]array{
		"input_ids":             numbers(now.tokens, 1, int64(n)),
		"last_rows":             numbers([]int64{int64(n - 1)}, 1),
		"seqlens_k":             numbers([]int32{int32(total - 1)}, 1),
		"total_sequence_length": numbers([]int32{int32(total)}, 1),
		"attention_mask":        newArray(onnx.Int64, 1, total).of(func(float64) float64 { return 1 }),
		"position_ids":          newArray(onnx.Int64, 1, int64(n)),
	}
	for i := range n {
		in["position_ids"].data[i] = float64(now.past + i)
	}
	for i := range s.layers {
		for _, kv := range []string{"key", "value"} {
			kept := newArray(onnx.Float32, 1, s.kvHeads, 0, s.headSize)
			if now.kept != nil {
				kept = now.kept[fmt.Sprintf("present.%d.%s", i, kv)]
			}
			in[fmt.Sprintf("past_key_values.%d.%s", i, kv)] = kept
		}
	}
	return in
}

// lastLogits are the scores behind the last token, whichever form a decoder has.
func lastLogits(values map[string]array, rows int64) array {
	logits := values["logits"]
	return array{logits.elem, []int64{rows}, logits.data[len(logits.data)-int(rows):]}
}

// The same decoder is written in three ways, which say the same. What it kept of a text before is as good as the text.
func TestAllFormsOfADecoderSayTheSame(t *testing.T) {
	text := []int64{1, 17, 30, 4, 22, 39, 17}
	var want array
	for _, form := range []decoderForm{fusedDecoder, exportedDecoder, plainDecoder} {
		m := decoderOf(t, tiny, form, false)
		whole := evaluate(t, m, tiny.feeds(form, turn{tokens: text}))
		got := lastLogits(whole, tiny.rows)
		if want.data == nil {
			want = got
		}
		checkArray(t, fmt.Sprintf("form %d", form), got, want)
		first := evaluate(t, m, tiny.feeds(form, turn{tokens: text[:4]}))
		second := evaluate(t, m, tiny.feeds(form, turn{tokens: text[4:6], kept: first, past: 4}))
		third := evaluate(t, m, tiny.feeds(form, turn{tokens: text[6:], kept: second, past: 6}))
		checkArray(t, fmt.Sprintf("form %d, in three parts", form), lastLogits(third, tiny.rows), want)
		checkArray(t, "the keys that are kept", third["present.1.key"], whole["present.1.key"])
		if form == fusedDecoder {
			if next := int(whole["next_token"].data[0]); next != likeliest(want.data) {
				t.Errorf("the next token is %d, want %d", next, likeliest(want.data))
			}
		}
	}
	changed := slices.Clone(text)
	changed[1]++
	if other := lastLogits(evaluate(t, decoderOf(t, tiny, plainDecoder, false), tiny.feeds(plainDecoder, turn{tokens: changed})), tiny.rows); slices.Equal(other.data, want.data) {
		t.Error("another text has the same scores")
	}
}

// Places that a mask leaves out are not looked at: a text that is padded in front is the same text.
func TestThePlainFormDoesNotLookAtPadding(t *testing.T) {
	m := decoderOf(t, tiny, plainDecoder, false)
	text := []int64{1, 17, 30, 4}
	want := lastLogits(evaluate(t, m, tiny.feeds(plainDecoder, turn{tokens: text})), tiny.rows)
	in := tiny.feeds(plainDecoder, turn{tokens: append([]int64{9, 9}, text...)})
	copy(in["attention_mask"].data, []float64{0, 0})
	copy(in["position_ids"].data, []float64{0, 0, 0, 1, 2, 3})
	checkArray(t, "padded", lastLogits(evaluate(t, m, in), tiny.rows), want)
}

// The forms of GPT-J and Mixtral are written with ONNX Runtime's operators alone.
func TestWhatADecoderKeptIsAsGoodAsTheText(t *testing.T) {
	parallel, mixed := tiny, tiny
	parallel.parallel, parallel.kvHeads, parallel.turning = true, tiny.queryHeads, 4
	mixed.experts = 4
	for name, s := range map[string]decoderSize{"parallel": parallel, "of experts": mixed} {
		m := decoderOf(t, s, fusedDecoder, false)
		text := []int64{1, 17, 30, 4, 22}
		whole := evaluate(t, m, s.feeds(fusedDecoder, turn{tokens: text}))
		first := evaluate(t, m, s.feeds(fusedDecoder, turn{tokens: text[:3]}))
		second := evaluate(t, m, s.feeds(fusedDecoder, turn{tokens: text[3:], kept: first, past: 3}))
		checkArray(t, name, second["logits"], whole["logits"])
		if before := lastLogits(first, s.rows); slices.Equal(before.data, lastLogits(whole, s.rows).data) {
			t.Errorf("%s: the scores do not depend on the text", name)
		}
	}
}

// Weights of 4 bits are within half a step of the others; the scores follow them.
func TestADecoderInFourBitsSaysNearlyTheSame(t *testing.T) {
	s := tiny
	text := turn{tokens: []int64{1, 17, 30, 4, 22}}
	want := evaluate(t, decoderOf(t, s, fusedDecoder, false), s.feeds(fusedDecoder, text))["logits"]
	got := evaluate(t, decoderOf(t, s, fusedInt4, false), s.feeds(fusedInt4, text))["logits"]
	off, size := 0.0, 0.0
	for i, w := range want.data {
		off += (got.data[i] - w) * (got.data[i] - w)
		size += w * w
	}
	if off == 0 || off > 0.1*size {
		t.Errorf("scores in 4 bits are off by %.3f of their size", off/size)
	}
}

// The built-in decoder copies what followed the two tokens that it has just read, up to the end of a text.
func TestADecoderCopiesWhatFollowedTheSameTwoTokens(t *testing.T) {
	s := llama60M
	s.layers, s.inner, s.rows, s.context = compares+1, 64, 64, 32
	m := decoderOf(t, s, plainDecoder, true)
	text := []int64{decoderStart, 20, 21, 22, 23, 24, decoderEnd, 30, 21, 31, 20, 21}
	answer := []int64{22, 23, 24, decoderEnd}
	values := evaluate(t, m, s.feeds(plainDecoder, turn{tokens: slices.Concat(text, answer[:3])}))
	for i, want := range answer {
		at := int64(len(text)-1+i) * s.rows
		if got := likeliest(values["logits"].data[at:][:s.rows]); got != int(want) {
			t.Errorf("token %d of the answer is %d, want %d", i, got, want)
		}
	}
}
