package run

import (
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
)

// A ClientMeasure is a number that the client of endpoints is judged by.
type ClientMeasure struct {
	Name   string
	Server tokenserver.Options // which is a process of its own
	Test   ClientTest          // without its address and duration
	Of     func(*ClientTestResult) float64
	Unit   string
}

// ClientMeasures are what the client is judged by: how many tokens it takes, and what it sees of their times.
func ClientMeasures() []ClientMeasure {
	fast := func(perWrite int) tokenserver.Options { return tokenserver.Options{PerWrite: perWrite} }
	const (
		perCore  = "tokens/s of a core"
		tokens   = 128
		interval = 20 * time.Millisecond // 50 tokens/s
	)
	return []ClientMeasure{
		{"64 tokens a write, as fast as they come", fast(64), ClientTest{Streams: 16, Tokens: 512}, (*ClientTestResult).TokensPerCore, perCore},
		{"a write for each token, as fast as they come", fast(1), ClientTest{Streams: 64, Tokens: tokens}, (*ClientTestResult).TokensPerCore, perCore},
		{"500 streams of 50 tokens/s", every(interval), ClientTest{Streams: 500, Tokens: tokens, Begin: tokens * interval}, (*ClientTestResult).TokensPerCore, perCore},
		{"2000 streams of 50 tokens/s", every(interval), ClientTest{Streams: 2000, Tokens: tokens, Begin: tokens * interval}, (*ClientTestResult).TokensPerSecond, "tokens/s"},
		{"time per token of a server of 10 ms", every(10 * time.Millisecond), ClientTest{Streams: 4, Tokens: 100}, (*ClientTestResult).perToken, "ms"},
	}
}

// perToken is the time per token in milliseconds.
func (r *ClientTestResult) perToken() float64 { return float64(r.PerTokenNS) / 1e6 }

// A PacedMeasure is traffic as LoadGen's Server has it, by which the client of endpoints is judged.
type PacedMeasure struct {
	Name   string
	Server tokenserver.Options // which is a process of its own
	Test   PacedTest           // without its address and duration
	Late   bool                // judged by how late requests are issued; else by latencies, from the schedule and from send
}

// PacedMeasures are what the client is judged by under Poisson arrivals: whether it is on time beside many streams, and
// whether latencies count from the schedule even where requests wait for their turn.
func PacedMeasures() []PacedMeasure {
	slot := every(10 * time.Millisecond)
	slot.Slots = 1 // 100 ms for nine tokens: ten answers a second
	return []PacedMeasure{
		{"Poisson arrivals while 500 streams run: how late they are", every(20 * time.Millisecond), PacedTest{QPS: 195, Tokens: 128}, true},
		{"one slot at twice its rate, client that waits its turn", slot, PacedTest{QPS: 20, Tokens: 9, Concurrency: 1}, false},
		{"one slot at twice its rate, requests sent when due", slot, PacedTest{QPS: 20, Tokens: 9}, false},
	}
}

// every is a server of tokens that come one by one, at intervals.
func every(interval time.Duration) tokenserver.Options {
	return tokenserver.Options{Prefill: 20 * time.Millisecond, PerToken: interval, PerWrite: 1}
}
