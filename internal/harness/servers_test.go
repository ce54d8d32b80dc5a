package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/prompts"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver/tokentest"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// answerOf is what a server of tokens says to a prompt of token ids.
func answerOf(t *testing.T, s *tokenserver.Server, ids []int, most int) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"prompt": ids, "max_tokens": most})
	testenv.Must(t, err)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/completions", strings.NewReader(string(body))))
	var answer struct{ Choices []struct{ Text string } }
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.Choices) != 1 {
		t.Fatalf("%s: %v", w.Body, err)
	}
	return answer.Choices[0].Text
}

// articles makes a data set whose truth is what the server says.
func articles(t *testing.T, s *tokenserver.Server, n int) string {
	t.Helper()
	var rows []map[string]any
	for i := range n {
		ids := []int{i, 2 * i % 64, 7}
		rows = append(rows, map[string]any{"tok_input": ids, "output": answerOf(t, s, ids, 128)})
	}
	text, err := json.Marshal(rows)
	testenv.Must(t, err)
	dir := t.TempDir()
	for name, content := range map[string][]byte{"cnn_eval.json": text, "tokenizer.json": tokentest.Tokenizer(t)} {
		testenv.Must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return dir
}

// llamaConfig is a run of llama3.1-8b at a server of tokens.
func llamaConfig(t *testing.T, s loadgen.Scenario) Config {
	t.Helper()
	server := tokenserver.New(tokenserver.Options{Prefill: known, PerToken: known / 7, Tokens: 21})
	m, err := models.LookupAny("llama3.1-8b")
	testenv.Must(t, err)
	cfg := tokenConfig(t, server, s, nil)
	cfg.Model, cfg.DatasetDir = m.Remote(), articles(t, server, 24)
	cfg.Settings.PerformanceSampleCountOverride = 24
	return cfg
}

func TestCatalogueModelIsScoredAtAServer(t *testing.T) {
	t.Parallel()
	for _, s := range []loadgen.Scenario{loadgen.Offline, loadgen.Server} {
		synctest.Test(t, func(t *testing.T) {
			cfg := llamaConfig(t, s)
			cfg.Settings.Mode = loadgen.AccuracyOnly
			r, err := measure(t.Context(), cfg)
			if err != nil || r.Accuracy == nil || r.Accuracy.Metric != "rouge1" || r.Accuracy.Value != 100 || r.Accuracy.Samples != 24 {
				t.Fatalf("%v: %v, %+v", s, err, r)
			}
			if g := r.Generation; g.Tokens != 24*21 || g.Counted != "the token ids of the answers" || g.Tokenized != 0 {
				t.Errorf("%v: %+v", s, g)
			}
		})
	}
}

func TestCatalogueModelIsMeasuredAtAServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := measure(t.Context(), llamaConfig(t, loadgen.Server))
		if err != nil || r.Result != report.Valid || r.Performance.TimePerOutputTokenNS.P99 != 10e6 || r.Generation.Counted != "usage, as the server tells it" {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

// tokenConfig is a run of 24 prompts with answers of 21 tokens at a server of tokens, of which 500 ms
// and 50 ms are the bounds.
func tokenConfig(t *testing.T, server *tokenserver.Server, s loadgen.Scenario, change func(*openai.Config)) Config {
	t.Helper()
	network := tokentest.Serve(t, server)
	c := openai.Config{URLs: []string{"http://server"}, Dial: network.Dial, Stream: s != loadgen.Offline, Timeout: 20 * time.Second, Quiet: 5 * time.Second}
	if change != nil {
		change(&c)
	}
	e, err := openai.New(c)
	testenv.Must(t, err)
	t.Cleanup(func() { _ = e.Close() })
	set := settings(s)
	set.Mode, set.MinDuration, set.MinQueryCount = loadgen.PerformanceOnly, 4*time.Second, 100
	set.UseTokenLatencies, set.ServerTTFTLatency, set.ServerTPOTLatency = true, 500*time.Millisecond, 50*time.Millisecond
	set.ServerTargetQPS, set.ServerTargetLatencyPercentile, set.OfflineExpectedQPS = 30, 0.9, 30
	set.SingleStreamExpectedLatencyNS = 1e8
	return Config{
		Program: "mlperf test", Model: prompts.Model(prompts.Config{Name: "m", Synthetic: 24, Answer: "21"}), Rules: "v6.1", Settings: set,
		Engine: e, Instances: 1, MaxBatch: 4, OutputDir: t.TempDir(), Observer: &observer{t: t}, NewPacer: inFakeTime.NewPacer,
		CPUTime: func() time.Duration { return 0 },
	}
}

// outcome runs a benchmark in fake time.
func outcome(t *testing.T, o tokenserver.Options, s loadgen.Scenario, change func(*openai.Config), check func(*report.Results, error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if o.Tokens == 0 {
			o.Tokens = 21
		}
		check(measure(t.Context(), tokenConfig(t, tokenserver.New(o), s, change)))
	})
}

const known = 70 * time.Millisecond // to the first token, 10 ms for each of 20 more

var knownServer = tokenserver.Options{Prefill: known, PerToken: 10 * time.Millisecond}

func TestServerTokens(t *testing.T) {
	outcome(t, knownServer, loadgen.Server, nil, func(r *report.Results, err error) {
		if err != nil || r.Result != report.Valid {
			t.Fatalf("%v, %+v", err, r)
		}
		p, e := r.Performance, r.Generation
		for what, got := range map[string]int64{
			"first token": p.FirstTokenNS.P99 - int64(known), "per token": p.TimePerOutputTokenNS.P99 - 10e6, "latency": p.LatencyNS.Max - int64(known) - 200e6,
			"first token from send": e.FirstTokenFromSendNS.Max - int64(known), "latency from send": e.LatencyFromSendNS.Max - int64(known) - 200e6,
			"between tokens": e.BetweenPiecesNS.Max - 10e6, "per token from send": e.PerTokenNS.Max - 10e6, "handover": e.HandoverNS.Max,
		} {
			if got != 0 {
				t.Errorf("%s is off by %v", what, time.Duration(got))
			}
		}
		if e.Answers != int64(p.Samples) || e.Tokens != 21*e.Answers || p.Tokens != e.Tokens || e.Goodput.Requests != e.Answers || len(e.Failures) != 0 || e.Most < 2 {
			t.Errorf("%+v, %+v", p, e)
		}
	})
}

func TestServerTokensInOtherScenarios(t *testing.T) {
	outcome(t, knownServer, loadgen.SingleStream, nil, func(r *report.Results, err error) {
		if err != nil || r.Result != report.Valid || r.Performance.LatencyNS.P99 != int64(known)+200e6 || r.Generation.Most != 1 {
			t.Errorf("SingleStream: %v, %+v", err, r)
		}
	})
	outcome(t, knownServer, loadgen.Offline, func(c *openai.Config) { c.Concurrency = 8 }, func(r *report.Results, err error) {
		rate := 8 * 21 / 0.27
		if err != nil || r.Result != report.Valid || r.Generation.Most != 8 || r.Metric.Value > rate || r.Metric.Value < 0.8*rate || r.Queue.Peak < 20 {
			t.Errorf("Offline: %v, %+v, want about %.4g tokens/s", err, r.Metric, rate)
		}
	})
}

// The rate of a slow server follows from 64 answers, which it gives at once.
func TestCalibrationAsksServersOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := tokenserver.New(tokenserver.Options{Tokens: 21, Prefill: 1800 * time.Millisecond, PerToken: 10 * time.Millisecond})
		cfg := tokenConfig(t, server, loadgen.Offline, func(c *openai.Config) { c.Concurrency = 64 })
		cfg.Calibrate, cfg.MaxBatch = true, 64
		r, err := measure(t.Context(), cfg)
		if err != nil || r.Result != report.Valid || r.Calibration.SamplesPerSecond != 32 {
			t.Fatalf("%v, %+v, want a calibration of 32 samples/s", err, r.Calibration)
		}
		i := slices.IndexFunc(r.Phases, func(p report.PhaseTime) bool { return p.Name == "calibration" })
		if i < 0 || r.Phases[i].Seconds != 2 {
			t.Errorf("phases %+v, want a calibration of 2 s", r.Phases)
		}
	})
}

