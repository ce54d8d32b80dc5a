package harness

import (
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/requests"
	"github.com/mlperf-go/mlperf/internal/report/requests/requeststest"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// The server takes one request at a time, 70 ms to the first token and 10 ms for each further one; the fifth fails.
func TestWhatBecameOfEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := knownServer
		o.Tokens, o.Slots = 21, 4
		o.Fault = func(n int) tokenserver.Fault {
			if n == 40 {
				return tokenserver.Refuse
			}
			return tokenserver.None
		}
		cfg := tokenConfig(t, tokenserver.New(o), loadgen.Server, nil)
		cfg.EachRequest, cfg.Settings.ServerTargetQPS = true, 12
		r, err := measure(t.Context(), cfg)
		testenv.Must(t, err)
		var list []requests.Request
		path := filepath.Join(cfg.OutputDir, requests.FileName)
		h, err := requeststest.Read(path, func(q requests.Request) error { list = append(list, q); return nil })
		if err != nil || h.Model != "m" || h.Scenario != "Server" || h.Created.IsZero() || h.Program != "mlperf test" {
			t.Fatalf("%v, %+v", err, h)
		}
		if uint64(len(list)) != r.Performance.Queries || r.Files[requests.FileName] == "" {
			t.Fatalf("%d requests in the file, %d in the test; files %v", len(list), r.Performance.Queries, r.Files)
		}
		ends := map[string]int{}
		waited := time.Duration(0)
		for i, q := range list {
			if ends[q.End]++; q.End == requests.Failed {
				if q.DoneNS != nil || q.Error == "" || q.Attempts != 1 {
					t.Errorf("the failure is %+v", q)
				}
				continue
			}
			if q.Attempts != 1 || q.Tokens != 21 || len(q.PieceNS) != 21 || *q.SentNS < q.DueNS || *q.SentNS-q.DueNS > 1e3 || q.PromptTokens == 0 {
				t.Fatalf("request %d: %+v", i, q)
			}
			waited = max(waited, time.Duration(q.PieceNS[0]-*q.SentNS)-known)
			for k := 1; k < 21; k++ {
				if step := q.PieceNS[k] - q.PieceNS[k-1]; step < 10e6-1e3 || step > 10e6+1e3 {
					t.Fatalf("request %d: token %d came %d ns after the one before", i, k, step)
				}
			}
			if d := *q.FirstTokenNS - q.PieceNS[0]; d < 0 || d > 1e3 || *q.DoneNS < q.PieceNS[20] {
				t.Fatalf("request %d: first token %d, pieces %v, done %d", i, *q.FirstTokenNS, q.PieceNS, *q.DoneNS)
			}
		}
		if ends["length"] != len(list)-1 || ends[requests.Failed] != 1 || waited < 10*time.Millisecond {
			t.Errorf("ends %v; the longest wait at the server was %v", ends, waited)
		}
		if !slices.IsSortedFunc(list, func(a, b requests.Request) int { return int(a.DueNS - b.DueNS) }) {
			t.Error("the requests are not in the order in which they were due")
		}
	})
}

// Engines of this machine have no servers, but requests.
func TestRequestsOfAnEngineHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.SingleStream, loadgen.PerformanceOnly)
		cfg.EachRequest = true
		r := mustRun(t, n, cfg)
		count := 0
		_, err := requeststest.Read(filepath.Join(cfg.OutputDir, requests.FileName), func(q requests.Request) error {
			if count++; q.End != requests.Answered || *q.DoneNS <= q.DueNS || q.SentNS != nil {
				t.Errorf("%+v", q)
			}
			return nil
		})
		if err != nil || uint64(count) != r.Performance.Queries || r.Result != report.Valid {
			t.Errorf("%v: %d requests of %d", err, count, r.Performance.Queries)
		}
	})
}
