//go:build ort

package arch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// inputsOf are random inputs of a model: numbers where it reads numbers, and small indices elsewhere.
func inputsOf(m *onnx.Model, batch int64, below int) map[string]array {
	rng := rand.New(rand.NewPCG(11, 11))
	in := map[string]array{}
	for _, v := range m.Graph.Inputs {
		var shape []int64
		for _, d := range v.Type.Shape {
			if !d.Known() {
				d.Size = batch
			}
			shape = append(shape, d.Size)
		}
		a := newArray(v.Type.Elem, shape...)
		for i := range a.data {
			if a.data[i] = float64(float32(rng.NormFloat64())); a.elem != onnx.Float32 {
				a.data[i] = float64(rng.IntN(below))
			}
		}
		in[v.Name] = a
	}
	return in
}

// All values of a graph have the types that it says, at any batch size, and samples of a batch do not touch each other.
func TestORTSmallNetworksTreatSamplesOfABatchAlone(t *testing.T) {
	for _, c := range []struct {
		name  string
		rows  int64
		below int
	}{
		{"dlrm", 3, 1}, {"rnnt-joint", 0, 28}, {"rnnt-prediction", 0, 29}, {"sdxl-mini-text-encoder", 64, 64}, {"sdxl-mini-text-encoder-2", 64, 64},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _ := build(t, lookup(t, c.name), Options{Rows: c.rows})
			inMemory(t, m)
			both := inputsOf(m, 2, c.below)
			together := evaluate(t, m, both)
			for i := range 2 {
				one := map[string]array{}
				for _, v := range m.Graph.Inputs {
					axis := slices.IndexFunc(v.Type.Shape, func(d onnx.Dim) bool { return !d.Known() })
					one[v.Name] = both[v.Name].sample(int64(axis), i)
				}
				alone := evaluate(t, m, one)
				for _, out := range m.Graph.Outputs {
					checkArray(t, out.Name, together[out.Name].sample(0, i), alone[out.Name])
				}
			}
			first, second := together[m.Graph.Outputs[0].Name].sample(0, 0), together[m.Graph.Outputs[0].Name].sample(0, 1)
			if slices.Equal(first.data, second.data) {
				t.Error("two samples have the same answers")
			}
		})
	}
}

// A question in pieces, with the text that has the answer.
type asked struct {
	ids, segments []int64
	start, end    int // of the answer
}

// ask makes a question for a word, and a text in which it is followed by an answer as long as its first piece says.
func ask(first int) asked {
	const begin, separator, common = bertBeginID, 102, 1000 // marks and a word that has no code
	word := BERTFirstWord + 77
	question := []int64{begin, common, common + 1, int64(word), common + 2, separator}
	text := []int64{common + 3, int64(BERTFirstWord + 500), common, int64(BERTFirstWord + 901), int64(word)}
	start := len(question) + len(text)
	for i := range bertAnswer(first) {
		text = append(text, int64(first+1000*i))
	}
	text = append(text, common+4, int64(BERTFirstWord+333), common+5, int64(BERTFirstWord+700), separator)
	a := asked{ids: slices.Concat(question, text), start: start, end: start + bertAnswer(first) - 1}
	for i := range a.ids {
		a.segments = append(a.segments, int64(min(1, i/len(question))))
	}
	return a
}

// answer is where a network finds the start and the end, of which the end is not before the start.
func answer(t *testing.T, m *onnx.Model, a asked, padding int) (start, end int) {
	t.Helper()
	n := int64(len(a.ids) + padding)
	ids, segments, mask := newArray(onnx.Int64, 1, n), newArray(onnx.Int64, 1, n), newArray(onnx.Int64, 1, n)
	for i := range a.ids {
		ids.data[i], segments.data[i], mask.data[i] = float64(a.ids[i]), float64(a.segments[i]), 1
	}
	values := evaluate(t, m, map[string]array{"input_ids": ids, "input_mask": mask, "segment_ids": segments})
	return likeliest(values["output_start_logits"].data), likeliest(values["output_end_logits"].data)
}

func checkAnswers(t *testing.T, name string, firsts ...int) {
	t.Helper()
	m, _ := build(t, lookup(t, name), Options{Layers: 3})
	inMemory(t, m)
	for i, first := range firsts {
		a := ask(first)
		if start, end := answer(t, m, a, 3*i); start != a.start || end != a.end {
			t.Errorf("%s: an answer of %d pieces is found from %d to %d, want %d to %d", name, bertAnswer(first), start, end, a.start, a.end)
		}
	}
}

