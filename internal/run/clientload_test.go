package run

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
)

// A metronome answers a prompt with a token every ten milliseconds, the first after twenty.
type metronome struct {
	backend.Generator
	fails func(answers int64) error // nil: never

	mu              sync.Mutex
	now, most       int
	tokens, answers int64
}

const (
	firstTick = 20 * time.Millisecond
	tick      = 10 * time.Millisecond
)

func (m *metronome) Reset() {}

func (m *metronome) Measured() backend.Generated {
	m.mu.Lock()
	defer m.mu.Unlock()
	return backend.Generated{Tokens: m.tokens, Answers: m.answers, FirstToken: backend.Spread{P50: firstTick, P99: firstTick}}
}

func (m *metronome) Generate(ctx context.Context, p *backend.Prompt, sink backend.Sink) error {
	m.count(1, 0, 0)
	defer m.count(-1, 0, 0)
	for i := range p.MaxTokens {
		pause(ctx, tick)
		if i == 0 {
			pause(ctx, firstTick-tick)
			sink.First([]byte("a"), nil)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m.count(0, 1, 0)
	}
	m.count(0, 0, 1)
	sink.Done(backend.Answer{Tokens: p.MaxTokens})
	if m.fails != nil {
		return m.fails(m.Measured().Answers)
	}
	return nil
}

func (m *metronome) count(now int, tokens, answers int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now += now
	m.most = max(m.most, m.now)
	m.tokens, m.answers = m.tokens+tokens, m.answers+answers
}

// Five streams of 100 tokens/s begin one after the other within a second; what is counted is the two seconds after that.
func TestWhatIsCountedIsWhatComesWhenAllStreamsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &metronome{}
		began := time.Now()
		r, err := ClientTest{Streams: 5, Tokens: 50, Begin: time.Second, Duration: 2 * time.Second}.load(t.Context(), g)
		if err != nil {
			t.Fatal(err)
		}
		// Each answer takes 20 ms and 49 more tokens of 10 ms: 510 ms; in 2 s each stream has some 4 of them, and 196 tokens.
		if r.Seconds != 2 || r.Answers < 18 || r.Answers > 20 || r.Tokens < 5*194 || r.Tokens > 5*198 {
			t.Errorf("counted are %+v, want about 20 answers and 980 tokens in 2 s", r)
		}
		if r.PerTokenNS != int64(tick) || r.FirstTokenP50NS != int64(firstTick) || r.FirstTokenP99NS != int64(firstTick) {
			t.Errorf("a token takes %v, the first %v and %v", time.Duration(r.PerTokenNS), time.Duration(r.FirstTokenP50NS), time.Duration(r.FirstTokenP99NS))
		}
		if rate := r.TokensPerSecond(); rate < 485 || rate > 495 {
			t.Errorf("%g tokens/s of five streams of 98", rate)
		}
		if g.most != 5 || g.now != 0 {
			t.Errorf("%d streams ran at once, and %d do still", g.most, g.now)
		}
		// Answers under way are waited for.
		if took := time.Since(began); took < 3*time.Second || took > 3*time.Second+510*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

func TestAClientTestEndsWithTheFirstFailureAndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the server fell over")
		began := time.Now()
		_, err := ClientTest{Streams: 3, Tokens: 5, Duration: time.Hour}.load(t.Context(), &metronome{fails: func(n int64) error {
			if n > 7 {
				return broken
			}
			return nil
		}})
		if !errors.Is(err, broken) || time.Since(began) > time.Second {
			t.Errorf("%v after %v, want the failure at once", err, time.Since(began))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		time.AfterFunc(3*time.Second, func() { cancel(enough) })
		began := time.Now()
		_, err := ClientTest{Streams: 3, Tokens: 5, Begin: time.Minute, Duration: time.Hour}.load(ctx, &metronome{})
		if !errors.Is(err, enough) || time.Since(began) > 3*time.Second+tick {
			t.Errorf("%v after %v, want the end after 3 s", err, time.Since(began))
		}
	})
}

func TestAnswersOfOneTokenHaveNoTimePerToken(t *testing.T) {
	per := backend.NewTimes()
	s := &stopwatch{per: per}
	s.First(nil, nil)
	for _, tokens := range []int{0, 1} {
		s.Done(backend.Answer{Tokens: tokens})
	}
	if got := per.Spread(); got.Mean != 0 {
		t.Errorf("the mean is %v", got.Mean)
	}
}
