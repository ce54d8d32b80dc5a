package charts

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// queue simulates n Server queries at a rate that wait for two workers of 10 ms each.
func queue(seed uint64, n int, qps float64) []loadgen.SampleRecord {
	arrivals, service := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	at, scale := 0.0, 1.5/qps // a load of 0.75
	var free [2]float64
	records := make([]loadgen.SampleRecord, n)
	for i := range records {
		at += arrivals.ExpFloat64() / qps
		w := 0
		if free[1] < free[0] {
			w = 1
		}
		free[w] = max(at, free[w]) + scale*math.Exp(0.03*service.NormFloat64())
		ns := func(s float64) time.Duration { return time.Duration(s * 1e9) }
		records[i] = loadgen.SampleRecord{
			Query: uint64(i), Start: ns(at), Issued: ns(at) + time.Duration(i%7), Completed: ns(free[w]), FirstToken: -1, GeneratorDelay: time.Duration(i % 5),
		}
	}
	return records
}

// source has the numbers that follow from the records.
func source(s loadgen.Scenario, records []loadgen.SampleRecord) Source {
	src := Source{Queries: uint64(len(records)), Samples: uint64(len(records)), Delays: s == loadgen.Server}
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

func TestTheTimelineCountsEverySampleOnce(t *testing.T) {
	records := queue(1, 9000, 150)
	records[17].Completed = -1 // never answered
	s := source(loadgen.Server, records)
	c := s.Charts()
	sum := func(column Column) (n float64) {
		for _, v := range column {
			n += v
		}
		return n
	}
	if in, out := sum(c.Timeline.Issued), sum(c.Timeline.Completed); in != 9000 || out != 8999 || c.Latency.Count() != 8999 {
		t.Errorf("%g issued, %g completed, %d latencies; want 9000, 8999, 8999", in, out, c.Latency.Count())
	}
	if n := len(c.Timeline.Issued); n != 180 { // of 50 queries
		t.Errorf("%d buckets, want 180", n)
	}
	slowest, _ := c.Timeline.Max.Max()
	if slowest != float64(c.Latency.Spread().Max) {
		t.Errorf("the slowest of the buckets is %g, of the run %d", slowest, c.Latency.Spread().Max)
	}
	if most, _ := c.Timeline.Outstanding.Max(); most < 2 || most > 100 {
		t.Errorf("%g samples outstanding at most", most)
	}
	if c.IssueDelay.Spread().Max != 6 || c.GeneratorDelay.Spread().Max != 4 {
		t.Errorf("delays up to %d and %d, want 6 and 4", c.IssueDelay.Spread().Max, c.GeneratorDelay.Spread().Max)
	}
}

func TestOutstandingIsWhatIsUnderWay(t *testing.T) {
	var records []loadgen.SampleRecord
	for i := range 1000 { // one each ms, which takes 3.5 ms
		at := time.Duration(i) * time.Millisecond
		records = append(records, loadgen.SampleRecord{Query: uint64(i), Start: at, Issued: at, Completed: at + 3500*time.Microsecond, FirstToken: -1})
	}
	s := source(loadgen.Server, records)
	for i, v := range s.Charts().Timeline.Outstanding {
		if v < 3 || v > 5 { // four, and one that begins or ends with the instant
			t.Errorf("bucket %d: %g outstanding, want 4", i, v)
		}
	}
}

func TestQueriesOfManySamplesTakeAsLongAsTheirLast(t *testing.T) {
	var records []loadgen.SampleRecord
	for q := range 100 {
		for i := range 8 {
			start := time.Duration(q) * 20 * time.Millisecond
			records = append(records, loadgen.SampleRecord{Query: uint64(q), Start: start, Issued: start, Completed: start + time.Duration(8-i)*time.Millisecond, FirstToken: -1})
		}
	}
	s := source(loadgen.MultiStream, records)
	s.Queries = 100
	c := s.Charts()
	if c.Latency.Count() != 100 || c.Latency.Spread().Min != 8e6 || c.Latency.Spread().Max != 8e6 {
		t.Errorf("%d latencies from %d to %d ns, want 100 of 8 ms", c.Latency.Count(), c.Latency.Spread().Min, c.Latency.Spread().Max)
	}
	if len(c.Batches) != 20 || c.Batches[0].Queries != 5 || c.Batches[19].MeanNS != 8e6 {
		t.Errorf("batches %+v", c.Batches)
	}
}

func TestOfflineHasNoLatenciesOverTime(t *testing.T) {
	var records []loadgen.SampleRecord
	for i := range 4000 {
		records = append(records, loadgen.SampleRecord{Completed: time.Duration(i+1) * time.Millisecond, FirstToken: -1})
	}
	s := source(loadgen.Offline, records)
	s.Queries = 1
	c := s.Charts()
	if c.Timeline.P50 != nil || c.Batches != nil || c.Percentiles != nil || len(c.Timeline.Completed) != 80 {
		t.Errorf("%+v", c)
	}
	for i, v := range c.Timeline.Completed {
		if math.Abs(v-50) > 1 {
			t.Errorf("bucket %d: %g completed, want 50", i, v)
		}
	}
}

func TestNothingAnsweredHasNoCharts(t *testing.T) {
	if c := Of(nil); c != nil {
		t.Errorf("%+v", c)
	}
	if c := Of(&loadgen.Performance{}); c != nil {
		t.Errorf("%+v", c)
	}
}

// A sut answers after a while, with tokens if there are some.
type sut struct {
	tokens int
}

// A qsl has samples without content.
type qsl struct{}

func (qsl) Name() string                                                       { return "qsl" }
func (qsl) TotalSampleCount() int                                              { return 64 }
func (qsl) PerformanceSampleCount() int                                        { return 64 }
func (qsl) LoadSamplesToRAM(context.Context, []loadgen.QuerySampleIndex) error { return nil }
func (qsl) UnloadSamplesFromRAM([]loadgen.QuerySampleIndex) error              { return nil }

func (sut) Name() string  { return "sut" }
func (sut) FlushQueries() {}
func (s sut) IssueQuery(q loadgen.Query) {
	go func() {
		for _, sample := range q.Samples {
			time.Sleep(time.Millisecond * time.Duration(2+sample.Index%3))
			if s.tokens > 0 {
				q.FirstToken([]loadgen.QuerySampleResponse{{ID: sample.ID}})
				time.Sleep(9 * time.Millisecond)
			}
			q.Complete([]loadgen.QuerySampleResponse{{ID: sample.ID, NTokens: int32(s.tokens)}})
		}
	}()
}

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
					s.ServerTargetLatency, s.UseTokenLatencies = 50*time.Millisecond, tokens > 0
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

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	dir := t.TempDir()
	s := source(loadgen.Server, queue(2, 5000, 100))
	c := s.Charts()
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
	if diff := cmp.Diff(string(one), string(two), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if none, err := Read(t.TempDir()); none != nil || err != nil {
		t.Errorf("Read of a folder without charts = %v, %v", none, err)
	}
	if old, err := Parse([]byte(`{"schema":"mlperf-go/charts/1","latency":{"unit":"ns","count":0,"counts":""}}`)); old != nil || err != nil {
		t.Errorf("charts of an earlier form: %v, %v", old, err)
	}
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a later form", `{"schema":"mlperf-go/charts/9"}`, `schema is "mlperf-go/charts/9"`},
		{"columns of several lengths", `{"schema":"mlperf-go/charts/2","timeline":{"bucket_ns":1,"issued_samples":[1,2],"completed_samples":[1]}}`, "1 entries, another 2"},
		{"no length", `{"schema":"mlperf-go/charts/2","timeline":{"issued_samples":[1],"completed_samples":[1]}}`, "1 buckets of 0 ns"},
		{"half a timeline", `{"schema":"mlperf-go/charts/2","timeline":{"bucket_ns":1,"issued_samples":[1]}}`, "no completed"},
		{"gauges that lack values", `{"schema":"mlperf-go/charts/2","gauges":{"at_ns":[1],"series":[{"name":"watts"}]}}`, `"watts" has 0 values for 1 instants`},
		{"batches that lack quantiles", `{"schema":"mlperf-go/charts/2","batches":[{"queries":1}]}`, "has 0 quantiles"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := Parse([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// FuzzParse never panics, and what it accepts survives being written and read again.
func FuzzParse(f *testing.F) {
	for _, scenario := range []loadgen.Scenario{loadgen.Server, loadgen.SingleStream, loadgen.Offline} {
		text, err := json.Marshal(source(scenario, queue(3, 300, 100)).Charts())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"schema":"mlperf-go/charts/2","gauges":{"at_ns":[1],"series":[{"name":"","values":[null]}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, _ := Parse(text)
		if c == nil {
			return
		}
		one, err := json.Marshal(c)
		if err != nil {
			t.Fatalf("what was accepted cannot be written: %v", err)
		}
		again, err := Parse(one)
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		if two, _ := json.Marshal(again); string(two) != string(one) {
			t.Fatalf("written and read again: %s, then %s", one, two)
		}
	})
}

// BenchmarkCharts is of 10 minutes at 10,000 queries a second.
func BenchmarkCharts(b *testing.B) {
	s := source(loadgen.Server, queue(4, 6_000_000, 10_000))
	b.ReportAllocs()
	for b.Loop() {
		text, err := json.Marshal(s.Charts())
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(text)), "bytes")
	}
}
