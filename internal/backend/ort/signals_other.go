//go:build cgo && !unix

package ort

// keepSignals calls f. Where there are no Unix signals, nothing needs to be kept.
func keepSignals(f func()) int {
	f()
	return 0
}
