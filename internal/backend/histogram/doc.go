// Package histogram keeps millions of times in a few kilobytes.
//
// Values are counted in buckets that are equal within an octave: 2^bits of them, so that the
// middle of a bucket is at most 1 in 2^(bits+1) away from any value in it. Values below 2^bits
// are kept as they are. Smallest, largest and number of values are exact.
//
//	h := histogram.New(9) // within 0.1 %
//	h.Add(latencyNS)
//	p99 := h.Quantile(0.99)
//
// As JSON, a histogram is its numbers and the counts as base64 of varints: the first bucket,
// then a count for each bucket, or a negative number for so many empty ones.
package histogram
