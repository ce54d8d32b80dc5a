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

// A generator answers a prompt with its text in capitals, in two pieces, after as many milliseconds as the text
// is long; a prompt "fail" has no answer.
type generator struct {
	backend.Generator
	textOnly       bool
	underWay, most atomic.Int64
}

func (g *generator) TakesIDs() bool { return !g.textOnly }

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

// prompts have texts as samples.
type prompts []string

func (p prompts) Texts() backend.Texts             { return backend.Texts{} }
func (p prompts) WithoutIDs() error                { return errors.New("no text") }
func (p prompts) Prompt(index int) *backend.Prompt { return &backend.Prompt{Text: p[index]} }
func (p prompts) First(index int, piece []byte, ids []int32) []byte {
	return fmt.Appendf(nil, "%d:%s%v", index, piece, ids)
}
func (p prompts) Response(index int, a backend.Answer) ([]byte, int) {
	return fmt.Appendf(nil, "%d:%s", index, a.Text), a.Tokens + 100
}

// replies are kept by ticket; several goroutines must not use them at once, which -race sees.
type replies struct{ first, done map[int]string }

func (r *replies) FirstToken(ticket int, token []byte) { r.first[ticket] = string(token) }
func (r *replies) Done(ticket int, response []byte, tokens int) {
	r.done[ticket] = fmt.Sprintf("%s+%d", response, tokens)
}

func promptPredictor(t *testing.T, texts ...string) (*PromptPredictor, *generator) {
	t.Helper()
	session := &generator{}
	p, err := NewPromptPredictor(Sessions{Only: session}, prompts(texts))
	if err != nil {
		t.Fatal(err)
	}
	return p, session
}

func TestPromptsRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, session := promptPredictor(t, "hello", "a", "world wide")
		got := &replies{map[int]string{}, map[int]string{}}
		begin := time.Now()
		err := p.Predict(t.Context(), []Item{{Index: 2, Ticket: 7}, {Index: 0, Ticket: 8}, {Index: 1, Ticket: 9}}, got)
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

func TestFailedPromptLeavesOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := promptPredictor(t, "fail", "later than that", strings.Repeat("long", 100))
		stop := errors.New("stopped by the user")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(stop) })
		got := &replies{map[int]string{}, map[int]string{}}
		err := p.Predict(ctx, []Item{{Index: 0, Ticket: 0}, {Index: 1, Ticket: 1}, {Index: 2, Ticket: 2}}, got)
		if text(err) != "the server fell over\nstopped by the user" {
			t.Errorf("error %v, want that of each that failed", err)
		}
		if answered := slices.Collect(maps.Keys(got.done)); !slices.Equal(answered, []int{1}) {
			t.Errorf("answered are %v, want 1", answered)
		}
	})
}

func TestPromptsNeedAnEngineThatTakesThem(t *testing.T) {
	var tensors struct{ backend.Session }
	for want, sessions := range map[string]Sessions{
		"prompts need an engine that takes text": {Only: tensors},
		"no text":                                {Only: &generator{textOnly: true}},
	} {
		if p, err := NewPromptPredictor(sessions, prompts{}); p != nil || text(err) != want {
			t.Errorf("got %v, %v, want %q", p, err, want)
		}
	}
}

// Many goroutines ask at once, each with a reply of its own, as LoadGen's traffic at endpoints does.
func TestFirstTokenComesBeforeTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var texts []string
		for i := range 50 {
			texts = append(texts, strings.Repeat("x", 1+i%7))
		}
		p, _ := promptPredictor(t, texts...)
		var group sync.WaitGroup
		for i := range texts {
			group.Go(func() {
				var got ordered
				if err := p.Answer(t.Context(), Item{Index: i, Ticket: i}, &got); err != nil {
					t.Error(err)
				}
				if want := []string{fmt.Sprintf("first of %d", i), fmt.Sprintf("all of %d", i)}; !slices.Equal(got.told, want) {
					t.Errorf("of item %d is told %q, want %q", i, got.told, want)
				}
			})
		}
		group.Wait()
	})
}

// ordered keeps the order in which it is told of an item.
type ordered struct{ told []string }

func (o *ordered) FirstToken(ticket int, token []byte) {
	o.told = append(o.told, fmt.Sprintf("first of %d", ticket))
}

func (o *ordered) Done(ticket int, response []byte, tokens int) {
	o.told = append(o.told, fmt.Sprintf("all of %d", ticket))
}
