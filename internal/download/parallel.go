package download

import (
	"context"
	"sync"
)

// parallel calls f for 0…n-1, several at a time and in order of their start. The first
// error ends the context of the others and is returned.
func parallel(ctx context.Context, workers, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		next int
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == n || ctx.Err() != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range min(workers, n) {
		wg.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// serial passes on what an Observer hears from one goroutine at a time.
type serial struct {
	mu sync.Mutex
	o  Observer
}

func (s *serial) Phase(name string)    { s.mu.Lock(); defer s.mu.Unlock(); s.o.Phase(name) }
func (s *serial) Bytes(done, of int64) { s.mu.Lock(); defer s.mu.Unlock(); s.o.Bytes(done, of) }
func (s *serial) Items(done, of int)   { s.mu.Lock(); defer s.mu.Unlock(); s.o.Items(done, of) }
func (s *serial) Note(text string)     { s.mu.Lock(); defer s.mu.Unlock(); s.o.Note(text) }
