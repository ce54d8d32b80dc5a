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

// spinC polls the clock for d in C. Every 10 ms Go's scheduler takes the processor from a goroutine
// that runs for so long, and one that is tied to its thread gets it back only when another, ordinary
// thread has run: milliseconds later, where all cores compute. It does not do that to code in C.
func spinC(d time.Duration) { C.spin_ns(C.int64_t(d)) }
