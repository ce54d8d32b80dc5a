package charts

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

const ms = time.Millisecond

// queue simulates n Server queries that wait for two workers of this load, with 3 % of jitter.
func queue(seed uint64, n int, qps, load float64) []loadgen.SampleRecord {
	arrivals, service := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	at := 0.0
	var free [2]float64
	records := make([]loadgen.SampleRecord, n)
	for i := range records {
		at += arrivals.ExpFloat64() / qps
		w := 0
		if free[1] < free[0] {
			w = 1
		}
		free[w] = max(at, free[w]) + 2*load/qps*math.Exp(0.03*service.NormFloat64())
		ns := func(s float64) time.Duration { return time.Duration(s * 1e9) }
		records[i] = loadgen.SampleRecord{
			Query: uint64(i), Start: ns(at), Issued: ns(at) + time.Duration(i%7), Completed: ns(free[w]), FirstToken: -1, GeneratorDelay: time.Duration(i % 5),
		}
	}
	return records
}

// steady is a run of n queries, one every so often, that take equally long.
func steady(n int, every, latency time.Duration) []loadgen.SampleRecord {
	records := make([]loadgen.SampleRecord, n)
	for i := range records {
		at := time.Duration(i) * every
		records[i] = loadgen.SampleRecord{Query: uint64(i), Start: at, Issued: at, Completed: at + latency, FirstToken: -1}
	}
	return records
}

// source has the numbers that follow from the records.
func source(s loadgen.Scenario, records []loadgen.SampleRecord) Source {
	src := Source{Queries: records[len(records)-1].Query + 1, Samples: uint64(len(records)), Delays: s == loadgen.Server}
	src.Effective.Scenario, src.Effective.TargetLatencyPercentile = s, 0.98
	var latencies []time.Duration
	for _, r := range records {
		latencies, src.End = append(latencies, r.Completed-r.Start), max(src.End, r.Completed)
	}
	slices.Sort(latencies)
	src.Latency.Count = src.Samples
	for i, p := range loadgen.Percentiles() {
		src.Latency.Percentiles[i] = latencies[int(p*float64(len(latencies)))]
	}
	src.Latency.Target = latencies[int(0.98*float64(len(latencies)))]
	src.Each = func(f func(loadgen.SampleRecord)) {
		for _, r := range records {
			f(r)
		}
	}
	return src
}

func TestTimelineCountsEverySampleOnce(t *testing.T) {
	records := queue(1, 9000, 150, 0.75)
	records[17].Completed = -1 // never answered
	c := source(loadgen.Server, records).Charts()
	sum := func(column Column) (n float64) {
		for _, v := range column {
			n += v
		}
		return n
	}
	if in, out := sum(c.Timeline.Issued), sum(c.Timeline.Completed); in != 9000 || out != 8999 || c.Latency.Count() != 8999 {
		t.Errorf("%g issued, %g completed, %d latencies; want 9000, 8999, 8999", in, out, c.Latency.Count())
	}
	if slowest, _ := c.Timeline.Max.Max(); slowest != float64(c.Latency.Spread().Max) {
		t.Errorf("the slowest of the buckets is %g, of the run %d", slowest, c.Latency.Spread().Max)
	}
	if c.IssueDelay.Spread().Max != 6 || c.GeneratorDelay.Spread().Max != 4 {
		t.Errorf("delays up to %d and %d, want 6 and 4", c.IssueDelay.Spread().Max, c.GeneratorDelay.Spread().Max)
	}
}

func TestTimelineBuckets(t *testing.T) {
	for queries, want := range map[int]int{1: 20, 1049: 20, 1050: 21, 5000: 100, 15000: 300, 20000: 300} {
		records := steady(queries, 100*ms, 10*ms)
		slow := &records[queries/2]
		slow.Completed += 30 * ms
		s := source(loadgen.SingleStream, records)
		got := s.Charts().Timeline
		if len(got.Issued) != want || got.BucketNS*int64(want) <= int64(s.End) {
			t.Errorf("%d queries: %d buckets of %d ns, want %d and %d ns", queries, len(got.Issued), got.BucketNS, want, s.End)
		}
		if _, at := got.Max.Max(); at != int(int64(slow.Start)/got.BucketNS) {
			t.Errorf("%d queries: the slow one of %v is in bucket %d of %d ns", queries, slow.Start, at, got.BucketNS)
		}
		if got.DelayP50 != nil || got.DelayMax != nil || got.FirstTokenP50 != nil || got.PerTokenP90 != nil {
			t.Errorf("delays or tokens of a run without: %+v", got)
		}
	}
}

