package selftest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/harness"
)

// addresses are of what is elsewhere, in another place each time.
var addresses = regexp.MustCompile("0x[0-9a-f]{6,}")

// TestEachFlagOfASelfTestSaysSomethingOfItsOwn: it changes what is measured, in another way than the others.
func TestEachFlagOfASelfTestSaysSomethingOfItsOwn(t *testing.T) {
	state := func(args ...string) string {
		o, f := &selftestFlags{}, pflag.NewFlagSet("", pflag.ContinueOnError)
		o.define(f)
		if err := f.Parse(args); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return addresses.ReplaceAllString(fmt.Sprintf("%+v", *o), "&")
	}
	by := map[string]string{state(): "no flag"}
	for _, flag := range strings.Fields("--scenario=offline --target-qps=7 --duration=8s --responses=-1 --accuracy --output=o --spin=9ms --issue-priority=false --token-server=:0 " +
		"--token-prefill=1ms --token-interval=2ms --token-slots=3 --tokens-per-write=4 --token-right=0.5 --token-fault=500 --token-fault-every=6 --token-server-guided --endpoint --json --all --peer=p --rounds=5") {
		now := state(flag)
		if other, same := by[now]; same {
			t.Errorf("%s asks for the same as %s", flag, other)
		}
		by[now] = flag
	}
}

// TestWhatIsOfASingleTestIsRefusedWithEveryOtherKind on the command line, and only there.
func TestWhatIsOfASingleTestIsRefusedWithEveryOtherKind(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted) // before anything is measured
	values := map[string]string{"scenario": "offline", "target-qps": "5", "responses": "3", "accuracy": "true", "output": "x"}
	if len(values) != len(single) {
		t.Fatalf("%d flags are of a single test, and %d are tried", len(single), len(values))
	}
	for _, kind := range []string{"--all", "--endpoint"} {
		for _, name := range single {
			o := clitest.RunContext(ctx, Commands(), "selftest", kind, "--"+name+"="+values[name])
			if want := fmt.Sprintf("--%s is of a single test, and %s has its own", name, kind); o.Status != cli.ExitUsage || o.Err != want {
				t.Errorf("%s --%s: status %d: %s, want %s", kind, name, o.Status, o.Err, want)
			}
		}
	}
	for name, value := range values {
		t.Setenv("MLPERF_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_")), value)
	}
	for _, kind := range []string{"--all", "--endpoint"} {
		if o := clitest.RunContext(ctx, Commands(), "selftest", kind); o.Status != cli.ExitInterrupted {
			t.Errorf("%s with all of them in the environment: status %d: %s", kind, o.Status, o.Err)
		}
	}
}

// TestAResultInWordsHasEveryNumber, each with its unit.
func TestAResultInWordsHasEveryNumber(t *testing.T) {
	r := &harness.SelfTestResult{
		Scenario: "Server", Queries: 1234, DurationNS: 1_500_000_000, IssuedQPS: 822.6667, LatencyMeanNS: 1001, LatencyP50NS: 900, LatencyP99NS: 20_000,
		IssueDelayP50NS: 51_000, IssueDelayP99NS: 3_000_000, BytesPerQuery: 12.04, AllocsPerQuery: 0.00012, PostRunNS: 7_000_000, PeakRSSBytes: 65 << 20,
	}
	var b strings.Builder
	if err := describeSelftest(&b, r); err != nil {
		t.Fatal(err)
	}
	want := "Server: 1234 queries in 1.5s, 822.667 queries/s\n" +
		"latency      mean 1.001µs, p50 900ns, p99 20µs\n" +
		"issue delay  p50 51µs, p99 3ms\n" +
		"memory       12.0 bytes and 0.0001 allocations per query, 65 MiB peak in all\n" +
		"afterwards   7ms from the last completion to the result\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

// TestTheJSONOfASelfTestHasWhatScriptsRelyOn.
func TestTheJSONOfASelfTestHasWhatScriptsRelyOn(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, scenario := range []string{"SingleStream", "MultiStream", "Server", "Offline"} {
		o := clitest.Run(t, Commands(), "selftest", "--scenario", scenario, "--target-qps", "500", "--duration", "10ms", "--json")
		var doc map[string]any
		if err := json.Unmarshal([]byte(o.Stdout), &doc); err != nil || o.Status != cli.ExitDone {
			t.Fatalf("%s: status %d, %v: %s", scenario, o.Status, err, o.Err)
		}
		for _, name := range strings.Fields("scenario queries duration_ns issued_qps latency_mean_ns latency_p50_ns latency_p99_ns issue_delay_p50_ns issue_delay_p99_ns bytes_per_query allocs_per_query post_run_ns peak_rss_bytes") {
			if _, ok := doc[name]; !ok {
				t.Errorf("%s: there is no %s in %s", scenario, name, o.Stdout)
			}
		}
		if doc["scenario"] != scenario || doc["queries"].(float64) < 1 || doc["duration_ns"].(float64) <= 0 {
			t.Errorf("%s: %s", scenario, o.Stdout)
		}
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("files are left where no --output was given: %v, %v", files, err)
	}
}

// TestTheNumberThatCountsIsTheOneInTheMiddle of what the rounds have found, for us and for a peer.
func TestTheNumberThatCountsIsTheOneInTheMiddle(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	m := harness.Measure{Name: "issued", Unit: "/s", Of: func(r *harness.SelfTestResult) float64 { return r.IssuedQPS }, Least: true}
	for range 50 {
		var results [2][]*harness.SelfTestResult
		var middle [2]float64
		for side := range results {
			var values []float64
			for range 1 + 2*random.IntN(4) { // an odd number of rounds
				v := 1 + random.Float64()*1000
				values, results[side] = append(values, v), append(results[side], &harness.SelfTestResult{IssuedQPS: v})
			}
			slices.Sort(values)
			middle[side] = values[len(values)/2]
		}
		row := rowOf(m, results)
		if row.Self != middle[0] || row.Peer == nil || *row.Peer != middle[1] || !row.least {
			t.Fatalf("row %+v, want %v", row, middle)
		}
		ratio := row.cells()[3].(string)
		got, err := strconv.ParseFloat(strings.TrimPrefix(ratio, "1/"), 64)
		if want := middle[1] / middle[0]; err != nil || got < want*0.994 || got > want*1.006 { // three digits
			t.Fatalf("the ratio is %s, want 1/%g", ratio, want)
		}
		if alone := rowOf(m, [2][]*harness.SelfTestResult{results[0], nil}); alone.Peer != nil || len(alone.cells()) != 2 {
			t.Fatalf("without a peer: %+v", alone)
		}
	}
}

// TestOfSoManyRequestsOneIsAnsweredWrongly, whichever fault it is.
func TestOfSoManyRequestsOneIsAnsweredWrongly(t *testing.T) {
	for every := 1; every <= 4; every++ {
		server := tokenServer{fault: "500", every: every}
		server.options.PerWrite, server.options.Right = 1, 1
		fault, err := server.check()
		if err != nil || fault == tokenserver.None {
			t.Fatalf("%v, %v", fault, err)
		}
		server.address = "nowhere" // it does not come to listen, and knows by then what it does
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if err := server.serve(ctx, &strings.Builder{}); err == nil {
			t.Error("a server listens nowhere")
		}
		cancel()
		wrong := 0
		for n := range 12 * every {
			if server.options.Fault(n) == fault {
				wrong++
			}
		}
		if wrong != 12 || server.options.Fault(0) == fault != (every == 1) {
			t.Errorf("of %d requests %d are answered wrongly, want each %d-th", 12*every, wrong, every)
		}
	}
}
