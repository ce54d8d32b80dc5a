package backend

import (
	"context"
	"slices"
	"time"
)

// A Remote is an engine whose models run elsewhere: on servers that it asks.
type Remote interface {
	Engine
	// Account is what went to the servers since the engine was opened, and what they counted
	// since they were started. The error says that they do not tell; the rest is there.
	Account(ctx context.Context) (Account, error)
	// Check finds what has become of the servers since the model was opened: another model,
	// another version of it.
	Check(ctx context.Context) error
}

// A Loss is the error of a request to one of several servers that did not answer it.
type Loss interface {
	error
	// Survivors is how many servers go on answering.
	Survivors() int
}

// An Account is what went to servers, and what they made of it.
type Account struct {
	Endpoints []string
	Local     []string // endpoints that are on this machine for certain
	Requests  []int64  // to each endpoint
	Down      []string // endpoints that are left out since they failed, with how many requests and why
	Retried   int64    // requests that were sent once more
	RoundTrip Sum      // of requests that were answered, as seen from here

	Connections, Sent, Received int64 // connections that were made, and bytes on the wire

	// Server is what the servers counted of the model, together; nil: they do not tell.
	Server *ServerCount
}

// A ServerCount is what servers count of a model.
type ServerCount struct {
	Inferences, Executions uint64 // samples, and runs of the model
	CacheHits              uint64
	Queue, Compute         Sum // of requests
}

// A Sum counts things and what they took together.
type Sum struct {
	Count uint64
	Time  time.Duration
}

// Since is what was added after an earlier account. A server that counts less than before
// was started anew: then restarted is true, and its counts are what they are.
func (a Account) Since(b Account) (added Account, restarted bool) {
	a.RoundTrip = a.RoundTrip.since(b.RoundTrip)
	a.Connections, a.Sent, a.Received, a.Retried = a.Connections-b.Connections, a.Sent-b.Sent, a.Received-b.Received, a.Retried-b.Retried
	a.Requests = slices.Clone(a.Requests)
	for i, n := range b.Requests[:min(len(a.Requests), len(b.Requests))] {
		a.Requests[i] -= n
	}
	switch {
	case a.Server == nil || b.Server == nil:
		a.Server = nil
		return a, false
	case a.Server.fell(*b.Server):
		return a, true
	}
	server := a.Server.since(*b.Server)
	a.Server = &server
	return a, false
}

// fell reports whether anything is counted less often than before.
func (s ServerCount) fell(before ServerCount) bool {
	return s.Inferences < before.Inferences || s.Executions < before.Executions || s.CacheHits < before.CacheHits ||
		s.Queue.Count < before.Queue.Count || s.Compute.Count < before.Compute.Count
}

func (s ServerCount) since(b ServerCount) ServerCount {
	return ServerCount{s.Inferences - b.Inferences, s.Executions - b.Executions, s.CacheHits - b.CacheHits, s.Queue.since(b.Queue), s.Compute.since(b.Compute)}
}

func (s Sum) since(b Sum) Sum { return Sum{s.Count - b.Count, s.Time - b.Time} }

// Mean is what one thing took; 0 if there was none.
func (s Sum) Mean() time.Duration {
	if s.Count == 0 {
		return 0
	}
	return s.Time / time.Duration(s.Count)
}