func TestOutstandingSamples(t *testing.T) {
	for i, v := range source(loadgen.Server, steady(1000, ms, 3500*time.Microsecond)).Charts().Timeline.Outstanding {
		if v < 3 || v > 5 { // four, and one that begins or ends with the instant
			t.Errorf("bucket %d: %g outstanding, want 4", i, v)
		}
	}
}

func TestMultiStreamLatencyIsThatOfTheLastSample(t *testing.T) {
	var records []loadgen.SampleRecord
	for q := range 100 {
		for i := range 8 {
			start := time.Duration(q) * 20 * ms
			records = append(records, loadgen.SampleRecord{Query: uint64(q), Start: start, Issued: start, Completed: start + time.Duration(8-i)*ms, FirstToken: -1})
		}
	}
	c := source(loadgen.MultiStream, records).Charts()
	if got := c.Latency.Spread(); got.Count != 100 || got.Min != 8*ms || got.Max != 8*ms {
		t.Errorf("%+v, want 100 latencies of 8 ms", got)
	}
	if len(c.Batches) != 20 || c.Batches[0].Queries != 5 || c.Batches[19].MeanNS != 8e6 {
		t.Errorf("batches %+v", c.Batches)
	}
	for _, i := range []int{8, 15, 799} { // the first and the last sample of a query
		records[i].Completed = -1
	}
	if got := source(loadgen.MultiStream, records).Charts().Latency.Count(); got != 98 {
		t.Errorf("%d latencies, want 98: two queries lack a sample", got)
	}
}

func TestOfflineHasNoLatenciesOverTime(t *testing.T) {
	records := steady(4000, 0, 0)
	for i := range records {
		records[i].Query, records[i].Completed = 0, time.Duration(i+1)*ms
	}
	c := source(loadgen.Offline, records).Charts()
	if c.Timeline.P50 != nil || c.Batches != nil || c.Percentiles != nil || len(c.Timeline.Completed) != 80 {
		t.Errorf("%+v", c)
	}
	for i, v := range c.Timeline.Completed {
		if math.Abs(v-50) > 1 {
			t.Errorf("bucket %d: %g completed, want 50", i, v)
		}
	}
}

func TestTokenLatencies(t *testing.T) {
	records := steady(4, 100*ms, 10*ms)
	records[0].FirstToken, records[0].Tokens = 4*ms, 4
	records[1].FirstToken, records[1].Tokens = 102*ms, 1        // one token has no time to the next
	records[2].FirstToken, records[2].Completed = 201*ms, -1*ms // never ended
	s := source(loadgen.Server, records)
	s.Tokens = true
	got := s.Charts()
	if first := got.FirstToken.Spread(); first.Count != 2 || first.Max != 4*ms || first.Min != 2*ms {
		t.Errorf("first tokens %+v", first)
	}
	if each := got.TimePerOutputToken.Spread(); each.Count != 1 || each.Max != 2*ms {
		t.Errorf("times per token %+v", each)
	}
	if got.Latency.Count() != 3 {
		t.Errorf("%d latencies of 3 answers", got.Latency.Count())
	}
}

// A sut answers after a while, with tokens if there are some.
type sut struct{ tokens int }

func (sut) Name() string  { return "sut" }
func (sut) FlushQueries() {}
func (s sut) IssueQuery(q loadgen.Query) {
	go func() {
		for _, sample := range q.Samples {
			time.Sleep(ms * time.Duration(2+sample.Index%3))
			if s.tokens > 0 {
				q.FirstToken([]loadgen.QuerySampleResponse{{ID: sample.ID}})
				time.Sleep(9 * ms)
			}
			q.Complete([]loadgen.QuerySampleResponse{{ID: sample.ID, NTokens: int32(s.tokens)}})
		}
	}()
}

