package accuracy

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// forEach calls task(0) to task(n-1) from at most workers goroutines and returns
// when all are done; workers < 1 stands for one per CPU. Each worker calls newTask
// once, so that a task may own scratch memory. Tasks are taken in order, but may
// finish in any, so they must write to places of their own.
func forEach(workers, n int, newTask func() func(i int)) {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, n)
	if workers <= 1 {
		task := newTask()
		for i := range n {
			task(i)
		}
		return
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			task := newTask()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				task(i)
			}
		})
	}
	done.Wait()
}

// forEachBlock is forEach over the blocks [first, last) of size items each that make
// up n items.
func forEachBlock(workers, n, size int, task func(first, last int)) {
	forEach(workers, (n+size-1)/size, func() func(int) {
		return func(i int) { task(i*size, min((i+1)*size, n)) }
	})
}
