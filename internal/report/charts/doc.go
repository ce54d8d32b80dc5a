// Package charts keeps the data that diagrams and comparisons of a run need: a histogram of each
// kind of latency, the run over time in at most 300 buckets, and confidence intervals of the
// latency percentiles.
//
// It reads the records of a finished test, so it costs the test nothing: 6 million queries take
// a few seconds and 26 kB.
//
//	c := charts.Of(test.Performance)
//	err := c.Write(dir) // charts.json, beside results.json
//
// Latencies of a queue depend on each other: a query that waits makes the next ones wait. The
// intervals follow from how a percentile varies over 20 consecutive batches of the run (see
// Percentile). The package draws and judges nothing.
//
// charts.go has the file, collect.go reads the records, percentiles.go reckons the intervals.
package charts