// A client that stamps when it sends does not see who waits for it.
func TestLatencyIncludesTheWaitInTheClient(t *testing.T) {
	o := knownServer
	o.Slots = 4
	outcome(t, o, loadgen.Server, func(c *openai.Config) { c.Concurrency = 4 }, func(r *report.Results, err error) {
		if err != nil || r.Result != report.Invalid || r.Queue.Peak < 10 {
			t.Fatalf("%v, %v, %+v", err, r.Result, r.Queue)
		}
		if seen, sent := r.Performance.FirstTokenNS.P99, r.Generation.FirstTokenFromSendNS.P99; sent != int64(known) || seen < 10*sent {
			t.Errorf("first token p99 %v from the schedule, %v from sending", time.Duration(seen), time.Duration(sent))
		}
		if g := r.Generation.Goodput; g.Requests == g.Of || g.Requests == 0 {
			t.Errorf("goodput %+v", g)
		}
	})
}

// No fault gives a result that is VALID, none hangs, and each is named.
func TestServerFaultsAreInvalid(t *testing.T) {
	t.Parallel()
	for fault, want := range map[tokenserver.Fault]string{
		tokenserver.Silence: "time-out", tokenserver.Refuse: "status 500", tokenserver.Busy: "status 429", tokenserver.Break: "connection broken",
		tokenserver.ErrorInside: "error in the stream", tokenserver.Stop: "stream without an end", tokenserver.Stall: "time-out",
		tokenserver.Garbage: "malformed event", tokenserver.Twice: "more pieces than tokens", tokenserver.Empty: "empty answer",
		tokenserver.LongLine: "answer too long", tokenserver.WrongType: "wrong content type", tokenserver.Compressed: "compressed answer",
		tokenserver.RedirectLossy: "redirection", tokenserver.Endless: "answer too long", tokenserver.NoType: "wrong content type",
	} {
		for _, s := range []loadgen.Scenario{loadgen.Server, loadgen.SingleStream, loadgen.Offline} {
			if s != loadgen.Server && !testenv.Long() {
				continue
			}
			o := knownServer
			o.Tokens = 20 // one less than is asked for
			o.Fault = func(n int) tokenserver.Fault {
				if n%40 == 39 {
					return fault
				}
				return tokenserver.None
			}
			streaming := func(c *openai.Config) { c.Stream = true }
			outcome(t, o, s, streaming, func(r *report.Results, err error) {
				if err != nil || r.Result != report.Invalid || len(r.Generation.Failures) != 1 || r.Generation.Failures[0].Kind != want {
					t.Fatalf("%v in %v: %v, %+v", fault, s, err, r)
				}
				if !strings.Contains(strings.Join(r.Problems, "\n"), want) {
					t.Errorf("%v in %v: problems %q, want %q", fault, s, r.Problems, want)
				}
			})
		}
	}
}

