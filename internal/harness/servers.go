package harness

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A serverCheck compares the counts of servers and of their client, before a test and after it. Its zero value is that
// of an engine of this machine.
type serverCheck struct {
	engine  backend.Remote
	before  backend.Account
	noStats error // why the servers tell no statistics
	Servers
}

// Servers is what the counts and the answers of servers say of a test. A test with a problem is INVALID. The zero value is that of an
// engine of this machine.
type Servers struct {
	Remote             *report.Remote
	Problems, Warnings []string
	Limitations        report.Limitations
}

// accountTimeout bounds asking servers about a test.
const accountTimeout = 10 * time.Second

// beforeTest keeps the counts so far.
func (r *run) beforeTest(ctx context.Context) {
	r.servers = serverCheck{}
	engine, ok := r.cfg.Engine.(backend.Remote)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, accountTimeout)
	defer cancel()
	r.servers.engine = engine
	r.servers.before, r.servers.noStats = engine.Account(ctx)
}

// afterTest compares them with the counts now, also after an interruption.
func (r *run) afterTest(ctx context.Context) {
	c := &r.servers
	if c.engine == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), accountTimeout)
	defer cancel()
	after, err := c.engine.Account(ctx)
	if err != nil {
		c.noStats = err
	}
	a, restarted := after.Since(c.before)
	if restarted {
		c.Problems = append(c.Problems, "the servers counted less after the test than before: one was restarted")
	}
	if err := c.engine.Check(ctx); err != nil {
		c.Problems = append(c.Problems, "after the test: "+strings.Join(userinput.ErrorLines(err), "; "))
	}
	samples := uint64(0)
	for _, w := range r.sut.workers {
		samples += uint64(w.samples.Load())
	}
	c.compare(a, restarted, samples, len(r.files) > 1)

	c.Remote = &report.Remote{
		Connections: a.Connections, SentBytes: a.Sent, ReceivedBytes: a.Received, Retried: a.Retried,
		Requests: a.RoundTrip.Count, RoundTripNS: int64(a.RoundTrip.Mean()),
	}
	for i, name := range a.Endpoints {
		c.Remote.Endpoints = append(c.Remote.Endpoints, report.Endpoint{URL: name, Requests: a.Requests[i]})
	}
	if s := a.Server; s != nil {
		c.Remote.Server = &report.RemoteCount{Inferences: s.Inferences, Executions: s.Executions, CacheHits: s.CacheHits,
			QueueNS: int64(s.Queue.Mean()), ComputeNS: int64(s.Compute.Mean())}
	}
}

// compare judges the counts of a test. A model of several files runs them any number of times for a sample, for several
// samples at once or for one, so that requests count and not samples.
func (c *serverCheck) compare(a backend.Account, restarted bool, samples uint64, several bool) {
	if len(a.Down) > 0 {
		c.Problems = append(c.Problems, "servers were left out since they failed: "+strings.Join(a.Down, "; "))
	}
	if a.Retried > 0 {
		c.limit(limitation.Limitation{ID: limitation.Retried, Value: fmt.Sprint(a.Retried)})
	}
	switch s := a.Server; {
	case s == nil:
		c.Warnings = append(c.Warnings, fmt.Sprintf("answers may have come from a cache: the servers tell no statistics (%v)", c.noStats))
	case s.CacheHits > 0:
		c.Problems = append(c.Problems, fmt.Sprintf("the servers answered %d requests from a cache, which the rules forbid", s.CacheHits))
	case restarted:
	case several && s.Inferences < a.RoundTrip.Count:
		c.limit(limitation.Limitation{ID: limitation.UncountedRequest, Value: fmt.Sprint(s.Inferences), Of: fmt.Sprint(a.RoundTrip.Count)})
	case several:
	case s.Inferences < samples:
		c.limit(limitation.Limitation{ID: limitation.UncountedSample, Value: fmt.Sprint(s.Inferences), Of: fmt.Sprint(samples)})
	case s.Inferences > samples:
		c.Warnings = append(c.Warnings, fmt.Sprintf("the servers counted %d samples, %d were sent: others used them, too", s.Inferences, samples))
	}
}

