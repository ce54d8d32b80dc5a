package run

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
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
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The server answers 4 requests at a time, each in 100 ms. The figures of what is left of a test are those of the requests in
// requests.jsonl.gz that were due then.
func TestFiguresWithoutTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := Request{
			Program: "mlperf test", Scenario: "server", Quick: true, Output: t.TempDir(), NoReport: true, EachRequest: true, WarmUp: 8 * time.Second, CoolDown: 4 * time.Second,
			Engine:  engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{"http://server"}}},
			Prompts: Prompts{Synthetic: 20, Answer: "8"}, NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} },
			Settings: []config.Override{{Key: "target_qps", Value: "35"}, {Key: "min_duration", Value: "30s"}, {Key: "arrivals", Value: "ramp:8s"}},
			SLO:      []report.Objective{{Of: report.OfFirstToken, Percentile: "p90", BoundNS: 60e6}},
		}
		q.Engine.Remote.Dial = tokentest.Serve(t, tokenserver.New(tokenserver.Options{Prefill: 30 * time.Millisecond, PerToken: 10 * time.Millisecond, Slots: 4})).Dial
		r, err := Do(t.Context(), q, harness.Silent{})
		if err != nil || r.Steady == nil {
			t.Fatalf("%v, %+v", err, r)
		}
		var all []requests.Request
		_, err = requeststest.Read(filepath.Join(q.Output, requests.FileName), func(one requests.Request) error { all = append(all, one); return nil })
		testenv.Must(t, err)
		last := all[len(all)-1].DueNS
		var first []int64
		answered, good := 0, uint64(0)
		for _, one := range all {
			if *one.DoneNS >= 8e9 && *one.DoneNS < last-4e9 {
				answered++
			}
			if one.DueNS >= 8e9 && one.DueNS <= last-4e9 {
				first = append(first, *one.FirstTokenNS-one.DueNS)
				if first[len(first)-1] <= 60e6 {
					good++
				}
			}
		}
		slices.Sort(first)
		s := r.Steady
		if s.Samples != uint64(len(first)) || s.LeftOut != uint64(len(all)-len(first)) || s.LeftOut < 100 || s.FirstTokenNS.P90 != first[len(first)*9/10] || s.FirstTokenNS.Max != first[len(first)-1] || s.TimePerOutputTokenNS.P99 != 10e6 {
			t.Errorf("%+v of %d samples, first tokens %+v", s, len(first), s.FirstTokenNS)
		}
		if rate := float64(answered) / (float64(last-12e9) / 1e9); s.SamplesPerSecond < rate*0.999 || s.SamplesPerSecond > rate*1.001 || s.SamplesPerSecond < 30 || s.TokensPerSecond < 7.99*rate || s.TokensPerSecond > 8.01*rate {
			t.Errorf("%g samples/s and %g tokens/s, want %g", s.SamplesPerSecond, s.TokensPerSecond, rate)
		}
		if o := r.SLO; o.Objectives[0].ObservedNS != s.FirstTokenNS.P90 || o.Good != good || o.Of != s.Samples || s.FirstTokenNS.P90 == r.Performance.FirstTokenNS.P90 {
			t.Errorf("the objective %+v is not judged by what is left: %d good", o, good)
		}
		cut := limitation.Limitation{ID: limitation.CutFigures, Value: r.Steady.Window()}
		ramp := slices.ContainsFunc(r.Limitations, func(l limitation.Limitation) bool { return l.Key == "arrivals" && l.Value == "ramp:8s" })
		if !ramp || !slices.Contains(r.Limitations, cut) || !testenv.Tells(cut.Value, "8 s … 4 s") {
			t.Errorf("limitations: %v", r.Limitations)
		}
		q.Output, q.WarmUp = t.TempDir(), time.Hour
		if r, err := Do(t.Context(), q, harness.Silent{}); err != nil || r.Result != report.Invalid || !strings.Contains(strings.Join(r.Problems, "; "), "nothing is left of the test") {
			t.Errorf("without anything: %v, %+v", err, r)
		}
	})
}

// What the rules judge is judged whole.
func TestBenchmarksAreNotCut(t *testing.T) {
	for field, change := range map[string]func(*Request){
		"warm_up":   func(q *Request) { q.WarmUp = time.Second },
		"cool_down": func(q *Request) { q.CoolDown = time.Second },
		"arrivals":  func(q *Request) { q.Settings = []config.Override{{Key: "arrivals", Value: "ramp:1s"}} },
	} {
		q := Request{Model: "resnet50", Scenario: "server", Engine: engine.Config{Name: engine.Simulated}, Output: t.TempDir()}
		change(&q)
		var wrong *userinput.Error
		if _, err := Resolve(q); !errors.As(err, &wrong) || wrong.Field != field || !testenv.Names(err, "resnet50") {
			t.Errorf("%s: %v", field, err)
		}
	}
	text := Request{Model: "llama3.1-8b", Scenario: "server", Output: t.TempDir(),
		Engine: engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{"http://a"}, Cancel: 0.1}}}
	if _, err := Resolve(text); !testenv.Names(err, "llama3.1-8b") {
		t.Errorf("answers of a benchmark are given up: %v", err)
	}
	text.Model, text.Prompts.Conversations = "", 3
	if _, err := Resolve(text); !testenv.Names(err, "conversations") {
		t.Errorf("turns of conversations are given up: %v", err)
	}
	q := Request{Model: "resnet50", Scenario: "server", Engine: engine.Config{Name: engine.Simulated}, Output: t.TempDir(), WarmUp: -time.Second}
	if _, err := Resolve(q); err == nil || !strings.Contains(err.Error(), "warm_up") {
		t.Errorf("a negative time: %v", err)
	}
}
