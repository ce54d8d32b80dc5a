package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

// askTimeout bounds questions about servers and models.
const askTimeout = 10 * time.Second

// each asks all servers something, at once.
func (c *Client) each(ctx context.Context, what string, ask func(ctx context.Context, i int, n *node) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, fmt.Errorf("no answer within %v", askTimeout))
	defer cancel()
	errs := make([]error, len(c.nodes))
	var all sync.WaitGroup
	for i, n := range c.nodes {
		all.Go(func() {
			if err := ask(ctx, i, n); err != nil {
				if ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				errs[i] = &serverError{Endpoint: n.name, Err: fmt.Errorf("%s: %w", what, c.redact(err))}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Servers describes all servers, in the order of the endpoints.
func (c *Client) Servers(ctx context.Context) ([]protocol.ServerMetadata, error) {
	list := make([]protocol.ServerMetadata, len(c.nodes))
	err := c.each(ctx, "asking who it is", func(ctx context.Context, i int, n *node) error {
		s, err := n.server(ctx)
		if err == nil {
			list[i] = *s
		}
		return err
	})
	return list, err
}

// Model describes a model that all servers have, ready and with the same ports.
func (c *Client) Model(ctx context.Context, model, version string) (*protocol.ModelMetadata, error) {
	list := make([]*protocol.ModelMetadata, len(c.nodes))
	err := c.each(ctx, "asking for the model "+model, func(ctx context.Context, i int, n *node) (err error) {
		if err = n.ready(ctx, model, version); err == nil {
			list[i], err = n.model(ctx, model, version)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, m := range list {
		if diff := list[0].Difference(m); diff != "" {
			return nil, fmt.Errorf("servers %s and %s have different models %s: %s", c.nodes[0].name, c.nodes[i].name, model, diff)
		}
	}
	return list[0], nil
}

// Statistics are what each server counted of a model.
func (c *Client) Statistics(ctx context.Context, model, version string) ([]protocol.ModelStatistics, error) {
	list := make([]protocol.ModelStatistics, len(c.nodes))
	err := c.each(ctx, "asking for statistics of "+model, func(ctx context.Context, i int, n *node) error {
		all, err := n.statistics(ctx, model, version)
		if err != nil {
			return err
		}
		for _, s := range all {
			if s.Name != model {
				return fmt.Errorf("they are those of %q", s.Name)
			}
			list[i].Add(s)
		}
		return nil
	})
	return list, err
}
