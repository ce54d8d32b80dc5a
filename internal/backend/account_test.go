package backend_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

func ExampleAccount_Since() {
	before := backend.Account{Requests: []int64{3, 4}, Server: &backend.ServerCount{Inferences: 100}}
	after := backend.Account{Requests: []int64{5, 4}, Server: &backend.ServerCount{Inferences: 116}}
	added, restarted := after.Since(before)
	fmt.Println(added.Requests, added.Server.Inferences, restarted)
	_, restarted = before.Since(after)
	fmt.Println(restarted)
	// Output:
	// [2 0] 16 false
	// true
}

func ExampleTimes() {
	times := backend.NewTimes()
	for _, ms := range []int{1, 2, 3, 4} {
		times.Add(time.Duration(ms) * time.Millisecond)
	}
	s := times.Spread()
	fmt.Println(s.Count, s.Mean, s.Min, s.Max)
	// Output: 4 2.5ms 1ms 4ms
}

func ExamplePort_Fits() {
	port := backend.Port{Name: "image", Type: tensor.Float32, Shape: tensor.Shape{-1, 3}}
	fmt.Println(port.Fits(tensor.Float32, tensor.Shape{8, 3}), port.Fits(tensor.Float32, tensor.Shape{8, 4}), port.Fits(tensor.Int8, tensor.Shape{8, 3}), port.Batch())
	// Output: true false false -1
}

// accounts are two, of which the second is what came later: nothing is counted less often.
func accounts(random *rand.Rand) (a, b backend.Account) {
	sum := func() backend.Sum {
		return backend.Sum{Count: random.Uint64N(100), Time: time.Duration(random.Int64N(100))}
	}
	fill := func(more int64) backend.Account {
		n := func() int64 { return random.Int64N(100) + more }
		return backend.Account{Requests: []int64{n(), n()}, Retried: n(), RoundTrip: sum(), Connections: n(), Sent: n(), Received: n(),
			Server: &backend.ServerCount{Inferences: uint64(n()), Executions: uint64(n()), CacheHits: uint64(n()), Queue: sum(), Compute: sum()}}
	}
	a, b = fill(0), fill(100)
	b.Server.Queue.Count += 100
	b.Server.Compute.Count += 100
	b.RoundTrip.Count += 100
	return a, b
}

// plus adds what was counted to what there was before.
func plus(a, d backend.Account) backend.Account {
	sum := func(x, y backend.Sum) backend.Sum {
		return backend.Sum{Count: x.Count + y.Count, Time: x.Time + y.Time}
	}
	both := d
	both.Requests = nil
	for i := range a.Requests {
		both.Requests = append(both.Requests, a.Requests[i]+d.Requests[i])
	}
	both.Retried, both.Connections, both.Sent, both.Received = a.Retried+d.Retried, a.Connections+d.Connections, a.Sent+d.Sent, a.Received+d.Received
	both.RoundTrip = sum(a.RoundTrip, d.RoundTrip)
	x, y := a.Server, d.Server
	both.Server = &backend.ServerCount{Inferences: x.Inferences + y.Inferences, Executions: x.Executions + y.Executions, CacheHits: x.CacheHits + y.CacheHits,
		Queue: sum(x.Queue, y.Queue), Compute: sum(x.Compute, y.Compute)}
	return both
}

// What was added, added to what there was, is what there is.
func TestAnAccountIsTheSumOfItsParts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		a, b := accounts(random)
		kept := slices.Clone(b.Requests)
		d, restarted := b.Since(a)
		if restarted {
			t.Fatalf("%+v after %+v is that of another server", b, a)
		}
		if diff := cmp.Diff(b, plus(a, d)); diff != "" {
			t.Fatalf("%+v and %+v are not (-want +got):\n%s", a, d, diff)
		}
		if !slices.Equal(kept, b.Requests) {
			t.Fatalf("the later account has changed: %v, was %v", b.Requests, kept)
		}
		if same, restarted := b.Since(b); restarted || same.Sent != 0 || same.Server.Inferences != 0 || same.RoundTrip != (backend.Sum{}) {
			t.Fatalf("since itself: %+v", same)
		}
	}
}

