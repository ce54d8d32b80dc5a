// Package progress shows how a job goes on: as a bar or a block of lines on a terminal, as a
// plain line now and then elsewhere, as JSON for machines, or not at all. Of a phase that counts
// nothing it shows how long it takes already.
//
//	p := progress.New(os.Stderr, progress.Auto)
//	defer p.Done()
//	p.Phase("loading")
//	p.Loading(3, 10)
//
// A Display is an observer of sessions, downloads and searches. It leaves out results.
//
// While a test runs, a terminal has one block that is written again once a second (block.go):
// rate, queue and latencies against what is asked for, how long it still takes, and what the
// verdict would be. It is as wide as the terminal, from 40 columns. There are no more escape
// sequences than up, erase and four colours, and no colours with NO_COLOR.
package progress
