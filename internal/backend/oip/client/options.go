package client

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
)

// Options say which servers to ask, and how.
type Options struct {
	Endpoints []string // URLs, at least one
	// Concurrency is how many requests will be under way at most, for which connections are
	// kept; 0: 64.
	Concurrency int
	Timeout     time.Duration   // of a request, from its beginning to the end of its answer; 0: 2 minutes
	Retry       int             // how often a request is sent once more, to another server if there is one
	MaxAnswer   int64           // bytes of an answer; 0: 256 MiB
	Token       string          // sent with each request, as a bearer token
	TLS         credentials.TLS // of https and grpcs
	Resolve     Resolver        // nil: DNS
}

const (
	defaultConcurrency = 64
	defaultTimeout     = 2 * time.Minute
	defaultMaxAnswer   = 256 << 20
)

func (o *Options) fill() error {
	for _, n := range []struct {
		name  string
		value int64
	}{{"concurrency", int64(o.Concurrency)}, {"timeout", int64(o.Timeout)}, {"retry", int64(o.Retry)}, {"largest answer", o.MaxAnswer}} {
		if n.value < 0 {
			return fmt.Errorf("the %s is negative", n.name)
		}
	}
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxAnswer == 0 {
		o.MaxAnswer = defaultMaxAnswer
	}
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, host string) ([]string, error) {
			return net.DefaultResolver.LookupHost(ctx, host)
		}
	}
	return nil
}
