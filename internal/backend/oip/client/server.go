package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A server is one that the client asks.
type server struct {
	endpoint
	transport
	outstanding                 atomic.Int64
	requests, failed            atomic.Int64
	refused                     atomic.Int64          // requests in a row that it had no room for
	down                        atomic.Pointer[error] // why it is left out; nil: it is not
	connections, sent, received atomic.Int64          // bytes
}

// A transport speaks the protocol with one server.
type transport interface {
	metadata(ctx context.Context) (*protocol.ServerMetadata, error)
	ready(ctx context.Context, model, version string) error
	model(ctx context.Context, model, version string) (*protocol.ModelMetadata, error)
	statistics(ctx context.Context, model, version string) ([]protocol.ModelStatistics, error)
	// infer returns when nothing uses the tensors any more.
	infer(ctx context.Context, r *Request, id string) (*Answer, error)
	close() error
}

// pick chooses the server with the fewest outstanding requests, and counts one more for it. Those that were tried are taken
// only if all others are down. Servers with equally many take turns.
func (c *Client) pick(tried []*server) (*server, error) {
	var best *server
	start := c.next.Add(1)
	for i := range uint64(len(c.servers)) {
		s := c.servers[(start+i)%uint64(len(c.servers))]
		if s.down.Load() != nil {
			continue
		}
		if best != nil {
			again, bestAgain := slices.Contains(tried, s), slices.Contains(tried, best)
			if again && !bestAgain || again == bestAgain && s.outstanding.Load() >= best.outstanding.Load() {
				continue
			}
		}
		best = s
	}
	if best == nil {
		first := c.servers[0]
		err := fmt.Errorf("it is left out since it failed: %w", *first.down.Load())
		if len(c.servers) > 1 {
			err = fmt.Errorf("it is left out since it failed, and so are all %d servers: %w", len(c.servers), *first.down.Load())
		}
		return nil, &serverError{Endpoint: first.name, Err: err}
	}
	best.outstanding.Add(1)
	return best, nil
}

// A serverError is an error with the server that is its cause. It is a backend.Loss.
type serverError struct {
	Endpoint string
	Err      error
	lost     bool // the server is left out from now on
	others   int  // servers that go on
}

// Survivors is how many servers go on answering; 0 where the server is not to blame, or there is no other.
func (e *serverError) Survivors() int { return e.others }

func (e *serverError) Error() string { return "server " + e.Endpoint + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *serverError) Unwrap() error { return e.Err }

// A lostError is one after which a server is not asked again.
type lostError struct{ error }

func (l lostError) Unwrap() error { return l.error }

// silence is how long a server may leave a request alone until a connection is tried.
const silence = 30 * time.Second

// gone fails if the server cannot be connected to, for certain: a connection to a machine that is gone, with requests that it has not
// confirmed, breaks after many minutes only. A server that is too busy for a connection is there.
func (s *server) gone(ctx context.Context) error {
	conn, err := backend.Dialer().DialContext(ctx, s.network, s.address)
	switch {
	case err == nil:
		_ = conn.Close()
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return lostError{fmt.Errorf("no answer within %v, and no new connection: %w", silence, err)}
	}
	return nil
}

// maxRefused is how many requests in a row a server may refuse for lack of room. It refuses quickly, so that it would soon
// get all of them.
const maxRefused = 16

// blame makes an error that of a server, and leaves the server out if it is lost.
func (c *Client) blame(s *server, err error) error {
	up := func() (n int) {
		for _, s := range c.servers {
			if s.down.Load() == nil {
				n++
			}
		}
		return n
	}
	full := protocol.CodeOf(err) == protocol.Unavailable
	if full && s.refused.Add(1) >= maxRefused && up() > 1 {
		err = lostError{fmt.Errorf("it refused %d requests in a row: %w", maxRefused, err)}
	}
	e := &serverError{Endpoint: s.name, Err: err}
	if e.lost = errors.As(err, new(lostError)); e.lost {
		s.down.CompareAndSwap(nil, &err)
		e.others = up()
	} else if full {
		e.others = up() - 1
	}
	return e
}

// Down names the servers that are left out, with the reasons.
func (c *Client) Down() []string {
	var list []string
	for _, s := range c.servers {
		if err := s.down.Load(); err != nil {
			list = append(list, fmt.Sprintf("%s, %d of its %d requests: %v", s.name, s.failed.Load(), s.requests.Load(), *err))
		}
	}
	return list
}

// quote is a text of a server in one line of at most 200 bytes. The token is taken out first: its rest would not be found
// in a text that was cut.
func quote(text, token string) string { return userinput.Quote(credentials.Redact(text, token), 200) }

// A redactedError does not show the token.
type redactedError struct {
	error
	token string
}

func (e redactedError) Error() string { return credentials.Redact(e.error.Error(), e.token) }

// Unwrap returns the error that may show it.
func (e redactedError) Unwrap() error { return e.error }

func (c *Client) redact(err error) error {
	if c.options.Token == "" {
		return err
	}
	return redactedError{err, c.options.Token}
}
