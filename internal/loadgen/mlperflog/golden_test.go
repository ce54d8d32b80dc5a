package mlperflog

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a text with a file, or writes the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; run the tests with -update after a review):\n%s", name, diff)
	}
}

// unevenly runs a test whose latencies depend on the sample, so that no two statistics
// are equal.
func unevenly(t *testing.T, scenario loadgen.Scenario, change func(*loadgen.TestSettings)) logs {
	t.Helper()
	s := loadgen.DefaultSettings()
	s.Scenario = scenario
	s.MinDuration, s.MinQueryCount = 100*time.Millisecond, 100
	s.ServerTargetQPS, s.OfflineExpectedQPS = 1000, 1000
	s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed = 1, 2, 3
	sut := sleepingSUT{nap: 100 * time.Microsecond, perIndex: 17 * time.Microsecond, firstToken: true, tokens: 5}
	if scenario == loadgen.Offline {
		sut.nap, sut.firstToken = 150*time.Millisecond, false
	}
	change(&s)
	if !s.UseTokenLatencies {
		sut.firstToken, sut.tokens = false, 0
	}
	return runInFakeTime(t, sut, s)
}

func asIs(*loadgen.TestSettings) {}

func withTokens(s *loadgen.TestSettings) { s.UseTokenLatencies = true }

func TestGoldenSummaries(t *testing.T) {
	for _, s := range loadgen.Scenarios() {
		golden(t, "summary-"+strings.ToLower(s.String())+".txt", unevenly(t, s, asIs).summary)
	}
	golden(t, "summary-server-tokens.txt", unevenly(t, loadgen.Server, withTokens).summary)
}

func TestGoldenDetail(t *testing.T) {
	golden(t, "detail-server-tokens.txt", unevenly(t, loadgen.Server, withTokens).detail)
}

func TestGoldenTrace(t *testing.T) {
	few := func(s *loadgen.TestSettings) { s.MinQueryCount, s.MaxQueryCount, s.MinDuration = 3, 3, 0 }
	for _, s := range []loadgen.Scenario{loadgen.Server, loadgen.MultiStream} {
		trace := unevenly(t, s, few).trace
		if !json.Valid([]byte(trace)) {
			t.Errorf("the trace of %v is not JSON", s)
		}
		golden(t, "trace-"+strings.ToLower(s.String())+".json", trace)
	}
}
