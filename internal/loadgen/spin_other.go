//go:build !linux || !cgo

package loadgen

import "time"

// spinUntil polls the clock until the offset.
func spinUntil(start time.Time, offset time.Duration) time.Duration { return pollUntil(start, offset) }
