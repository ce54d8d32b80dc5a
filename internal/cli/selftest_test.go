package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/harness/selftest"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/run/clienttest"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
)

// shell is a program with the text of a shell script.
func shell(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// A process gets the test of its measure, and a token server its pace.
func TestSelftestProcessFlags(t *testing.T) {
	for _, m := range selftest.Measures() {
		cmd := newSelftest()
		if err := cmd.ParseFlags(testFlags(m.Test)); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		cmd.Flags().Visit(func(f *pflag.Flag) { got[f.Name] = f.Value.String() })
		want := map[string]string{"scenario": m.Test.Scenario.String(), "target-qps": fmt.Sprint(m.Test.TargetQPS), "duration": m.Test.Duration.String(), "responses": fmt.Sprint(m.Test.Responses)}
		if m.Test.Accuracy {
			want["accuracy"] = "true"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", m.Name, diff)
		}
	}
	servers := map[string]tokenserver.Options{}
	for _, m := range clienttest.Measures() {
		servers[m.Name] = m.Server
	}
	for _, m := range clienttest.PacedMeasures() {
		servers[m.Name] = m.Server
	}
	for name, want := range servers {
		var s tokenServer
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		s.define(f)
		if err := f.Parse(serverFlags(want)); err != nil {
			t.Fatal(err)
		}
		want.Right = s.options.Right
		if diff := cmp.Diff(want, s.options); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The peer makes each test as often as this program, with the same flags.
func TestSelftestPeer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	calls := filepath.Join(t.TempDir(), "calls")
	o := &selftestFlags{rounds: 2, peer: shell(t, `echo "$@" >> `+calls+`; echo '{"queries": 10, "duration_ns": 5, "issued_qps": 40}'`)}
	test := selftest.Test{Scenario: loadgen.Offline, TargetQPS: 100, Duration: 10 * time.Millisecond}
	r, err := o.compareSelftest(t.Context(), self, testFlags(test), true)
	if err != nil || len(r.self) != 2 || len(r.peer) != 2 || r.self[0].Queries != 1 || r.peer[1].IssuedQPS != 40 {
		t.Fatalf("%+v: %v", r, err)
	}
	lines, err := os.ReadFile(calls)
	if err != nil || strings.Count(string(lines), "--scenario Offline --target-qps 100 --duration 10ms --responses 0 --output ") != 2 {
		t.Errorf("calls of the peer: %s%v", lines, err)
	}
}

// TestSelftestTurns has neither program always go first, and gives the peer the priority that this one's issue thread got.
func TestSelftestTurns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("priorities are of Linux")
	}
	calls := filepath.Join(t.TempDir(), "calls")
	program := func(name, priority string) string { // proc(5): field 19 is the nice value
		return shell(t, `echo `+name+` $(cut -d" " -f19 /proc/self/stat) >> `+calls+`; echo '{"queries": 10, "duration_ns": 5, "issue_priority": "`+priority+`"}'`)
	}
	o := &selftestFlags{rounds: 3, peer: program("peer", "")}
	if _, err := o.compareSelftest(t.Context(), program("self", "nice -10"), nil, false); err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(string(lines))
	var names, nice []string
	for i := 0; i+1 < len(got); i += 2 {
		names, nice = append(names, got[i]), append(nice, got[i+1])
	}
	if fmt.Sprint(names) != "[self peer peer self self peer]" {
		t.Errorf("the turns are %v", names)
	}
	own, peer := nice[0], "-10"
	if nice[1] == own { // without the privilege
		peer = own
	}
	if !slices.Equal(nice, []string{own, peer, peer, own, own, peer}) {
		t.Errorf("the nice values are %v", nice)
	}
}

