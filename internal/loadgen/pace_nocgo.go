//go:build !linux || !cgo

package loadgen

import "time"

// spinC does nothing: spinUntil polls in Go.
func spinC(time.Duration) {}
