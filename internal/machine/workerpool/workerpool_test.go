package workerpool

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryJobIsDoneOnce(t *testing.T) {
	for _, workers := range []int{-1, 0, 1, 3, 100} {
		for _, n := range []int{0, 1, 2, 50} {
			done, computed := make([]atomic.Int32, n), make([]atomic.Int32, n)
			err := Each(t.Context(), workers, n, func(_ context.Context, i int) error { done[i].Add(1); return nil })
			Compute(workers, n, func(i int) { computed[i].Add(1) })
			for i := range n {
				if a, b := done[i].Load(), computed[i].Load(); err != nil || a != 1 || b != 1 {
					t.Errorf("%d workers, %d jobs: job %d was done %d and %d times, error %v", workers, n, i, a, b, err)
				}
			}
		}
	}
}

func TestWorkersAreBounded(t *testing.T) {
	for _, c := range []struct{ workers, n, want int }{{3, 50, 3}, {8, 2, 2}, {1, 9, 1}, {5, 0, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var workers, running, most atomic.Int32
			err := EachWith(t.Context(), c.workers, c.n, func() func(context.Context, int) error {
				workers.Add(1)
				return func(context.Context, int) error {
					now := running.Add(1)
					for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
					}
					time.Sleep(time.Second) // of the bubble's time
					running.Add(-1)
					return nil
				}
			})
			if err != nil || int(workers.Load()) != c.want || int(most.Load()) != c.want {
				t.Errorf("%d workers for %d jobs: %d were made, %d jobs ran at once (error %v), want %d", c.workers, c.n, workers.Load(), most.Load(), err, c.want)
			}
		})
	}
}

func TestTheFirstErrorEndsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := errors.New("bad")
		var begun atomic.Int32
		err := Each(t.Context(), 4, 1000, func(ctx context.Context, i int) error {
			begun.Add(1)
			if i == 2 {
				return bad
			}
			<-ctx.Done() // the others wait for the end of the context
			return ctx.Err()
		})
		if !errors.Is(err, bad) || begun.Load() > 4 {
			t.Errorf("error %v after %d jobs were begun, want %v and at most 4", err, begun.Load(), bad)
		}
	})
}

func TestTheEndOfTheContextIsAnErrorWithItsCause(t *testing.T) {
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := Each(ctx, 2, 1000, func(_ context.Context, i int) error {
		if i == 10 {
			cancel(why)
		}
		return nil
	})
	if !errors.Is(err, why) {
		t.Errorf("error %v, want the cause", err)
	}
	if err := Each(ctx, 2, 5, func(context.Context, int) error { t.Error("a job began"); return nil }); !errors.Is(err, why) {
		t.Errorf("error %v with a context that has ended, want the cause", err)
	}
}

func TestCounterRises(t *testing.T) {
	var told []int
	done := Counter(200, func(done, total int) { told = append(told, done*1000+total) }) // a race if not one at a time
	var group sync.WaitGroup
	for range 100 {
		group.Go(func() { done(2) })
	}
	group.Wait()
	if len(told) != 100 || !slices.IsSorted(told) || told[99] != 200_200 {
		t.Errorf("told %v", told)
	}
	Counter(1, nil)(1)
}