// Three of the layers know all that there is to know. Padding is not looked at.
func TestORTMobileBERTFindsWhatFollowsAWord(t *testing.T) {
	checkAnswers(t, "mobilebert", BERTFirstWord+2000, BERTFirstWord+2003)
}

func TestORTMobileBERTFindsAnswersOfAllLengths(t *testing.T) {
	var firsts []int
	for length := range BERTLengths {
		firsts = append(firsts, BERTFirstWord+4000+length)
	}
	checkAnswers(t, "mobilebert", firsts...)
}

func TestORTBERTFindsWhatFollowsAWord(t *testing.T) {
	testenv.SkipLong(t, "its tables have 31 million numbers")
	checkAnswers(t, "bert", BERTFirstWord+2000, BERTFirstWord+2003)
}

// Through the graphs of the prediction and the joint network a character is written if it is heard and was not the last.
func TestORTRNNTWritesInItsGraphs(t *testing.T) {
	prediction, _ := build(t, lookup(t, "rnnt-prediction"), Options{})
	joint, _ := build(t, lookup(t, "rnnt-joint"), Options{})
	inMemory(t, prediction)
	state := newArray(onnx.Float32, 1, rnntState)
	predicted := func(label int64) map[string]array {
		return evaluate(t, prediction, map[string]array{"labels": numbers([]int64{label}, 1), "state": state})
	}
	hears := func(label int, said array) int {
		encoded := newArray(onnx.Float32, 1, rnntJoint).of(func(float64) float64 { return -rnntDoubt })
		for i := range rnntLabels {
			encoded.data[i] = -rnntHeard * float64(rnntHeld)
		}
		encoded.data[label] = rnntHeard*float64(rnntHeld) - rnntDoubt
		return likeliest(evaluate(t, joint, map[string]array{"encoded": encoded, "predicted": said})["logits"].data)
	}
	for _, last := range []int64{9, rnntLabels} {
		values := predicted(last)
		for _, label := range []int{0, 9, 20} {
			want := label
			if int64(label) == last {
				want = rnntLabels
			}
			if got := hears(label, values["predicted"]); got != want {
				t.Errorf("%d is heard after %d and written as %d, want %d", label, last, got, want)
			}
		}
	}
	// The state has cell and output of both layers, and the next step begins with them.
	first := predicted(5)
	if slices.Equal(first["next_state"].data, state.data) {
		t.Error("nothing is kept")
	}
	state = first["next_state"]
	if again := predicted(5); slices.Equal(again["next_state"].data, first["next_state"].data) {
		t.Error("what was kept is not read")
	}
}

// tiny is a decoder that has all parts of the real ones and knows nothing.
var tiny = decoderSize{layers: 2, hidden: 64, queryHeads: 4, kvHeads: 2, headSize: 16, inner: 32, rows: 40, context: 24, theta: 100}

