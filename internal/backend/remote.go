package backend

import (
	"context"
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
	requests := make([]int64, len(a.Requests))
	for i, n := range a.Requests {
		requests[i] = n
		if i < len(b.Requests) {
			requests[i] -= b.Requests[i]
		}
	}
	a.Requests = requests
	if a.Server == nil || b.Server == nil {
		a.Server = nil
		return a, false
	}
	if s, t := a.Server, b.Server; s.Inferences < t.Inferences || s.Executions < t.Executions || s.CacheHits < t.CacheHits {
		return a, true
	}
	a.Server = &ServerCount{
		a.Server.Inferences - b.Server.Inferences, a.Server.Executions - b.Server.Executions, a.Server.CacheHits - b.Server.CacheHits,
		a.Server.Queue.since(b.Server.Queue), a.Server.Compute.since(b.Server.Compute),
	}
	return a, false
}

func (s Sum) since(b Sum) Sum { return Sum{s.Count - b.Count, s.Time - b.Time} }

// Mean is what one thing took; 0 if there was none.
func (s Sum) Mean() time.Duration {
	if s.Count == 0 {
		return 0
	}
	return s.Time / time.Duration(s.Count)
}
