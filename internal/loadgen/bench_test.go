package loadgen

import (
	"runtime"
	"testing"
	"time"
)

// responder returns a SUT that answers every query at once and allocates nothing.
func responder(size int) SUT {
	responses := make([]QuerySampleResponse, size)
	return nullSUT(func(q Query) {
		for rest := q.Samples; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			n := min(size, len(rest))
			for i, s := range rest[:n] {
				responses[i].ID = s.ID
			}
			q.Complete(responses[:n])
		}
	})
}

// BenchmarkScenario measures queries per second (Offline: samples), the memory they
// leave behind, and the time from the last completion to the result.
func BenchmarkScenario(b *testing.B) {
	bench := func(name string, s TestSettings, batch int) {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				before := heapInUse()
				r, err := Run(b.Context(), responder(batch), &fakeQSL{total: 1 << 20, performance: 1024}, s, Options{})
				if err != nil {
					b.Fatal(err)
				}
				ended := time.Now()
				after := heapInUse()
				p := r.Performance
				n := float64(p.SampleCount)
				b.ReportMetric(n/p.LastCompletion.Seconds(), "samples/s")
				b.ReportMetric(float64(after-before)/n, "B/sample")
				b.ReportMetric(ended.Sub(p.rec.started).Seconds()-p.LastCompletion.Seconds(), "s-after")
				b.ReportMetric(float64(p.SampleLatency.Mean), "ns-mean")
				if s.Scenario == Server {
					b.ReportMetric(float64(p.IssueDelay.Percentiles[0]), "ns-late-p50")
					b.ReportMetric(float64(p.IssueDelay.Percentiles[4]), "ns-late-p99")
				}
				runtime.KeepAlive(r)
			}
		})
	}
	s := DefaultSettings()
	s.MinDuration, s.MinQueryCount = 0, 5e6
	bench("SingleStream 5M", s, 1)
	s.Scenario, s.MinQueryCount = MultiStream, 1e6
	bench("MultiStream 1M", s, 8)
	s.Scenario, s.MinQueryCount = Offline, 11e6
	bench("Offline 11M", s, 1024)
	s.Scenario, s.MinQueryCount = Server, 1
	for _, qps := range []float64{1e3, 1e4, 4e5} {
		s.ServerTargetQPS, s.MinDuration = qps, 3*time.Second
		bench("Server "+time.Duration(1e9/qps).String(), s, 1)
	}
}

// BenchmarkTwentyMillionSamples measures what 10 million samples of Offline and as many of
// Server, all due almost at once, leave behind, and how many are answered a second.
func BenchmarkTwentyMillionSamples(b *testing.B) {
	const each = 10_000_000
	s := DefaultSettings()
	s.MinDuration, s.MinQueryCount, s.ServerTargetQPS = 0, each, maxRate
	for range b.N {
		before := heapInUse()
		results := map[Scenario]*Result{}
		for scenario, batch := range map[Scenario]int{Offline: 1024, Server: 1} {
			s.Scenario = scenario
			r, err := Run(b.Context(), responder(batch), &fakeQSL{total: 1 << 20, performance: 1024}, s, Options{})
			if err != nil {
				b.Fatal(err)
			}
			if r.Performance.SampleCount != each || len(r.Faults) > 0 {
				b.Fatalf("%v: %d samples, faults %v", scenario, r.Performance.SampleCount, r.Faults)
			}
			results[scenario] = r
			b.ReportMetric(each/r.Performance.LastCompletion.Seconds(), scenario.String()+"-samples/s")
		}
		b.ReportMetric(float64(heapInUse()-before)/(2*each), "B/sample")
		runtime.KeepAlive(results)
	}
	b.ReportMetric(0, "ns/op") // says nothing here
}

// heapInUse is the memory of all that can still be reached.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
