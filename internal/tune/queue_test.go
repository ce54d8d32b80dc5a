package tune

import (
	"math"
	"testing"
	"time"
)

func constant(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

// TestTheQueueWaitsAsTheoryHasIt compares the median wait in a queue with one worker and a
// fixed service time (M/D/1) with Erlang's formula of 1909 for the distribution of the wait.
func TestTheQueueWaitsAsTheoryHasIt(t *testing.T) {
	const service = 10 * time.Millisecond
	for _, load := range []float64{0.3, 0.5, 0.7} {
		q := queueModel{workers: 1, maxBatch: 1, service: constant(service)}
		for _, percentile := range []float64{0.8, 0.9, 0.95} {
			wait := q.latency(load/service.Seconds(), percentile) - service
			got := erlangWait(load, wait.Seconds()/service.Seconds())
			if math.Abs(got-percentile) > 0.02 {
				t.Errorf("load %g: the simulation has %g %% of waits below %v, theory %.1f %%", load, percentile*100, wait, got*100)
			}
		}
	}
}

// erlangWait is the probability that a sample waits at most t service times in M/D/1.
func erlangWait(load, t float64) float64 {
	sum, factorial := 0.0, 1.0
	for k := 0; k <= int(t); k++ {
		if k > 0 {
			factorial *= float64(k)
		}
		x := load * (t - float64(k))
		sum += math.Pow(-x, float64(k)) / factorial * math.Exp(x)
	}
	return (1 - load) * sum
}

func TestBatchesRaiseThePeakWhereTheyCostNothing(t *testing.T) {
	peak := func(batch int) float64 {
		return queueModel{workers: 1, maxBatch: batch, service: constant(10 * time.Millisecond)}.peak(50*time.Millisecond, 0.99)
	}
	if one, eight := peak(1), peak(8); eight < 5*one {
		t.Errorf("peak = %.4g with batches of 1, %.4g with 8", one, eight)
	}
}

func TestADelayIsPartOfTheLatency(t *testing.T) {
	q := queueModel{workers: 1, maxBatch: 8, maxDelay: 5 * time.Millisecond, service: constant(time.Millisecond)}
	if got := q.latency(1, 0.99); got != 6*time.Millisecond {
		t.Errorf("a sample alone takes %v, want 6 ms: the delay and the service", got)
	}
	full := queueModel{workers: 1, maxBatch: 2, maxDelay: time.Hour, service: constant(time.Millisecond)}
	if got := full.latency(100, 0.5); got > 100*time.Millisecond {
		t.Errorf("a full batch waits on: %v", got)
	}
}

func TestNoRateKeepsABoundBelowTheServiceTime(t *testing.T) {
	q := queueModel{workers: 4, maxBatch: 1, service: constant(20 * time.Millisecond)}
	if got := q.peak(15*time.Millisecond, 0.99); got != 0 {
		t.Errorf("peak = %g, want 0", got)
	}
	if got := q.peak(time.Hour, 0.99); got < 199 || got > 200 {
		t.Errorf("peak = %g, want the capacity of 200/s", got)
	}
}

func TestInterpolate(t *testing.T) {
	sizes, times := []int{1, 2, 4}, []time.Duration{10, 20, 60}
	for n, want := range []time.Duration{10, 10, 20, 40, 60, 60} {
		if got := interpolate(sizes, times, n); got != want {
			t.Errorf("interpolate(%d) = %d, want %d", n, got, want)
		}
	}
}

func BenchmarkPeak(b *testing.B) {
	b.ReportAllocs()
	q := queueModel{workers: 8, maxBatch: 8, maxDelay: time.Millisecond, service: constant(5 * time.Millisecond)}
	for b.Loop() {
		q.peak(15*time.Millisecond, 0.99)
	}
}
