package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

const hasNanosleep = true

// nanosleep sleeps in the system, past Go's timers. The end is an instant, so that going on
// after an interruption by a signal, which Go's scheduler sends at times, adds nothing.
func nanosleep(d time.Duration) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return
	}
	end := unix.NsecToTimespec(now.Nano() + int64(d))
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &end, nil) == unix.EINTR {
	}
}
