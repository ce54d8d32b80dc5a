package loadgen

import (
	"testing"
	"time"
)

// However short the rest is, and wherever it is spun, the instant is kept: never before.
func TestSpinningEndsAtTheInstantAndNotBefore(t *testing.T) {
	start := time.Now()
	for _, rest := range []time.Duration{-time.Millisecond, 0, 100, 1900, 2 * time.Microsecond, 30 * time.Microsecond, time.Millisecond} {
		offset := time.Since(start) + rest
		got := spinUntil(start, offset)
		if now := time.Since(start); got < offset || got > now {
			t.Errorf("%v before the instant: it ended at %v, for %v, at %v", rest, got, offset, now)
		}
	}
}
