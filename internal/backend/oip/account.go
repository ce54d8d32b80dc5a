package oip

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
)

// named is how many servers a title names.
const named = 3

// title is how results call the engine: who answers, and where.
func (e *Engine) title() string {
	s := e.servers[0]
	who := strings.TrimSpace(s.Name + " " + s.Version)
	list := e.client.Endpoints()
	if len(list) > named {
		list = append(list[:named:named], fmt.Sprintf("%d more", len(list)-named))
	}
	return fmt.Sprintf("oip (%s) at %s", who, strings.Join(list, ", "))
}

// facts are what somebody needs to ask the same servers again.
func (e *Engine) facts() map[string]string {
	c := e.config.Client
	facts := map[string]string{"endpoints": strings.Join(e.client.Endpoints(), " "), "remote model": e.config.Model}
	var names []string
	for _, m := range e.known() {
		names = append(names, m.name)
	}
	if len(names) > 0 {
		facts["remote model"] = strings.Join(names, " ")
	}
	for name, value := range map[string]string{"remote version": e.config.Version, "concurrency": positive(c.Concurrency), "retry": positive(c.Retry), "request timeout": positive(c.Timeout)} {
		if value != "" {
			facts[name] = value
		}
	}
	for i, s := range e.servers {
		facts[fmt.Sprintf("server %d", i+1)] = strings.TrimSpace(s.Name + " " + s.Version)
	}
	return facts
}

// positive is a number as a text; empty: it is not set.
func positive[N int | time.Duration](n N) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// Account implements backend.Remote.
func (e *Engine) Account(ctx context.Context) (backend.Account, error) {
	t := e.client.Traffic()
	a := backend.Account{
		Endpoints: e.client.Endpoints(), Local: e.client.Local(), Requests: t.ByServer, Down: e.client.Down(), Retried: e.client.Retried(),
		Connections: t.Connections, Sent: t.Sent, Received: t.Received,
		RoundTrip: backend.Sum{Count: e.answered.Load(), Time: time.Duration(e.took.Load())},
	}
	var sum protocol.ModelStatistics
	for _, m := range e.counted() {
		list, err := e.client.Statistics(ctx, m.name, e.config.Version)
		if err != nil {
			return a, err
		}
		for _, s := range list {
			sum.Add(s)
		}
	}
	of := func(s protocol.Sum) backend.Sum {
		return backend.Sum{Count: s.Count, Time: time.Duration(min(s.NS, math.MaxInt64))}
	}
	a.Server = &backend.ServerCount{Inferences: sum.InferenceCount, Executions: sum.ExecutionCount, CacheHits: sum.InferenceStats.CacheHit.Count,
		Queue: of(sum.InferenceStats.Queue), Compute: of(sum.InferenceStats.ComputeInfer)}
	return a, nil
}
