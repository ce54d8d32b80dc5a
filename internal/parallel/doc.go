// Package parallel does many like jobs on a few goroutines: the one pool of workers that
// all others use.
//
//	err := parallel.Each(ctx, 0, len(files), func(ctx context.Context, i int) error {
//		return check(ctx, files[i])
//	})
//
// A job is a number from 0 to n-1. Jobs are begun in order but end in any, so they write
// to places of their own. Everything has ended when a function returns. A number of
// workers below 1 stands for one per processor.
//
// Left out: queues that grow while they are worked off, and results (write them to slot
// i of a slice).
package parallel
