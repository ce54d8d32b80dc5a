package mlperflog

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A randomCase is a test with random settings, and what the reference made of it
// (testdata/random/generate.py).
type randomCase struct {
	testCase
	issued, accuracy string // digests
	summary, detail  []string
}

func readRandomCases(t *testing.T) []*randomCase {
	t.Helper()
	var cases []*randomCase
	for line := range strings.Lines(readTestdata(t, "random", "reference.txt.gz")) {
		kind, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if kind == "case" {
			cases = append(cases, &randomCase{testCase: parseCase(text)})
			continue
		}
		c := cases[len(cases)-1]
		switch kind {
		case "issued":
			c.issued = text
		case "accuracy":
			c.accuracy = text
		case "summary":
			c.summary = append(c.summary, text)
		case "detail":
			c.detail = append(c.detail, text)
		}
	}
	return cases
}

func (c *randomCase) settings(t *testing.T) loadgen.TestSettings {
	t.Helper()
	s := c.testCase.settings(t)
	s.Test05, s.Test05QSLRNGSeed, s.Test05SampleIndexRNGSeed, s.Test05ScheduleRNGSeed = c.on(t, "test05"), 5, 6, 7
	s.QSLRNGSeed, s.SampleIndexRNGSeed = c.whole(t, "seed1"), c.whole(t, "seed2")
	s.ScheduleRNGSeed, s.AccuracyLogRNGSeed = c.whole(t, "seed3"), c.whole(t, "seed4")
	percentile, expected := c.float(t, "percentile", 0.9), c.float(t, "expected_ns", 1e6)
	s.SingleStreamTargetLatencyPercentile, s.MultiStreamTargetLatencyPercentile, s.ServerTargetLatencyPercentile = percentile, percentile, percentile
	s.SingleStreamExpectedLatencyNS, s.MultiStreamExpectedLatencyNS = expected, expected
	s.MultiStreamSamplesPerQuery = uint64(c.float(t, "per_query", 8))
	s.ServerCoalesceQueries, s.ServerMaxAsyncQueries = c.on(t, "coalesce"), c.whole(t, "max_async")
	s.MaxDuration = time.Duration(c.whole(t, "max_ms")) * time.Millisecond
	s.AccuracyLogSamplingTarget = c.whole(t, "log_n")
	s.PerformanceIssueUnique, s.PerformanceIssueSame, s.PerformanceIssueSameIndex = c.on(t, "unique"), c.on(t, "same"), c.whole(t, "same_index")
	s.PerformanceSampleCountOverride, s.AccuracySampleCountOverride = c.whole(t, "perf_override"), c.whole(t, "acc_override")
	return s
}

func (c *randomCase) on(t *testing.T, key string) bool { return c.whole(t, key) == 1 }

// A countedQSL has so many samples, of which so many fit in memory.
type countedQSL struct {
	nullQSL
	total, performance int
}

func (q countedQSL) TotalSampleCount() int       { return q.total }
func (q countedQSL) PerformanceSampleCount() int { return q.performance }

// A randomSUT answers as the one of testdata/random/driver.cc.
type randomSUT struct {
	base, spread, seed, samples     uint64
	parallel, tokens, first, stream bool
	issued                          strings.Builder
}

func (*randomSUT) Name() string  { return "sleeping SUT" }
func (*randomSUT) FlushQueries() {}

func splitmix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

func (s *randomSUT) IssueQuery(q loadgen.Query) {
	fmt.Fprintf(&s.issued, "%d:", len(q.Samples))
	longest := time.Duration(0)
	for _, sample := range q.Samples {
		hash := splitmix(s.seed + s.samples)
		s.samples++
		latency := time.Duration(s.base)
		if s.spread > 0 {
			latency += time.Duration(hash % s.spread)
		}
		if s.parallel {
			go s.answer(q, sample, hash, latency)
		} else {
			s.answer(q, sample, hash, latency)
		}
		longest = max(longest, latency)
		fmt.Fprintf(&s.issued, "%d,", sample.Index)
	}
	s.issued.WriteString(";")
	if s.parallel && s.stream {
		time.Sleep(longest)
	}
}

