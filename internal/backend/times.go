package backend

import (
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Times counts times in an HdrHistogram of three significant digits; their number, sum, minimum and maximum are exact.
// Its methods may be called from several goroutines at once. The zero value cannot be used: see NewTimes.
type Times struct {
	mu            sync.Mutex
	histogram     *hdrhistogram.Histogram
	sum, min, max time.Duration
}

// NewTimes returns an empty count.
func NewTimes() *Times { return &Times{histogram: hdrhistogram.New(1, math.MaxInt64, 3)} }

// Reset forgets all times.
func (t *Times) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.histogram.TotalCount() > 0 {
		t.histogram.Reset()
	}
	t.sum, t.min, t.max = 0, 0, 0
}

// Add counts a time; a negative one counts as 0.
func (t *Times) Add(d time.Duration) {
	d = max(d, 0)
	t.mu.Lock()
	if t.histogram.TotalCount() == 0 {
		t.min = d
	}
	_ = t.histogram.RecordValue(int64(d)) // every time is within its range
	t.sum, t.min, t.max = t.sum+d, min(t.min, d), max(t.max, d)
	t.mu.Unlock()
}

// Count is the number of times.
func (t *Times) Count() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return uint64(t.histogram.TotalCount())
}

// Quantile is the time that a fraction p of all times do not exceed; 0 of none.
func (t *Times) Quantile(p float64) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.within(t.histogram.ValueAtQuantile(100 * p))
}

// within is a value of a bucket, which may lie outside of what was counted.
func (t *Times) within(value int64) time.Duration {
	return min(max(time.Duration(value), t.min), t.max)
}

// Above is the share of the times that are longer than d.
func (t *Times) Above(d time.Duration) float64 {
	above, count := int64(0), int64(0)
	for _, bar := range t.Distribution() {
		if count += bar.Count; bar.From > int64(d) {
			above += bar.Count
		}
	}
	return float64(above) / float64(max(count, 1))
}

// Distribution are the buckets, in nanoseconds; some have no times.
func (t *Times) Distribution() []hdrhistogram.Bar {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.histogram.Distribution()
}

// A Spread describes many times. Its percentiles have three significant digits.
type Spread struct {
	Count                               int64
	Mean, P50, P90, P95, P97, P99, P999 time.Duration
	Min, Max                            time.Duration
}

// Spread describes the times that were added.
func (t *Times) Spread() Spread {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.histogram.TotalCount()
	s := Spread{Count: n, Mean: t.sum / time.Duration(max(n, 1)), Min: t.min, Max: t.max}
	list := t.histogram.ValueAtPercentilesSlice([]float64{50, 90, 95, 97, 99, 99.9})
	for i, p := range []*time.Duration{&s.P50, &s.P90, &s.P95, &s.P97, &s.P99, &s.P999} {
		*p = t.within(list[i])
	}
	return s
}

// times is the JSON of Times.
type times struct {
	Count int64         `json:"count"`
	Sum   time.Duration `json:"sum_ns"`
	Min   time.Duration `json:"min_ns"`
	Max   time.Duration `json:"max_ns"`
	HDR   string        `json:"hdr_histogram"` // in HdrHistogram's own format, V2 compressed, of nanoseconds
}

// MarshalJSON implements json.Marshaler.
func (t *Times) MarshalJSON() ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hdr, err := t.histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil, err
	}
	return json.Marshal(times{t.histogram.TotalCount(), t.sum, t.min, t.max, string(hdr)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Times) UnmarshalJSON(data []byte) error {
	var v times
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	h, err := hdrhistogram.Decode([]byte(v.HDR))
	if err != nil {
		return fmt.Errorf("hdr_histogram: %w", err)
	}
	if h.TotalCount() != v.Count || v.Min > v.Max {
		return fmt.Errorf("%d times from %v to %v, and %d in hdr_histogram", v.Count, v.Min, v.Max, h.TotalCount())
	}
	t.histogram, t.sum, t.min, t.max = h, v.Sum, v.Min, v.Max
	return nil
}
