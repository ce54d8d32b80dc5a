package builtin

import (
	"testing"
	"testing/synctest"
	"time"
)

// BenchmarkSequences finds the highest rate at which the 99th percentile keeps the bound, in fake time with
// the measured cost of each run of the networks, and that of naive batches; and the percentiles of both
// at nine tenths of the latter.
func BenchmarkSequences(b *testing.B) {
	const queries = 400
	for i, w := range sequences {
		b.Run(w.model, func(b *testing.B) {
			dir := sequenceData(b, i)
			measure := func(isNaive bool, rate float64) (took time.Duration) {
				inFakeTime(b, func(t *testing.T) { took = p99(t, sequenceServer(t, i, dir, isNaive, rate, queries)) })
				return took
			}
			for b.Loop() {
				highest := func(isNaive bool) float64 {
					low, high := 0.0, 64.0
					for high-low > 0.04*high {
						middle := (low + high) / 2
						if measure(isNaive, middle) <= w.bound {
							low = middle
						} else {
							high = middle
						}
					}
					return low
				}
				naiveRate, rate := highest(true), highest(false)
				b.ReportMetric(naiveRate, "naive-queries/s")
				b.ReportMetric(rate, "queries/s")
				b.ReportMetric(rate/naiveRate, "ratio")
				b.ReportMetric(measure(true, 0.9*naiveRate).Seconds()*1e3, "naive-p99-ms")
				b.ReportMetric(measure(false, 0.9*naiveRate).Seconds()*1e3, "p99-ms")
			}
		})
	}
}

// inFakeTime runs f in a bubble, which only tests can have.
func inFakeTime(b *testing.B, f func(t *testing.T)) {
	b.Helper()
	ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "bubble", F: func(t *testing.T) {
		synctest.Test(t, f)
	}}})
	if !ok {
		b.Fatal("the run in fake time failed")
	}
}
