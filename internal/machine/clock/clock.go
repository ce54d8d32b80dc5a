//go:build !windows

package clock

import "time"

// Now is time.Now in the resolution of the system's finest clock.
func Now() time.Time { return time.Now() }

// Since is the time that passed since t, which Now returned.
func Since(t time.Time) time.Duration { return time.Since(t) }
