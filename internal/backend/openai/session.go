package openai

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai/endpoint"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A session is a server that was found out about. It is a backend.Generator.
type session struct {
	config  Config
	servers *endpoint.Servers
	texts   backend.Texts
	dialect dialect
	model   string
	info    backend.Info
	watch   *watch
	stats   *stats
	calls   sync.Pool
	closing sync.Once
}

// Info implements backend.Session.
func (s *session) Info() backend.Info { return s.info }

var errNoTensors = errors.New("an endpoint takes text, no tensors")

// Bind implements backend.Session.
func (s *session) Bind(tensor.Tensor) (backend.Value, error) { return nil, errNoTensors }

// Run implements backend.Session.
func (s *session) Run(context.Context, []backend.Value, []backend.Value) error { return errNoTensors }

// Close implements backend.Session.
func (s *session) Close() error {
	s.closing.Do(s.watch.close)
	return s.servers.Close()
}

// Streams implements backend.Generator.
func (s *session) Streams() bool { return s.config.Stream }

// TakesIDs implements backend.Generator.
func (s *session) TakesIDs() bool { return s.dialect.ids }

// Limit implements backend.Generator.
func (s *session) Limit() int { return s.config.Concurrency }

// Reset implements backend.Generator.
func (s *session) Reset() {
	s.stats.reset()
	s.servers.Reset()
}

// Measured implements backend.Generator.
func (s *session) Measured() backend.Generated {
	g := s.stats.measured()
	for _, l := range s.servers.Loads() {
		g.Servers = append(g.Servers, backend.ServerLoad{URL: l.URL, Requests: l.Requests, Most: l.Most})
	}
	return g
}

// Generate implements backend.Generator.
func (s *session) Generate(ctx context.Context, p *backend.Prompt, sink backend.Sink) error {
	c := s.calls.Get().(*call)
	c.session, c.prompt, c.sink, c.started = s, p, sink, false
	c.left = false
	s.stats.begin()
	f := s.generate(ctx, c)
	c.leave()
	c.prompt, c.sink, c.watched = nil, nil, nil
	s.calls.Put(c)
	if f != nil {
		s.stats.fail(f)
		return f
	}
	return nil
}

// try sends a prompt once.
func (s *session) try(ctx context.Context, c *call, body []byte) *failure {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.begin()
	c.watched = s.watch.begin(cancel)
	defer s.watch.end(c.watched)
	server := s.servers.Acquire()
	defer s.servers.Release(server)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address(server, s.dialect.chat), bytes.NewReader(body))
	if err != nil {
		return &failure{kind: kindConnect, err: err}
	}
	s.headers(request.Header)
	c.sent = time.Now()
	response, err := s.servers.HTTP().Do(request)
	if err != nil {
		return transportFailure(ctx, err)
	}
	defer response.Body.Close()
	if f := s.read(ctx, c, response); f != nil {
		return f
	}
	c.answered(time.Since(c.sent))
	s.watch.leave(c.watched)
	_, _ = io.CopyN(io.Discard, response.Body, maxRest) // to its end, so that the connection is used again
	return nil
}

// maxRest is how much is read behind the end of an answer.
const maxRest = 16 << 10

// headers fills in the head of a request.
func (s *session) headers(h http.Header) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept-Encoding", "identity")
	s.servers.Authorize(h)
}

// read reads the answer to a request.
func (s *session) read(ctx context.Context, c *call, r *http.Response) *failure {
	if f := s.acceptable(r); f != nil {
		return f
	}
	read := c.whole
	if s.config.Stream {
		read = c.stream
	}
	f := read(r.Body)
	if f == nil {
		return c.check()
	}
	if f.kind == kindBroken {
		f = transportFailure(ctx, f.err)
	}
	return f
}

// The types of answers.
const (
	typeStream = "text/event-stream"
	typeWhole  = "application/json"
)

// acceptable finds answers that are none.
func (s *session) acceptable(r *http.Response) *failure {
	want := typeWhole
	if s.config.Stream {
		want = typeStream
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	packed := r.Header.Get("Content-Encoding")
	switch {
	case r.StatusCode != http.StatusOK:
		f := statusFailure(r.StatusCode, s.complaint(r.Body))
		f.after = retryAfter(r.Header)
		return f
	case packed != "" && packed != "identity":
		return failf(kindPacked, "the answer is compressed (%s), which was not asked for: the time of its tokens cannot be told", s.quote(packed))
	case kind == want:
		return nil
	case kind == typeWhole:
		return failf(kindWhole, "the server ignores that a stream was asked for: it answered %s", s.complaint(r.Body))
	}
	return failf(kindType, "the answer is %q, want %s: %s", s.quote(r.Header.Get("Content-Type")), want, s.complaint(r.Body))
}

// address is where a server takes prompts. The address of a server may have the path before the
// route, /v1 being the usual one, or the whole route.
func address(server *endpoint.Server, chat bool) string {
	base := strings.TrimSuffix(server.URL(""), server.Path()) + prefixOf(server.Path())
	if chat {
		return base + chatRoute
	}
	return base + completionsRoute
}

const (
	completionsRoute = "/completions"
	chatRoute        = "/chat/completions"
	modelsRoute      = "/models"
)

// prefixOf is what stands before the routes.
func prefixOf(path string) string {
	path = strings.TrimSuffix(strings.TrimSuffix(path, chatRoute), completionsRoute)
	if path == "" {
		return "/v1"
	}
	return path
}
