package decode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// decoderOf opens a model of the tests.
func decoderOf(t testing.TB, m *countingModel, room Limits) *Decoder {
	t.Helper()
	l, err := ReadLayout(m.inputs(), m.outputs(), Layout{Names: UsualNames()})
	if err != nil {
		t.Fatal(err)
	}
	d, err := NewDecoder(m, l, room)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func drawPrompts(r *rand.Rand, n, most int) [][]int32 {
	prompts := make([][]int32, n)
	for i := range prompts {
		for range 1 + r.IntN(most) {
			prompts[i] = append(prompts[i], int32(r.IntN(lastRow)))
		}
	}
	return prompts
}

var testRules = Rules{Stop: []int32{lastRow}, MinNew: 2, MaxNew: 20, Width: 4}

// Answers do not depend on other active samples, for both kinds of cache, and for scores of all tokens or of the last.
func TestAnswersInBatches(t *testing.T) {
	prompts := drawPrompts(rand.New(rand.NewPCG(1, 2)), 60, 30)
	for _, form := range []countingModel{{shared: true}, {shared: true, pruned: true}, {}, {pruned: true}} {
		for _, room := range []Limits{{1, 50, 50}, {1, 50, 7}, {3, 50, 50}, {4, 50, 5}, {8, 50, 1}} {
			t.Run(fmt.Sprintf("shared %v, pruned %v, %+v", form.shared, form.pruned, room), func(t *testing.T) {
				m := &countingModel{shared: form.shared, pruned: form.pruned, period: 5}
				b := NewBatcher(decoderOf(t, m, room), testRules, func(i workload.Item) []int32 { return prompts[i.Index] })
				k := newKeeper()
				if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(len(prompts)), k)); err != nil {
					t.Fatal(err)
				}
				for i, prompt := range prompts {
					want := m.said(prompt, testRules)
					if diff := cmp.Diff(want, k.answers[i]); diff != "" || k.counted[i] != len(want) || !slices.Equal(k.firsts[i], want[:1]) {
						t.Fatalf("prompt %d, first token %v, %d counted, answer (-want +got):\n%s", i, k.firsts[i], k.counted[i], diff)
					}
				}
			})
		}
	}
}

// A roundCounter counts how often it is told of work.
type roundCounter struct {
	workload.Source
	rounds int
}

func (r *roundCounter) Worked() { r.rounds++ }

// TestLongPromptIsChunked has one long prompt after a short one: between two chunks of it the
// other answer goes on.
func TestLongPromptIsChunked(t *testing.T) {
	prompts := [][]int32{{1, 2}, make([]int32, 40)}
	for i := range prompts[1] {
		prompts[1][i] = 1
	}
	m := &countingModel{shared: true}
	d := decoderOf(t, m, Limits{2, 60, 4})
	b := NewBatcher(d, Rules{MaxNew: 20, Width: 4}, func(i workload.Item) []int32 { return prompts[i.Index] })
	k := newKeeper()
	most, last := 0, 0
	source := &roundCounter{Source: workload.BatchSource(itemsOf(2), k)}
	m.wait = func(context.Context) error {
		if len(b.active) == 2 && b.started > 0 {
			most, last = max(most, d.Length(1)-last), d.Length(1)
		}
		return nil
	}
	if err := b.Serve(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	if source.rounds < 40/4+20-1 { // the chunks of the long prompt, and its answer
		t.Errorf("work was told of %d times, want in every round", source.rounds)
	}
	if most != 4 || len(k.answers) != 2 {
		t.Errorf("up to %d tokens of a prompt were read between two steps, want 4; %d answers", most, len(k.answers))
	}
}

func TestServeStops(t *testing.T) {
	stopped := errors.New("stopped by the user")
	for _, at := range []int{1, 2, 9} {
		ctx, cancel := context.WithCancelCause(t.Context())
		m := &countingModel{shared: true}
		m.wait = func(ctx context.Context) error {
			if m.runs == at {
				cancel(stopped)
				return context.Cause(ctx)
			}
			return nil
		}
		b := NewBatcher(decoderOf(t, m, Limits{2, 100, 4}), Rules{MaxNew: 60, Width: 4}, func(workload.Item) []int32 { return make([]int32, 30) })
		if err := b.Serve(ctx, workload.BatchSource(itemsOf(5), newKeeper())); !errors.Is(err, stopped) || m.runs != at {
			t.Errorf("stopped in run %d: error %v after %d runs", at, err, m.runs)
		}
		cancel(nil)
	}
}

func TestServeErrors(t *testing.T) {
	long := make([]int32, 45)
	for _, c := range []struct {
		name   string
		prompt []int32
		broken func([]float32)
		want   string
	}{
		{"an empty prompt", nil, nil, "sample 0: the prompt is empty"},
		{"a prompt that does not fit", append(long, long...), nil, "do not fit: a slot has 50"},
		{"an answer that does not fit", long, nil, "the context is full"},
		{"NaN scores", []int32{1}, func(s []float32) {
			for i := range s {
				s[i] = float32(math.NaN())
			}
		}, "the model's scores are not numbers"},
		{"a score without a bound", []int32{1}, func(s []float32) { s[1] = float32(math.Inf(1)) }, "the model's scores are not numbers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, shared := range []bool{true, false} {
				m := &countingModel{shared: shared, broken: c.broken}
				b := NewBatcher(decoderOf(t, m, Limits{1, 50, 50}), testRules, func(workload.Item) []int32 { return c.prompt })
				if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(1), newKeeper())); !testenv.Names(err, c.want) {
					t.Errorf("shared %v: error %v, want %q", shared, err, c.want)
				}
			}
		})
	}
}

