package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A Client asks servers. It may be used from several goroutines at once.
type Client struct {
	options Options
	nodes   []*node
	next    atomic.Uint64 // rotates where the search for a server begins
	ids     atomic.Uint64
	retried atomic.Int64
	late    error // of a request that takes too long
}

// A node is a server.
type node struct {
	endpoint
	transport
	outstanding atomic.Int64
	sent        atomic.Int64
	failed      atomic.Int64
	refused     atomic.Int64          // requests in a row that it had no room for
	down        atomic.Pointer[error] // why it is left out; nil: it is not
	traffic     traffic
}

// A transport speaks the protocol with one server.
type transport interface {
	server(ctx context.Context) (*protocol.ServerMetadata, error)
	ready(ctx context.Context, model, version string) error
	model(ctx context.Context, model, version string) (*protocol.ModelMetadata, error)
	statistics(ctx context.Context, model, version string) ([]protocol.ModelStatistics, error)
	// infer returns when nothing uses the tensors any more.
	infer(ctx context.Context, r *Request, id string) (*Answer, error)
	close() error
}

// A Request is one inference.
type Request struct {
	Model, Version string
	Specs          []protocol.Spec // of the tensors
	Tensors        []tensor.Tensor
	Wanted         []string // outputs; nil: all
	// Accept looks at the head of the answer, and says where its tensors go.
	Accept func(h *protocol.Head) (protocol.Place, error)
}

// head is the head of a request.
func (r *Request) head(id string) protocol.Head {
	return protocol.Head{ID: id, Tensors: r.Specs, Wanted: r.Wanted}
}

// An Answer is what a server answered.
type Answer struct {
	protocol.Head
	Outputs []tensor.Tensor
}

// New connects to nobody yet, but finds the addresses of names.
func New(ctx context.Context, o Options) (*Client, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	config, err := o.TLS.Client()
	if err != nil {
		return nil, err
	}
	list, err := endpoints(ctx, o.Endpoints, o.Resolve)
	if err != nil {
		return nil, err
	}
	c := &Client{options: o, late: lost{fmt.Errorf("no answer within %v", o.Timeout)}}
	for _, e := range list {
		n := &node{endpoint: e}
		c.nodes = append(c.nodes, n)
		if n.transport, err = newTransport(n, o, config); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// newTransport is what speaks with a server. It has to be closed even if there is an error.
func newTransport(n *node, o Options, config *tls.Config) (transport, error) {
	if n.grpc {
		return newGRPC(n, o, config)
	}
	return newHTTP(n, o, config)
}

// Close ends all connections.
func (c *Client) Close() error {
	var errs []error
	for _, n := range c.nodes {
		if n.transport != nil {
			errs = append(errs, n.close())
		}
	}
	return errors.Join(errs...)
}

// Infer has a server answer a request.
func (c *Client) Infer(ctx context.Context, r *Request) (*Answer, error) {
	var tried []*node
	for {
		n, err := c.pick(tried)
		if err != nil {
			return nil, err
		}
		answer, err := c.ask(ctx, n, r)
		if err == nil || len(tried) == c.options.Retry || ctx.Err() != nil || !worthRetry(err) {
			return answer, err
		}
		tried = append(tried, n)
		c.retried.Add(1)
	}
}

// worthRetry reports whether another server, or the same one later, might answer.
func worthRetry(err error) bool {
	var s *serverError
	return errors.As(err, &s) && s.lost || protocol.CodeOf(err) == protocol.Unavailable
}

// ask sends a request to a server.
func (c *Client) ask(ctx context.Context, n *node, r *Request) (*Answer, error) {
	defer n.outstanding.Add(-1) // pick has counted it
	n.sent.Add(1)
	within, cancel := context.WithTimeoutCause(ctx, c.options.Timeout, c.late)
	defer cancel()
	id := strconv.FormatUint(c.ids.Add(1), 10)
	answer, err := n.infer(within, r, id)
	if err == nil && answer.ID != "" && answer.ID != id {
		err = lost{fmt.Errorf("the answer is that of request %q, asked was %s", answer.ID, id)}
	}
	if err == nil {
		n.refused.Store(0)
		return answer, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // not the server's fault
	}
	if within.Err() != nil {
		err = context.Cause(within)
	}
	n.failed.Add(1)
	return nil, c.blame(n, c.redact(err))
}

// Retried is how many requests were sent once more.
func (c *Client) Retried() int64 { return c.retried.Load() }

// Endpoints are the names of the servers.
func (c *Client) Endpoints() []string {
	var list []string
	for _, n := range c.nodes {
		list = append(list, n.name)
	}
	return list
}

// Local names the servers that are on this machine for certain.
func (c *Client) Local() []string {
	var list []string
	for _, n := range c.nodes {
		if n.local() {
			list = append(list, n.name)
		}
	}
	return list
}
