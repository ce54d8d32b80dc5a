package run

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/report/requests"
	"github.com/mlperf-go/mlperf/internal/report/requests/requeststest"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver/tokentest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A fifth of the answers, of 30 ms and 10 ms a token, is given up 55 ms after sending: after three tokens of eight. The figures are those of
// the others, and the server ends what was given up.
func TestCancelledRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run := func() (*report.Results, map[string]int) {
			q := Request{
				Program: "mlperf test", Scenario: "server", Quick: true, Output: t.TempDir(), NoReport: true, EachRequest: true,
				Engine:  engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{"http://server"}, Cancel: 0.2, CancelAfter: 55 * time.Millisecond}},
				Prompts: Prompts{Synthetic: 20, Answer: "8"}, NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} },
				Settings: []config.Override{{Key: "target_qps", Value: "20"}, {Key: "min_duration", Value: "20s"}},
			}
			q.Engine.Remote.Dial = tokentest.Serve(t, tokenserver.New(tokenserver.Options{Prefill: 30 * time.Millisecond, PerToken: 10 * time.Millisecond, Slots: 40})).Dial
			r, err := Do(t.Context(), q, harness.Silent{})
			testenv.Must(t, err)
			ends := map[string]int{}
			_, err = requeststest.Read(filepath.Join(q.Output, requests.FileName), func(one requests.Request) error {
				if ends[one.End]++; one.End == "cancelled" && (len(one.PieceNS) != 3 || *one.DoneNS-*one.SentNS != 55e6) {
					t.Errorf("%+v", one)
				}
				return nil
			})
			testenv.Must(t, err)
			return r, ends
		}
		r, ends := run()
		c := r.Generation.Cancelled
		if c == nil || r.Steady == nil || r.Result != report.Valid {
			t.Fatalf("%s %v, %+v, %+v", r.Result, r.Problems, c, r.Steady)
		}
		n := r.Performance.Samples
		if share := float64(c.Requests) / float64(n); share < 0.14 || share > 0.26 || ends["cancelled"] != int(c.Requests) || ends["length"] != int(n)-int(c.Requests) || c.Pieces != 3*c.Requests {
			t.Errorf("%+v of %d requests, ends %v", c, n, ends)
		}
		if s := r.Steady; s.LeftOut != uint64(c.Requests) || s.LatencyNS.Min != 100e6 || r.Performance.LatencyNS.Min != 55e6 || r.Generation.Answers != int64(s.Samples) || r.Generation.Tokens != 8*r.Generation.Answers {
			t.Errorf("the figures of the others: %+v, %+v", s, s.LatencyNS)
		}
		if c.StillRunning == nil || *c.StillRunning != 0 || !r.Limitations.Has(limitation.CutFigures) {
			t.Errorf("what the server did after: %v; %v", c, r.Limitations)
		}
		if again, _ := run(); again.Generation.Cancelled.Requests != c.Requests {
			t.Errorf("%d are given up, and again %d: drawn from a seed", c.Requests, again.Generation.Cancelled.Requests)
		}
	})
}
