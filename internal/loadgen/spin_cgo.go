//go:build linux && cgo

package loadgen

/*
#include <stdint.h>
#include <time.h>

static int64_t now_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void spin_ns(int64_t d) {
	int64_t end = now_ns() + d;
	while (now_ns() < end) {
	}
}
*/
import "C"

import "time"

// leastForeign is the shortest time that is worth a call of C, which takes about 50 ns.
const leastForeign = 2 * time.Microsecond

// spinUntil polls the clock until the offset, in C as far as that pays. Every 10 ms Go's
// scheduler takes the processor from a goroutine that has run for so long, and one that is tied to
// its thread gets it back only when another, ordinary thread has run: milliseconds later, where
// all cores compute. To code of other languages it does not do that.
func spinUntil(start time.Time, offset time.Duration) time.Duration {
	if rest := offset - time.Since(start); rest >= leastForeign {
		C.spin_ns(C.int64_t(rest))
	}
	return pollUntil(start, offset)
}
