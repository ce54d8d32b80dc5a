// Package clienttest measures the client of servers of text on this machine, at a server that is another process: under
// many streams (clienttest.go) and under the Poisson arrivals of a Server run (paced.go).
package clienttest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
)

// A Test measures the tokens and the processor time of the client: so many streams at once, each with one prompt after the other.
type Test struct {
	URL      string
	Streams  int
	Tokens   int // of an answer
	Duration time.Duration
	// Begin is the time within which the streams begin, one after the other, before anything is counted. If it is as
	// long as a response takes, the streams do not all end at once, as no real traffic does.
	Begin time.Duration
}

// A Result is that of a Test. Programs to compare with print the same.
type Result struct {
	Tokens     int64   `json:"tokens"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"`
	Answers    int64   `json:"answers"`
	Failures   int64   `json:"failures"`

	FirstTokenP50NS int64 `json:"first_token_p50_ns"`
	FirstTokenP99NS int64 `json:"first_token_p99_ns"`
	PerTokenNS      int64 `json:"per_token_mean_ns"` // from the first to the last, of all answers
}

// TokensPerSecond is the rate of tokens.
func (r *Result) TokensPerSecond() float64 { return float64(r.Tokens) / r.Seconds }

// TokensPerCore is the rate of tokens by the time that the processor worked.
func (r *Result) TokensPerCore() float64 { return float64(r.Tokens) / r.CPUSeconds }

// Run runs the test.
func (t Test) Run(ctx context.Context) (*Result, error) {
	e, err := openai.New(openai.Config{
		URLs: []string{t.URL}, Model: "m", Route: openai.Chat, Stream: true, Exact: true, Warm: min(t.Streams, engine.WarmConnections),
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

// load sends prompts and counts tokens.
func (t Test) load(ctx context.Context, g backend.Generator) (*Result, error) {
	prompt := &backend.Prompt{Text: "once upon a time", MaxTokens: t.Tokens, Exact: true}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group sync.WaitGroup
	per := backend.NewTimes()
	g.Reset()
	began := clock.Now()
	for i := range t.Streams {
		group.Go(func() {
			sink := &stopwatch{per: per}
			for clock.Since(began) < t.Begin+t.Duration && ctx.Err() == nil {
				if err := g.Generate(ctx, prompt, sink); err != nil {
					stop(err)
				}
			}
		})
		pause(ctx, time.Until(began.Add(t.Begin*time.Duration(i+1)/time.Duration(t.Streams))))
	}
	before, counted, worked := g.Measured(), clock.Now(), machine.CPUTime()
	pause(ctx, time.Until(began.Add(t.Begin+t.Duration)))
	m, took, work := g.Measured(), clock.Since(counted), machine.CPUTime()-worked
	group.Wait()
	return &Result{
		Tokens: m.Tokens - before.Tokens, Seconds: took.Seconds(), CPUSeconds: work.Seconds(), Answers: m.Answers - before.Answers,
		FirstTokenP50NS: int64(m.FirstToken.P50), FirstTokenP99NS: int64(m.FirstToken.P99), PerTokenNS: int64(per.Spread().Mean),
	}, context.Cause(ctx)
}

// pause waits, unless the context ends.
func pause(ctx context.Context, d time.Duration) {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-late.C:
	case <-ctx.Done():
	}
}

// A stopwatch is a sink that measures the time per token of responses.
type stopwatch struct {
	first time.Time
	per   *backend.Times
}

// First implements backend.Sink.
func (s *stopwatch) First([]byte, []int32) { s.first = clock.Now() }

// Done implements backend.Sink.
func (s *stopwatch) Done(a backend.Answer) {
	if a.Tokens > 1 {
		s.per.Add(clock.Since(s.first) / time.Duration(a.Tokens-1))
	}
}

// A Measure is a number by which the client is judged.
type Measure struct {
	Name   string
	Server tokenserver.Options // which is a process of its own
	Test   Test                // without its address and duration
	Of     func(*Result) float64
	Unit   string
}

// Measures lists the numbers by which the client is judged: how many tokens it takes, and whether its times are right.
func Measures() []Measure {
	const (
		perCore  = "tokens/s of a core"
		tokens   = 128
		interval = 20 * time.Millisecond // 50 tokens/s
	)
	milliseconds := func(r *Result) float64 { return float64(r.PerTokenNS) / 1e6 }
	return []Measure{
		{"64 tokens a write, as fast as they come", tokenserver.Options{PerWrite: 64}, Test{Streams: 16, Tokens: 512}, (*Result).TokensPerCore, perCore},
		{"a write for each token, as fast as they come", tokenserver.Options{PerWrite: 1}, Test{Streams: 64, Tokens: tokens}, (*Result).TokensPerCore, perCore},
		{"500 streams of 50 tokens/s", every(interval), Test{Streams: 500, Tokens: tokens, Begin: tokens * interval}, (*Result).TokensPerCore, perCore},
		{"2000 streams of 50 tokens/s", every(interval), Test{Streams: 2000, Tokens: tokens, Begin: tokens * interval}, (*Result).TokensPerSecond, "tokens/s"},
		{"time per token of a server of 10 ms", every(10 * time.Millisecond), Test{Streams: 4, Tokens: 100}, milliseconds, "ms"},
	}
}

// every is a server that sends a token at each interval.
func every(interval time.Duration) tokenserver.Options {
	return tokenserver.Options{Prefill: 20 * time.Millisecond, PerToken: interval, PerWrite: 1}
}