// Whole answers, as Offline asks for them, go wrong in fewer ways.
func TestServerFaultsWithoutStreams(t *testing.T) {
	t.Parallel()
	for fault, want := range map[tokenserver.Fault]string{
		tokenserver.Silence: "time-out", tokenserver.Refuse: "status 500", tokenserver.Busy: "status 429", tokenserver.Empty: "empty answer",
		tokenserver.WrongType: "wrong content type", tokenserver.Compressed: "compressed answer", tokenserver.RedirectLossy: "redirection",
	} {
		o := knownServer
		o.Fault = func(n int) tokenserver.Fault {
			if n%40 == 39 {
				return fault
			}
			return tokenserver.None
		}
		outcome(t, o, loadgen.Offline, nil, func(r *report.Results, err error) {
			if err != nil || r.Result != report.Invalid || len(r.Generation.Failures) != 1 || r.Generation.Failures[0].Kind != want || !strings.Contains(strings.Join(r.Problems, "\n"), want) {
				t.Errorf("%v: %v, %+v", fault, err, r)
			}
		})
	}
}

func TestDeadServerEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		dead := func() bool { return time.Since(began) > 6*time.Second }
		cfg := tokenConfig(t, tokenserver.New(tokenserver.Options{Prefill: known, Fault: func(int) tokenserver.Fault {
			if dead() {
				return tokenserver.Break
			}
			return tokenserver.None
		}}), loadgen.Server, nil)
		cfg.Settings.MinDuration = 10 * time.Minute
		r, err := measure(t.Context(), cfg)
		if !errors.Is(err, errFailed) || r == nil || r.Result != report.Invalid || time.Since(began) > time.Minute {
			t.Errorf("%v after %v, %+v", err, time.Since(began), r)
		}
	})
}