func TestSelftestRow(t *testing.T) {
	rate := func(values ...float64) (list []*selftest.Result) {
		for _, v := range values {
			list = append(list, &selftest.Result{IssuedQPS: v})
		}
		return list
	}
	for _, c := range []struct {
		results selftests
		least   bool
		want    string
	}{
		{selftests{self: rate(12345.6)}, false, "[a /s 12,346 [12,346–12,346] as started]"},
		{selftests{rate(99, 1, 30), rate(20)}, false, "[a /s 30 [1–99] as started 20 [20–20] 1.5× as many]"},
		{selftests{rate(20), rate(7, 30, 90)}, true, "[a /s 20 [20–20] as started 30 [7–90] 1/1.5]"},
		{selftests{rate(0), rate(30)}, true, "[a /s 0 [0–0] as started 30 [30–30] ]"},
	} {
		m := selftest.Measure{Name: "a", Unit: "/s", Of: func(r *selftest.Result) float64 { return r.IssuedQPS }, Least: c.least}
		if got := fmt.Sprint(newSelftestRow(m, c.results).cells()); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestPeerWithoutResult(t *testing.T) {
	for does, want := range map[string]string{
		"echo no such flag >&2; exit 2":            ": exit status 2: no such flag",
		"exit 7":                                   ": exit status 7",
		"echo hello":                               " printed no result: invalid character 'h'",
		`echo '{"duration_ns": 5}'`:                " printed a result without queries or duration",
		`echo '{"queries": 5, "duration_ns": -1}'`: " printed a result without queries or duration",
	} {
		program := shell(t, does)
		_, err := runSelftest(t.Context(), program, []string{"--scenario", "Offline"})
		if err == nil || !strings.HasPrefix(err.Error(), program+" --scenario Offline --output ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", does, err, want)
		}
	}
	if _, err := measureClient(t.Context(), shortMeasure(), shell(t, `echo '{"tokens": 5}'`), time.Millisecond); err == nil || !strings.Contains(err.Error(), " printed a result without tokens or seconds") {
		t.Errorf("a peer of the client: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrInterrupted)
	if _, err := runSelftest(ctx, shell(t, "exit 0"), nil); !errors.Is(err, ErrInterrupted) {
		t.Errorf("interrupted: %v", err)
	}
}

// shortMeasure is a measure that takes no time.
func shortMeasure() clienttest.Measure {
	m := clienttest.Measures()[1]
	m.Test.Streams, m.Test.Tokens, m.Test.Begin = 2, 8, 1500*time.Microsecond
	return m
}

func TestMeasureClient(t *testing.T) {
	peer := shell(t, `test "$1 $3 $4 $5 $6" = "first 2 8 1 0.0015" || exit 9
case "$2" in http://127.0.0.1:*) ;; *) exit 8;; esac
echo '{"tokens": 6, "seconds": 2, "cpu_seconds": 1}'`)
	results, err := measureClient(t.Context(), shortMeasure(), peer+" first", time.Second)
	if err != nil || len(results) != 2 || results[0].Tokens == 0 || results[0].Answers == 0 || results[1].TokensPerSecond() != 3 {
		t.Fatalf("%+v: %v", results, err)
	}
}

func TestTokenServerProcess(t *testing.T) {
	var address string
	broken := errors.New("broken")
	_, err := withTokenServer(t.Context(), tokenserver.Options{PerWrite: 1}, func(url string) (int, error) {
		address = url
		if o := mlperf(t, "selftest", "--token-server", strings.TrimPrefix(url, "http://")); o.status != ExitUsage || !strings.Contains(o.stderr, "address already in use") {
			t.Errorf("another at the same address: status %d: %s", o.status, o.stderr)
		}
		return 0, broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the test", err)
	}
	if _, err := http.Get(address); err == nil {
		t.Errorf("%s still answers", address)
	}
	never := func(string) (int, error) { t.Error("it started"); return 0, nil }
	_, err = withTokenServer(t.Context(), tokenserver.Options{PerWrite: -1}, never)
	if err == nil || !strings.Contains(err.Error(), "the token server did not start: EOF; it printed ") || !strings.Contains(err.Error(), "must be a number from 1") {
		t.Errorf("a wrong pace: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrInterrupted)
	if _, err := withTokenServer(ctx, tokenserver.Options{PerWrite: 1}, never); !errors.Is(err, ErrInterrupted) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestTokenServerFaults(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	read, write := io.Pipe()
	ended := make(chan error)
	s := tokenServer{address: "127.0.0.1:0", fault: "500", every: 3, options: tokenserver.Options{PerWrite: 1}}
	go func() { ended <- s.serve(ctx, write) }()
	var url string
	if _, err := fmt.Fscanln(read, &url); err != nil {
		t.Fatal(err)
	}
	var statuses []int
	for range 6 {
		answer, err := http.Post(url+"/v1/completions", "application/json", strings.NewReader(`{"model": "m", "prompt": "once", "max_tokens": 1}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		statuses = append(statuses, answer.StatusCode)
	}
	if got, want := fmt.Sprint(statuses), "[200 200 500 200 200 500]"; got != want {
		t.Errorf("statuses %s, want %s", got, want)
	}
	cancel(ErrInterrupted)
	if err := <-ended; err != nil {
		t.Errorf("a server that was stopped: %v", err)
	}
}
