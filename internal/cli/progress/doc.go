// Package progress shows how a job goes on: as a bar on a terminal, as a plain line now and then elsewhere, as JSON for
// machines, or not at all. Of a phase that counts nothing it shows how long it takes already.
//
//	p := progress.New(os.Stderr, progress.Auto)
//	defer p.Done()
//	p.Phase("loading")
//	p.Loading(3, 10)
//
// A Display is an observer of sessions, downloads and searches. It leaves out results.
//
// While a test runs, it shows once a second: rate, queue and latencies against what is asked for, how long the test
// still takes, and whether it is on course for INVALID.
package progress
