package loadgen

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// recording returns a recorder with one block of Server queries, none of them issued.
func recording(t *testing.T, queries uint64) *recorder {
	t.Helper()
	e := quick(Server, count(queries)).Effective(10, 10)
	traffic, err := newTraffic(t.Context(), e, false, loadableSets(e, 10, 10)[0])
	testenv.Must(t, err)
	r := newRecorder(1000, 1, maxSamples, false)
	r.started = time.Now()
	if !r.grow(traffic, &e, nil) || r.grow(traffic, &e, nil) {
		t.Fatal("want one block of queries and no second one")
	}
	return r
}

func TestUnknownIDs(t *testing.T) {
	r := recording(t, 100)
	for id, want := range map[ResponseID]bool{999: false, 1000: true, 1099: true, 1100: false, 1000 + blockSamples: false, 0: false, 1<<32 - 1: false} {
		if b, i := r.sample(id); (b != nil) != want || b != nil && b.samples[i].ID != id {
			t.Errorf("sample(%d) = %v, %d", id, b != nil, i)
		}
	}
}

func TestCompletionDuringCancellation(t *testing.T) {
	why := errors.New("enough")
	r := recording(t, 2000)
	waited, cancelled := 0, 0
	for n := range uint64(2000) {
		b, i := r.query(n)
		query := r.arm(b, i)
		r.expect(int64(n) + 1)
		ctx, cancel := context.WithCancelCause(t.Context())
		var racing sync.WaitGroup
		racing.Go(func() { answer(query) })
		racing.Go(func() { cancel(why) })
		switch err := r.await(ctx); {
		case err == nil:
			waited++
		case errors.Is(err, why):
			cancelled++
		default:
			t.Fatal(err)
		}
		racing.Wait()
		if len(r.wake) > 0 || r.parked.Load() {
			t.Fatal("the next wait would end at once")
		}
	}
	if waited+cancelled != 2000 || r.completed.Load() != 2000 {
		t.Errorf("%d waits ended with the answer, %d with the cancellation; %d answers", waited, cancelled, r.completed.Load())
	}
}

func TestRecentLatencies(t *testing.T) {
	r := recording(t, 100)
	for q := range uint64(100) {
		b, i := r.query(q)
		b.start[i] = 0
		b.slots[i].Store(slotDone + int64(q))
		if q == 97 || q < 80 {
			b.slots[i].Store(slotPending)
		}
	}
	if got := r.recentLatencies(100, make([]int64, 0, 3)); len(got) != 3 || got[0] != 99 || got[1] != 98 || got[2] != 96 {
		t.Errorf("recent latencies %v, want 99, 98 and 96", got)
	}
	// It looks at about four times as many queries as it wants, not at millions without an answer.
	for answered, want := range map[uint64]int{65: 0, 66: 1} {
		b, i := r.query(answered)
		b.slots[i].Store(slotDone + 7)
		if got := r.recentLatencies(80, make([]int64, 0, 3)); len(got) != want {
			t.Errorf("recent latencies %v, want %d, if of 80 queries number %d was answered last", got, want, answered)
		}
		b.slots[i].Store(slotPending)
	}
}