func TestServersThatDoNotTellAreNotTakenForNewOnes(t *testing.T) {
	told := backend.Account{Server: &backend.ServerCount{Inferences: 5}}
	for name, c := range map[string]struct{ now, before backend.Account }{
		"never": {backend.Account{}, backend.Account{}}, "no longer": {backend.Account{}, told}, "only now": {told, backend.Account{}},
	} {
		if d, restarted := c.now.Since(c.before); d.Server != nil || restarted {
			t.Errorf("%s: %+v, started anew: %v", name, d.Server, restarted)
		}
	}
}

// A plain sort says where percentiles are.
func TestPercentilesAreThoseOfTheSortedTimes(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 2, 3, 10, 999, 1000, 5000} {
		times := backend.NewTimes()
		var list []time.Duration
		sum := time.Duration(0)
		for range n {
			d := time.Duration(random.ExpFloat64() * 1e7)
			times.Add(d)
			list, sum = append(list, d), sum+d
		}
		slices.Sort(list)
		s := times.Spread()
		if s.Count != int64(n) || s.Mean != sum/time.Duration(n) || s.Min != list[0] || s.Max != list[n-1] {
			t.Errorf("of %d: %+v, want the mean %v from %v to %v", n, s, sum/time.Duration(n), list[0], list[n-1])
		}
		for _, p := range []struct {
			of  float64
			got time.Duration
		}{{0.5, s.P50}, {0.9, s.P90}, {0.95, s.P95}, {0.97, s.P97}, {0.99, s.P99}, {0.999, s.P999}} {
			at := int(p.of * float64(n))
			low, high := list[max(0, at-1)], list[min(n-1, at+1)]
			if float64(p.got) < 0.99*float64(low) || float64(p.got) > 1.01*float64(high) {
				t.Errorf("of %d the %g is %v, want it from %v to %v", n, p.of, p.got, low, high)
			}
		}
	}
}

func TestTimesThatWereForgottenAreNone(t *testing.T) {
	times := backend.NewTimes()
	if s := times.Spread(); s != (backend.Spread{}) {
		t.Errorf("of nothing: %+v", s)
	}
	times.Add(time.Hour)
	times.Reset()
	if s := times.Spread(); s != (backend.Spread{}) {
		t.Errorf("of what was forgotten: %+v", s)
	}
	times.Add(0)
	if s := times.Spread(); s.Count != 1 || s.Mean != 0 || s.Max != 0 || s.P999 != 0 {
		t.Errorf("of no time: %+v", s)
	}
}

func TestAPortOfAnyBatchTakesAny(t *testing.T) {
	for want, p := range map[int]backend.Port{-1: {Shape: tensor.Shape{-1, 3}}, 1: {}, 4: {Shape: tensor.Shape{4}}, 0: {Shape: tensor.Shape{0, 3}}} {
		if got := p.Batch(); got != want {
			t.Errorf("%v takes %d, want %d", p.Shape, got, want)
		}
	}
	if got := (backend.Port{AnyShape: true}).Batch(); got != -1 {
		t.Errorf("a port of any shape takes %d, want any", got)
	}
}

// A shape fits if filling in the free extents makes it.
func TestShapesFitPortsWhoseFreeExtentsTheyFillIn(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		port := backend.Port{Type: tensor.Int8}
		var shape tensor.Shape
		for range random.IntN(4) {
			d := random.Int64N(5)
			shape = append(shape, d)
			if random.IntN(2) == 0 {
				d = -1
			}
			port.Shape = append(port.Shape, d)
		}
		if !port.Fits(tensor.Int8, shape) || port.Fits(tensor.Uint8, shape) {
			t.Fatalf("%v does not fit %v, or fits another type", shape, port.Shape)
		}
		if port.Fits(tensor.Int8, append(slices.Clone(shape), 1)) || len(shape) > 0 && port.Fits(tensor.Int8, shape[1:]) {
			t.Fatalf("%v fits with an axis more or less than %v", shape, port.Shape)
		}
		for i, d := range port.Shape {
			other := slices.Clone(shape)
			other[i]++
			if port.Fits(tensor.Int8, other) != (d < 0) {
				t.Fatalf("%v in %v: want it to fit where the extent is free only", other, port.Shape)
			}
		}
	}
}
