//go:build cgo

package ort

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestTurnHasOneHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := make(turn, 1)
		var inside, most int
		var mu sync.Mutex
		count := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			inside += by
			most = max(most, inside)
		}
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if err := turn.take(t.Context()); err != nil {
					t.Error(err)
				}
				count(1)
				time.Sleep(time.Millisecond) // in which all others go as far as they can
				count(-1)
				turn.leave()
			})
		}
		group.Wait()
		if most != 1 {
			t.Errorf("%d had the turn at once, want 1", most)
		}
	})
}

func TestTurnEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn, why := make(turn, 1), errors.New("enough")
		testenv.Must(t, turn.take(t.Context()))
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- turn.take(ctx) }()
		synctest.Wait()
		cancel(why)
		if err := <-ended; err != why {
			t.Errorf("take = %v, want %v", err, why)
		}
		turn.leave()
		if err := turn.take(t.Context()); err != nil {
			t.Errorf("the turn that was left: %v", err)
		}
	})
}

func TestNilTurnIsFree(t *testing.T) {
	var free turn
	for range 2 {
		if err := free.take(t.Context()); err != nil {
			t.Error(err)
		}
	}
	free.leave()
}
