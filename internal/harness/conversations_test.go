package harness

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/prompts"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/requests"
	"github.com/mlperf-go/mlperf/internal/report/requests/requeststest"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// conversed is the result of conversations of three turns with a second between them, in fake time.
func conversed(t *testing.T, o tokenserver.Options, s loadgen.Scenario, change func(*Config), check func(*report.Results, error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := tokenConfig(t, tokenserver.New(o), s, func(c *openai.Config) { c.Exact = true })
		cfg.Model = prompts.Model(prompts.Config{Name: "m", Synthetic: 24, Answer: "21", Exact: true, Turns: "3", Delays: "1s"})
		if change != nil {
			change(&cfg)
		}
		check(measure(t.Context(), cfg))
	})
}

// A turn follows the answer before it and its delay. The pauses are in the latency, and not in the time per token.
func TestConversations(t *testing.T) {
	for _, s := range []loadgen.Scenario{loadgen.Server, loadgen.SingleStream} {
		conversed(t, knownServer, s, nil, func(r *report.Results, err error) {
			if err != nil || r.Result != report.Valid {
				t.Fatalf("%v: %v, %+v", s, err, r)
			}
			p, g := r.Performance, r.Generation
			conversation := 3*(known+200*time.Millisecond) + 2*time.Second
			if p.LatencyNS.Max != int64(conversation) || p.TimePerOutputTokenNS.Max != 10e6 || p.FirstTokenNS.Max != int64(known) {
				t.Errorf("%v: latency %v instead of %v, %v a token, first token %v", s, time.Duration(p.LatencyNS.Max), conversation, time.Duration(p.TimePerOutputTokenNS.Max), time.Duration(p.FirstTokenNS.Max))
			}
			if len(g.Turns) != 3 || g.Answers != 3*int64(p.Samples) || p.Tokens != 63*int64(p.Samples) || g.RequestsPerSecond < 2.9*g.ConversationsPerSecond {
				t.Fatalf("%v: %+v", s, g)
			}
			for i, turn := range g.Turns {
				if turn.Answers != int64(p.Samples) || turn.FirstTokenNS.Min != int64(known) || turn.FirstTokenNS.Max != int64(known) || turn.LatencyNS.Max != int64(known)+200e6 {
					t.Errorf("%v: turn %d: %+v, %+v", s, i+1, turn, turn.FirstTokenNS)
				}
			}
			if g.Most == 0 || g.PromptTokens < 3*256*int64(p.Samples) {
				t.Errorf("%v: the turns before are not in the prompts: %+v", s, g)
			}
		})
	}
}

// The failure of a turn is one of its conversation, which ends.
func TestFailedTurns(t *testing.T) {
	o := knownServer
	o.Fault = func(n int) tokenserver.Fault {
		if n%50 == 49 {
			return tokenserver.Stop
		}
		return tokenserver.None
	}
	conversed(t, o, loadgen.Server, nil, func(r *report.Results, err error) {
		failures := int64(0)
		for _, f := range r.Generation.Failures {
			failures += f.Count
		}
		turns := r.Generation.Turns
		p := r.Performance
		if r.Result != report.Invalid || failures == 0 || int64(p.Samples) != turns[2].Answers || int64(p.Queries) != turns[2].Answers+failures {
			t.Errorf("%v, %v: %d conversations, %d failures, %+v", err, r.Result, p.Queries, failures, turns)
		}
	})
}

// LoadGen judges the first tokens of conversations only.
func TestLateTurns(t *testing.T) {
	ms := func(n int64) report.Turn { return report.Turn{FirstTokenNS: &report.Latencies{P99: n * 1e6}} }
	for _, c := range []struct {
		turns []report.Turn
		want  string
	}{
		{nil, ""}, {[]report.Turn{ms(900)}, ""}, {[]report.Turn{ms(900), ms(100), {}}, ""},
		{[]report.Turn{ms(1), ms(101), ms(7), ms(300)}, "at most 100 ms in each turn: 101 ms in turn 2, 300 ms in turn 4"},
	} {
		if got := lateTurns(c.turns, 100*time.Millisecond); !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") || lateTurns(c.turns, 0) != "" {
			t.Errorf("%v: %q", c.turns, got)
		}
	}
}

// Each turn has a line, whose times are its own; the turns behind a failure have none.
func TestTurnsOfEachRequest(t *testing.T) {
	o := knownServer
	o.Fault = func(n int) tokenserver.Fault {
		if n == 50 {
			return tokenserver.Stop
		}
		return tokenserver.None
	}
	dir := ""
	conversed(t, o, loadgen.Server, func(cfg *Config) { cfg.EachRequest, dir = true, cfg.OutputDir }, func(r *report.Results, _ error) {
		of, failed := map[uint64][]requests.Request{}, 0
		_, err := requeststest.Read(filepath.Join(dir, requests.FileName), func(q requests.Request) error { of[q.ID] = append(of[q.ID], q); return nil })
		testenv.Must(t, err)
		if len(of) != int(r.Performance.Queries) {
			t.Errorf("%d conversations, %d in the file", r.Performance.Queries, len(of))
		}
		for id, list := range of {
			for i, q := range list {
				if q.Turn != i+1 || q.Sample != list[0].Sample || q.Attempts != 1 || *q.SentNS-q.DueNS > 2e3 || *q.SentNS < q.DueNS {
					t.Fatalf("%d: turn %d is %+v", id, i+1, q)
				}
				if q.End == requests.Failed {
					if failed++; i != len(list)-1 || q.DoneNS != nil || q.Error == "" {
						t.Errorf("%d: the failure is %+v", id, q)
					}
					continue
				}
				if q.Tokens != 21 || len(q.PieceNS) != 21 || *q.FirstTokenNS != q.PieceNS[0] || q.PieceNS[0]-q.DueNS < int64(known) || q.End != "length" {
					t.Fatalf("%d: turn %d is %+v", id, i+1, q)
				}
				if i > 0 && q.DueNS != *list[i-1].DoneNS+int64(time.Second) {
					t.Errorf("%d: turn %d was due at %d, the answer before came at %d", id, i+1, q.DueNS, *list[i-1].DoneNS)
				}
			}
			if last := list[len(list)-1]; last.End != requests.Failed && len(list) != 3 {
				t.Errorf("%d: %d turns", id, len(list))
			}
		}
		if failed != 1 {
			t.Errorf("%d turns failed, want 1", failed)
		}
	})
}
