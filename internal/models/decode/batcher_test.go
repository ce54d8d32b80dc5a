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
)

// decoderOf opens a model of the tests.
func decoderOf(t testing.TB, m *countingModel, room Room) *Decoder {
	t.Helper()
	l, err := ReadLayout(m.inputs(), m.outputs(), UsualNames(), "")
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

// TestAnswersAreThoseOfEachPromptAlone whatever else is under way, in all ways to keep the cache.
func TestAnswersAreThoseOfEachPromptAlone(t *testing.T) {
	prompts := drawPrompts(rand.New(rand.NewPCG(1, 2)), 60, 30)
	for _, shared := range []bool{true, false} {
		for _, room := range []Room{{1, 50, 50}, {1, 50, 7}, {3, 50, 50}, {4, 50, 5}, {8, 50, 1}} {
			t.Run(fmt.Sprintf("shared %v, %+v", shared, room), func(t *testing.T) {
				m := &countingModel{shared: shared, period: 5}
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

// TestALongPromptHoldsNobodyUp has one long prompt after a short one: between two chunks of it the
// other answer goes on.
func TestALongPromptHoldsNobodyUp(t *testing.T) {
	prompts := [][]int32{{1, 2}, make([]int32, 40)}
	for i := range prompts[1] {
		prompts[1][i] = 1
	}
	m := &countingModel{shared: true}
	d := decoderOf(t, m, Room{2, 60, 4})
	b := NewBatcher(d, Rules{MaxNew: 20, Width: 4}, func(i workload.Item) []int32 { return prompts[i.Index] })
	k := newKeeper()
	most, last := 0, 0
	source := &roundCounter{Source: workload.BatchSource(itemsOf(2), k)}
	m.wait = func(context.Context) error {
		if len(b.live) == 2 && b.started > 0 {
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

func TestAPredictionEndsWithItsContext(t *testing.T) {
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
		b := NewBatcher(decoderOf(t, m, Room{2, 100, 4}), Rules{MaxNew: 60, Width: 4}, func(workload.Item) []int32 { return make([]int32, 30) })
		if err := b.Serve(ctx, workload.BatchSource(itemsOf(5), newKeeper())); !errors.Is(err, stopped) || m.runs != at {
			t.Errorf("stopped in run %d: error %v after %d runs", at, err, m.runs)
		}
		cancel(nil)
	}
}

func TestWhatCannotBeAnsweredIsNamed(t *testing.T) {
	long := make([]int32, 45)
	for _, c := range []struct {
		name   string
		prompt []int32
		broken func([]float32)
		want   string
	}{
		{"an empty prompt", nil, nil, "sample 0: the prompt is empty"},
		{"a prompt that does not fit", append(long, long...), nil, "do not fit: a slot has room for 50"},
		{"an answer that does not fit", long, nil, "there is no room for more"},
		{"scores that are no numbers", []int32{1}, func(s []float32) {
			for i := range s {
				s[i] = float32(math.NaN())
			}
		}, "the model's scores are not numbers"},
		{"a score without a bound", []int32{1}, func(s []float32) { s[1] = float32(math.Inf(1)) }, "the model's scores are not numbers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, shared := range []bool{true, false} {
				m := &countingModel{shared: shared, broken: c.broken}
				b := NewBatcher(decoderOf(t, m, Room{1, 50, 50}), testRules, func(workload.Item) []int32 { return c.prompt })
				if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(1), newKeeper())); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("shared %v: error %v, want %q", shared, err, c.want)
				}
			}
		})
	}
}

// TestAModelThatNeverEndsIsEnded by the number of its tokens.
func TestAModelThatNeverEndsIsEnded(t *testing.T) {
	m := &countingModel{shared: true}
	b := NewBatcher(decoderOf(t, m, Room{1, 50, 50}), testRules, func(workload.Item) []int32 { return []int32{1} })
	k := newKeeper()
	if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(1), k)); err != nil || len(k.answers[0]) != testRules.MaxNew {
		t.Errorf("%d tokens, %v", len(k.answers[0]), err)
	}
}

func TestTokensCostNoAllocations(t *testing.T) {
	m := &countingModel{shared: true}
	d := decoderOf(t, m, Room{4, 2000, 8})
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

func TestEightBytesPerToken(t *testing.T) {
	b := &Batcher{rules: Rules{Width: 8}}
	if got := b.encode([]int32{258}); !slices.Equal(got, []byte{2, 1, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("258 is %v", got)
	}
}

func port(name string, t tensor.DType, shape ...int64) backend.Port {
	return backend.Port{Name: name, Type: t, Shape: shape}
}

func TestWhatIsNoDecoderIsNamed(t *testing.T) {
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
		{"no cache", change(change(in, "past_key_values.0.key"), "past_key_values.0.value"), out, `the model has no input "past_key_values.0.key": it keeps nothing`},
		{"a value without a key", change(in, "past_key_values.0.value"), out, `the model has no input "past_key_values.0.value"`},
		{"a cache of another type", change(in, "past_key_values.0.value", port("past_key_values.0.value", tensor.Float16, -1, 1, -1, 1)), out, "past_key_values.0.value is float16[? 1 ? 1], want float32"},
		{"a cache of another shape", in, change(out, "present.0.key", port("present.0.key", tensor.Float32, -1, 2, -1, 1)), "present.0.key is float32[? 2 ? 1], want float32[batch 1 length 1]"},
		{"no scores", in, change(out, "logits"), `the model's output "logits"`},
		{"scores of nobody knows how many tokens", in, change(out, "logits", port("logits", tensor.Float32, -1, -1)), "the number of tokens that the model knows is missing"},
		{"tokens that are no numbers", change(in, "input_ids", port("input_ids", tensor.Float32, -1, -1)), out, "input input_ids is float32[? ?], want int64"},
		{"lengths that are no numbers", change(in, "seqlens_k", port("seqlens_k", tensor.Float32, -1)), out, "seqlens_k is float32[?], want whole numbers"},
		{"another input", append(slices.Clone(in), port("encoder_states", tensor.Float32, -1)), out, "nothing is known to go into input encoder_states"},
	} {
		if _, err := ReadLayout(c.in, c.out, UsualNames(), ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestALayoutSaysWhatItTakes(t *testing.T) {
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
