package serve

import (
	"context"
	"math/bits"
	"sync"
)

// freeRows are those in which no request lies. The first one is taken each time: so few rows are used as there are
// requests at once, which stay in the caches of the processor, and those that arrive together lie side by side.
type freeRows struct {
	room chan struct{} // one of each

	mu   sync.Mutex
	free []uint64 // a bit for each
}

func newFreeRows(n int) *freeRows {
	f := &freeRows{room: make(chan struct{}, n), free: make([]uint64, (n+63)/64)}
	for row := range n {
		f.give(row)
	}
	return f
}

// take returns a row if there is one.
func (f *freeRows) take() (row int, ok bool) {
	select {
	case <-f.room:
		return f.first(), true
	default:
		return 0, false
	}
}

// wait waits for a row.
func (f *freeRows) wait(ctx context.Context) (int, error) {
	select {
	case <-f.room:
		return f.first(), nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// first takes the first row, for somebody for whom there is one.
func (f *freeRows) first() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, word := range f.free {
		if word != 0 {
			bit := bits.TrailingZeros64(word)
			f.free[i] &^= 1 << bit
			return 64*i + bit
		}
	}
	panic("a row is given away twice")
}

// give gives a row back.
func (f *freeRows) give(row int) {
	f.mu.Lock()
	f.free[row/64] |= 1 << (row % 64)
	f.mu.Unlock()
	f.room <- struct{}{}
}
