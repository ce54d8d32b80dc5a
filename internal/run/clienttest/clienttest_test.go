package clienttest

import (
	"context"
	"errors"
	"math"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
)

// A metronome sends a token every ten milliseconds, the first after twenty.
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

// Five streams of 100 tokens/s begin one after the other within a second; the two seconds after that count.
func TestTokensAreCountedWhileAllStreamsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &metronome{}
		began := time.Now()
		r, err := Test{Streams: 5, Tokens: 50, Begin: time.Second, Duration: 2 * time.Second}.load(t.Context(), g)
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

func TestTestEndsWithTheFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the server fell over")
		began := time.Now()
		_, err := Test{Streams: 3, Tokens: 5, Duration: time.Hour}.load(t.Context(), &metronome{fails: func(n int64) error {
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
		_, err := Test{Streams: 3, Tokens: 5, Begin: time.Minute, Duration: time.Hour}.load(ctx, &metronome{})
		if !errors.Is(err, enough) || time.Since(began) > 3*time.Second+tick {
			t.Errorf("%v after %v, want the end after 3 s", err, time.Since(began))
		}
	})
}

func TestOneTokenHasNoTimePerToken(t *testing.T) {
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

func TestClientAtAServer(t *testing.T) {
	t.Parallel() // it waits for the clock
	server := httptest.NewServer(tokenserver.New(tokenserver.Options{}))
	defer server.Close()
	r, err := Test{URL: server.URL, Streams: 2, Tokens: 5, Duration: 300 * time.Millisecond}.Run(t.Context())
	if err != nil || r.Answers < 2 || r.Tokens != 5*r.Answers || r.Failures != 0 || r.FirstTokenP50NS <= 0 || r.TokensPerSecond() <= 0 || r.TokensPerCore() <= 0 {
		t.Errorf("%+v, %v", r, err)
	}
	server.Close()
	if _, err := (Test{URL: server.URL, Streams: 1, Tokens: 5, Duration: time.Millisecond}).Run(t.Context()); err == nil {
		t.Error("a server that is gone is not an error")
	}
}

// Streams of a storm would end at once, unless they begin over the time of a response; paced requests are as many as the name says.
func TestMeasuresAreOfTheNamedLoad(t *testing.T) {
	duration := func(o tokenserver.Options, tokens int) time.Duration {
		return o.Prefill + time.Duration(tokens-1)*o.PerToken
	}
	for _, m := range Measures() {
		if m.Test.Streams >= 500 && m.Test.Begin < duration(m.Server, m.Test.Tokens) {
			t.Errorf("%s: all streams begin within %v, and a response takes %v", m.Name, m.Test.Begin, duration(m.Server, m.Test.Tokens))
		}
	}
	for i, underWay := range []float64{500, 2, 2} {
		m := PacedMeasures()[i]
		if got := m.Test.QPS * duration(m.Server, m.Test.Tokens).Seconds(); math.Abs(got/underWay-1) > 0.01 {
			t.Errorf("%s: %.4g requests are under way, want %g", m.Name, got, underWay)
		}
	}
}
