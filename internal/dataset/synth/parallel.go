package synth

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// forEach does n jobs on all processors. Each goroutine gets a worker of its own, which
// may keep memory from job to job. The first error, or the end of ctx, stops the others;
// forEach waits for them and returns it.
//
// After each job progress is told how many are done, if it is not nil. It is called by
// one goroutine at a time, with numbers that rise.
func forEach(ctx context.Context, n int, newWorker func() func(i int) error, progress func(done, total int)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		next  atomic.Int64
		mu    sync.Mutex // guards done and progress
		done  int
		group sync.WaitGroup
	)
	finish := func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		if progress != nil {
			progress(done, n)
		}
	}
	for range min(runtime.GOMAXPROCS(0), n) {
		group.Go(func() {
			work := newWorker()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := work(i); err != nil {
					cancel(err)
					return
				}
				finish()
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}
