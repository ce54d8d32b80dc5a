package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/clock"
	"github.com/mlperf-go/mlperf/internal/report/requests"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// traces keep what became of requests to servers, by the ids of their responses: of a conversation, of each turn. Several goroutines use them. A nil one keeps
// nothing.
type traces struct {
	mu   sync.Mutex
	of   map[loadgen.ResponseID][]*backend.Trace
	size int // of the pieces of those that have ended
}

// mostPieces is the memory for the times of pieces: about 100 million.
const mostPieces = 256 << 20

// begin returns the trace of a request.
func (t *traces) begin(id loadgen.ResponseID) *backend.Trace {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	one := &backend.Trace{NoPieces: t.size > mostPieces}
	t.of[id] = append(t.of[id], one)
	return one
}

// ended counts the memory of a request that has ended.
func (t *traces) ended(id loadgen.ResponseID) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.of[id] {
		t.size += one.Size()
	}
}

// cut reports whether pieces are left out.
func (t *traces) cut() bool { return t != nil && t.size > mostPieces }

// writeRequests writes what became of each request of the last test, and returns the sum of the file. A test of accuracy and one
// of performance have their requests one after the other.
func (r *run) writeRequests(test *loadgen.Result, dir string) (string, error) {
	sum := sha256.New()
	var kept *traces
	if d, ok := r.sut.dispatcher(); ok && !r.stuck { // a request that outlived the test still writes
		kept = d.traces
	}
	began := test.StartTime
	if p := test.Performance; p != nil && test.Effective.Mode != loadgen.SubmissionRun {
		began = began.Add(p.Started)
	}
	header := requests.Header{Schema: requests.Schema, Program: r.cfg.Program, Created: test.StartTime.UTC().Truncate(time.Second),
		Model:    r.cfg.Model.Name,
		Scenario: test.Effective.Scenario.String(), Times: requests.Times, Cut: kept.cut()}
	err := fileio.WriteIn(dir, requests.FileName, func(w io.Writer) error {
		return requests.Write(io.MultiWriter(w, sum), header, func(yield func(requests.Request) error) (err error) {
			one := func(s loadgen.SampleRecord) {
				for _, q := range kept.requests(s, began) {
					if err == nil {
						err = yield(q)
					}
				}
			}
			test.EachAccuracySample(one)
			if p := test.Performance; p != nil {
				p.EachSample(one)
			}
			return err
		})
	})
	if err != nil {
		return "", fmt.Errorf("writing what became of each request: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// requests are what became of a sample: a request, or the turns of a conversation.
func (t *traces) requests(s loadgen.SampleRecord, began time.Time) (list []requests.Request) {
	known := func(d time.Duration) *int64 {
		if d < 0 {
			return nil
		}
		return new(int64(d))
	}
	q := requests.Request{ID: uint64(s.ID), Sample: uint64(s.Index), DueNS: int64(s.Start), FirstTokenNS: known(s.FirstToken),
		DoneNS: known(s.Completed), Tokens: int64(max(s.Tokens, 0)), End: requests.Answered}
	if s.Completed < 0 {
		q.End = requests.Unanswered
	}
	if t == nil || t.of[s.ID] == nil {
		return []requests.Request{q}
	}
	for i, one := range t.of[s.ID] {
		list = append(list, requestOf(one, q, i+1, began))
	}
	return list
}

// requestOf adds to what is known of a sample what became of its request, or of the nth turn of its conversation.
func requestOf(one *backend.Trace, q requests.Request, n int, began time.Time) requests.Request {
	answered := q.DoneNS != nil
	if !one.Due.IsZero() {
		if q.Turn = n; n > 1 {
			q.DueNS = int64(one.Due.Sub(began))
		}
		answered = !one.Done.IsZero()
		q.Tokens, q.FirstTokenNS, q.DoneNS, q.End = int64(one.Tokens), nil, nil, requests.Unanswered
		if answered {
			q.DoneNS, q.End = new(int64(one.Done.Sub(began))), requests.Answered
		}
	}
	q.Attempts, q.PromptTokens, q.CachedTokens = one.Attempts, one.PromptTokens, one.CachedTokens
	if one.Attempts > 0 {
		q.SentNS = new(int64(one.Sent.Sub(began)))
		for _, at := range one.Pieces() {
			q.PieceNS = append(q.PieceNS, *q.SentNS+int64(at))
		}
	}
	if q.Turn > 0 && len(q.PieceNS) > 0 {
		q.FirstTokenNS = &q.PieceNS[0]
	}
	switch {
	case answered && one.Finish != "":
		q.End = userinput.Line(one.Finish)
	case one.Error != "":
		q.End, q.Error = requests.Failed, userinput.Line(one.Error)
	}
	return q
}

// cancelled tells which samples of the last test were given up.
func (r *run) cancelled() func(loadgen.ResponseID) bool {
	d, ok := r.sut.dispatcher()
	if !ok || d.traces == nil || r.stuck || !r.cfg.Cancels {
		return func(loadgen.ResponseID) bool { return false }
	}
	return func(id loadgen.ResponseID) bool {
		return slices.ContainsFunc(d.traces.of[id], func(one *backend.Trace) bool { return one.Finish == backend.Cancelled })
	}
}

// afterCancelled waits until the servers have ended the requests whose answers were given up, as far as they tell, and returns how long
// that took, and how many ran still after mostWait; -1: the servers do not tell.
func (r *run) afterCancelled(ctx context.Context) (took time.Duration, still float64) {
	const mostWait = 5 * time.Second
	began := clock.Now()
	for {
		still = -1
		for _, g := range r.cfg.Gauges {
			if v := g.Read(); g.Running && v >= 0 {
				still = max(still, 0) + v
			}
		}
		took = clock.Since(began)
		if still <= 0 || took >= mostWait {
			return took, still
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return took, still
		}
	}
}
