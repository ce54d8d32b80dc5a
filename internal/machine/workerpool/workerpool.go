// Package workerpool runs the jobs 0 to n-1 on a few goroutines.
//
//	err := workerpool.Each(ctx, 0, len(files), func(ctx context.Context, i int) error {
//		return check(ctx, files[i])
//	})
//
// Jobs start in order and end in any order; job i writes its result to slot i of a slice. All goroutines have ended when a
// function returns. A number of workers below 1 means one per processor. Beyond errgroup.SetLimit: workers that keep memory
// from job to job, no jobs begun after an error, and the cause of a context that ended.
package workerpool

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// Each calls work for 0 to n-1. The first error ends the context of the other calls, no
// further ones are begun, and Each returns it. If ctx ends, Each returns its cause.
func Each(ctx context.Context, workers, n int, work func(ctx context.Context, i int) error) error {
	return EachWith(ctx, workers, n, func() func(context.Context, int) error { return work })
}

// EachWith is Each for workers that keep memory from job to job: newWork is called once
// by each, on its goroutine.
func EachWith(ctx context.Context, workers, n int, newWork func() func(ctx context.Context, i int) error) error {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range min(workers, n) {
		group.Go(func() error {
			work := newWork()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := work(ctx, i); err != nil {
					return err
				}
			}
			return context.Cause(ctx)
		})
	}
	return group.Wait()
}

// Compute is Each for jobs that cannot fail and are too short to be cut off.
func Compute(workers, n int, task func(i int)) {
	ComputeWith(workers, n, func() func(int) { return task })
}

// ComputeWith is EachWith for jobs that cannot fail and are too short to be cut off.
func ComputeWith(workers, n int, newTask func() func(i int)) {
	_ = EachWith(context.Background(), workers, n, func() func(context.Context, int) error {
		task := newTask()
		return func(_ context.Context, i int) error { task(i); return nil }
	})
}

// Counter returns a function to call when some more of total jobs are done. It reports progress
// from one goroutine at a time and with numbers that rise. Progress may be nil.
func Counter(total int, progress func(done, total int)) func(more int) {
	var mu sync.Mutex
	done := 0
	return func(more int) {
		if progress == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		done += more
		progress(done, total)
	}
}