// decoderOf writes a decoder whose weights follow from nothing but their names. As knowing says it copies, or knows nothing.
func decoderOf(t testing.TB, s decoderSize, form DecoderForm, knowing bool) *onnx.Model {
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
func (s decoderSize) feeds(form DecoderForm, now turn) map[string]array {
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
func TestORTAllFormsOfADecoderSayTheSame(t *testing.T) {
	text := []int64{1, 17, 30, 4, 22, 39, 17}
	var want array
	for _, form := range []DecoderForm{FusedDecoder, ExportedDecoder, PlainDecoder} {
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
		if form == FusedDecoder {
			if next := int(whole["next_token"].data[0]); next != likeliest(want.data) {
				t.Errorf("the next token is %d, want %d", next, likeliest(want.data))
			}
		}
	}
	changed := slices.Clone(text)
	changed[1]++
	if other := lastLogits(evaluate(t, decoderOf(t, tiny, PlainDecoder, false), tiny.feeds(PlainDecoder, turn{tokens: changed})), tiny.rows); slices.Equal(other.data, want.data) {
		t.Error("another text has the same scores")
	}
}

// Places that a mask leaves out are not looked at: a text that is padded in front is the same text.
func TestORTThePlainFormDoesNotLookAtPadding(t *testing.T) {
	m := decoderOf(t, tiny, PlainDecoder, false)
	text := []int64{1, 17, 30, 4}
	want := lastLogits(evaluate(t, m, tiny.feeds(PlainDecoder, turn{tokens: text})), tiny.rows)
	in := tiny.feeds(PlainDecoder, turn{tokens: append([]int64{9, 9}, text...)})
	copy(in["attention_mask"].data, []float64{0, 0})
	copy(in["position_ids"].data, []float64{0, 0, 0, 1, 2, 3})
	checkArray(t, "padded", lastLogits(evaluate(t, m, in), tiny.rows), want)
}

// The forms of GPT-J and Mixtral are written with ONNX Runtime's operators alone.
func TestORTWhatADecoderKeptIsAsGoodAsTheText(t *testing.T) {
	parallel, mixed := tiny, tiny
	parallel.parallel, parallel.kvHeads = true, tiny.queryHeads
	parallel.hidden, parallel.headSize, parallel.turning = 128, 32, 16
	mixed.experts = 4
	for name, s := range map[string]decoderSize{"parallel": parallel, "of experts": mixed} {
		m := decoderOf(t, s, FusedDecoder, false)
		text := []int64{1, 17, 30, 4, 22}
		whole := evaluate(t, m, s.feeds(FusedDecoder, turn{tokens: text}))
		first := evaluate(t, m, s.feeds(FusedDecoder, turn{tokens: text[:3]}))
		second := evaluate(t, m, s.feeds(FusedDecoder, turn{tokens: text[3:], kept: first, past: 3}))
		checkArray(t, name, second["logits"], whole["logits"])
		if before := lastLogits(first, s.rows); slices.Equal(before.data, lastLogits(whole, s.rows).data) {
			t.Errorf("%s: the scores do not depend on the text", name)
		}
	}
}

// Weights of 4 bits are within half a step of the others; the scores follow them.
func TestORTADecoderInFourBitsSaysNearlyTheSame(t *testing.T) {
	s := tiny
	text := turn{tokens: []int64{1, 17, 30, 4, 22}}
	want := evaluate(t, decoderOf(t, s, FusedDecoder, false), s.feeds(FusedDecoder, text))["logits"]
	got := evaluate(t, decoderOf(t, s, FusedInt4, false), s.feeds(FusedInt4, text))["logits"]
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
func TestORTADecoderCopiesWhatFollowedTheSameTwoTokens(t *testing.T) {
	s := llama60M
	s.layers, s.inner, s.rows, s.context = compares+1, 64, 64, 32
	m := decoderOf(t, s, PlainDecoder, true)
	text := []int64{decoderStart, 20, 21, 22, 23, 24, decoderEnd, 30, 21, 31, 20, 21}
	answer := []int64{22, 23, 24, decoderEnd}
	values := evaluate(t, m, s.feeds(PlainDecoder, turn{tokens: slices.Concat(text, answer[:3])}))
	for i, want := range answer {
		at := int64(len(text)-1+i) * s.rows
		if got := likeliest(values["logits"].data[at:][:s.rows]); got != int(want) {
			t.Errorf("token %d of the answer is %d, want %d", i, got, want)
		}
	}
}

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
func TestORTBothDecodersOfWhisperSayTheSame(t *testing.T) {
	first, next := whisperOf(t, tinyWhisper, whisperDecoder), whisperOf(t, tinyWhisper, whisperFollower)
	tokens, heard := []int64{1, 2, 17, 30, 9}, normals(1, 1, whisperSteps, tinyWhisper.hidden)
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
func TestORTTheFirstDecoderOfWhisperLooksBackOnly(t *testing.T) {
	m := whisperOf(t, tinyWhisper, whisperDecoder)
	heard := normals(1, 1, whisperSteps, tinyWhisper.hidden)
	logits := func(tokens ...int64) array {
		return evaluate(t, m, map[string]array{"input_ids": numbers(tokens, 1, int64(len(tokens))), "encoder_hidden_states": heard})["logits"]
	}
	a, b, rows := logits(1, 2, 17), logits(1, 2, 18), int(tinyWhisper.rows)
	if !slices.Equal(a.data[:2*rows], b.data[:2*rows]) || slices.Equal(a.data[2*rows:], b.data[2*rows:]) {
		t.Error("a token changes what is said of those before it, or nothing of itself")
	}
}
