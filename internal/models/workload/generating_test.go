package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// generator answers a prompt with its text in capitals, in two pieces, after as many milliseconds as the text
// is long; a prompt "fail" has no answer.
type generator struct {
	backend.Generator
	underWay, most, closed atomic.Int64
}

func (g *generator) Generate(ctx context.Context, p *backend.Prompt, sink backend.Sink) error {
	defer g.underWay.Add(-1)
	g.most.Store(max(g.most.Load(), g.underWay.Add(1)))
	select {
	case <-time.After(time.Duration(len(p.Text)) * time.Millisecond):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if p.Text == "fail" {
		return errors.New("the server fell over")
	}
	answer := strings.ToUpper(p.Text)
	sink.First([]byte(answer[:1]), []int32{int32(answer[0])})
	sink.Done(backend.Answer{Text: []byte(answer), Tokens: len(answer)})
	return nil
}

func (g *generator) Close() error { g.closed.Add(1); return nil }

// prompting has texts as samples.
type prompting []string

func (p prompting) Texts() backend.Texts             { return backend.Texts{} }
func (p prompting) Prompt(index int) *backend.Prompt { return &backend.Prompt{Text: p[index]} }
func (p prompting) First(index int, piece []byte, ids []int32) []byte {
	return fmt.Appendf(nil, "%d:%s%v", index, piece, ids)
}
func (p prompting) Response(index int, a backend.Answer) ([]byte, int) {
	return fmt.Appendf(nil, "%d:%s", index, a.Text), a.Tokens + 100
}

// replies keeps what it is told, by ticket; it is not for several goroutines, which -race sees.
type replies struct{ first, done map[int]string }

func (r *replies) FirstToken(ticket int, token []byte) { r.first[ticket] = string(token) }
func (r *replies) Done(ticket int, response []byte, tokens int) {
	r.done[ticket] = fmt.Sprintf("%s+%d", response, tokens)
}

func newGenerating(t *testing.T, texts ...string) (*Generating, *generator) {
	t.Helper()
	session := &generator{}
	g, err := NewGenerating(Sessions{Only: session}, prompting(texts))
	if err != nil {
		t.Fatal(err)
	}
	return g, session
}

func TestPromptsAreAnsweredAtOnceAndRepliedToInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, session := newGenerating(t, "hello", "a", "world wide")
		got := &replies{map[int]string{}, map[int]string{}}
		begin := time.Now()
		err := g.Predict(t.Context(), []Item{{Index: 2, Ticket: 7}, {Index: 0, Ticket: 8}, {Index: 1, Ticket: 9}}, got)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 10*time.Millisecond || session.most.Load() != 3 {
			t.Errorf("it took %v with %d under way, want the time of the longest: 10ms, 3", took, session.most.Load())
		}
		if want := map[int]string{7: "2:W[87]", 8: "0:H[72]", 9: "1:A[65]"}; !maps.Equal(got.first, want) {
			t.Errorf("first tokens %v, want %v", got.first, want)
		}
		if want := map[int]string{7: "2:WORLD WIDE+110", 8: "0:HELLO+105", 9: "1:A+101"}; !maps.Equal(got.done, want) {
			t.Errorf("answers %v, want %v", got.done, want)
		}
	})
}

func TestAPromptThatFailsLeavesTheOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newGenerating(t, "fail", "later than that", "fail")
		got := &replies{map[int]string{}, map[int]string{}}
		err := g.Predict(t.Context(), []Item{{Index: 0, Ticket: 0}, {Index: 1, Ticket: 1}, {Index: 2, Ticket: 2}}, got)
		if text(err) != "the server fell over\nthe server fell over" {
			t.Errorf("error %v, want that of each that failed", err)
		}
		if answered := slices.Collect(maps.Keys(got.done)); !slices.Equal(answered, []int{1}) {
			t.Errorf("answered are %v, want 1", answered)
		}
	})
}

func TestAnAnswerEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newGenerating(t, strings.Repeat("long ", 1000))
		stop := errors.New("stopped by the user")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(stop) })
		got := &replies{map[int]string{}, map[int]string{}}
		if err := g.Answer(ctx, Item{}, got); !errors.Is(err, stop) || len(got.done) != 0 {
			t.Errorf("error %v, answers %v, want %v and none", err, got.done, stop)
		}
	})
}

func TestPromptsNeedAnEngineThatTakesText(t *testing.T) {
	var tensors struct{ backend.Session }
	for name, sessions := range map[string]Sessions{"no session": nil, "a session of tensors": {Only: tensors}, "another role": {"decoder": &generator{}}} {
		if g, err := NewGenerating(sessions, prompting{}); g != nil || text(err) != "prompts need an engine that takes text" {
			t.Errorf("%s: %v, %v", name, g, err)
		}
	}
}

func TestTheSessionIsItsOwnersToClose(t *testing.T) {
	g, session := newGenerating(t)
	if err := errors.Join(g.Use(nil), g.Close()); err != nil || session.closed.Load() != 0 {
		t.Errorf("error %v, the session was closed %d times", err, session.closed.Load())
	}
	if err := g.Predict(t.Context(), nil, nil); err != nil {
		t.Errorf("no items: %v", err)
	}
}

// ordered keeps the order in which it is told of an item.
type ordered struct{ told []string }

func (o *ordered) FirstToken(ticket int, token []byte) {
	o.told = append(o.told, fmt.Sprintf("first of %d", ticket))
}

func (o *ordered) Done(ticket int, response []byte, tokens int) {
	o.told = append(o.told, fmt.Sprintf("all of %d", ticket))
}

// Many goroutines ask at once, each with a reply of its own, as LoadGen's traffic at endpoints does.
func TestEveryAnswerHasItsFirstTokenBeforeItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var texts []string
		for i := range 50 {
			texts = append(texts, strings.Repeat("x", 1+i%7))
		}
		g, session := newGenerating(t, texts...)
		var group sync.WaitGroup
		for i := range texts {
			group.Go(func() {
				var got ordered
				if err := g.Answer(t.Context(), Item{Index: i, Ticket: i}, &got); err != nil {
					t.Error(err)
				}
				if want := []string{fmt.Sprintf("first of %d", i), fmt.Sprintf("all of %d", i)}; !slices.Equal(got.told, want) {
					t.Errorf("of item %d is told %q, want %q", i, got.told, want)
				}
			})
		}
		group.Wait()
		if session.underWay.Load() != 0 {
			t.Errorf("%d prompts are under way still", session.underWay.Load())
		}
	})
}

func TestOfABatchThatIsStoppedTheQuickAnswersStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := newGenerating(t, "a", strings.Repeat("long", 100), "bb", strings.Repeat("longer", 100))
		stop := errors.New("stopped by the user")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(stop) })
		got := &replies{map[int]string{}, map[int]string{}}
		begin := time.Now()
		err := g.Predict(ctx, []Item{{Index: 0, Ticket: 10}, {Index: 1, Ticket: 11}, {Index: 2, Ticket: 12}, {Index: 3, Ticket: 13}}, got)
		if !errors.Is(err, stop) || strings.Count(text(err), "\n") != 1 || time.Since(begin) != 50*time.Millisecond {
			t.Errorf("after %v: %v, want %v of the two that were under way", time.Since(begin), err, stop)
		}
		if answered := slices.Sorted(maps.Keys(got.done)); !slices.Equal(answered, []int{10, 12}) {
			t.Errorf("answered are %v, want the quick ones", answered)
		}
	})
}
