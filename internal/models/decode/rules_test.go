package decode

import (
	"context"
	"encoding/binary"
	"errors"
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
	b := NewBatcher(decoderOf(t, m, Room{2, 60, 4}), rules, func(i workload.Item) []int32 { return prompts[i.Index] })
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
func TestRulesSayWhenAnAnswerEnds(t *testing.T) {
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
func TestSamplesHaveRowsAndLimitsOfTheirOwn(t *testing.T) {
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

func TestTokensAreToldAsTheyCome(t *testing.T) {
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

// Over random prompts and rules, answers are what the model says of each alone, in 4 and in 8 bytes.
func TestAnswersFollowTheirRulesAtRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for n := range 60 {
		m := &countingModel{shared: r.IntN(2) == 0, period: r.IntN(6)}
		rules := Rules{Stop: []int32{lastRow}, MaxNew: 1 + r.IntN(20), Width: 4 << r.IntN(2), Drop: r.IntN(2) == 0}
		rules.MinNew = r.IntN(rules.MaxNew + 1)
		prompts := drawPrompts(r, 1+r.IntN(12), 30)
		b := NewBatcher(decoderOf(t, m, Room{1 + r.IntN(4), 60, 1 + r.IntN(9)}), rules, func(i workload.Item) []int32 { return prompts[i.Index] })
		k := &widthKeeper{width: rules.Width, answers: map[int][]int32{}}
		if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(len(prompts)), k)); err != nil {
			t.Fatal(err)
		}
		for i, prompt := range prompts {
			want := m.said(prompt, rules)
			if rules.Drop && want[len(want)-1] == lastRow {
				want = want[:len(want)-1]
			}
			if !slices.Equal(k.answers[i], want) {
				t.Fatalf("round %d, %+v, prompt %v: answer %v, want %v", n, rules, prompt, k.answers[i], want)
			}
		}
	}
}

// A widthKeeper keeps answers of tokens of so many bytes.
type widthKeeper struct {
	width   int
	answers map[int][]int32
}

func (k *widthKeeper) FirstToken(int, []byte) {}

func (k *widthKeeper) Done(ticket int, response []byte, tokens int) {
	list := []int32{}
	for at := 0; at < len(response); at += k.width {
		if k.width == 8 {
			list = append(list, int32(binary.LittleEndian.Uint64(response[at:])))
		} else {
			list = append(list, int32(binary.LittleEndian.Uint32(response[at:])))
		}
	}
	if len(list) != tokens {
		list = nil
	}
	k.answers[ticket] = list
}

func TestAModelThatFailsIsNamedWithItsSample(t *testing.T) {
	lost := errors.New("the device is lost")
	for at, want := range map[int]string{1: "sample 0, reading the prompt: the device is lost", 3: "1 answers, the first of sample 0: the device is lost"} {
		m := &countingModel{shared: true}
		m.wait = func(context.Context) error {
			if m.runs == at {
				return lost
			}
			return nil
		}
		b := NewBatcher(decoderOf(t, m, Room{1, 60, 4}), Rules{MaxNew: 9, Width: 4}, func(workload.Item) []int32 { return []int32{1} })
		k := newKeeper()
		if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(2), k)); !errors.Is(err, lost) || err.Error() != want || len(k.answers) != 0 {
			t.Errorf("in run %d: error %v, %d answers, want %q", at, err, len(k.answers), want)
		}
	}
}

