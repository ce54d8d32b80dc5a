package run

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A listening observer keeps what it is told.
type listening struct {
	silent
	notes   []string
	traffic *atomic.Bool // whether it has begun; nil: nobody asks
}

// Phase implements bench.Observer.
func (l *listening) Phase(name string) {
	if name == "traffic" && l.traffic != nil {
		l.traffic.Store(true)
	}
}

func (l *listening) Note(text string) { l.notes = append(l.notes, text) }

// quickAt is a short run at a server.
func quickAt(t *testing.T, url, scenario string) Request {
	t.Helper()
	set := func(key, value string) config.Override {
		return config.Override{Key: key, Value: value, Origin: "test"}
	}
	q := Request{
		Program: "mlperf test", Scenario: scenario, Output: filepath.Join(t.TempDir(), "out"), Trace: true,
		Engine:   Engine{Name: OpenAI, Remote: Remote{Endpoints: []string{url}, Concurrency: 8}},
		Prompts:  Prompts{Synthetic: 30, Words: 5, Answer: 4, Artifacts: filepath.Join(t.TempDir(), "endpoints")},
		Settings: []config.Override{set("min_duration", "100"), set("min_query_count", "70")},
	}
	if scenario != "offline" {
		q.Settings = append(q.Settings, set("target_latency_percentile", "90"))
	}
	if scenario != "singlestream" {
		q.Settings = append(q.Settings, set("target_qps", "400"))
	}
	return q
}

// at runs a request, and returns all that it wrote and said as one text.
func at(t *testing.T, ctx context.Context, q Request, traffic *atomic.Bool) (*report.Results, string, error) {
	t.Helper()
	o := listening{traffic: traffic}
	r, err := runOnce(ctx, q, &o)
	said := fmt.Sprint(err, strings.Join(o.notes, "\n"))
	for _, dir := range []string{q.Output, q.Prompts.Artifacts} {
		walk := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			said += path + string(text)
			return err
		})
		if walk != nil && !errors.Is(walk, fs.ErrNotExist) {
			t.Fatal(walk)
		}
	}
	return r, said, err
}

const secretKey = "sk-of-nobody-else-0123456789"

// echo says the key that it was given, wherever a server could.
func echo(every int64, traffic *atomic.Bool) http.Handler {
	s := tokenserver.New(tokenserver.Options{Key: secretKey, Tokens: 4})
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Authorization")
		w.Header().Set("X-Your-Key", key)
		if i := n.Add(1); r.Method == http.MethodPost && every > 0 && traffic.Load() && i%every == 0 {
			switch i / every % 5 {
			case 0:
				http.Error(w, "not with "+key, http.StatusInternalServerError)
			case 1:
				w.Header().Set("Content-Type", "text/html; key="+key)
				fmt.Fprint(w, key)
			case 2:
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"text\":\"x\",\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", key)
			case 3:
				w.Header().Set("Content-Encoding", key)
				fmt.Fprint(w, key)
			default:
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: {\"error\":{\"message\":%q}}\n\n", key)
			}
			return
		}
		s.ServeHTTP(w, r)
	})
}

