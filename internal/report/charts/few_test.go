package charts

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// few is a run of some queries, one every 100 ms, of 10 ms each.
func few(n int) []loadgen.SampleRecord {
	records := make([]loadgen.SampleRecord, n)
	for i := range records {
		at := time.Duration(i) * 100 * time.Millisecond
		records[i] = loadgen.SampleRecord{Query: uint64(i), Start: at, Issued: at, Completed: at + 10*time.Millisecond, FirstToken: -1}
	}
	return records
}

func TestRunsWithFewerQueriesThanPartsHaveNone(t *testing.T) {
	for _, c := range []struct {
		queries, parts int
	}{{1, 0}, {2, 0}, {19, 0}, {20, 20}, {21, 20}, {1000, 20}} {
		got := source(loadgen.Server, few(c.queries)).Charts()
		if len(got.Batches) != c.parts || got.Latency.Count() != uint64(c.queries) {
			t.Errorf("%d queries: %d parts and %d latencies, want %d parts", c.queries, len(got.Batches), got.Latency.Count(), c.parts)
		}
		sum := uint64(0)
		for _, b := range got.Batches {
			sum += b.Queries
			if b.MeanNS != 1e7 || len(b.QuantilesNS) != len(BatchPercentiles()) {
				t.Errorf("%d queries: a part %+v", c.queries, b)
			}
		}
		if c.parts > 0 && sum != uint64(c.queries) {
			t.Errorf("%d queries: %d in parts", c.queries, sum)
		}
		for _, p := range got.Percentiles {
			if p.ValueNS != 1e7 || c.parts == 0 && p.UpperNS != 0 {
				t.Errorf("%d queries: %+v", c.queries, p)
			}
		}
	}
}

func TestABucketHasEnoughQueriesAndARunEnoughBuckets(t *testing.T) {
	for queries, want := range map[int]int{1: 20, 999: 20, 1000: 20, 1049: 20, 1050: 21, 5000: 100, 15000: 300, 20000: 300} {
		got := source(loadgen.Server, few(queries)).Charts().Timeline
		if len(got.Issued) != want {
			t.Errorf("%d queries: %d buckets, want %d", queries, len(got.Issued), want)
		}
		if end := int64(queries-1)*1e8 + 1e7; got.BucketNS*int64(want) <= end {
			t.Errorf("%d queries: %d buckets of %d ns end before %d ns", queries, want, got.BucketNS, end)
		}
	}
}

func TestATimelineLeavesOutWhatNothingMeasured(t *testing.T) {
	got := source(loadgen.SingleStream, few(100)).Charts()
	if got.IssueDelay != nil || got.FirstToken != nil {
		t.Error("there are delays or tokens of a run without")
	}
	l := got.Timeline
	for name, c := range map[string]Column{"delay": l.DelayP50, "worst delay": l.DelayMax, "first token": l.FirstTokenP50, "time per token": l.PerTokenP90} {
		if c != nil {
			t.Errorf("%s: %v", name, c)
		}
	}
}

func TestTokensAreThoseOfWhatWasAnswered(t *testing.T) {
	records := few(4)
	records[0].FirstToken, records[0].Tokens = 4*time.Millisecond, 4
	records[1].FirstToken, records[1].Tokens = 100*time.Millisecond+2*time.Millisecond, 1 // one token has no time to the next
	records[2].FirstToken, records[2].Completed = 201*time.Millisecond, -1                // never ended
	s := source(loadgen.Server, records)
	s.Tokens = true
	got := s.Charts()
	if got.FirstToken.Count() != 2 || got.FirstToken.Spread().Max != 4e6 || got.FirstToken.Spread().Min != 2e6 {
		t.Errorf("%d first tokens from %d to %d ns", got.FirstToken.Count(), got.FirstToken.Spread().Min, got.FirstToken.Spread().Max)
	}
	if got.TimePerOutputToken.Count() != 1 || got.TimePerOutputToken.Spread().Max != 2e6 {
		t.Errorf("%d times per token, at most %d ns", got.TimePerOutputToken.Count(), got.TimePerOutputToken.Spread().Max)
	}
	if got.Latency.Count() != 3 {
		t.Errorf("%d latencies of 3 answers", got.Latency.Count())
	}
}

func TestAQueryThatLacksASampleHasNoLatency(t *testing.T) {
	records := few(6)
	for i := range records {
		records[i].Query = uint64(i / 2)
	}
	records[3].Completed = -1
	s := source(loadgen.MultiStream, records)
	if got := s.Charts(); got.Latency.Count() != 2 || got.Latency.Spread().Max != 1.1e8 {
		t.Errorf("%d latencies, at most %d ns, want 2 of 110 ms", got.Latency.Count(), got.Latency.Spread().Max)
	}
}

// TestIndependentQueriesAreWorthWhatTheyAre: with what the parts have in common known, the numbers follow by hand.
func TestIndependentQueriesAreWorthWhatTheyAre(t *testing.T) {
	alternating, same, rising := make([]float64, batches), make([]float64, batches), make([]float64, batches)
	for i := range batches {
		alternating[i], same[i], rising[i] = 0.1*float64(i%2), 0.5, float64(i)/batches
	}
	variance := func(values []float64) float64 {
		mean, sum := 0.0, 0.0
		for _, v := range values {
			mean += v / batches
		}
		for _, v := range values {
			sum += (v - mean) * (v - mean)
		}
		return sum / (batches - 1)
	}
	for _, c := range []struct {
		name  string
		above []float64
		want  float64
	}{
		{"parts that depend on nothing count as they vary", alternating, 0.25 * batches / variance(alternating)},
		{"parts that do not vary are worth all queries", same, 1e6},
		{"parts of which each is as the one before are worth a nineteenth", rising, 0.25 * batches / variance(rising) / 19},
		{"too few parts say nothing", rising[1:], 0},
	} {
		l := limit{fraction: 0.5, above: c.above}
		if got := l.effective(1e6); math.Abs(got-c.want) > 0.02*c.want {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

func TestChartsOfAFolder(t *testing.T) {
	dir := t.TempDir()
	if c, err := Read(dir); c != nil || err != nil {
		t.Errorf("a folder without: %v, %v", c, err)
	}
	path := filepath.Join(dir, FileName)
	for name, text := range map[string]string{"cut off": `{"schema": "mlperf-go/cha`, "another": `{"schema": "x"}`, "empty": "", "a list": "[]", "null": "null"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if c, err := Read(dir); c != nil || err == nil || !strings.HasPrefix(err.Error(), "reading "+path+": ") {
			t.Errorf("%s: %v, %v", name, c, err)
		}
	}
	if err := (&Charts{Schema: schema}).Write(dir); err != nil {
		t.Fatal(err)
	}
	if c, err := Read(dir); err != nil || c.Timeline != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if err := (&Charts{}).Write(filepath.Join(dir, "nowhere")); err == nil || !strings.HasPrefix(err.Error(), "writing the charts: ") || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("into a folder that is not there: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder for a file: %v", err)
	}
}