// What was left under way by an error is forgotten.
func TestABatcherServesAgain(t *testing.T) {
	lost := errors.New("the device is lost")
	m := &countingModel{shared: true}
	m.wait = func(context.Context) error {
		if m.runs == 4 {
			return lost
		}
		return nil
	}
	b := NewBatcher(decoderOf(t, m, Room{3, 60, 2}), Rules{MaxNew: 5, Width: 4}, func(i workload.Item) []int32 { return []int32{int32(i.Index + 1)} })
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

func TestABatchIsTakenBitByBit(t *testing.T) {
	k := newKeeper()
	source := workload.BatchSource(itemsOf(5), k)
	var taken []int
	opened := []bool{}
	for _, n := range []int{2, 0, 1, 9, 3} {
		items, open := source.Admit(nil, n, true)
		opened = append(opened, open)
		for _, item := range items {
			taken = append(taken, item.Index)
		}
	}
	if diff := cmp.Diff([]int{0, 1, 2, 3, 4}, taken); diff != "" {
		t.Errorf("taken (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{true, true, true, false, false}, opened); diff != "" {
		t.Errorf("there is more (-want +got):\n%s", diff)
	}
	items, _ := workload.BatchSource(itemsOf(1), k).Admit([]workload.Item{{Index: 7}}, 4, false)
	if len(items) != 2 || items[0].Index != 7 {
		t.Errorf("items that were there are lost: %v", items)
	}
	source.FirstToken(3, []byte{1, 0, 0, 0})
	if source.Done(3, []byte{2, 0, 0, 0}, 1); k.answers[3][0] != 2 || k.firsts[3][0] != 1 {
		t.Errorf("replies do not come through: %v, %v", k.firsts, k.answers)
	}
}

func TestServingNothingEnds(t *testing.T) {
	m := &countingModel{shared: true}
	b := NewBatcher(decoderOf(t, m, Room{1, 60, 4}), Rules{MaxNew: 9, Width: 4}, nil)
	if err := b.Serve(t.Context(), workload.BatchSource(nil, newKeeper())); err != nil || m.runs != 0 {
		t.Errorf("%v after %d runs", err, m.runs)
	}
}

func TestScoresOfOneTokenThatAreNoNumberAreNeverDrawn(t *testing.T) {
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
		{"all as likely, of which the first are kept", Sampling{Temperature: 1, TopK: 2}, []float32{3, 3, 3, 3}, nil, []int{0, 1}},
	} {
		counts := drawn(t, c.s, c.scores, c.banned...)
		for token, n := range counts {
			if (n > 0) != slices.Contains(c.want, token) {
				t.Errorf("%s: token %d is drawn %d times, want only %v", c.name, token, n, c.want)
			}
		}
	}
}

func TestWholeNumbersAreOfBothTypes(t *testing.T) {
	for _, kind := range []tensor.DType{tensor.Int32, tensor.Int64} {
		n := newNumbers(kind, 6)
		for i := range 6 {
			n.set(i, 100*i-100)
		}
		part := n.tensor(2, 4, 2, 2)
		if part.Type != kind || !slices.Equal(part.Shape, []int64{2, 2}) {
			t.Errorf("%v: a view is %v%v", kind, part.Type, part.Shape)
		}
		if n.set(3, 77); n.get(3) != 77 || n.get(0) != -100 || n.get(5) != 400 {
			t.Errorf("%v: numbers %d, %d, %d", kind, n.get(0), n.get(3), n.get(5))
		}
		var seen int64
		if kind == tensor.Int32 {
			seen = int64(tensor.Data[int32](part)[1])
		} else {
			seen = tensor.Data[int64](part)[1]
		}
		if seen != 77 {
			t.Errorf("%v: a view does not see what was set: %d", kind, seen)
		}
	}
}

func TestDecodersWithoutRoomAreRefused(t *testing.T) {
	m := &countingModel{shared: true}
	l, err := ReadLayout(m.inputs(), m.outputs(), UsualNames(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []Room{{0, 50, 5}, {1, 1, 1}, {1, 50, 0}, {-1, 50, 5}} {
		if _, err := NewDecoder(m, l, room); err == nil || !strings.Contains(err.Error(), "has no room") {
			t.Errorf("%+v: error %v", room, err)
		}
	}
}

func TestOutputsAreInTheOrderOfTheDecoder(t *testing.T) {
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

func TestALayoutIsReadFromPorts(t *testing.T) {
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
			l.Cache, l.AllRows = GrowingCache, true
			l.LastRows, l.Lengths, l.Total, l.Next = "", "", "", ""
		}},
		{"positions may be missing", growing, "", func(in, out []backend.Port) ([]backend.Port, []backend.Port) {
			return slices.DeleteFunc(in, func(p backend.Port) bool { return p.Name == "position_ids" }), out
		}, func(l *Layout) {
			l.Cache, l.AllRows = GrowingCache, true
			l.Positions, l.LastRows, l.Lengths, l.Total, l.Next = "", "", "", "", ""
		}},
	} {
		in, out := c.m.inputs(), c.m.outputs()
		if c.change != nil {
			in, out = c.change(in, out)
		}
		got, err := ReadLayout(in, out, UsualNames(), c.cache)
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
