package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// TestMain lets this program be the one that is measured in a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "selftest" {
		os.Exit(m.Run())
	}
	root := &cobra.Command{Use: "mlperf", SilenceUsage: true}
	root.AddCommand(Commands()...)
	if err := root.Execute(); err != nil {
		os.Exit(cli.StatusOf(err))
	}
}

// script is a program that does what a shell is told.
func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestASelfTestPrintsWhatItMeasured(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, scenario := range []string{"single-stream", "multistream", "Server", "offline"} {
		for _, more := range [][]string{nil, {"--accuracy"}} {
			args := append([]string{"selftest", "--scenario", scenario, "--target-qps", "1e4", "--duration", "5", "--issue-priority=false"}, more...)
			o := clitest.Run(t, Commands(), args...)
			for _, want := range []string{" queries in ", " queries/s\nlatency ", "\nissue delay ", " allocations per query, ", " from the last completion to the result\n"} {
				if o.Status != cli.ExitDone || !strings.Contains(o.Stdout, want) || strings.Contains(o.Stdout, "Inf") {
					t.Errorf("%q: status %d, no %q in %s%s", args, o.Status, want, o.Stdout, o.Err)
				}
			}
		}
	}
}

func TestASelfTestAsJSONLeavesItsLogs(t *testing.T) {
	t.Chdir(t.TempDir())
	o := clitest.Run(t, Commands(), "selftest", "--scenario", "offline", "--target-qps", "500", "--duration", "1s", "--json", "--output", ".")
	var r harness.SelfTestResult
	if err := json.Unmarshal([]byte(o.Stdout), &r); err != nil || r.Scenario != "Offline" || r.Queries != 500 || r.DurationNS <= 0 || r.PeakRSSBytes == 0 {
		t.Errorf("%+v: %v", r, err)
	}
	for _, name := range []string{"mlperf_log_summary.txt", "mlperf_log_detail.txt", "mlperf_log_accuracy.json"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestFlagsOfSelfTestsThatDoNotGoTogetherAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	var cases []clitest.Case
	for _, c := range []struct{ args, want string }{
		{"--rounds 0 --all", "--rounds is 0, want at least 1"},
		{"--peer ./other", "--peer is compared with by --all and --endpoint, and neither is given"},
		{"--peer ./other --token-server :0", "--peer is compared with by --all and --endpoint, and neither is given"},
		{"--all --endpoint", "--endpoint and --all are different things: give one of them"},
		{"--endpoint --token-server :0", "--token-server and --endpoint are different things"},
		{"--all --scenario offline", "--scenario is of a single test, and --all has its own"},
		{"--all --accuracy", "--accuracy is of a single test, and --all has its own"},
		{"--endpoint --target-qps 5", "--target-qps is of a single test, and --endpoint has its own"},
		{"--token-server :0 --output x", "--output is of a single test, and --token-server has its own"},
		{"--endpoint --duration 0", "--duration is 0s, want more than nothing"},
		{"--duration -1s", `"-1s" is negative`},
		{"--scenario sever", `"sever"`},
		{"--target-qps NaN", "target_qps must be positive, is NaN"},
		{"--scenario offline --target-qps 1e300", "samples a test can have"},
		{"--token-server :0 --token-fault quack", `unknown fault "quack", want one of none, `},
		{"--token-server :0 --token-fault-every 0", "is 0, want a number from 1"},
		{"--token-server :0 --token-slots -1", "is -1, want a number from 0, which is any number"},
		{"--token-server :0 --tokens-per-write 0", "is 0, want a number from 1"},
		{"--token-server :0 --token-right NaN", "is NaN, want a share from 0 to 1"},
		{"--token-server :0 --token-right 1.5", "is 1.5, want a share from 0 to 1"},
		{"--token-server nowhere", "missing port in address"},
		{"--token-server :0 --token-prefill -1s", `"-1s" is negative`},
	} {
		cases = append(cases, clitest.Case{Name: c.args, Args: append([]string{"selftest"}, strings.Fields(c.args)...), Status: cli.ExitUsage, Want: []string{c.want}})
	}
	cases = append(cases, clitest.Case{Name: "a peer of blanks", Args: []string{"selftest", "--all", "--peer", " "}, Status: cli.ExitUsage, Want: []string{`--peer is " ", want a program`}})
	clitest.Check(t, Commands, cases)
}

// TestWhatLiesInTheEnvironmentDoesNotStopAMeasurement: it may be there for other verbs.
func TestWhatLiesInTheEnvironmentDoesNotStopAMeasurement(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("MLPERF_TARGET_QPS", "5")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted)
	o := clitest.RunContext(ctx, Commands(), "selftest", "--all")
	if o.Status != cli.ExitInterrupted {
		t.Errorf("status %d: %s", o.Status, o.Err)
	}
}

