package backend

import (
	"context"
	"errors"
	"net"
	"slices"
	"time"
)

// A Remote is an engine whose models run on servers.
type Remote interface {
	Engine
	// Account is what went to the servers since the engine was opened, and what they counted since they were started.
	// With an error the servers tell no counts, and the rest is there.
	Account(ctx context.Context) (Account, error)
	// Check fails if a server has another model, or another version of it, than when the model was opened.
	Check(ctx context.Context) error
}

// A Loss is the error of a request that one of several servers did not answer.
type Loss interface {
	error
	// Survivors is how many servers go on answering.
	Survivors() int
}

// ErrUnreachable marks the error of a request to which no server could be connected.
var ErrUnreachable = errors.New("the server cannot be reached")

// ConnectTimeout is how long a connection to a server may take.
const ConnectTimeout = 10 * time.Second

// Dialer connects to servers. It notices in half a minute when the machine of a server that owes an answer is gone: the system of a busy
// server answers the probes.
func Dialer() *net.Dialer {
	return &net.Dialer{Timeout: ConnectTimeout, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}}
}

// An Account counts what went to servers, and what they did.
type Account struct {
	Endpoints []string
	Requests  []int64  // to each endpoint
	Down      []string // endpoints that are left out since they failed, with how many requests and why
	Retried   int64    // requests that were sent again
	RoundTrip Sum      // of requests that were answered, as seen from here

	Connections, Sent, Received int64 // connections that were made, and bytes on the wire

	// Server sums what the servers counted of the model; nil: they do not tell.
	Server *ServerCount
}

// A ServerCount has the counts of servers of a model.
type ServerCount struct {
	Inferences, Executions uint64 // samples, and runs of the model
	CacheHits              uint64
	Queue, Compute         Sum // of requests
}

// A Sum is a number of events and the sum of their times.
type Sum struct {
	Count uint64
	Time  time.Duration
}

// Since is what was added after an earlier account. A server that counts less than before was restarted: then its counts
// are what they are.
func (a Account) Since(b Account) (added Account, restarted bool) {
	a.RoundTrip = a.RoundTrip.since(b.RoundTrip)
	a.Connections, a.Sent, a.Received, a.Retried = a.Connections-b.Connections, a.Sent-b.Sent, a.Received-b.Received, a.Retried-b.Retried
	a.Requests = slices.Clone(a.Requests)
	for i, n := range b.Requests[:min(len(a.Requests), len(b.Requests))] {
		a.Requests[i] -= n
	}
	if a.Server == nil || b.Server == nil {
		a.Server = nil
		return a, false
	}
	now, before := *a.Server, *b.Server
	if now.Inferences < before.Inferences || now.Executions < before.Executions || now.CacheHits < before.CacheHits ||
		now.Queue.Count < before.Queue.Count || now.Compute.Count < before.Compute.Count {
		return a, true
	}
	a.Server = &ServerCount{
		now.Inferences - before.Inferences, now.Executions - before.Executions, now.CacheHits - before.CacheHits,
		now.Queue.since(before.Queue), now.Compute.since(before.Compute),
	}
	return a, false
}

func (s Sum) since(b Sum) Sum { return Sum{s.Count - b.Count, s.Time - b.Time} }

// Mean is the mean time of an event; 0 of none.
func (s Sum) Mean() time.Duration {
	if s.Count == 0 {
		return 0
	}
	return s.Time / time.Duration(s.Count)
}