func TestAKeyIsInNoFileAndInNoMessage(t *testing.T) {
	for name, test := range map[string]struct {
		scenario string
		every    int64
		key      string
	}{
		"Server": {"server", 0, secretKey}, "SingleStream": {"singlestream", 7, secretKey}, "Offline": {"offline", 7, secretKey}, "faults": {"server", 7, secretKey},
		"another key": {"server", 0, "sk-another-0123456789"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait for the clock
			var traffic atomic.Bool
			server := httptest.NewServer(echo(test.every, &traffic))
			defer server.Close()
			q := quickAt(t, server.URL, test.scenario)
			file := filepath.Join(t.TempDir(), "key")
			if err := os.WriteFile(file, []byte(test.key+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			q.Engine.Remote.TokenFile = file
			r, said, err := at(t, t.Context(), q, &traffic)
			failed := err == nil && slices.ContainsFunc(r.Problems, func(p string) bool { return strings.Contains(p, "could not answer") })
			if (err != nil) != (test.key != secretKey) || failed != (test.every > 0) || failed && r.Result == report.Valid { // a busy machine may be late
				t.Errorf("%v, %v", err, r)
			}
			if err != nil && !strings.Contains(said, "status 401") || err == nil && !strings.Contains(said, "mlperf_log_detail.txt") {
				t.Errorf("it says %.500s", said)
			}
			for _, k := range []string{secretKey, test.key} {
				if i := strings.Index(said, k); i >= 0 {
					t.Errorf("the key is in %.300s", said[max(0, i-150):])
				}
			}
		})
	}
}

func TestACertificateHasToBeTrusted(t *testing.T) {
	t.Parallel() // it waits for the clock
	server := httptest.NewUnstartedServer(tokenserver.New(tokenserver.Options{Tokens: 4}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	q := quickAt(t, server.URL, "server")
	if _, said, err := at(t, t.Context(), q, nil); err == nil || !strings.Contains(said, "no connection") || !strings.Contains(said, "certificate") {
		t.Errorf("a certificate that nobody signed: %v", err)
	}
	q = quickAt(t, server.URL, "server")
	q.Engine.Remote.CA = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(q.Engine.Remote.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, _, err := at(t, t.Context(), q, nil); err != nil || r.Result != report.Valid {
		t.Errorf("one that is trusted: %v, %v", err, r)
	}
}

func TestACancelledRunLeavesNoConnection(t *testing.T) {
	for _, scenario := range []string{"server", "singlestream", "offline"} {
		s := tokenserver.New(tokenserver.Options{Tokens: 1000, Prefill: time.Millisecond, PerToken: 100 * time.Millisecond})
		server := httptest.NewServer(s)
		q := quickAt(t, server.URL, scenario)
		q.Prompts.Answer = 100
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		go func() {
			for begun := time.Now(); s.Open() < 1 && time.Since(begun) < time.Minute; {
				time.Sleep(time.Millisecond)
			}
			cancel(stopped)
		}()
		_, _, err := at(t, ctx, q, nil)
		began := time.Now()
		for s.Open() > 0 && time.Since(began) < 10*time.Second {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(began); !errors.Is(err, stopped) || took > time.Second {
			t.Errorf("%s: %v, and requests were open %v longer", scenario, err, took)
		}
		server.Close()
	}
}

// The server answers as many of the built-in questions right as it is told to, and the score says how many.
func TestBuiltInQuestionsHaveAKnownScore(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	for _, test := range []struct {
		model    string
		scenario string
		right    float64
		run      bool // programs
	}{
		{"deepseek-r1", "offline", 0.6, true}, {"deepseek-r1", "server", 0.6, true}, {"gpt-oss-120b", "offline", 1, true}, {"gpt-oss-120b", "offline", 0, false},
		{"llama3.1-405b", "offline", 1, false},
	} {
		if test.run && !programsRun() {
			continue
		}
		s, r, dir := questioned(t, test.model, test.scenario, test.right, test.run)
		want := 100 * float64(s.Rights()) / 64
		if math.Abs(r.Accuracy.Value-want) > 1e-9 || test.right == 0.6 && (want < 40 || want > 80) || r.Accuracy.Below() != (want < 99) || r.Accuracy.Samples != 64 {
			t.Errorf("%+v: %g %% of %d, %d of 64 answers were right", test, r.Accuracy.Value, r.Accuracy.Samples, s.Rights())
		}
		if text, err := os.ReadFile(filepath.Join(dir, "accuracy.txt")); err != nil || !strings.Contains(string(text), "'exact_match': ") {
			t.Errorf("%+v: %v, accuracy.txt is %s", test, err, text)
		}
	}
}

// programsRun reports whether this test may run programs that answer questions, which takes a while.
func programsRun() bool {
	_, err := exec.LookPath("python3")
	return err == nil && testenv.Long()
}

// questioned has the built-in questions answered by a server that knows a share of them.
func questioned(t *testing.T, model, scenario string, right float64, run bool) (*tokenserver.Server, *report.Results, string) {
	t.Helper()
	s := tokenserver.New(tokenserver.Options{Tokens: 64, Right: right})
	server := httptest.NewServer(s)
	defer server.Close()
	q := Request{
		Program: "mlperf test", Model: model, Scenario: scenario, Mode: "accuracy", Output: filepath.Join(t.TempDir(), "out"),
		Engine: Engine{Name: OpenAI, Remote: Remote{Endpoints: []string{server.URL}}}, Settings: []config.Override{{Key: "target_qps", Value: "200", Origin: "test"}},
	}
	if run {
		q.Options = map[string]string{"execute-code": "true"}
	}
	r, said, err := at(t, t.Context(), q, nil)
	if err != nil || r.Accuracy == nil {
		t.Fatalf("%s, %s: %v, %s", model, scenario, err, said)
	}
	return s, r, q.Output
}

// A run that was ended while it was scored is compared with what it would have been compared with.
func TestARunWithoutAScoreKeepsItsReference(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	_, r, dir := questioned(t, "gpt-oss-120b", "offline", 0, false)
	before := *r.Accuracy
	for _, part := range []bool{false, true} {
		r.Accuracy, r.Input.Part = nil, part
		if err := r.Write(dir); err != nil {
			t.Fatal(err)
		}
		s, err := Score(t.Context(), ScoreRequest{Run: dir}, nil)
		if err != nil || s.Accuracy.Reference != 100 || s.Accuracy.Target != before.Target || (s.NoTarget == "") == part {
			t.Errorf("of a part of the data (%t): %+v, %v, want the reference and target of %+v", part, s.Accuracy, err, before)
		}
	}
}

// A run that was not compared with a target is not when it is scored again.
func TestAScoreAnewIsComparedAsTheOneBefore(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	_, r, dir := questioned(t, "gpt-oss-120b", "offline", 0, false)
	r.Accuracy.Reference, r.Accuracy.NoTarget, r.Input.Reference = 50, "a part", 0
	if err := r.Write(dir); err != nil {
		t.Fatal(err)
	}
	s, err := Score(t.Context(), ScoreRequest{Run: dir}, nil)
	if err != nil || s.Accuracy.Reference != 50 || s.NoTarget != "a part" {
		t.Errorf("%+v, %v, want the reference and the reason of %+v", s.Accuracy, err, r.Accuracy)
	}
}

// The score of a run whose programs were not run is completed later, and kept with the run.
func TestProgramsCanBeRunAfterTheRun(t *testing.T) {
	t.Setenv("MLPERF_CACHE_DIR", t.TempDir())
	_, r, dir := questioned(t, "deepseek-r1", "offline", 1, false)
	const programs = 12 // of 64 questions, of which every fifth is one of LiveCodeBench
	if r.Accuracy.Value != 100*(64.0-programs)/64 || !r.Accuracy.Below() || !strings.Contains(strings.Join(r.Accuracy.Warnings, "\n"), "the programs of 12 answers to LiveCodeBench were not run") {
		t.Errorf("without running programs: %+v, warnings %q", r.Accuracy, r.Accuracy.Warnings)
	}
	if !programsRun() {
		t.Skip("programs are not run: make test")
	}
	scored, err := Score(t.Context(), ScoreRequest{Run: dir, Options: map[string]string{"execute-code": "true"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := report.Read(dir)
	if err != nil || scored.Accuracy.Value != 100 || kept.Accuracy.Value != 100 || len(kept.Accuracy.Warnings) != 1 || !strings.Contains(kept.Accuracy.Warnings[0], "programs that the model wrote were executed") {
		t.Errorf("with them: %+v, warnings %q; the run keeps %+v, %v", scored.Accuracy, scored.Warnings, kept.Accuracy, err)
	}
}
