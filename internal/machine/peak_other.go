//go:build !unix

package machine

// PeakRSS returns the most memory that this process has held at any time, in bytes; 0 here, where
// it is not known.
func PeakRSS() uint64 { return 0 }