func TestStepAllocatesNothing(t *testing.T) {
	m := &countingModel{shared: true}
	d := decoderOf(t, m, Limits{4, 2000, 8})
	for slot := range 4 {
		if err := d.Prefill(t.Context(), slot, []int32{1, 2, 3}); err != nil {
			t.Fatal(err)
		}
	}
	d.session = quietSession{m.Info()}
	if n := testing.AllocsPerRun(100, func() {
		if err := d.Step(context.Background(), 4); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
}

// A quietSession does nothing, and allocates nothing.
type quietSession struct{ info backend.Info }

func (s quietSession) Info() backend.Info                                          { return s.info }
func (s quietSession) Bind(t tensor.Tensor) (backend.Value, error)                 { return bound{t}, nil }
func (s quietSession) Run(context.Context, []backend.Value, []backend.Value) error { return nil }
func (s quietSession) Close() error                                                { return nil }

func TestEightByteTokens(t *testing.T) {
	b := &Batcher{rules: Rules{Width: 8}}
	if got := b.encode([]int32{258}); !slices.Equal(got, []byte{2, 1, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("258 is %v", got)
	}
}

func port(name string, t tensor.DType, shape ...int64) backend.Port {
	return backend.Port{Name: name, Type: t, Shape: shape}
}

func TestReadLayoutErrors(t *testing.T) {
	good := &countingModel{shared: true}
	change := func(ports []backend.Port, name string, to ...backend.Port) []backend.Port {
		i := slices.IndexFunc(ports, func(p backend.Port) bool { return p.Name == name })
		return append(append(slices.Clone(ports[:i]), to...), ports[i+1:]...)
	}
	in, out := good.inputs(), good.outputs()
	for _, c := range []struct {
		name    string
		in, out []backend.Port
		want    string
	}{
		{"no tokens", change(in, "input_ids"), out, `the model has no input "input_ids"`},
		{"no cache", change(change(in, "past_key_values.0.key"), "past_key_values.0.value"), out, `the model has no input "past_key_values.0.key": it has no cache`},
		{"a value without a key", change(in, "past_key_values.0.value"), out, `the model has no input "past_key_values.0.value"`},
		{"a cache of another type", change(in, "past_key_values.0.value", port("past_key_values.0.value", tensor.Float16, -1, 1, -1, 1)), out, "past_key_values.0.value is float16[? 1 ? 1]: must be float32"},
		{"a cache of another shape", in, change(out, "present.0.key", port("present.0.key", tensor.Float32, -1, 2, -1, 1)), "present.0.key is float32[? 2 ? 1]: must be float32[batch 1 length 1]"},
		{"no scores", in, change(out, "logits"), `the model's output "logits"`},
		{"an unknown vocabulary", in, change(out, "logits", port("logits", tensor.Float32, -1, -1)), "the size of the vocabulary is unknown"},
		{"float tokens", change(in, "input_ids", port("input_ids", tensor.Float32, -1, -1)), out, "input input_ids is float32[? ?]: must be int64"},
		{"float lengths", change(in, "seqlens_k", port("seqlens_k", tensor.Float32, -1)), out, "seqlens_k is float32[?]: must be int64 or int32"},
		{"another input", append(slices.Clone(in), port("encoder_states", tensor.Float32, -1)), out, "the model has an unknown input encoder_states"},
	} {
		if _, err := ReadLayout(c.in, c.out, Layout{Names: UsualNames()}); !testenv.Names(err, c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestLayoutBytes(t *testing.T) {
	l := Layout{Names: UsualNames(), Layers: 8, KVHeads: 4, HeadSize: 64, Element: tensor.Float32, Cache: SharedCache, Rows: 100}
	if got := l.Bytes(8, 1000); got != 8*1000*8*4*64*4*2 {
		t.Errorf("a shared cache takes %d bytes", got)
	}
	l.Cache, l.Element = GrowingCache, tensor.Float16
	if got := l.Bytes(8, 1000); got != 8*1000*8*4*64*2*2*2 {
		t.Errorf("a growing cache takes %d bytes", got)
	}
	l.Next = ""
	if got := l.String(); !strings.Contains(got, "the cache goes in and comes out longer; 8 layers of 4×64 float16") || !strings.Contains(got, "chosen here by logits of 100") {
		t.Errorf("it says %q", got)
	}
}

// A streamKeeper keeps what is told of an answer, in order.
type streamKeeper struct {
	*keeper
	told map[int][]string
}

func (k *streamKeeper) FirstToken(ticket int, token []byte) {
	k.told[ticket] = append(k.told[ticket], "first")
	k.keeper.FirstToken(ticket, token)
}

func (k *streamKeeper) Token(ticket int, token []byte) {
	k.told[ticket] = append(k.told[ticket], string(rune('0'+decoded(token)[0]%10)))
}

func (k *streamKeeper) Done(ticket int, response []byte, tokens int) {
	k.told[ticket] = append(k.told[ticket], "done")
	k.keeper.Done(ticket, response, tokens)
}

// answered serves prompts by a model that counts, and returns who kept the answers.
func answered(t *testing.T, m *countingModel, rules Rules, prompts [][]int32, change func(*Batcher)) *streamKeeper {
	t.Helper()
	b := NewBatcher(decoderOf(t, m, Limits{2, 60, 4}), rules, func(i workload.Item) []int32 { return prompts[i.Index] })
	if change != nil {
		change(b)
	}
	k := &streamKeeper{newKeeper(), map[int][]string{}}
	if err := b.Serve(t.Context(), streamSource{k, workload.BatchSource(itemsOf(len(prompts)), k)}); err != nil {
		t.Fatal(err)
	}
	return k
}

// A streamSource has the items of another one, and wants every token.
type streamSource struct {
	*streamKeeper
	items workload.Source
}

func (s streamSource) Admit(items []workload.Item, n int, wait bool) ([]workload.Item, bool) {
	return s.items.Admit(items, n, wait)
}

// The model says after each token the sum of all before it: after 1 that is 1, 2, 4, 8, 16, 32, 64-49 …
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name   string
		rules  Rules
		change func(*Batcher)
		want   []int32
	}{
		{"after so many tokens", Rules{MaxNew: 5}, nil, []int32{1, 2, 4, 8, 16}},
		{"after one", Rules{MaxNew: 1}, nil, []int32{1}},
		{"with a token that ends it", Rules{MaxNew: 9, Stop: []int32{8}}, nil, []int32{1, 2, 4, 8}},
		{"with the first of several", Rules{MaxNew: 9, Stop: []int32{16, 4, 8}}, nil, []int32{1, 2, 4}},
		{"without that token, if it is dropped", Rules{MaxNew: 9, Stop: []int32{8}, Drop: true}, nil, []int32{1, 2, 4}},
		{"but another last token is not dropped", Rules{MaxNew: 3, Stop: []int32{8}, Drop: true}, nil, []int32{1, 2, 4}},
		{"at once, with nothing left", Rules{MaxNew: 3, Stop: []int32{1}, Drop: true}, nil, []int32{}},
		{"not before so many tokens: the best other one is taken", Rules{MaxNew: 4, MinNew: 2, Stop: []int32{2}}, nil, []int32{1, 0, 2}},
		{"with a row of tokens", Rules{MaxNew: 9}, func(b *Batcher) { b.Cut(func(workload.Item) []int32 { return []int32{4, 8} }) }, []int32{1, 2, 4, 8}},
		{"not with a part of the row", Rules{MaxNew: 5}, func(b *Batcher) { b.Cut(func(workload.Item) []int32 { return []int32{4, 9} }) }, []int32{1, 2, 4, 8, 16}},
		{"nor with a row that is longer", Rules{MaxNew: 2}, func(b *Batcher) { b.Cut(func(workload.Item) []int32 { return []int32{9, 1, 2} }) }, []int32{1, 2}},
		{"an empty row is none", Rules{MaxNew: 3}, func(b *Batcher) { b.Cut(func(workload.Item) []int32 { return nil }) }, []int32{1, 2, 4}},
		{"after fewer tokens, as the sample says", Rules{MaxNew: 9}, func(b *Batcher) { b.Limit(func(workload.Item) int { return 2 }) }, []int32{1, 2}},
		{"not after more than the rules say", Rules{MaxNew: 3}, func(b *Batcher) { b.Limit(func(workload.Item) int { return 8 }) }, []int32{1, 2, 4}},
		{"a limit of 0 is none", Rules{MaxNew: 3}, func(b *Batcher) { b.Limit(func(workload.Item) int { return 0 }) }, []int32{1, 2, 4}},
	} {
		for _, shared := range []bool{true, false} {
			c.rules.Width = 4
			m := &countingModel{shared: shared, broken: func(scores []float32) {
				scores[0] = max(scores[0], 0.5) // the best of the others
			}}
			k := answered(t, m, c.rules, [][]int32{{1}}, c.change)
			if diff := cmp.Diff(c.want, k.answers[0]); diff != "" || k.counted[0] != len(c.want) {
				t.Errorf("%s (-want +got):\n%s%d tokens are counted", c.name, diff, k.counted[0])
			}
		}
	}
}

// A limit and a row are those of their own sample.
func TestCutAndLimitPerSample(t *testing.T) {
	prompts := [][]int32{{1}, {1}, {1}, {1}}
	k := answered(t, &countingModel{shared: true}, Rules{MaxNew: 6, Width: 4}, prompts, func(b *Batcher) {
		b.Limit(func(i workload.Item) int { return []int{0, 2, 5, 0}[i.Index] })
		b.Cut(func(i workload.Item) []int32 { return [][]int32{nil, nil, {8}, {4}}[i.Index] })
	})
	want := map[int][]int32{0: {1, 2, 4, 8, 16, 32}, 1: {1, 2}, 2: {1, 2, 4, 8}, 3: {1, 2, 4}}
	if diff := cmp.Diff(want, k.answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestStreamedTokens(t *testing.T) {
	k := answered(t, &countingModel{shared: true}, Rules{MaxNew: 9, Stop: []int32{8}, Drop: true, Width: 4}, [][]int32{{1}, {2}, {4, 4}}, nil)
	want := map[int][]string{
		0: {"first", "1", "2", "4", "8", "done"}, // what is dropped was said
		1: {"first", "2", "4", "8", "done"},
		2: {"first", "8", "done"},
	}
	if diff := cmp.Diff(want, k.told); diff != "" {
		t.Errorf("what is told (-want +got):\n%s", diff)
	}
	for ticket, first := range k.firsts {
		if diff := cmp.Diff([]int32{[]int32{1, 2, 8}[ticket]}, first); diff != "" {
			t.Errorf("the first token of %d (-want +got):\n%s", ticket, diff)
		}
	}
}

func TestRunErrors(t *testing.T) {
	lost := errors.New("the device is lost")
	for at, want := range map[int]string{1: "sample 0 … prompt … the device is lost", 3: "1 answers … sample 0 … the device is lost"} {
		m := &countingModel{shared: true}
		m.wait = func(context.Context) error {
			if m.runs == at {
				return lost
			}
			return nil
		}
		b := NewBatcher(decoderOf(t, m, Limits{1, 60, 4}), Rules{MaxNew: 9, Width: 4}, func(workload.Item) []int32 { return []int32{1} })
		k := newKeeper()
		if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(2), k)); !errors.Is(err, lost) || !testenv.Names(err, want) || len(k.answers) != 0 {
			t.Errorf("in run %d: error %v, %d answers, want %q", at, err, len(k.answers), want)
		}
	}
}

// Samples that an error left active are dropped.
func TestServeAfterError(t *testing.T) {
	lost := errors.New("the device is lost")
	m := &countingModel{shared: true}
	m.wait = func(context.Context) error {
		if m.runs == 4 {
			return lost
		}
		return nil
	}
	b := NewBatcher(decoderOf(t, m, Limits{3, 60, 2}), Rules{MaxNew: 5, Width: 4}, func(i workload.Item) []int32 { return []int32{int32(i.Index + 1)} })
	if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(3), newKeeper())); !errors.Is(err, lost) {
		t.Fatal(err)
	}
	k := newKeeper()
	if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(3), k)); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if diff := cmp.Diff(m.said([]int32{int32(i + 1)}, b.rules), k.answers[i]); diff != "" {
			t.Errorf("answer %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestDrawSkipsNaN(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name   string
		s      Sampling
		scores []float32
		banned []int32
		want   []int // that may be drawn
	}{
		{"one of them", Sampling{Temperature: 1}, []float32{nan, 1, 1}, nil, []int{1, 2}},
		{"the last one", Sampling{Temperature: 1}, []float32{1, 1, nan}, nil, []int{0, 1}},
		{"one of the two likeliest", Sampling{Temperature: 1, TopK: 2}, []float32{1, nan, 2, 0}, nil, []int{0, 2}},
		{"of those that make up half", Sampling{Temperature: 1, TopP: 0.5}, []float32{nan, 9, nan}, nil, []int{1}},
		{"and the others are banned", Sampling{Temperature: 1}, []float32{1, nan}, []int32{0}, []int{0}},
		{"tokens that are impossible", Sampling{Temperature: 1}, []float32{float32(math.Inf(-1)), 0, 0}, nil, []int{1, 2}},
		{"more likeliest tokens than there are", Sampling{Temperature: 1, TopK: 9}, []float32{0, 0}, nil, []int{0, 1}},
		{"a temperature near 0", Sampling{Temperature: 1e-9}, []float32{0, 1e-3, 0}, nil, []int{1}},
		{"equally likely: the first are kept", Sampling{Temperature: 1, TopK: 2}, []float32{3, 3, 3, 3}, nil, []int{0, 1}},
	} {
		counts := drawn(t, c.s, c.scores, c.banned...)
		for token, n := range counts {
			if (n > 0) != slices.Contains(c.want, token) {
				t.Errorf("%s: token %d is drawn %d times, want only %v", c.name, token, n, c.want)
			}
		}
	}
}

func TestNewDecoderErrors(t *testing.T) {
	m := &countingModel{shared: true}
	l, err := ReadLayout(m.inputs(), m.outputs(), Layout{Names: UsualNames()})
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []Limits{{0, 50, 5}, {1, 1, 1}, {1, 50, 0}, {-1, 50, 5}} {
		if _, err := NewDecoder(m, l, room); !testenv.Names(err, "1 … 2 … 1") {
			t.Errorf("%+v: error %v", room, err)
		}
	}
}

func TestLayoutOutputs(t *testing.T) {
	l := Layout{Names: UsualNames(), Layers: 2}
	want := strings.Fields("next_token logits present.0.key present.0.value present.1.key present.1.value")
	if diff := cmp.Diff(want, l.Outputs()); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	l.Next = ""
	if diff := cmp.Diff(want[1:], l.Outputs()); diff != "" {
		t.Errorf("outputs without a choice (-want +got):\n%s", diff)
	}
}

func TestReadLayout(t *testing.T) {
	shared, growing := &countingModel{shared: true}, &countingModel{}
	for _, c := range []struct {
		name   string
		m      *countingModel
		cache  Cache
		change func(in, out []backend.Port) ([]backend.Port, []backend.Port)
		want   func(*Layout)
	}{
		{"lengths go in: the cache is shared", shared, "", nil, func(l *Layout) { l.Cache, l.Mask, l.Positions = SharedCache, "", "" }},
		{"unless it is said to grow", shared, GrowingCache, nil, func(l *Layout) { l.Cache, l.Mask, l.Positions = GrowingCache, "", "" }},
		{"a mask goes in: the cache grows", growing, "", nil, func(l *Layout) {
			l.Cache, l.RowAxis, l.AllRows = GrowingCache, true, true
			l.LastRows, l.Lengths, l.Total, l.Next = "", "", "", ""
		}},
		{"positions may be missing", growing, "", func(in, out []backend.Port) ([]backend.Port, []backend.Port) {
			return slices.DeleteFunc(in, func(p backend.Port) bool { return p.Name == "position_ids" }), out
		}, func(l *Layout) {
			l.Cache, l.RowAxis, l.AllRows = GrowingCache, true, true
			l.Positions, l.LastRows, l.Lengths, l.Total, l.Next = "", "", "", "", ""
		}},
	} {
		in, out := c.m.inputs(), c.m.outputs()
		if c.change != nil {
			in, out = c.change(in, out)
		}
		got, err := ReadLayout(in, out, Layout{Names: UsualNames(), Cache: c.cache})
		want := Layout{Names: UsualNames(), Layers: 1, KVHeads: 1, HeadSize: 1, Element: tensor.Float32, Rows: rows}
		c.want(&want)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
