package loadgen

import (
	"context"
	"time"
)

// A QuerySampleIndex names an item of data of a QSL, counted from 0.
type QuerySampleIndex uint32

// A ResponseID names one answer that a test expects. Ids are unique within a test
// and count from 0 in the order of the traffic.
type ResponseID uint32

// A QuerySample is one sample of a query.
type QuerySample struct {
	ID    ResponseID
	Index QuerySampleIndex
}

// A QuerySampleResponse answers one QuerySample.
type QuerySampleResponse struct {
	ID      ResponseID
	NTokens int32  // output tokens, if the test measures token latencies
	Data    []byte // for the accuracy log; copied before Complete returns
	// Paused is the part of the time after the first token that is none of the tokens: between the turns of a conversation.
	Paused time.Duration
}

// A Query is a set of samples that the test issues together. It is a small value
// that may be copied. Its Samples stay valid, and unchanged, until the test ends.
type Query struct {
	Samples []QuerySample
	to      *recorder
}

// Complete answers samples. The latency of each ends when Complete is entered. It
// may be called from any goroutine, at any time, for some or all samples of
// this query or of any other query of the same test, so that one call can answer a batch
// of several Server queries. It does not block.
func (q Query) Complete(responses []QuerySampleResponse) { q.to.complete(responses) }

// Fail completes a sample of this query, or of any other of the same test, that could not be
// answered. The run becomes INVALID with err as the reason.
func (q Query) Fail(id ResponseID, err error) { q.to.fail(id, err) }

// FirstToken reports the first output token of samples. Data are the
// token's bytes. It does not complete the samples.
func (q Query) FirstToken(responses []QuerySampleResponse) { q.to.firstToken(responses) }

// A SUT is a system under test. IssueQuery hands it a query and should return soon,
// because the caller is the thread that keeps the schedule. With several issue
// threads it is called from several goroutines at once.
type SUT interface {
	Name() string
	IssueQuery(Query)
	// FlushQueries is called after the last query. The SUT must not wait any longer
	// for more samples to fill a batch.
	FlushQueries()
}

// A QSL is a query sample library: it knows the number of samples and
// brings those of a test into memory, outside the measured time.
type QSL interface {
	Name() string
	TotalSampleCount() int
	// PerformanceSampleCount is the number of samples that fit in memory together.
	PerformanceSampleCount() int
	LoadSamplesToRAM(context.Context, []QuerySampleIndex) error
	UnloadSamplesFromRAM([]QuerySampleIndex) error
}
