// Package workerpool runs the jobs 0 to n-1 on a few goroutines.
//
//	err := workerpool.Each(ctx, 0, len(files), func(ctx context.Context, i int) error {
//		return check(ctx, files[i])
//	})
//
// Jobs start in order and end in any order; job i writes its result to slot i of a slice. All goroutines have ended when a
// function returns. A number of workers below 1 means one per processor. Beyond errgroup: workers that keep memory from job
// to job, the cause of a context that ended, and no goroutine for a single worker.
package workerpool
