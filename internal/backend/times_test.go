package backend

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func ExampleTimes() {
	times := NewTimes()
	for _, ms := range []int{1, 2, 3, 4} {
		times.Add(time.Duration(ms) * time.Millisecond)
	}
	s := times.Spread()
	fmt.Println(s.Count, s.Mean, s.Min, s.Max, times.Above(2500*time.Microsecond))
	// Output: 4 2.5ms 1ms 4ms 0.5
}

func TestPercentilesOfTimes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	times := NewTimes()
	for _, n := range []int{0, 1, 2, 3, 1000, 5000} {
		times.Reset()
		var list []time.Duration
		sum := time.Duration(0)
		for range n {
			d := time.Duration(random.ExpFloat64() * 1e7)
			times.Add(d)
			list, sum = append(list, d), sum+d
		}
		slices.Sort(list)
		s := times.Spread()
		if n == 0 {
			if s != (Spread{}) || times.Quantile(0.5) != 0 || times.Above(0) != 0 {
				t.Errorf("no times: %+v", s)
			}
			continue
		}
		if s.Count != int64(n) || s.Mean != sum/time.Duration(n) || s.Min != list[0] || s.Max != list[n-1] {
			t.Errorf("%d times: %+v, want the mean %v from %v to %v", n, s, sum/time.Duration(n), list[0], list[n-1])
		}
		for p, got := range map[float64]time.Duration{0.5: s.P50, 0.9: s.P90, 0.95: s.P95, 0.97: s.P97, 0.99: s.P99, 0.999: s.P999} {
			at := int(p * float64(n))
			low, high := list[max(0, at-1)], list[min(n-1, at+1)]
			if float64(got) < 0.999*float64(low) || float64(got) > 1.001*float64(high) || got != times.Quantile(p) {
				t.Errorf("%d times: percentile %g is %v, want it from %v to %v", n, p, got, low, high)
			}
		}
	}
}

func TestTimesAreKeptAsJSON(t *testing.T) {
	for name, list := range map[string][]time.Duration{"nothing": nil, "one": {1 << 40}, "all sizes": {-1, 0, 1, 20, time.Second, math.MaxInt64 / 2}} {
		times := NewTimes()
		for _, d := range list {
			times.Add(d)
		}
		text, err := json.Marshal(times)
		if err != nil {
			t.Fatal(err)
		}
		var got Times
		if err := json.Unmarshal(text, &got); err != nil || got.Spread() != times.Spread() || !slices.Equal(got.Distribution(), times.Distribution()) {
			t.Errorf("%s: %v, %+v, want %+v", name, err, got.Spread(), times.Spread())
		}
		other := strings.Replace(string(text), `"count":`, `"count":7`, 1)
		if err := json.Unmarshal([]byte(other), &got); err == nil {
			t.Errorf("%s: another count is not noticed", name)
		}
	}
}

func TestTimesFromManyGoroutines(t *testing.T) {
	const goroutines, each = 8, 500
	times := NewTimes()
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			for range each {
				times.Add(time.Millisecond)
				if s := times.Spread(); s.Mean != time.Millisecond {
					t.Errorf("while others count: %+v", s)
				}
			}
		})
	}
	group.Wait()
	if n := times.Count(); n != goroutines*each {
		t.Errorf("%d of %d times", n, goroutines*each)
	}
}
