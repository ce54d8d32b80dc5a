package backend

import (
	"sync"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/histogram"
)

// Times counts times, from several goroutines at once.
type Times struct {
	mu  sync.Mutex
	all *histogram.Histogram
	sum time.Duration
}

// timesBits makes percentiles exact to half a hundredth.
const timesBits = 7

// NewTimes returns an empty count.
func NewTimes() *Times { return &Times{all: histogram.New(timesBits)} }

// Reset forgets all times.
func (t *Times) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all.Reset()
	t.sum = 0
}

// Add adds a time.
func (t *Times) Add(d time.Duration) {
	t.mu.Lock()
	t.all.Add(int64(d))
	t.sum += d
	t.mu.Unlock()
}

// Spread describes the times that were added.
func (t *Times) Spread() Spread {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := int64(t.all.Count())
	if n == 0 {
		return Spread{}
	}
	at := func(p float64) time.Duration { return time.Duration(t.all.Quantile(p)) }
	return Spread{
		Count: n, Mean: t.sum / time.Duration(n), Min: time.Duration(t.all.Min()), Max: time.Duration(t.all.Max()),
		P50: at(0.5), P90: at(0.9), P95: at(0.95), P97: at(0.97), P99: at(0.99), P999: at(0.999),
	}
}