// lateTurns says which turns of conversations after the first, whose first tokens LoadGen judges, have late first tokens; 0: there is no bound.
func lateTurns(turns []report.Turn, bound time.Duration) string {
	var late []string
	for i, t := range turns[min(1, len(turns)):] {
		if l := t.FirstTokenNS; bound > 0 && l != nil && l.P99 > int64(bound) {
			late = append(late, fmt.Sprintf("%s in turn %d", units.Duration(time.Duration(l.P99)), i+2))
		}
	}
	if late == nil {
		return ""
	}
	return fmt.Sprintf("time to first token at the 99th percentile must be at most %s in each turn: %s", units.Duration(bound), strings.Join(late, ", "))
}

// judgeTokens judges the numbers of tokens that servers tell, and their answers, of which turns may have a bound of the first token. Some
// samples' reference answers are alike.
func (c *serverCheck) judgeTokens(g *report.Generation, alike, samples int, bound time.Duration) {
	if g == nil {
		return
	}
	isText := g.Inputs+g.Videos == 0
	switch without := g.Finished[""]; {
	case without == 0, !isText:
	case without < g.Answers: // servers that give reasons do so in whole answers
		c.Problems = append(c.Problems, fmt.Sprintf(
			"%d of %d answers ended without a finish_reason, before the server gave one: they may have been broken off", without, g.Answers))
	default:
		c.limit(limitation.Limitation{ID: limitation.UncertainEnds, Value: fmt.Sprint(without)})
	}
	if late := lateTurns(g.Turns, bound); late != "" {
		c.Problems = append(c.Problems, late)
	}
	check := g.TokenCheck
	if fault := check.Fault(); fault != "" {
		c.Problems = append(c.Problems, fault)
	}
	if check.Unknown == "" && check.Answers == 0 && g.Answers > g.Tokenized && isText {
		c.limit(limitation.Limitation{ID: limitation.UncheckedTokens, Origin: g.Counted})
	}
	if check.Told < check.Counted-check.Allowed {
		c.limit(limitation.Limitation{ID: limitation.FewerTokens, Value: fmt.Sprint(check.Told), Of: fmt.Sprint(check.Answers),
			Want: fmt.Sprint(check.Counted)})
	}
	if g.CachedTokens > 0 {
		c.limit(limitation.Limitation{ID: limitation.CachedTokens, Value: fmt.Sprint(g.CachedTokens), Of: fmt.Sprint(g.PromptTokens)})
	}
	if some := g.Gathered; some != nil && some.Answers > g.Answers/20 {
		c.limit(limitation.Limitation{ID: limitation.TokensInPieces, Value: fmt.Sprint(some.Tokens), Of: fmt.Sprint(some.Pieces)})
	}
	same, expected := g.Prompts-g.Distinct, int64(alike)*g.Prompts/int64(max(1, samples))
	if same > expected+g.Prompts/20 {
		l := limitation.Limitation{ID: limitation.AlikeAnswers, Value: fmt.Sprint(g.Distinct), Of: fmt.Sprint(g.Prompts)}
		if expected > 0 {
			l.Want = fmt.Sprint(g.Prompts - expected)
		}
		c.limit(l)
	}
}

func (c *serverCheck) limit(l limitation.Limitation) { c.Limitations = append(c.Limitations, l) }

