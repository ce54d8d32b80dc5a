package openai

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A session has found out what the servers understand. It is a backend.Generator.
type session struct {
	config  Config
	servers *servers
	texts   backend.Texts
	dialect dialect
	model   string
	info    backend.Info
	stats   *stats
	turn    atomic.Uint64 // requests since Reset
	// givesReasons is set once an answer had a finish_reason, in the test or before it.
	givesReasons atomic.Bool
	dimensions   atomic.Int64 // of embeddings; 0: not known
}

var errNoTensors = errors.New("a server of text takes no tensors")

func (s *session) Bind(tensor.Tensor) (backend.Value, error)                   { return nil, errNoTensors }
func (s *session) Run(context.Context, []backend.Value, []backend.Value) error { return errNoTensors }

func (s *session) Info() backend.Info { return s.info }
func (s *session) Streams() bool      { return s.config.Stream }
func (s *session) TakesIDs() bool     { return s.dialect.ids }
func (s *session) Limit() int         { return s.config.Concurrency }

// Close does nothing: the connections are the engine's.
func (s *session) Close() error { return nil }

func (s *session) Reset() {
	s.turn.Store(0)
	s.stats.reset()
	s.servers.reset()
}

func (s *session) Measured() backend.Generated {
	g := s.stats.measured()
	s.count(&g.Check)
	s.servers.mu.Lock()
	defer s.servers.mu.Unlock()
	for _, server := range s.servers.list {
		g.Servers = append(g.Servers, backend.ServerLoad{URL: server.url, Requests: server.requests, Most: server.maxOutstanding})
	}
	return g
}

const (
	// The first repetition waits firstPause, each further one twice as long, up to maxPause.
	firstPause, maxPause = 50 * time.Millisecond, 5 * time.Second
	// maxRetryAfter bounds what a server asks for with Retry-After.
	maxRetryAfter = time.Minute
)

// Generate implements backend.Generator.
func (s *session) Generate(ctx context.Context, p *backend.Prompt, sink backend.Sink) error {
	write := s.body
	if IsTask(s.config.Route) {
		write = s.taskBody
	}
	body, err := write(p)
	if err != nil {
		return err
	}
	a := &answer{session: s, prompt: p, request: maphash.Bytes(s.stats.seed, body), sink: sink}
	if t, ok := sink.(backend.Tracer); ok {
		a.trace = t.Trace()
	}
	givesUp := a.trace != nil && s.givesUp(s.turn.Add(1))
	s.stats.begin()
	defer a.end()
	patience := s.patience(p)
	for pause := patience.Pause; ; pause = min(2*pause, maxRetryAfter) {
		f := s.redacted(s.try(ctx, a, body, givesUp))
		if f == nil {
			return nil
		}
		if f.kind == kindGivenUp {
			a.giveUp()
			return nil
		}
		again, wait := f.again, max(min(pause, maxPause), min(f.after, maxRetryAfter))
		if p.Patience != nil {
			again, wait = f.reference(pause)
		}
		if !again || a.started || a.attempts >= patience.Tries {
			s.stats.fail(f)
			if a.trace != nil {
				a.trace.Error = f.Error()
			}
			return f
		}
		if p.Patience == nil { // else the benchmark asks for it
			s.stats.retry()
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return transportFailure(ctx, ctx.Err())
		}
	}
}

// patience is that with the answer to a prompt.
func (s *session) patience(p *backend.Prompt) backend.Patience {
	if p.Patience != nil {
		return *p.Patience
	}
	return backend.Patience{Timeout: s.config.Timeout, Tries: s.config.Retries + 1, Pause: firstPause}
}

// givesUp reports whether the answer to the n-th request is given up.
func (s *session) givesUp(n uint64) bool {
	const seed = 0x676976656e207570
	return s.config.Cancel > 0 && rand.New(rand.NewPCG(seed, n)).Float64() < s.config.Cancel
}

// try sends a prompt once, and may give its answer up.
func (s *session) try(ctx context.Context, a *answer, body []byte, givesUp bool) *failure {
	ctx, cut := context.WithCancelCause(ctx)
	defer cut(nil)
	timeout := s.patience(a.prompt).Timeout
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, failf(kindTimeout, "the answer did not end within %v", timeout))
	defer cancel()
	server := s.servers.acquire()
	defer s.servers.release(server)
	url := server.root + completionsRoute
	if s.dialect.chat {
		url = server.root + chatRoute
	}
	if IsTask(s.config.Route) {
		url = s.taskURL(server.root)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return &failure{kind: kindConnect, err: err}
	}
	s.servers.setHeaders(request.Header)
	request.Header.Set("Accept", s.accepts())
	if a.prompt.Session != "" {
		request.Header["X-Session-ID"] = []string{a.prompt.Session} // as the client of mlcommons/endpoints writes it
	}
	a.begin()
	if !s.config.Once {
		request.Header["Idempotency-Key"] = []string{} // net/http may send it again, and sends no such header
		body := request.GetBody
		request.GetBody = func() (io.ReadCloser, error) {
			a.resent()
			return body()
		}
	}
	if givesUp {
		defer time.AfterFunc(s.config.CancelAfter, func() { cut(failf(kindGivenUp, "its answer was given up")) }).Stop()
	}
	response, err := s.servers.client.Do(request)
	if err != nil {
		return transportFailure(ctx, err)
	}
	defer response.Body.Close()
	if f := s.check(response); f != nil {
		return f
	}
	silence := time.AfterFunc(s.config.Quiet, func() {
		cut(failf(kindTimeout, "the answer stopped in the middle: nothing came for %v", s.config.Quiet))
	})
	defer silence.Stop()
	f := a.read(&timedReader{Reader: response.Body, silence: silence, most: s.config.Quiet})
	if f != nil && f.kind == kindBroken {
		f = transportFailure(ctx, f.err)
	}
	return f
}

const (
	typeStream = "text/event-stream"
	typeWhole  = "application/json"
)

// accepts is the type of answers.
func (s *session) accepts() string {
	if s.config.Stream {
		return typeStream
	}
	return typeWhole
}

// check refuses responses whose body is not an answer of the kind that was asked for.
func (s *session) check(r *http.Response) *failure {
	want := s.accepts()
	got, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	packed := r.Header.Get("Content-Encoding")
	switch {
	case r.StatusCode != http.StatusOK:
		f := statusFailure(r.StatusCode, s.complaint(r.Body))
		after := r.Header.Get("Retry-After")
		if seconds, err := strconv.ParseUint(after, 10, 31); err == nil {
			f.after = time.Duration(seconds) * time.Second
		} else if date, err := http.ParseTime(after); err == nil {
			f.after = time.Until(date)
		}
		return f
	case packed != "" && packed != "identity":
		return failf(kindPacked, "the server compressed the answer (%s), which was not asked for: the times of its tokens are unknown", s.quote(packed))
	case got == want, s.config.Route == Videos: // whose bytes say what they are: servers of videos name several types
		return nil
	case got == typeWhole:
		return failf(kindWhole, "the server ignored that a stream was asked for and answered %s", s.complaint(r.Body))
	}
	return failf(kindType, "the answer is %q: must be %s: %s", s.quote(r.Header.Get("Content-Type")), want, s.complaint(r.Body))
}
