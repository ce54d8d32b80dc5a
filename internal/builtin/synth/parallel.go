package synth

import (
	"context"

	"github.com/mlperf-go/mlperf/internal/workerpool"
)

// draw makes n files on all processors. Each worker gets a function of its own, which may
// keep memory from file to file. Progress, if it is not nil, is told after each.
func draw(ctx context.Context, n int, newWorker func() func(i int) error, progress func(done, total int)) error {
	done := workerpool.Counter(n, progress)
	return workerpool.EachWith(ctx, 0, n, func() func(context.Context, int) error {
		work := newWorker()
		return func(_ context.Context, i int) error {
			err := work(i)
			if err == nil {
				done(1)
			}
			return err
		}
	})
}