func TestEachTestIsMadeOnceForAllItsMeasures(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	calls := filepath.Join(t.TempDir(), "calls")
	peer := script(t, `echo "$@" >> `+calls+`; echo '{"queries": 10, "duration_ns": 5, "issued_qps": 40}'`)
	s := &selftestTable{self: self, peer: peer, rounds: 2, tests: map[string][2][]*harness.SelfTestResult{}}
	m := harness.Measure{Name: "issued", Test: harness.SelfTest{Scenario: loadgen.Offline, TargetQPS: 100, Duration: 10 * time.Millisecond}, Of: func(r *harness.SelfTestResult) float64 { return r.IssuedQPS }, Unit: "/s"}
	for range 2 {
		results, err := s.results(t.Context(), m)
		if err != nil || len(results[0]) != 2 || len(results[1]) != 2 || results[0][0].Queries != 1 {
			t.Fatalf("%v: %v", results, err)
		}
		if r := rowOf(m, results); r.Measure != "issued" || r.Unit != "/s" || r.Self <= 0 || *r.Peer != 40 {
			t.Errorf("row %+v", r)
		}
	}
	lines, err := os.ReadFile(calls)
	if err != nil || strings.Count(string(lines), "\n") != 2 || !strings.HasPrefix(string(lines), "--scenario Offline --target-qps 100 --duration 10ms --responses 0 --output ") {
		t.Errorf("the peer was called with\n%s%v, want two calls for two rounds", lines, err)
	}
	s.self, s.rounds = peer, 1
	for _, m.Busy = range []bool{true, false, true} { // while all cores compute it is another test
		if _, err := s.results(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.tests) != 2 {
		t.Errorf("%d tests, want 2", len(s.tests))
	}
}

func TestALineOfTheTable(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name string
		row  measuredRow
		want string
	}{
		{"without a peer", measuredRow{Measure: "a", Unit: "/s", Self: 12345.6}, "a|12346 /s"},
		{"more is better", measuredRow{Measure: "a", Unit: "/s", Self: 30, Peer: number(20)}, "a|30 /s|20 /s|1.5× as many"},
		{"less is better", measuredRow{Measure: "a", Unit: "ns", Self: 20, Peer: number(30), least: true}, "a|20 ns|30 ns|1/1.5"},
		{"nothing here", measuredRow{Measure: "a", Unit: "ns", Peer: number(30), least: true}, "a|0 ns|30 ns|"},
		{"nothing there", measuredRow{Measure: "a", Unit: "/s", Self: 20, Peer: number(0)}, "a|20 /s|0 /s|"},
	} {
		var cells []string
		for _, cell := range c.row.cells() {
			cells = append(cells, cell.(string))
		}
		if got := strings.Join(cells, "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAProgramWithoutAResultIsNamedWithWhatItSaid(t *testing.T) {
	for _, c := range []struct{ name, does, want string }{
		{"fails with words", "echo no such flag >&2; exit 2", ": exit status 2: no such flag"},
		{"fails without a word", "exit 7", ": exit status 7"},
		{"prints no JSON", "echo hello", " printed no result: invalid character 'h'"},
		{"prints nothing", "", " printed no result: unexpected end of JSON input"},
		{"prints a result without queries", `echo '{"duration_ns": 5}'`, " printed a result without queries or duration"},
		{"prints a result without a duration", `echo '{"queries": 5, "duration_ns": -1}'`, " printed a result without queries or duration"},
	} {
		program := script(t, c.does)
		_, err := runSelftest(t.Context(), program, []string{"--scenario", "Offline"})
		if err == nil || !strings.HasPrefix(err.Error(), program+" --scenario Offline --output ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := runSelftest(t.Context(), "./no such program", nil); err == nil || !strings.HasPrefix(err.Error(), "'./no such program' --output ") {
		t.Errorf("a program that is not there: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted)
	if _, err := runSelftest(ctx, script(t, "exit 0"), nil); !errors.Is(err, cli.ErrInterrupted) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestCoresComputeUntilTheyAreStopped(t *testing.T) {
	stop := computeOnAllCores()
	stop()
	stop()
}
