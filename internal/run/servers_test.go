package run_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// shortAt is a short run at a server of text.
func shortAt(t *testing.T, url, scenario string) run.Request {
	t.Helper()
	q := run.Request{
		Program: "mlperf test", Scenario: scenario, Output: filepath.Join(t.TempDir(), "out"), Trace: true,
		Engine:   engine.Config{Name: engine.OpenAI, Remote: engine.Remote{Endpoints: []string{url}, Concurrency: 8}},
		Prompts:  run.Prompts{Synthetic: 30, Words: "5", Answer: "4", Artifacts: filepath.Join(t.TempDir(), "endpoints")},
		Settings: []config.Override{{Key: "min_duration", Value: "100"}, {Key: "min_query_count", Value: "70"}},
	}
	if scenario != "offline" {
		q.Settings = append(q.Settings, config.Override{Key: "target_latency_percentile", Value: "90"})
	}
	if scenario != "singlestream" {
		q.Settings = append(q.Settings, config.Override{Key: "target_qps", Value: "400"})
	}
	return q
}

// trafficObserver knows when the traffic has begun.
type trafficObserver struct {
	observer
	traffic *atomic.Bool
}

func (o *trafficObserver) Phase(name string) {
	if name == "traffic" {
		o.traffic.Store(true)
	}
}

const secretKey = "sk-of-nobody-else-0123456789"

// echo is a server that puts the key of requests wherever a server can, and, once there is traffic, answers each so
// many requests wrongly.
func echo(every int64, traffic *atomic.Bool) http.Handler {
	s := tokenserver.New(tokenserver.Options{Key: secretKey, Tokens: 4})
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Authorization")
		w.Header().Set("X-Your-Key", key)
		i := n.Add(1)
		if r.Method != http.MethodPost || every == 0 || !traffic.Load() || i%every != 0 {
			s.ServeHTTP(w, r)
			return
		}
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
	})
}

func TestKeyIsInNoFileAndNoMessage(t *testing.T) {
	for name, c := range map[string]struct {
		scenario string
		every    int64
		key      string
	}{
		"Server": {"server", 0, secretKey}, "SingleStream": {"singlestream", 7, secretKey}, "Offline": {"offline", 7, secretKey}, "faults": {"server", 7, secretKey},
		"another key": {"server", 0, "sk-another-0123456789"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits for the clock
			var traffic atomic.Bool
			server := httptest.NewServer(echo(c.every, &traffic))
			defer server.Close()
			q := shortAt(t, server.URL, c.scenario)
			q.Engine.Remote.TokenFile = filepath.Join(t.TempDir(), "key")
			testenv.Must(t, os.WriteFile(q.Engine.Remote.TokenFile, []byte(c.key+"\n"), 0o600))
			o := trafficObserver{traffic: &traffic}
			r, err := run.Do(t.Context(), q, &o)
			failed := err == nil && slices.ContainsFunc(r.Problems, func(p string) bool { return strings.Contains(p, "could not answer") })
			if (err != nil) != (c.key != secretKey) || failed != (c.every > 0) || failed && r.Result == report.Valid { // a busy machine may be late
				t.Errorf("%v, %v", err, r)
			}
			said := fmt.Sprint(err, o.notes)
			for _, dir := range []string{q.Output, q.Prompts.Artifacts} {
				walk := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
					if err == nil && !e.IsDir() {
						said += path + string(testenv.Read(t, path))
					}
					return err
				})
				if walk != nil && !errors.Is(walk, fs.ErrNotExist) {
					t.Fatal(walk)
				}
			}
			if err != nil && !strings.Contains(said, "status 401") || err == nil && !strings.Contains(said, "mlperf_log_detail.txt") {
				t.Errorf("%.500s", said)
			}
			for _, k := range []string{secretKey, c.key} {
				if i := strings.Index(said, k); i >= 0 {
					t.Errorf("the key is in %.300s", said[max(0, i-150):])
				}
			}
		})
	}
}

func TestCertificateMustBeTrusted(t *testing.T) {
	t.Parallel() // it waits for the clock
	server := httptest.NewUnstartedServer(tokenserver.New(tokenserver.Options{Tokens: 4}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	q := shortAt(t, server.URL, "server")
	if _, err := run.Do(t.Context(), q, &observer{}); err == nil || !strings.Contains(err.Error(), "no connection") || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without its authority: %v", err)
	}
	q.Engine.Remote.CA = filepath.Join(t.TempDir(), "ca.pem")
	testenv.Must(t, os.WriteFile(q.Engine.Remote.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	q.Force = true
	if r, err := run.Do(t.Context(), q, &observer{}); err != nil || r.Result != report.Valid {
		t.Errorf("with its authority: %v, %v", err, r)
	}
}

func TestCancelledRunLeavesNoConnection(t *testing.T) {
	for _, scenario := range []string{"server", "singlestream", "offline"} {
		s := tokenserver.New(tokenserver.Options{Tokens: 1000, Prefill: time.Millisecond, PerToken: 100 * time.Millisecond})
		server := httptest.NewServer(s)
		q := shortAt(t, server.URL, scenario)
		q.Prompts.Answer = "100"
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		go func() {
			for began := time.Now(); s.Open() < 1 && time.Since(began) < time.Minute; {
				time.Sleep(time.Millisecond)
			}
			cancel(stopped)
		}()
		_, err := run.Do(ctx, q, &observer{})
		for began := time.Now(); s.Open() > 0 && time.Since(began) < 10*time.Second; { // answers take 100 s
			time.Sleep(time.Millisecond)
		}
		if open := s.Open(); !errors.Is(err, stopped) || open > 0 {
			t.Errorf("%s: %v, and %d requests are open", scenario, err, open)
		}
		server.Close()
	}
}

// A server on this machine is not behind a network, whatever its protocol.
func TestOwnServerIsNotOfTheNetworkDivision(t *testing.T) {
	t.Parallel() // it waits for the clock
	server := httptest.NewServer(tokenserver.New(tokenserver.Options{Tokens: 4}))
	defer server.Close()
	q := shortAt(t, server.URL, "offline")
	q.Division = "network"
	r, err := run.Do(t.Context(), q, &observer{})
	if err != nil || !slices.Contains(r.Limitations, limitation.Limitation{ID: limitation.LocalEndpoint, Value: server.URL}) {
		t.Errorf("%v, %+v", err, r)
	}
}

// What model the servers have cannot be checked: that counts against a run in the closed division only.
func TestModelOfServersByDivision(t *testing.T) {
	server := httptest.NewServer(tokenserver.New(tokenserver.Options{Tokens: 4}))
	defer server.Close()
	for division, limited := range map[string]bool{"closed": true, "open": false, "network": false} {
		q := shortAt(t, server.URL, "offline")
		q.Division, q.Output = division, t.TempDir()
		r, err := run.Do(t.Context(), q, &observer{})
		testenv.Must(t, err)
		model := limitation.Limitation{ID: limitation.ServersModel}
		if slices.Contains(r.Limitations, model) != limited || slices.Contains(r.Notes, report.Sentence(model)) == limited {
			t.Errorf("%s: limitations %v, notes %q", division, r.Limitations, r.Notes)
		}
	}
}