// generation has the measurements of servers of text beside the test; nil: other engines. Tokens per second count to the
// last completion and, as LoadGen's metric, to the completion of the last issued query.
func (r *run) generation(test *loadgen.Result) *report.Generation {
	d, ok := r.sut.dispatcher()
	if !ok {
		return nil
	}
	spread := func(s backend.Spread) *report.Latencies {
		if s.Count == 0 {
			return nil
		}
		return &report.Latencies{
			Min: int64(s.Min), Mean: int64(s.Mean), Max: int64(s.Max),
			P50: int64(s.P50), P90: int64(s.P90), P95: int64(s.P95), P97: int64(s.P97), P99: int64(s.P99), P999: int64(s.P999),
		}
	}
	m := d.predictor.Measured()
	g := &report.Generation{
		Limit: int(d.limit), Most: m.Most, Answers: m.Answers, Retries: m.Retries, Resent: m.Resent, Pieces: m.Pieces, Tokens: m.Tokens, PromptTokens: m.PromptTotal,
		CachedTokens: m.Cached, TokenCheck: new(report.TokenCheck(m.Check)), Prompts: m.Prompts, Distinct: m.Distinct,
		Counted: m.Counted, Tokenized: m.Tokenized, Finished: m.Finished, Cores: r.cfg.ClientCores,
		FirstTokenFromSendNS: spread(m.FirstToken), LatencyFromSendNS: spread(m.Whole),
		PerTokenNS: spread(m.PerToken), BetweenPiecesNS: spread(m.Between), HandoverNS: spread(d.handover.Spread()), Videos: m.Videos,
	}
	for _, t := range m.Turns {
		g.Turns = append(g.Turns, report.Turn{FirstTokenNS: spread(t.FirstToken), LatencyNS: spread(t.Whole), Answers: int64(t.Whole.Count)})
	}
	for _, f := range m.Failures {
		g.Failures = append(g.Failures, report.GenerationFailures(f))
	}
	for _, s := range m.Servers {
		g.Servers = append(g.Servers, report.GenerationServer(s))
	}
	if m.Gathered.Answers > 0 {
		g.Gathered = new(report.Gathered(m.Gathered))
	}
	if m.Cancelled > 0 {
		g.Cancelled = &report.Cancelled{Requests: m.Cancelled, Pieces: m.CancelledPieces, ServerNS: int64(r.cancelTook)}
		if r.cancelStill >= 0 {
			g.Cancelled.StillRunning = new(r.cancelStill)
		}
	}
	p := test.Performance
	if p == nil {
		return g
	}
	per := func(n int64, d time.Duration) float64 {
		if d <= 0 {
			return 0
		}
		return float64(n) / d.Seconds()
	}
	g.CPUCores = per(int64(r.cpuTime), p.LastCompletion) / float64(time.Second)
	tokens, good, answered := int64(0), int64(0), int64(0)
	s := p.Effective
	cancelled := r.cancelled()
	p.EachSample(func(sample loadgen.SampleRecord) {
		if sample.Completed < 0 || sample.Tokens < 1 || cancelled(sample.ID) {
			return
		}
		answered++
		tokens += int64(sample.Tokens)
		first := sample.FirstToken >= 0 && sample.FirstToken-sample.Start <= s.ServerTTFTLatency
		if first && sample.PerToken() <= s.ServerTPOTLatency {
			good++ // it kept both bounds by itself
		}
	})
	if g.RequestsPerSecond = per(answered, p.LastCompletion); len(g.Turns) > 0 {
		g.ConversationsPerSecond, g.RequestsPerSecond = g.RequestsPerSecond, per(g.Answers, p.LastCompletion)
	}
	g.TokensPerSecond = per(tokens, p.LastCompletion)
	if g.Inputs = m.Inputs; m.Inputs > 0 {
		g.RequestsPerSecond, g.InputsPerSecond = per(g.Answers, p.LastCompletion), per(m.Inputs, p.LastCompletion)
	}
	if s.Scenario != loadgen.Server {
		return g
	}
	g.TokensPerSecondIssued = per(tokens, p.FinalQueryCompleted)
	if s.UseTokenLatencies {
		g.Goodput = &report.Goodput{
			RequestsPerSecond: per(good, p.LastCompletion), Requests: good, Of: int64(p.QueryCount),
			FirstTokenNS: int64(s.ServerTTFTLatency), PerTokenNS: int64(s.ServerTPOTLatency),
		}
	}
	return g
}
