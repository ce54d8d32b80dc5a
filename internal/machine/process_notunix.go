//go:build !unix && !windows

package machine

import "time"

// PeakRSS returns the most memory that this process has held at any time, in bytes; 0: not known here.
func PeakRSS() uint64 { return 0 }

// CPUTime is how long processors have worked for this process; 0: not known here.
func CPUTime() time.Duration { return 0 }

// OpenFiles is how many files and connections this process may have open; 0: not known.
func OpenFiles() uint64 { return 0 }
