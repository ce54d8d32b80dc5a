package measure

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/cli/clitest"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

// atServer is a command line that asks a server of tokens, made here, and leaves the threads of the tests' program as they are.
func atServer(t *testing.T, more string) []string {
	t.Helper()
	server := httptest.NewServer(tokenserver.New(tokenserver.Options{}))
	t.Cleanup(server.Close)
	places := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(places) })
	return strings.Fields("run --backend openai --endpoint " + server.URL + " --synthetic-prompts 5 --prompt-words 3 --answer-tokens 2 --progress none --no-report --quick " +
		"--min-duration 20ms --min-query-count 4 " + more)
}

// TestASweepHasARunForEachLoad, a table of them, and the status of the worst.
func TestASweepHasARunForEachLoad(t *testing.T) {
	atWork(t)
	o := clitest.Run(t, Commands(), atServer(t, "--sweep-concurrency 1,2 --target-qps 100 --output rates --json")...)
	var table struct {
		Schema string
		Rows   []run.SweepPoint
	}
	if err := json.Unmarshal([]byte(o.Stdout), &table); err != nil || len(table.Rows) != 2 || table.Schema != "mlperf-go/sweep/1" {
		t.Fatalf("status %d, %v: %s\n%s", o.Status, err, o.Err, o.Stdout)
	}
	want := cli.ExitDone
	for i, p := range table.Rows {
		if r := results(t, filepath.Join("rates", p.Folder)); p.Load != float64(i+1) || p.Result != r.Result || p.RequestsPerSecond <= 0 {
			t.Errorf("point %d: %+v, its run is %s", i, p, r.Result)
		}
		if p.Result != report.Valid {
			want = cli.ExitInvalid
		}
	}
	if o.Status != want {
		t.Errorf("status %d, want %d: %s", o.Status, want, o.Stdout)
	}
	for _, file := range []string{run.SweepCSV, run.SweepJSON} {
		if info, err := os.Stat(filepath.Join("rates", file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestLoadsThatThereCannotBeAreNamedBeforeAServerIsAsked.
func TestLoadsThatThereCannotBeAreNamedBeforeAServerIsAsked(t *testing.T) {
	atWork(t)
	places := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(places) })
	base := "run --backend openai --endpoint http://127.0.0.1:1 --synthetic-prompts 5 "
	var cases []clitest.Case
	for _, c := range []struct{ name, flags, want string }{
		{"no folder for so many runs", "--sweep-qps 1,2", "output"},
		{"both kinds", "--sweep-qps 1 --sweep-concurrency 2 --output o", "are two sweeps: want one of the two"},
		{"a rate of nothing", "--sweep-qps 0,5 --output o", "want loads above 0"},
		{"a rate that is no number", "--sweep-qps 5,NaN --output o", "want loads above 0"},
		{"a rate without end", "--sweep-qps Inf --output o", "want loads above 0"},
		{"a rate in words", "--sweep-qps fast --output o", "fast"},
		{"one twice", "--sweep-qps 5,6,5 --output o", "5 is there twice"},
		{"fewer than no requests", "--sweep-concurrency -1 --output o", "want loads above 0"},
	} {
		cases = append(cases, clitest.Case{Name: c.name, Args: strings.Fields(base + c.flags), Status: cli.ExitUsage, Want: []string{c.want}})
	}
	clitest.Check(t, Commands, cases)
	if _, err := os.Stat("o"); err == nil {
		t.Error("something was written")
	}
}

// TestARunAtAServerNeedsNoModel, and says what a server is asked and how fast it answers.
func TestARunAtAServerNeedsNoModel(t *testing.T) {
	atWork(t)
	o := clitest.Run(t, Commands(), atServer(t, "--scenario offline --target-qps 100 --output one")...)
	if o.Status != cli.ExitDone && o.Status != cli.ExitInvalid || o.Err != "" {
		t.Fatalf("status %d: %s", o.Status, o.Err)
	}
	r := results(t, "one")
	if r.Generation == nil || r.Generation.Answers == 0 || r.Generation.Tokens != 2*r.Generation.Answers || r.Backend.Engine != run.OpenAI {
		t.Errorf("the engine %s: %+v", r.Backend.Engine, r.Generation)
	}
	if !strings.Contains(o.Stdout, "tokens") || !strings.Contains(o.Stdout, "Logs and results: one\n") {
		t.Errorf("shown:\n%s", o.Stdout)
	}
	for engine, want := range map[string]bool{run.OpenAI: true, run.OIP: true, run.ONNXRuntime: false, run.Simulated: false, "": false} {
		if got := answersElsewhere(engine); got != want {
			t.Errorf("%q answers elsewhere: %v", engine, got)
		}
	}
}