// A server that is lost ends a run soon, also where requests are rare.
func TestLostServerEndsTheRun(t *testing.T) {
	for _, s := range []loadgen.Scenario{loadgen.Server, loadgen.SingleStream} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			lost := func() bool { return time.Since(began) > 8*time.Second }
			server := tokenserver.New(tokenserver.Options{Prefill: known, PerToken: known / 7, Tokens: 21, Fault: func(int) tokenserver.Fault {
				if lost() {
					return tokenserver.Break
				}
				return tokenserver.None
			}})
			network := tokentest.Serve(t, server)
			cfg := tokenConfig(t, server, s, func(c *openai.Config) {
				c.Dial = func(ctx context.Context, n, a string) (net.Conn, error) {
					if lost() {
						time.Sleep(3 * time.Second) // as long as Linux asks for the address of a host in its network
						return nil, &net.OpError{Op: "dial", Err: errors.New("no route to host")}
					}
					return network.Dial(ctx, n, a)
				}
			})
			cfg.Settings.MinDuration, cfg.Settings.ServerTargetQPS = 10*time.Minute, 0.5
			r, err := measure(t.Context(), cfg)
			took := time.Since(began) - 8*time.Second
			if !errors.Is(err, errFailed) || !testenv.Tells(err.Error(), "have not answered … no connection … http://server … no route to host") || took > 20*time.Second {
				t.Errorf("%v: %v, %v after the server was lost", s, err, took)
			}
			if r == nil || r.Result != report.Invalid || r.Performance == nil || r.Performance.Samples == 0 {
				t.Errorf("%v: %+v, want what was finished", s, r)
			}
			time.Sleep(3 * time.Second) // for the last dial
		})
	}
}

func TestRestartedServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := (*tokentest.Network)(nil)
		began := time.Now()
		down := func() bool { d := time.Since(began); return d > 5*time.Second && d < 6*time.Second }
		server := tokenserver.New(tokenserver.Options{Prefill: known, PerToken: 10 * time.Millisecond, Tokens: 21, Fault: func(int) tokenserver.Fault {
			if down() {
				return tokenserver.Break
			}
			return tokenserver.None
		}})
		network = tokentest.Serve(t, server)
		cfg := tokenConfig(t, server, loadgen.Server, func(c *openai.Config) {
			c.Dial = func(ctx context.Context, n, a string) (net.Conn, error) {
				if down() {
					return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
				}
				return network.Dial(ctx, n, a)
			}
		})
		cfg.Settings.MinDuration = 10 * time.Second
		r, err := measure(t.Context(), cfg)
		if err != nil || r.Result != report.Invalid || r.Generation.Answers < 200 || len(r.Generation.Failures) == 0 {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

func TestCancelledRunClosesConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := tokenserver.New(tokenserver.Options{Prefill: time.Second, PerToken: time.Second, Tokens: 10})
		cfg := tokenConfig(t, server, loadgen.Server, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		var at time.Time
		time.AfterFunc(30*time.Second, func() { at = time.Now(); cancel(stopped) })
		r, err := measure(ctx, cfg)
		if !errors.Is(err, stopped) || r == nil || r.Result != report.Interrupted || time.Since(at) > time.Second {
			t.Errorf("%v %v after it was cancelled, %+v", err, time.Since(at), r)
		}
		if synctest.Wait(); server.Open() != 0 || time.Since(at) > time.Second {
			t.Errorf("%d requests are open after %v", server.Open(), time.Since(at))
		}
	})
}

