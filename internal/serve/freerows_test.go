package serve

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
)

func TestTheFirstFreeRowIsTaken(t *testing.T) {
	f := newFreeRows(130)
	for want := range 130 {
		if row, ok := f.take(); !ok || row != want {
			t.Fatalf("row %d is taken, %v, want %d", row, ok, want)
		}
	}
	if row, ok := f.take(); ok {
		t.Errorf("row %d is taken, and none is free", row)
	}
	f.give(129)
	f.give(7)
	f.give(70)
	for _, want := range []int{7, 70, 129} {
		if row, err := f.wait(t.Context()); err != nil || row != want {
			t.Errorf("row %d is taken, %v, want %d", row, err, want)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := f.wait(ended); err == nil {
		t.Error("a row is taken, and none is free")
	}
}

func TestNobodySharesARow(t *testing.T) {
	const room = 5
	f := newFreeRows(room)
	var used [room]atomic.Int32
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			for range 200 {
				row, err := f.wait(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if used[row].Add(1) != 1 {
					t.Errorf("row %d is taken twice", row)
				}
				used[row].Add(-1)
				f.give(row)
			}
		})
	}
	all.Wait()
	if len(f.room) != room {
		t.Errorf("%d of %d rows are free when all is over", len(f.room), room)
	}
}
