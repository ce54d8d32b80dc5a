package backend

import (
	"sync"
	"testing"
	"time"
)

func TestTimesAreDescribedByTheirPercentiles(t *testing.T) {
	times := NewTimes()
	if got := times.Spread(); got != (Spread{}) {
		t.Errorf("nothing is described as %+v", got)
	}
	for i := range 1000 {
		times.Add(time.Duration(1000-i) * time.Millisecond)
	}
	got := times.Spread()
	if got.Count != 1000 || got.Mean != 500500*time.Microsecond || got.Min != time.Millisecond || got.Max != time.Second {
		t.Errorf("1 ms to 1 s are %+v", got)
	}
	for _, p := range []struct {
		name      string
		got, want time.Duration
	}{
		{"50", got.P50, 500}, {"90", got.P90, 900}, {"95", got.P95, 950}, {"97", got.P97, 970}, {"99", got.P99, 990}, {"99.9", got.P999, 999},
	} {
		if want := p.want * time.Millisecond; (p.got - want).Abs() > want/100 {
			t.Errorf("percentile %s is %v, want %v to a hundredth", p.name, p.got, want)
		}
	}
	times.Reset()
	if got := times.Spread(); got != (Spread{}) {
		t.Errorf("what was forgotten is described as %+v", got)
	}
	times.Add(3 * time.Second)
	if got := times.Spread(); got.Count != 1 || got.Mean != 3*time.Second || got.Min != 3*time.Second {
		t.Errorf("one time after that is %+v", got)
	}
}

func TestTimesAreCountedFromManyGoroutines(t *testing.T) {
	const goroutines, each = 8, 500
	times := NewTimes()
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			for range each {
				times.Add(time.Millisecond)
				if s := times.Spread(); s.Count == 0 || s.Mean != time.Millisecond {
					t.Errorf("while others count: %+v", s)
				}
			}
		})
	}
	group.Wait()
	if got := times.Spread(); got.Count != goroutines*each || got.Mean != time.Millisecond {
		t.Errorf("%d of %d times, mean %v", got.Count, goroutines*each, got.Mean)
	}
}