func (s *randomSUT) answer(q loadgen.Query, sample loadgen.QuerySample, hash uint64, latency time.Duration) {
	data := []byte{byte(sample.Index), byte(sample.Index >> 8), byte(hash >> 8), byte(hash >> 16)}
	r := []loadgen.QuerySampleResponse{{ID: sample.ID, Data: data[:hash%5]}}
	if s.tokens {
		r[0].NTokens = int32(2 + hash>>20%30)
	}
	if s.first {
		time.Sleep(latency / 2)
		q.FirstToken(r)
		latency -= latency / 2
	}
	time.Sleep(latency)
	q.Complete(r)
}

func (c *randomCase) run(t *testing.T) (*randomSUT, *loadgen.Result, string) {
	t.Helper()
	s := c.settings(t)
	sut := &randomSUT{
		base: c.whole(t, "base_ns"), spread: c.whole(t, "spread_ns"), seed: c.whole(t, "sut_seed"), parallel: c.on(t, "parallel"),
		tokens: s.UseTokenLatencies, first: s.UseTokenLatencies && s.Scenario != loadgen.Offline,
		stream: s.Scenario == loadgen.SingleStream || s.Scenario == loadgen.MultiStream,
	}
	qsl := countedQSL{total: int(c.whole(t, "total")), performance: int(c.whole(t, "perf"))}
	var accuracy bytes.Buffer
	var result *loadgen.Result
	synctest.Test(t, func(t *testing.T) {
		log := NewAccuracyLog(&accuracy, s.Scenario)
		var err error
		result, err = loadgen.Run(context.Background(), sut, qsl, s, loadgen.Options{
			AccuracyLog: log, NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} }, MaxIssueDelay: 100 * time.Hour,
			StallTimeout: time.Hour, ProgressEvery: time.Hour,
		})
		testenv.Must(t, err)
		testenv.Must(t, log.Close())
	})
	return sut, result, accuracy.String()
}

func digestOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// sortedRecords are the lines of an accuracy log without the commas between them: in which
// order answers of the same instant are written is not the settings' doing.
func sortedRecords(log string) string {
	lines := strings.Split(strings.TrimSuffix(log, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], ",")
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// ownWords are the keys whose values are texts of the program or of the day.
var ownWords = regexp.MustCompile(`^(loadgen_|logger_|test_datetime|get_sut|power_|early_stopping.*result$|result_invalid_reason|warning_|generic_)`)

func numbersOfDetail(t *testing.T, text string) []string {
	t.Helper()
	var list []string
	for _, m := range rawMessages(t, text) {
		switch {
		case strings.HasPrefix(m.Key, "error_"):
			list = append(list, m.Key)
		case !ownWords.MatchString(m.Key):
			list = append(list, m.Key+" = "+string(m.Value))
		}
	}
	return list
}

var estimateText = regexp.MustCompile(`percentile estimate: \d+`)

func numbersOfSummary(text string) []string {
	var list []string
	prose := false
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		switch {
		case strings.HasPrefix(line, "WARNING"), strings.HasSuffix(line, "Early Stopping Result:"), line == "Recommendations:":
			prose = true
		case strings.HasPrefix(line, "==="), line == "":
			prose = false
		}
		if estimate := estimateText.FindString(line); estimate != "" {
			list = append(list, estimate)
		} else if !prose {
			list = append(list, line)
		}
	}
	return list
}

// With a clock that both obey, every sample, every logged number and every verdict is the
// same, whatever the settings are.
func TestRandomSettingsAgainstReference(t *testing.T) {
	for _, c := range readRandomCases(t) {
		t.Run(c.name, func(t *testing.T) {
			sut, result, accuracy := c.run(t)
			if got := digestOf(sut.issued.String()); got != c.issued {
				t.Errorf("other samples were issued than by the reference: %.200s", sut.issued.String())
			}
			if got := digestOf(sortedRecords(accuracy)); got != c.accuracy {
				t.Errorf("the accuracy log differs from the reference's: %.200s", accuracy)
			}
			if diff := cmp.Diff(c.summary, numbersOfSummary(summaryOf(t, result))); diff != "" {
				t.Errorf("summary (-reference +ours):\n%s", diff)
			}
			if diff := cmp.Diff(c.detail, numbersOfDetail(t, detailOf(t, result))); diff != "" {
				t.Errorf("detail (-reference +ours):\n%s", diff)
			}
			if len(result.Faults) > 0 {
				t.Errorf("faults %v", result.Faults)
			}
		})
	}
}