// A qsl has samples without content.
type qsl struct{}

func (qsl) Name() string                                                       { return "qsl" }
func (qsl) TotalSampleCount() int                                              { return 64 }
func (qsl) PerformanceSampleCount() int                                        { return 64 }
func (qsl) LoadSamplesToRAM(context.Context, []loadgen.QuerySampleIndex) error { return nil }
func (qsl) UnloadSamplesFromRAM([]loadgen.QuerySampleIndex) error              { return nil }

// TestChartsAgreeWithTheResult runs the load generator in all scenarios.
func TestChartsAgreeWithTheResult(t *testing.T) {
	for _, scenario := range []loadgen.Scenario{loadgen.SingleStream, loadgen.MultiStream, loadgen.Server, loadgen.Offline} {
		for _, tokens := range []int{0, 10} {
			name := scenario.String()
			if tokens > 0 {
				name += " with tokens"
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := loadgen.DefaultSettings()
					s.Scenario, s.MinDuration, s.MinQueryCount, s.ServerTargetQPS = scenario, 2*time.Second, 200, 500
					s.ServerTargetLatency, s.UseTokenLatencies = 50*ms, tokens > 0
					s.ServerTTFTLatency, s.ServerTPOTLatency = time.Second, time.Second
					r, err := loadgen.Run(t.Context(), sut{tokens}, qsl{}, s, loadgen.Options{NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} }})
					if err != nil {
						t.Fatal(err)
					}
					agree(t, r.Performance, Of(r.Performance))
				})
			})
		}
	}
	if c := Of(nil); c != nil {
		t.Errorf("charts of no phase: %+v", c)
	}
	if c := Of(&loadgen.Performance{}); c != nil {
		t.Errorf("charts of a phase without answers: %+v", c)
	}
}

func agree(t *testing.T, p *loadgen.Performance, c *Charts) {
	t.Helper()
	stats := p.SampleLatency
	if p.Effective.Scenario == loadgen.MultiStream {
		stats = p.QueryLatency
	}
	if got := c.Latency.Spread(); got.Count != int64(stats.Count) || got.Max != stats.Max || got.Min != stats.Min {
		t.Errorf("%d latencies from %v to %v, want %d from %v to %v", got.Count, got.Min, got.Max, stats.Count, stats.Min, stats.Max)
	}
	for _, x := range c.Percentiles {
		if x.LowerNS > 0 && (x.ValueNS < x.LowerNS-x.LowerNS/500 || x.ValueNS > x.UpperNS+x.UpperNS/500) {
			t.Errorf("the interval of %g is %d to %d without %d", x.Percentile, x.LowerNS, x.UpperNS, x.ValueNS)
		}
	}
	if (c.FirstToken != nil) != (p.FirstToken.Count > 0) {
		t.Fatalf("first tokens %v, the result has %d", c.FirstToken, p.FirstToken.Count)
	}
	if c.FirstToken == nil {
		return
	}
	if first, each := c.FirstToken.Spread(), c.TimePerOutputToken.Spread(); first.Max != p.FirstToken.Max || each.Count != int64(p.TimePerOutputToken.Count) || each.Max != p.TimePerOutputToken.Max {
		t.Errorf("first token at most %v, %d times per token up to %v; want %v, %d, %v", first.Max, each.Count, each.Max, p.FirstToken.Max, p.TimePerOutputToken.Count, p.TimePerOutputToken.Max)
	}
}