// Eight slots of 270 ms answer 29.6 requests a second at most.
func TestFindPeakUnderTokenBounds(t *testing.T) {
	testenv.SkipLong(t, "twenty runs")
	synctest.Test(t, func(t *testing.T) {
		o := knownServer
		o.Slots, o.Tokens = 8, 21
		cfg := tokenConfig(t, tokenserver.New(o), loadgen.Server, nil)
		cfg.FindPeak, cfg.Settings.ServerTargetQPS, cfg.Settings.MinDuration = true, 5, 60*time.Second
		began := time.Now()
		r, err := measure(t.Context(), cfg)
		if err != nil || r.Result != report.Valid || r.Peak == nil || r.Peak.Best < 22 || r.Peak.Best > 30 {
			t.Fatalf("%v, %+v, want a peak below 29.6/s", err, r)
		}
		if took := time.Since(began); took > time.Hour {
			t.Errorf("the search took %v", took)
		}
	})
}

// The server answers 8 requests at a time, each in 270 ms: 29.6/s. Quick tests are as short as those of --quick.
func TestQuickSearchSeesTheQueueGrow(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("under the race detector it takes half a minute, and a search is one test after the other")
	}
	for _, bound := range []time.Duration{200 * time.Millisecond, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			o := knownServer
			o.Slots, o.Tokens = 8, 21
			cfg := tokenConfig(t, tokenserver.New(o), loadgen.Server, nil)
			cfg.FindPeak, cfg.Settings.ServerTargetQPS, cfg.Settings.MinDuration, cfg.Settings.MinQueryCount = true, 5, 10*time.Second, 22
			cfg.Settings.ServerTTFTLatency = bound
			r, err := measure(t.Context(), cfg)
			if err != nil || r.Result != report.Valid || r.Peak == nil || r.Peak.Best < 20 || r.Peak.Best > 32 {
				t.Fatalf("%v, %+v, want a peak near 29.6/s", err, r)
			}
			full, trends := 0, 0
			for _, s := range r.Peak.Steps {
				if s.Full {
					full++
				}
				if strings.HasPrefix(s.Reason, "the queue grew: latency rose from ") {
					trends++
				}
				if s.FirstTokenNS < int64(known) || s.PerTokenNS != 10e6 {
					t.Errorf("%+v: first token and time per token are not those of the server", s)
				}
			}
			if full > 4 || bound > time.Second && trends == 0 {
				t.Errorf("%d tests at full length, %d loads refused since the queue grew: %+v", full, trends, r.Peak.Steps)
			}
			if b := r.Peak.Bounds; len(b) != 2 || b[0] != (report.Objective{Of: report.OfFirstToken, Percentile: "p90", BoundNS: int64(bound)}) {
				t.Errorf("bounds %+v", b)
			}
		})
	}
}

func TestServerCounts(t *testing.T) {
	count := func(n, hits uint64) *backend.ServerCount {
		return &backend.ServerCount{Inferences: n, Executions: n, CacheHits: hits}
	}
	for _, c := range []struct {
		name      string
		account   backend.Account
		restarted bool
		result    string
		want      string // in a problem or warning, or the limitation
	}{
		{"as many as were sent", backend.Account{Server: count(100, 0)}, false, report.Valid, ""},
		{"a hit in a cache", backend.Account{Server: count(99, 1)}, false, report.Invalid, "from a cache"},
		{"fewer than were sent", backend.Account{Server: count(50, 0)}, false, report.Valid, "uncounted_sample 50 of 100"},
		{"more than were sent", backend.Account{Server: count(150, 0)}, false, report.Valid, "others used them"},
		{"no statistics", backend.Account{}, false, report.Valid, "tell no statistics (not found)"},
		{"a server that is gone", backend.Account{Server: count(100, 0), Down: []string{"a: reset"}}, false, report.Invalid, "a: reset"},
		{"requests that were sent twice", backend.Account{Server: count(100, 0), Retried: 2}, false, report.Valid, "retried 2 of "},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := serverCheck{noStats: errors.New("not found")}
			e.compare(c.account, c.restarted, 100, false)
			out := (&Test{Traffic: &loadgen.Result{}, Servers: e.Servers}).Results()
			found := strings.Join(slices.Concat(out.Problems, data(e.Limitations), out.Warnings), "\n")
			if out.Result != c.result || !strings.Contains(found, c.want) || c.want == "" && found != "" {
				t.Errorf("%s: %q, want %s: %q", out.Result, found, c.result, c.want)
			}
		})
	}
}

