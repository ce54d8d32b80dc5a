package selftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// small is a measure that takes no time.
func small() run.ClientMeasure {
	m := run.ClientMeasures()[1]
	m.Test.Streams, m.Test.Tokens = 2, 8
	return m
}

func TestTheClientOfEndpointsIsMeasuredWithAServerOfItsOwn(t *testing.T) {
	results, err := measureClient(t.Context(), small(), "", 20*time.Millisecond)
	if err != nil || len(results) != 1 || results[0].Tokens == 0 || results[0].Answers == 0 {
		t.Fatalf("%+v: %v", results, err)
	}
	row := clientRow(run.ClientMeasure{Name: "rate", Of: func(r *run.ClientTestResult) float64 { return float64(r.Answers) }, Unit: "/s"}, []*run.ClientTestResult{{Answers: 6}, {Answers: 4}})
	if got, want := fmt.Sprint(row), "[rate 6 /s 4 /s 1.5]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAPeerIsCalledWithTheAddressAndThePaceOfItsServer(t *testing.T) {
	m := small()
	m.Test.Begin = 1500 * time.Microsecond
	peer := script(t, `test "$2 $3 $4 $5 $6" = "first 2 8 0.02 0.0015" || exit 9
case "$1" in http://127.0.0.1:*) ;; *) exit 8;; esac
echo '{"tokens": 6, "seconds": 2, "cpu_seconds": 1}'`)
	// The peer's own words come first.
	swapped := script(t, `word=$1; shift; url=$1; shift; exec `+peer+` "$url" "$word" "$@"`) + " first"
	results, err := measureClient(t.Context(), m, swapped, 20*time.Millisecond)
	if err != nil || len(results) != 2 || results[1].TokensPerSecond() != 3 {
		t.Fatalf("%+v: %v", results, err)
	}
}

func TestAPeerWithoutAResultIsNamedWithWhatItSaid(t *testing.T) {
	for _, c := range []struct{ name, does, want string }{
		{"fails", "echo out of luck >&2; exit 3", ": exit status 3: out of luck"},
		{"prints no JSON", "echo ha", " printed no result: invalid character 'h'"},
		{"prints nothing of use", "echo {}", " printed a result without tokens or seconds"},
		{"prints no time", `echo '{"tokens": 5}'`, " printed a result without tokens or seconds"},
	} {
		program := script(t, c.does)
		_, err := measureClient(t.Context(), small(), program, time.Millisecond)
		if err == nil || !strings.HasPrefix(err.Error(), program) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestPacedTrafficIsMeasuredWithAServerOfItsOwn(t *testing.T) {
	testenv.SkipLong(t, "takes a second")
	m := run.PacedMeasures()[2]
	m.Server.Prefill, m.Server.PerToken = time.Millisecond, 0
	m.Test.QPS, m.Test.Tokens = 200, 2
	r, err := measurePaced(t.Context(), m, 50*time.Millisecond)
	if err != nil || r.Most == 0 || r.Latency99NS <= 0 {
		t.Fatalf("%+v: %v", r, err)
	}
}

func TestPacedTrafficIsDescribedByWhatTheMeasureIsAbout(t *testing.T) {
	r := &run.PacedTestResult{LateP50NS: 1500, LateP99NS: 2_500_000, Most: 7, Latency99NS: 3e6, Sent99NS: 4e6}
	for late, want := range map[bool]string{true: "p50 1.5, p99 2500 µs; at most 7 streams", false: "p99 3 ms from the schedule, 4 ms from send"} {
		if got := pacedText(run.PacedMeasure{Late: late}, r); got != want {
			t.Errorf("late %v: %q, want %q", late, got, want)
		}
	}
}

func TestAServerThatDoesNotStartSaysWhy(t *testing.T) {
	never := func(string) (int, error) { t.Error("there is no server"); return 0, nil }
	_, err := withTokenServer(t.Context(), tokenserver.Options{PerWrite: -1}, never)
	if err == nil || !strings.Contains(err.Error(), "the server of tokens did not start: EOF\n") || !strings.Contains(err.Error(), "want a number from 1") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted)
	if _, err := withTokenServer(ctx, tokenserver.Options{PerWrite: 1}, never); !errors.Is(err, cli.ErrInterrupted) {
		t.Errorf("a server after the end: %v", err)
	}
}

func TestTheServerEndsWithWhoAskedForIt(t *testing.T) {
	var address string
	broken := errors.New("broken")
	_, err := withTokenServer(t.Context(), tokenserver.Options{PerWrite: 1}, func(url string) (int, error) {
		address = url
		return 0, broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the test", err)
	}
	if _, err := http.Get(address); err == nil {
		t.Errorf("%s still answers", address)
	}
}

// TestAServerOfTokensAnswersWronglyWhenItIsTold: each so many requests, and not the others.
func TestAServerOfTokensAnswersWronglyWhenItIsTold(t *testing.T) {
	t.Chdir(t.TempDir())
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
	cancel(cli.ErrInterrupted)
	if err := <-ended; err != nil {
		t.Errorf("a server that was ended: %v", err)
	}
}

func TestAnAddressThatIsTakenIsAnError(t *testing.T) {
	_, err := withTokenServer(t.Context(), tokenserver.Options{PerWrite: 1}, func(url string) (int, error) {
		o := clitest.Run(t, Commands(), "selftest", "--token-server", strings.TrimPrefix(url, "http://"))
		if o.Status != cli.ExitUsage || !strings.Contains(o.Err, "address already in use") {
			t.Errorf("status %d: %s", o.Status, o.Err)
		}
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnEndpointTestThatIsStoppedEnds(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted)
	if o := clitest.RunContext(ctx, Commands(), "selftest", "--endpoint"); o.Status != cli.ExitInterrupted {
		t.Errorf("%+v, want status %d", o, cli.ExitInterrupted)
	}
}
