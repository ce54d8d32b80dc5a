package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Options say which servers to ask, and how. The zero value of every field but Endpoints is useful.
type Options struct {
	Endpoints   []string        // URLs, at least one
	Concurrency int             // requests that are outstanding at once, for which connections are kept; 0: 64
	Timeout     time.Duration   // of a request with its answer; 0: 2 minutes
	Retry       int             // how often a request is sent again, to another server if there is one
	Token       string          // sent with each request, as a bearer token
	TLS         credentials.TLS // of https and grpcs

	lookup func(ctx context.Context, host string) ([]string, error) // for tests; nil: DNS
}

const (
	maxAnswer       = 256 << 20        // bytes
	metadataTimeout = 10 * time.Second // of questions about servers and models
)

// A Client asks servers. It may be used from several goroutines at once.
type Client struct {
	options Options
	servers []*server
	next    atomic.Uint64 // server at which the search for the least outstanding begins
	ids     atomic.Uint64
	retried atomic.Int64
}

// A Request is one inference.
type Request struct {
	Model, Version string
	Specs          []protocol.Spec // of the tensors
	Tensors        []tensor.Tensor
	Wanted         []string // outputs; nil: all
	// Accept checks the head of the answer, and returns where its tensors go.
	Accept func(h *protocol.Head) (protocol.Place, error)
}

// An Answer is what a server answered.
type Answer struct {
	protocol.Head
	Outputs []tensor.Tensor
}

// New finds the addresses of the servers. It connects to none.
func New(ctx context.Context, o Options) (*Client, error) {
	o.Concurrency, o.Timeout = cmp.Or(o.Concurrency, 64), cmp.Or(o.Timeout, 2*time.Minute)
	config, err := o.TLS.Client()
	if err != nil {
		return nil, err
	}
	list, err := endpoints(ctx, o)
	if err != nil {
		return nil, err
	}
	c := &Client{options: o}
	for _, e := range list {
		s := &server{endpoint: e}
		c.servers = append(c.servers, s)
		if !e.grpc {
			s.transport = newHTTP(s, o, config)
		} else if s.transport, err = newGRPC(s, o, config); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// Close ends the connections.
func (c *Client) Close() error {
	var errs []error
	for _, s := range c.servers {
		if s.transport != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(errs...)
}

// Infer has a server answer a request.
func (c *Client) Infer(ctx context.Context, r *Request) (*Answer, error) {
	var tried []*server
	for {
		s, err := c.pick(tried)
		if err != nil {
			return nil, err
		}
		answer, err := c.ask(ctx, s, r)
		if err == nil || len(tried) == c.options.Retry || ctx.Err() != nil {
			return answer, err
		}
		var failed *serverError
		if lost := errors.As(err, &failed) && failed.lost; !lost && protocol.CodeOf(err) != protocol.Unavailable {
			return nil, err // another server would say the same
		}
		tried = append(tried, s)
		c.retried.Add(1)
	}
}

// ask sends a request to a server that pick has chosen.
func (c *Client) ask(ctx context.Context, s *server, r *Request) (*Answer, error) {
	defer s.outstanding.Add(-1)
	s.requests.Add(1)
	there, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	defer time.AfterFunc(silence, func() {
		if err := s.gone(there); err != nil {
			lose(err)
		}
	}).Stop()
	within, cancel := context.WithTimeoutCause(there, c.options.Timeout, lostError{fmt.Errorf("no answer within %v", c.options.Timeout)})
	defer cancel()
	id := strconv.FormatUint(c.ids.Add(1), 10)
	answer, err := s.infer(within, r, id)
	if err == nil && answer.ID != "" && answer.ID != id {
		err = lostError{fmt.Errorf("the answer is that of request %q, asked was %s", answer.ID, id)}
	}
	switch {
	case err == nil:
		s.refused.Store(0)
		return answer, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx) // the caller gave the request up
	case within.Err() != nil:
		err = context.Cause(within)
	}
	s.failed.Add(1)
	return nil, c.blame(s, c.redact(err))
}

// each asks all servers something, at once.
func (c *Client) each(ctx context.Context, what string, ask func(ctx context.Context, i int, s *server) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, metadataTimeout, fmt.Errorf("no answer within %v", metadataTimeout))
	defer cancel()
	errs := make([]error, len(c.servers))
	var all sync.WaitGroup
	for i, s := range c.servers {
		all.Go(func() {
			if err := ask(ctx, i, s); err != nil {
				if ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				errs[i] = &serverError{Endpoint: s.name, Err: fmt.Errorf("%s: %w", what, c.redact(err))}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Servers describes all servers, in the order of the endpoints.
func (c *Client) Servers(ctx context.Context) ([]protocol.ServerMetadata, error) {
	list := make([]protocol.ServerMetadata, len(c.servers))
	return list, c.each(ctx, "asking for its name", func(ctx context.Context, i int, s *server) error {
		m, err := s.metadata(ctx)
		if err == nil {
			userinput.Lines(m)
			list[i] = *m
		}
		return err
	})
}

// Model describes a model that all servers have, ready and with the same ports.
func (c *Client) Model(ctx context.Context, model, version string) (*protocol.ModelMetadata, error) {
	list := make([]*protocol.ModelMetadata, len(c.servers))
	err := c.each(ctx, "asking for the model "+model, func(ctx context.Context, i int, s *server) (err error) {
		if err = s.ready(ctx, model, version); err != nil {
			return err
		}
		if list[i], err = s.model(ctx, model, version); err != nil {
			return err
		}
		for _, p := range slices.Concat(list[i].Inputs, list[i].Outputs) { // requests need the names as they are
			if p.Name != userinput.Line(p.Name) {
				return fmt.Errorf("its model has a port whose name cannot be printed: %q", userinput.Line(p.Name))
			}
		}
		userinput.Lines(list[i])
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, m := range list {
		if diff := list[0].Difference(m); diff != "" {
			return nil, fmt.Errorf("servers %s and %s have different models %s: %s", c.servers[0].name, c.servers[i].name, model, diff)
		}
	}
	return list[0], nil
}

// Statistics are what each server counted of a model.
func (c *Client) Statistics(ctx context.Context, model, version string) ([]protocol.ModelStatistics, error) {
	list := make([]protocol.ModelStatistics, len(c.servers))
	return list, c.each(ctx, "asking for statistics of "+model, func(ctx context.Context, i int, s *server) error {
		all, err := s.statistics(ctx, model, version)
		for _, m := range all {
			if m.Name != model {
				return fmt.Errorf("they are those of %q", m.Name)
			}
			list[i].Add(m)
		}
		return err
	})
}

// Endpoints are the names of the servers.
func (c *Client) Endpoints() []string {
	var list []string
	for _, s := range c.servers {
		list = append(list, s.name)
	}
	return list
}

// Local names the servers that are certainly on this machine.
func (c *Client) Local(ctx context.Context) []string {
	var list []string
	for _, s := range c.servers {
		if s.local(ctx) {
			list = append(list, s.name)
		}
	}
	return list
}

// Traffic is what went to all servers so far, on the wire.
type Traffic struct {
	Connections, Sent, Received int64   // bytes
	Requests                    []int64 // to each server
	Retried                     int64   // requests that were sent again
}

// Traffic counts the connections, bytes and requests so far.
func (c *Client) Traffic() Traffic {
	t := Traffic{Retried: c.retried.Load()}
	for _, s := range c.servers {
		t.Connections += s.connections.Load()
		t.Sent += s.sent.Load()
		t.Received += s.received.Load()
		t.Requests = append(t.Requests, s.requests.Load())
	}
	return t
}
