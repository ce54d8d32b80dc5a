// Package progress shows how a job goes on: as a bar on a terminal, as a plain line now and then elsewhere, as JSON for
// programs, or not at all.
//
//	d := progress.New(os.Stderr, progress.Auto)
//	defer d.Done()
//	d.Phase("loading")
//	d.Loading(3, 10)
//
// A Display (display.go) is an observer of runs, downloads and searches; results are not shown here. While a test runs, it
// shows once a second (traffic.go) rate, queue and latencies beside their targets, how long the test still takes, and
// whether it is on course for INVALID. The styles are in styles.go.
package progress
