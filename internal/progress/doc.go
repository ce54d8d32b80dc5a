// Package progress shows how a job goes on: as a bar on a terminal, as a plain line now and
// then elsewhere. Of a phase that counts nothing it shows how long it takes already.
//
//	p := progress.New(os.Stderr)
//	defer p.Done()
//	p.Phase("loading")
//	p.Loading(3, 10)
//
// A Display is an observer of sessions, downloads and searches. It leaves out results.
package progress
