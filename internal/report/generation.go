package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Generation is what was measured beside the test where servers answered. What is called
// FromSend counts from when a request was sent, as clients do that have no schedule; all else
// of the results counts from when it should have been issued.
type Generation struct {
	Servers  []GenerationServer   `json:"servers"`
	Limit    int                  `json:"concurrency_limit,omitempty"` // requests under way at once; 0: none
	Most     int64                `json:"most_under_way"`
	Answers  int64                `json:"answers"`
	Retries  int64                `json:"retries,omitempty"`
	Failures []GenerationFailures `json:"failures,omitempty"`
	Finished map[string]int64     `json:"finished,omitempty"` // answers by why they ended, in the servers' words

	Tokens       int64  `json:"tokens"`
	Pieces       int64  `json:"pieces,omitempty"`
	PromptTokens int64  `json:"prompt_tokens,omitempty"`
	Counted      string `json:"tokens_counted_by"`
	Tokenized    int64  `json:"answers_tokenized_here,omitempty"` // whose token ids were made of their text by the local tokenizer

	FirstTokenFromSendNS *Latencies `json:"first_token_from_send_ns,omitempty"`
	PerTokenNS           *Latencies `json:"per_token_ns,omitempty"`
	LatencyFromSendNS    *Latencies `json:"latency_from_send_ns,omitempty"`
	BetweenPiecesNS      *Latencies `json:"inter_token_ns,omitempty"`
	HandoverNS           *Latencies `json:"handover_ns,omitempty"` // from issue until the request is made

	RequestsPerSecond     float64  `json:"requests_per_second,omitempty"`
	TokensPerSecond       float64  `json:"tokens_per_second,omitempty"`             // until the last answer
	TokensPerSecondIssued float64  `json:"tokens_per_second_last_issued,omitempty"` // until the answer to the last request
	Goodput               *Goodput `json:"goodput,omitempty"`

	CPUCores float64 `json:"client_cpu_cores"` // that worked for this client, on average
	Cores    int     `json:"client_cores"`
}

// A GenerationServer says what one of several servers had to do.
type GenerationServer struct {
	URL      string `json:"url"`
	Requests int64  `json:"requests"`
	Most     int    `json:"most_outstanding"`
}

// GenerationFailures are requests that failed in the same way.
type GenerationFailures struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
	First string `json:"first"` // what the first one said
}

// Goodput is the rate of requests that kept both bounds by themselves.
type Goodput struct {
	RequestsPerSecond float64 `json:"requests_per_second"`
	Requests          int64   `json:"requests"`
	Of                int64   `json:"of"`
	FirstTokenNS      int64   `json:"first_token_bound_ns"`
	PerTokenNS        int64   `json:"per_token_bound_ns"`
}

const (
	// nearLimit is the share of the cores from which on the client is close to its own limit.
	nearLimit = 0.7
	// lateHandover is how long a request may take to be made at the 99th percentile.
	lateHandover = 1_000_000
)

// Warnings say what the client itself may have spoilt.
func (e *Generation) Warnings() []string {
	if e == nil {
		return nil
	}
	var list []string
	if e.CPUCores > nearLimit*float64(e.Cores) {
		list = append(list, fmt.Sprintf("the client is near its own limit: it kept %.2f of %d cores busy, and its delays count as the servers' "+
			"(mlperf selftest --endpoint tells what it can carry)", e.CPUCores, e.Cores))
	}
	if h := e.HandoverNS; h != nil && h.P99 > lateHandover {
		list = append(list, fmt.Sprintf("requests left the client late: %v after they were issued at the 99th percentile", shorten(h.P99)))
	}
	if e.Retries > 0 {
		list = append(list, fmt.Sprintf("%d requests were sent once more after they had failed: their latencies count from the first time", e.Retries))
	}
	if e.Tokenized > 0 {
		list = append(list, fmt.Sprintf("the tokens of %d answers were made of their text by the local tokenizer, because the server does not tell their ids", e.Tokenized))
	}
	return list
}

// Definitions say what is meant by the words of the results.
func (e *Generation) Definitions() []string {
	return []string{
		"TTFT, time to first token: from the instant at which the request was scheduled (Server) or issued (SingleStream) to the first piece of text",
		"TPOT, time per output token: from the first piece to the end of the answer, by the number of tokens less one",
		"ITL, inter-token latency: from a piece of an answer to the next, over the pieces of all answers; pieces that arrive together have 0 between them",
		"latency, end to end: from the scheduled instant to the end of the answer; from send: from when the request went out",
		"tokens/s: all tokens of answers, once by the time until the answer to the request that was issued last, once until the last answer of all",
		"goodput: requests/s of those that kept both bounds by themselves",
	}
}

// generationLines say how the servers answered.
func generationLines(b *strings.Builder, e *Generation) {
	if e == nil {
		return
	}
	latencyLine(b, "from send: time to first token", e.FirstTokenFromSendNS)
	latencyLine(b, "from send: latency", e.LatencyFromSendNS)
	latencyLine(b, "inter-token latency", e.BetweenPiecesNS)
	rateLines(b, e)
	limit := "no limit"
	if e.Limit > 0 {
		limit = fmt.Sprintf("a limit of %d", e.Limit)
	}
	fmt.Fprintf(b, "  at most %d requests under way at once, with %s; the client kept %.2f of %d cores busy", e.Most, limit, e.CPUCores, e.Cores)
	if h := e.HandoverNS; h != nil {
		fmt.Fprintf(b, ", requests left it %v after their issue at p50, %v at p99", shorten(h.P50), shorten(h.P99))
	}
	b.WriteString("\n")
	if len(e.Servers) > 1 {
		for _, s := range e.Servers {
			fmt.Fprintf(b, "  %s: %d requests, at most %d at once\n", s.URL, s.Requests, s.Most)
		}
	}
	var failures []string
	for _, f := range e.Failures {
		failures = append(failures, fmt.Sprintf("%d × %s: %s", f.Count, f.Kind, f.First))
	}
	list(b, "Requests that failed", failures)
	list(b, "What is meant", e.Definitions())
}

func rateLines(b *strings.Builder, e *Generation) {
	if e.TokensPerSecond == 0 {
		return
	}
	fmt.Fprintf(b, "  %s requests/s, %s tokens/s until the last answer", digits(e.RequestsPerSecond), digits(e.TokensPerSecond))
	if e.TokensPerSecondIssued > 0 {
		fmt.Fprintf(b, ", %s tokens/s until the answer to the last request", digits(e.TokensPerSecondIssued))
	}
	fmt.Fprintf(b, "\n  %d tokens in %d answers, counted by %s", e.Tokens, e.Answers, e.Counted)
	if e.PromptTokens > 0 {
		fmt.Fprintf(b, "; %d tokens of prompts", e.PromptTokens)
	}
	var ends []string
	for _, why := range slices.Sorted(maps.Keys(e.Finished)) {
		ends = append(ends, fmt.Sprintf("%s %d", orDash(why), e.Finished[why]))
	}
	fmt.Fprintf(b, "; ended by %s\n", strings.Join(ends, ", "))
	if g := e.Goodput; g != nil {
		fmt.Fprintf(b, "  goodput: %s requests/s, %d of %d kept TTFT ≤ %v and TPOT ≤ %v\n", digits(g.RequestsPerSecond), g.Requests, g.Of, shorten(g.FirstTokenNS), shorten(g.PerTokenNS))
	}
}
