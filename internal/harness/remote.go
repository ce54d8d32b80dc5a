package harness

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/report"
)

// An evidence is what servers and their client counted before a test, and what follows from
// what they counted after it. Its zero value is that of an engine of this machine.
type evidence struct {
	engine   backend.Remote
	before   backend.Account
	silent   error // the servers tell no statistics
	remote   *report.Remote
	problems []string
	caveats  []string
	warnings []string
}

// accountTimeout bounds what asking servers about a test takes.
const accountTimeout = 10 * time.Second

// beforeTest notes what was counted so far.
func (r *run) beforeTest(ctx context.Context) {
	r.evidence = evidence{}
	engine, ok := r.cfg.Engine.(backend.Remote)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, accountTimeout)
	defer cancel()
	r.evidence.engine = engine
	r.evidence.before, r.evidence.silent = engine.Account(ctx)
}

// afterTest compares it with what was counted since, also after an interruption.
func (r *run) afterTest(ctx context.Context) {
	e := &r.evidence
	if e.engine == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), accountTimeout)
	defer cancel()
	after, err := e.engine.Account(ctx)
	if err != nil {
		e.silent = err
	}
	added, restarted := after.Since(e.before)
	e.remote = remoteOf(added)
	if restarted {
		e.problem("the servers counted less after the test than before: one was started anew")
	}
	if err := e.engine.Check(ctx); err != nil {
		e.problem("after the test: " + err.Error())
	}
	samples := uint64(0)
	for _, w := range r.sut.workers {
		samples += uint64(w.samples.Load())
	}
	if len(r.files) > 1 {
		e.weighParts(added, restarted)
	} else {
		e.weigh(added, samples, restarted)
	}
}

func (e *evidence) problem(text string) { e.problems = append(e.problems, text) }

// weigh says what follows from the counts.
func (e *evidence) weigh(a backend.Account, samples uint64, restarted bool) {
	switch s := a.Server; {
	case !e.computed(a) || restarted:
	case s.Inferences < samples:
		e.caveats = append(e.caveats, fmt.Sprintf("the servers counted %d of %d samples: either one of several behind a balancer was asked, or answers were not computed", s.Inferences, samples))
	case s.Inferences > samples:
		e.warnings = append(e.warnings, fmt.Sprintf("the servers counted %d samples, %d were sent: others used them, too", s.Inferences, samples))
	}
}

// weighParts says what follows from the counts of a model of several files, which run any number of
// times for a sample, for several at once or for one.
func (e *evidence) weighParts(a backend.Account, restarted bool) {
	if e.computed(a) && !restarted && a.Server.Inferences < a.RoundTrip.Count {
		e.caveats = append(e.caveats, fmt.Sprintf("the servers counted %d inferences, %d requests were answered: either one of several behind a balancer was asked, or answers were not computed", a.Server.Inferences, a.RoundTrip.Count))
	}
}

// computed says what follows from what happened to the servers, and reports whether they tell that they
// computed the answers.
func (e *evidence) computed(a backend.Account) bool {
	if len(a.Down) > 0 {
		e.problem("servers were left out since they failed: " + strings.Join(a.Down, "; "))
	}
	if a.Retried > 0 {
		e.caveats = append(e.caveats, fmt.Sprintf("%d requests were sent once more (retry): the rules have no such thing", a.Retried))
	}
	switch {
	case a.Server == nil:
		e.warnings = append(e.warnings, fmt.Sprintf("nothing shows that no answer came from a cache: the servers tell no statistics (%v)", e.silent))
		return false
	case a.Server.CacheHits > 0:
		e.problem(fmt.Sprintf("the servers answered %d requests from a cache, which the rules forbid", a.Server.CacheHits))
		return false
	}
	return true
}

// apply adds what was found to results. A run with a problem is not valid.
func (e *evidence) apply(out *report.Results) {
	out.Remote = e.remote
	out.Problems = append(out.Problems, e.problems...)
	out.Caveats = append(out.Caveats, e.caveats...)
	out.Warnings = append(out.Warnings, e.warnings...)
	if len(e.problems) > 0 && out.Result == report.Valid {
		out.Result = report.Invalid
	}
}

// remoteOf is an account as results have it.
func remoteOf(a backend.Account) *report.Remote {
	r := &report.Remote{
		Connections: a.Connections, SentBytes: a.Sent, ReceivedBytes: a.Received, Retried: a.Retried,
		Requests: a.RoundTrip.Count, RoundTripNS: int64(a.RoundTrip.Mean()),
	}
	for i, name := range a.Endpoints {
		r.Endpoints = append(r.Endpoints, report.Endpoint{URL: name, Requests: a.Requests[i]})
	}
	if s := a.Server; s != nil {
		r.Server = &report.RemoteCount{Inferences: s.Inferences, Executions: s.Executions, CacheHits: s.CacheHits,
			QueueNS: int64(s.Queue.Mean()), ComputeNS: int64(s.Compute.Mean())}
	}
	return r
}
