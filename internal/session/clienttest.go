package session

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/endpoint"
	"github.com/mlperf-go/mlperf/internal/machine"
)

// A ClientTest measures what the client of endpoints costs on this machine: so many streams at
// once, each with one prompt after the other, at a server that is another process.
type ClientTest struct {
	URL      string
	Streams  int
	Tokens   int // of an answer
	Duration time.Duration
}

// ClientTestResult is what a ClientTest finds. Programs to compare with print the same.
type ClientTestResult struct {
	Tokens     int64   `json:"tokens"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	Answers    int64   `json:"answers"`
	Failures   int64   `json:"failures"`

	FirstTokenP50NS int64 `json:"first_token_p50_ns"`
	FirstTokenP99NS int64 `json:"first_token_p99_ns"`
	PerTokenNS      int64 `json:"per_token_mean_ns"` // from the first to the last, of all answers
}

// TokensPerSecond is the rate at which tokens came.
func (r *ClientTestResult) TokensPerSecond() float64 { return float64(r.Tokens) / r.Seconds }

// TokensPerCore is the rate at which a core takes them, if it does nothing else.
func (r *ClientTestResult) TokensPerCore() float64 { return float64(r.Tokens) / r.CPUSeconds }

// Run runs the test.
func (t ClientTest) Run(ctx context.Context) (*ClientTestResult, error) {
	e, err := openai.New(openai.Config{
		Servers: endpoint.Options{URLs: []string{t.URL}}, Model: "m", Route: openai.Chat, Stream: true, Exact: true, Warm: min(t.Streams, warmAtMost),
	})
	if err != nil {
		return nil, err
	}
	s, err := e.Open(ctx, backend.Options{})
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	r, err := t.load(ctx, s.(backend.Generator))
	return r, errors.Join(err, s.Close(), e.Close())
}

// load asks, and counts what comes.
func (t ClientTest) load(ctx context.Context, g backend.Generator) (*ClientTestResult, error) {
	prompt := &backend.Prompt{Text: "once upon a time", MaxTokens: t.Tokens, Exact: true}
	var group sync.WaitGroup
	var failed atomic.Pointer[error]
	per := backend.NewTimes()
	g.Reset()
	began, worked := time.Now(), machine.CPUTime()
	for range t.Streams {
		group.Go(func() {
			sink := &stopwatch{per: per}
			for time.Since(began) < t.Duration && ctx.Err() == nil && failed.Load() == nil {
				if err := g.Generate(ctx, prompt, sink); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	group.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	m := g.Measured()
	return &ClientTestResult{
		Tokens: m.Tokens, Seconds: time.Since(began).Seconds(), CPUSeconds: (machine.CPUTime() - worked).Seconds(), Answers: m.Answers,
		FirstTokenP50NS: int64(m.FirstToken.P50), FirstTokenP99NS: int64(m.FirstToken.P99), PerTokenNS: int64(per.Spread().Mean),
	}, context.Cause(ctx)
}

// A stopwatch measures the time per token of answers.
type stopwatch struct {
	first time.Time
	per   *backend.Times
}

// First implements backend.Sink.
func (s *stopwatch) First([]byte, []int32) { s.first = time.Now() }

// Done implements backend.Sink.
func (s *stopwatch) Done(a backend.Answer) {
	if a.Tokens > 1 {
		s.per.Add(time.Since(s.first) / time.Duration(a.Tokens-1))
	}
}
