package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/machine"
)

// A ClientTest measures what the client of endpoints costs on this machine: so many streams at
// once, each with one prompt after the other, at a server that is another process.
type ClientTest struct {
	URL      string
	Streams  int
	Tokens   int // of an answer
	Duration time.Duration
	// Begin is the time within which the streams begin, one after the other, before anything is counted. With that
	// of an answer they do not all end at once, which would be a storm of requests that no traffic has.
	Begin time.Duration
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
		URLs: []string{t.URL}, Model: "m", Route: openai.Chat, Stream: true, Exact: true, Warm: min(t.Streams, warmAtMost),
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
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group sync.WaitGroup
	per := backend.NewTimes()
	g.Reset()
	began := time.Now()
	for i := range t.Streams {
		group.Go(func() {
			sink := &stopwatch{per: per}
			for time.Since(began) < t.Begin+t.Duration && ctx.Err() == nil {
				if err := g.Generate(ctx, prompt, sink); err != nil {
					stop(err)
				}
			}
		})
		pause(ctx, time.Until(began.Add(t.Begin*time.Duration(i+1)/time.Duration(t.Streams))))
	}
	before, counted, worked := g.Measured(), time.Now(), machine.CPUTime()
	pause(ctx, time.Until(began.Add(t.Begin+t.Duration)))
	m, took, work := g.Measured(), time.Since(counted), machine.CPUTime()-worked
	group.Wait()
	return &ClientTestResult{
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
