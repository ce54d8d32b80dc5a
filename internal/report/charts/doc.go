// Package charts keeps what can be drawn of a run, and what it takes to compare it with
// another: a histogram of each kind of latency, the run over time in at most 300 buckets,
// and how far its percentiles can be trusted.
//
// Everything is read from the records of a finished test, so that it costs the test nothing:
// 6 million queries take most of a second and 26 kB.
//
//	c := charts.Of(test.Performance)
//	err := c.Write(dir) // charts.json, beside results.json
//
// Latencies of a queue depend on each other: a query that waits makes the next ones wait. How
// much a percentile is worth follows from how it varies over 20 consecutive parts of the run
// (see Percentile). The package draws and judges nothing.
package charts
