package builtin

import (
	"testing"
	"testing/synctest"
)

// BenchmarkSequences finds the highest rate at which 99 of 100 answers keep the bound, in fake time with the measured cost of each run of the networks: as samples are grouped here, in naive
// batches, and one by one.
func BenchmarkSequences(b *testing.B) {
	const queries = 600
	for i, w := range sequences {
		b.Run(w.model, func(b *testing.B) {
			dir := sequenceData(b, i)
			keeps := func(how gathering, rate float64) (met bool) {
				inFakeTime(b, func(t *testing.T) { met = late(t, sequenceServer(t, i, dir, how, rate, queries)) <= 0.01 })
				return met
			}
			for b.Loop() {
				var highest [3]float64
				for how := range highest {
					low, high := w.rate/4, 2*w.rate
					for high > 1.03*low {
						middle := (low + high) / 2
						if keeps(gathering(how), middle) {
							low = middle
						} else {
							high = middle
						}
					}
					highest[how] = low
				}
				b.ReportMetric(highest[grouped], "queries/s")
				b.ReportMetric(highest[naively], "naive-queries/s")
				b.ReportMetric(highest[oneByOne], "one-by-one-queries/s")
				b.ReportMetric(highest[grouped]/highest[naively], "ratio")
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
