package mlperflog

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A nullQSL has samples without content.
type nullQSL struct{}

func (nullQSL) Name() string                { return "null QSL" }
func (nullQSL) TotalSampleCount() int       { return 20 }
func (nullQSL) PerformanceSampleCount() int { return 10 }
func (nullQSL) LoadSamplesToRAM(context.Context, []loadgen.QuerySampleIndex) error {
	return nil
}
func (nullQSL) UnloadSamplesFromRAM([]loadgen.QuerySampleIndex) error { return nil }

// A sleepingSUT answers a query after a nap inside IssueQuery, with the data indices as
// little-endian int32.
type sleepingSUT struct {
	nap        time.Duration
	perIndex   time.Duration // further nap for each number of the data index
	firstToken bool
	tokens     int32
}

func (sleepingSUT) Name() string { return "sleeping SUT" }

func (s sleepingSUT) IssueQuery(q loadgen.Query) {
	responses := make([]loadgen.QuerySampleResponse, len(q.Samples))
	for i, sample := range q.Samples {
		responses[i] = loadgen.QuerySampleResponse{ID: sample.ID, NTokens: s.tokens, Data: []byte{byte(sample.Index), 0, 0, 0}}
	}
	nap := s.nap + s.perIndex*time.Duration(q.Samples[0].Index)
	time.Sleep(nap / 2)
	if s.firstToken {
		q.FirstToken(responses)
	}
	time.Sleep(nap - nap/2)
	q.Complete(responses)
}

func (sleepingSUT) FlushQueries() {}

// A testCase is a line of testdata/reference/cases.txt: what the reference was run with.
type testCase struct {
	name string
	args map[string]string
}

func readCases(t *testing.T) []testCase {
	t.Helper()
	text, err := os.ReadFile("testdata/reference/cases.txt")
	testenv.Must(t, err)
	var cases []testCase
	for line := range strings.Lines(string(text)) {
		cases = append(cases, parseCase(line))
	}
	return cases
}

func parseCase(line string) testCase {
	words := strings.Fields(line)
	c := testCase{words[0], map[string]string{}}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		c.args[key] = value
	}
	return c
}

// whole is a number that may need all 64 bits; 0 if it is not given.
func (c testCase) whole(t *testing.T, key string) uint64 {
	t.Helper()
	text, ok := c.args[key]
	if !ok {
		return 0
	}
	v, err := strconv.ParseUint(text, 10, 64)
	testenv.Must(t, err)
	return v
}

func (c testCase) float(t *testing.T, key string, otherwise float64) float64 {
	t.Helper()
	text, ok := c.args[key]
	if !ok {
		return otherwise
	}
	v, err := strconv.ParseFloat(text, 64)
	testenv.Must(t, err)
	return v
}

func (c testCase) settings(t *testing.T) loadgen.TestSettings {
	t.Helper()
	scenario, err := loadgen.ParseScenario(c.args["scenario"])
	testenv.Must(t, err)
	s := loadgen.DefaultSettings()
	s.Scenario = scenario
	s.Mode = loadgen.Mode(c.float(t, "mode", 2))
	s.SingleStreamExpectedLatencyNS = c.float(t, "latency_ns", 1e6)
	s.MultiStreamExpectedLatencyNS = c.float(t, "latency_ns", 1e6)
	s.ServerTargetQPS, s.OfflineExpectedQPS = c.float(t, "qps", 200), c.float(t, "qps", 200)
	s.ServerTargetLatency = time.Duration(c.float(t, "limit_ns", 1e8))
	s.MinDuration = time.Duration(c.float(t, "min_ms", 300)) * time.Millisecond
	s.MinQueryCount, s.MaxQueryCount = uint64(c.float(t, "min_q", 100)), uint64(c.float(t, "max_q", 0))
	s.QSLRNGSeed, s.SampleIndexRNGSeed, s.ScheduleRNGSeed, s.AccuracyLogRNGSeed = 1, 2, 3, 4
	s.AccuracyLogProbability = c.float(t, "log_p", 0)
	s.UseTokenLatencies = c.args["tokens"] == "1"
	s.ServerTTFTLatency = time.Duration(c.float(t, "ttft_ns", 1e8))
	s.ServerTPOTLatency = time.Duration(c.float(t, "tpot_ns", 1e8))
	s.InferTokenLatencies = c.args["infer"] == "1"
	s.TokenLatencyScalingFactor = uint64(c.float(t, "factor", 0))
	s.SampleConcatenatePermutation = c.args["equal"] == "1"
	s.PrintTimestamps = c.args["print"] == "1"
	return s
}

// Logs are the texts of the files of a test.
type logs struct {
	result                           *loadgen.Result
	summary, detail, accuracy, trace string
}

var aboutTest = About{Version: "mlperf test", PID: 7}

// run runs a case in fake time, so that every nap lasts exactly as long as it should.
func (c testCase) run(t *testing.T) logs {
	t.Helper()
	s := c.settings(t)
	sut := sleepingSUT{nap: time.Duration(c.float(t, "sleep_us", 1000)) * time.Microsecond}
	if s.UseTokenLatencies {
		sut.tokens, sut.firstToken = 10, s.Scenario != loadgen.Offline
	}
	return runInFakeTime(t, sut, s)
}

func runInFakeTime(t *testing.T, sut loadgen.SUT, s loadgen.TestSettings) logs {
	t.Helper()
	var out logs
	var accuracy bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		log := NewAccuracyLog(&accuracy, s.Scenario)
		result, err := loadgen.Run(t.Context(), sut, nullQSL{}, s, loadgen.Options{
			AccuracyLog: log, NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} },
			MaxIssueDelay: time.Hour, // a SUT that sleeps in IssueQuery keeps the generator waiting
		})
		testenv.Must(t, err)
		testenv.Must(t, log.Close())
		out.result = result
	})
	out.summary, out.detail, out.trace = summaryOf(t, out.result), detailOf(t, out.result), traceOf(t, out.result)
	out.accuracy = accuracy.String()
	return out
}

func summaryOf(t *testing.T, r *loadgen.Result) string {
	t.Helper()
	return written(t, func(w io.Writer) error { return writeSummary(w, r) })
}

func detailOf(t *testing.T, r *loadgen.Result) string {
	t.Helper()
	return written(t, func(w io.Writer) error { return writeDetail(w, r, aboutTest) })
}

func traceOf(t *testing.T, r *loadgen.Result) string {
	t.Helper()
	return written(t, func(w io.Writer) error { return writeTrace(w, r, aboutTest) })
}

func written(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	testenv.Must(t, write(&b))
	return b.String()
}

// readTestdata reads a file, decompressed if its name ends in .gz.
func readTestdata(t testing.TB, elem ...string) string {
	t.Helper()
	return string(testenv.Read(t, filepath.Join(append([]string{"testdata"}, elem...)...)))
}