// data are limitations as they are compared here.
func data(limitations report.Limitations) (list []string) {
	for _, l := range limitations {
		list = append(list, fmt.Sprintf("%s %s of %s, expected %s", l.ID, l.Value, l.Of, l.Want))
	}
	return list
}

func TestServerCountsOfSeveralFiles(t *testing.T) {
	for _, c := range []struct {
		name              string
		answered, counted uint64
		want              string
	}{
		{"one for each request", 700, 700, ""},
		{"several samples in a request", 700, 900, ""},
		{"fewer than requests", 700, 350, "uncounted_request 350 of 700"},
	} {
		e := serverCheck{}
		e.compare(backend.Account{RoundTrip: backend.Sum{Count: c.answered}, Server: &backend.ServerCount{Inferences: c.counted}}, false, 100, true)
		if found := strings.Join(slices.Concat(e.Problems, data(e.Limitations), e.Warnings), "\n"); !strings.Contains(found, c.want) || c.want == "" && found != "" {
			t.Errorf("%s: %q, want %q", c.name, found, c.want)
		}
	}
}

// An remoteEngine is an engine that asks servers, which take their time.
type remoteEngine struct{ *simulated.Engine }

func (remoteEngine) Account(context.Context) (backend.Account, error) { return backend.Account{}, nil }

func (remoteEngine) Check(context.Context) error { return nil }

// All workers of a run on servers ask the same ones: some of them warm these up for all.
func TestServersAreWarmedUpOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNumbers(100)
		cfg := configOf(t, n, loadgen.Server, loadgen.PerformanceOnly)
		cfg.Engine, cfg.Instances, cfg.MaxBatch = remoteEngine{engine(t, simulated.Config{Latency: time.Second})}, 64, 1
		r := newRun(cfg)
		defer r.close()
		testenv.Must(t, r.open(t.Context()))
		began := time.Now()
		testenv.Must(t, r.tryModel(t.Context()))
		if took := time.Since(began); took > 4*warmUpBudget {
			t.Errorf("64 workers took %v to warm up servers", took)
		}
	})
}

// The networks that a score needs run on this machine, even if the model runs on servers.
func TestScoreIsComputedOnThisMachine(t *testing.T) {
	local, remote := bare(t), remoteEngine{bare(t)}
	for name, c := range map[string]struct {
		engine, score, want backend.Engine
	}{
		"local model": {local, nil, local}, "remote model": {remote, local, local}, "no local engine": {remote, nil, nil},
	} {
		r := newRun(Config{Engine: c.engine, ScoreEngine: c.score, Observer: &observer{t: t}, OutputDir: t.TempDir()})
		r.workload, r.cfg.Model = newNumbers(3).workload(), newNumbers(3).model()
		var got backend.Engine
		r.cfg.Model.Score = func(_ context.Context, _ accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
			got = s.Engine
			return nil, errors.New("seen")
		}
		testenv.Tree(t, r.cfg.OutputDir, map[string]string{mlperflog.AccuracyFile: "[\n]\n"})
		test := &loadgen.Result{Effective: loadgen.EffectiveSettings{Mode: loadgen.AccuracyOnly}}
		if err := r.score(t.Context(), &Test{Dir: r.cfg.OutputDir, Traffic: test}); err == nil || !strings.Contains(err.Error(), "seen") {
			t.Errorf("%s: %v", name, err)
		}
		if got != c.want {
			t.Errorf("%s: the score is computed with %v, want %v", name, got, c.want)
		}
	}
}
