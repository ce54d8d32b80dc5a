package harness

import (
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
)

// endpoint is what was measured beside the test where servers answered; nil elsewhere.
func (r *run) endpoint(test *loadgen.Result) *report.Generation {
	c := r.sut.crowd
	if c == nil {
		return nil
	}
	g := c.predictor.Measured()
	e := &report.Generation{
		Limit: int(c.limit), Most: g.Most, Answers: g.Answers, Retries: g.Retries, Pieces: g.Pieces, Tokens: g.Tokens, PromptTokens: g.PromptTotal,
		Counted: g.Counted, Tokenized: g.Tokenized, Finished: g.Finished, Cores: r.cfg.ClientCores,
		FirstTokenFromSendNS: spread(g.FirstToken), LatencyFromSendNS: spread(g.Whole), PerTokenNS: spread(g.PerToken), BetweenPiecesNS: spread(g.Between), HandoverNS: spread(c.handover.Spread()),
	}
	for _, f := range g.Failures {
		e.Failures = append(e.Failures, report.GenerationFailures(f))
	}
	for _, s := range g.Servers {
		e.Servers = append(e.Servers, report.GenerationServer(s))
	}
	if p := test.Performance; p != nil {
		r.rates(e, p)
	}
	return e
}

// rates adds what counts by time.
func (r *run) rates(e *report.Generation, p *loadgen.Performance) {
	per := func(n int64, d time.Duration) float64 {
		if d <= 0 {
			return 0
		}
		return float64(n) / d.Seconds()
	}
	e.CPUCores = per(int64(r.worked), p.LastCompletion) / float64(time.Second)
	tokens, good, answered := int64(0), int64(0), int64(0)
	s := p.Effective
	p.EachSample(func(sample loadgen.SampleRecord) {
		if sample.Completed < 0 || sample.Tokens < 1 {
			return
		}
		answered++
		tokens += int64(sample.Tokens)
		if withinBounds(sample, s.ServerTTFTLatency, s.ServerTPOTLatency) {
			good++
		}
	})
	e.RequestsPerSecond = per(answered, p.LastCompletion)
	e.TokensPerSecond = per(tokens, p.LastCompletion)
	if s.Scenario != loadgen.Server {
		return
	}
	e.TokensPerSecondIssued = per(tokens, p.FinalQueryCompleted)
	if s.UseTokenLatencies {
		e.Goodput = &report.Goodput{
			RequestsPerSecond: per(good, p.LastCompletion), Requests: good, Of: int64(p.QueryCount),
			FirstTokenNS: int64(s.ServerTTFTLatency), PerTokenNS: int64(s.ServerTPOTLatency),
		}
	}
}

// withinBounds reports whether a sample kept both bounds of tokens by itself.
func withinBounds(s loadgen.SampleRecord, first, per time.Duration) bool {
	if s.FirstToken < 0 || s.FirstToken-s.Start > first {
		return false
	}
	return s.Tokens < 2 || (s.Completed-s.FirstToken)/time.Duration(s.Tokens-1) <= per
}

func spread(s backend.Spread) *report.Latencies {
	if s.Count == 0 {
		return nil
	}
	return &report.Latencies{
		Min: int64(s.Min), Mean: int64(s.Mean), Max: int64(s.Max),
		P50: int64(s.P50), P90: int64(s.P90), P95: int64(s.P95), P97: int64(s.P97), P99: int64(s.P99), P999: int64(s.P999),
	}
}