func TestWriteAndRead(t *testing.T) {
	dir := t.TempDir()
	if none, err := Read(dir); none != nil || err != nil {
		t.Errorf("a folder without charts: %v, %v", none, err)
	}
	c := source(loadgen.Server, queue(2, 5000, 100, 0.75)).Charts()
	c.BatchSizes = []Size{{1, 4000}, {2, 500}}
	c.Gauges = &Gauges{AtNS: Column{1e9, 2e9}, Series: []Gauge{{"processor", "%", Column{50, math.NaN()}}}}
	if err := c.Write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := json.Marshal(c)
	two, _ := json.Marshal(got)
	if string(one) != string(two) {
		t.Errorf("written %s\nread %s", one, two)
	}
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path, one[:100], 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := Read(dir); c != nil || err == nil || !strings.HasPrefix(err.Error(), "reading "+path+": ") {
		t.Errorf("a file that was cut off: %v, %v", c, err)
	}
	if err := c.Write(filepath.Join(dir, "nowhere")); err == nil || !strings.HasPrefix(err.Error(), "writing the charts: ") || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("into a missing folder: %v", err)
	}
}

func TestParseErrors(t *testing.T) {
	good, err := json.Marshal(source(loadgen.Server, queue(3, 2000, 100, 0.75)).Charts())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{schema, "mlperf-go/charts/1", `schema is "mlperf-go/charts/1", this program reads`},
		{`{`, `[`, "invalid character"},
		{`"quantiles_ns":[`, `"quantiles_ns":[1,`, "batch 1 has 7 quantiles, expected 6"},
		{`"bucket_ns":`, `"bucket_ns":-`, "of a positive length"},
		{`"issued_samples":[`, `"issued_samples":[1,`, "41 issued, 40 completed"},
		{`"outstanding_samples":[`, `"outstanding_samples":[1,`, "41 outstanding"},
		{`"latency_p99_ns":[`, `"latency_p99_ns":[1,`, "41 entries, another 40"},
		{`"timeline"`, `"gauges":{"at_ns":[1],"series":[{"name":"watts"}]},"timeline"`, `"watts" has 0 values for 1 instants`},
	} {
		text := strings.Replace(string(good), c.old, c.new, 1)
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %s: %v, want %q", c.new, err, c.want)
		}
	}
}

func TestColumn(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		column Column
		want   string
		at     int // of the largest
	}{
		{nil, "[]", -1},
		{Column{0}, "[0]", 0},
		{Column{-98765.4, 123456, 0.000123456}, "[-98770,123500,0.0001235]", 1},
		{Column{nan, 2, 1, 2}, "[null,2,1,2]", 1},
		{Column{inf, -inf}, "[null,null]", 0},
		{Column{math.MaxFloat64, -math.MaxFloat64}, "[null,null]", 0}, // four digits of these are infinite
	} {
		text, err := json.Marshal(c.column)
		if err != nil || string(text) != c.want {
			t.Errorf("%v: %s, %v, want %s", c.column, text, err, c.want)
			continue
		}
		var back Column
		err = json.Unmarshal(text, &back)
		if again, _ := json.Marshal(back); err != nil || string(again) != c.want {
			t.Errorf("%s is read as %v, %v", text, back, err)
		}
		if _, at := c.column.Max(); at != c.at {
			t.Errorf("the largest of %v is at %d, want %d", c.column, at, c.at)
		}
	}
}

// FuzzParse never panics, and what it accepts survives being written and read again.
func FuzzParse(f *testing.F) {
	for _, scenario := range []loadgen.Scenario{loadgen.Server, loadgen.SingleStream, loadgen.Offline} {
		text, err := json.Marshal(source(scenario, queue(3, 300, 100, 0.75)).Charts())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"schema":"mlperf-go/charts/2","gauges":{"at_ns":[1],"series":[{"name":"","values":[null]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if err != nil {
			return
		}
		one, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("cannot write the charts that were read: %v", err)
		}
		again, err := Parse(one)
		if err != nil {
			t.Fatalf("cannot read the charts that were written: %v", err)
		}
		if two, _ := json.Marshal(again); string(two) != string(one) {
			t.Fatalf("written and read again: %s, then %s", one, two)
		}
	})
}

// BenchmarkCharts is of 10 minutes at 10,000 queries a second.
func BenchmarkCharts(b *testing.B) {
	s := source(loadgen.Server, queue(4, 6_000_000, 10_000, 0.75))
	b.ReportAllocs()
	for b.Loop() {
		text, err := json.Marshal(s.Charts())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(text)), "bytes")
	}
}
