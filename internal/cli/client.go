package cli

import (
	"runtime"

	"github.com/mlperf-go/mlperf/internal/machine"
)

// addThreads lets at least eight threads of Go run at once, and returns how many could before. A thread that wakes to issue a query
// needs a place, whatever its priority; with as many places as cores, a thread that the system has stopped may hold it: on two
// cores that were busy otherwise (a load of 25) a query in a hundred was issued 37 to 64 ms late with two places, and 3 to 9 ms
// late with eight.
func addThreads() (before int) {
	before = runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(max(before, 8))
	return before
}

// newBallast is unused memory, so that the garbage collector waits until as much again was allocated: at 10,000 small requests a
// second it then runs every ten seconds instead of four times in one. A collection stops all threads for a moment: on two busy
// cores a query in a hundred was issued 2 to 60 ms late, and 0.1 ms without collections. It takes addresses and no memory, and has
// to be kept alive.
func newBallast() []byte { return make([]byte, min(512<<20, machine.AvailableMemory()/16)) }
