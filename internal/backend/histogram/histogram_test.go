package histogram

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// values are like latencies of a queue, in nanoseconds.
func values(n int) []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]int64, n)
	for i := range v {
		x := 8e6 * math.Exp(r.NormFloat64()*0.05)
		if r.Float64() < 0.5 {
			x += r.ExpFloat64() * 9e6
		}
		v[i] = int64(x)
	}
	return v
}

func of(bits uint, values ...int64) *Histogram {
	h := New(bits)
	for _, v := range values {
		h.Add(v)
	}
	return h
}

func TestQuantilesAreWithinTheirBucket(t *testing.T) {
	v := values(100_000)
	sorted := slices.Sorted(slices.Values(v))
	for _, bits := range []uint{5, 9, 12} {
		h := of(bits, v...)
		for _, p := range []float64{0, 0.001, 0.5, 0.9, 0.99, 0.999, 0.99999, 1} {
			want := float64(sorted[min(int(p*float64(len(v))), len(v)-1)])
			if got := float64(h.Quantile(p)); math.Abs(got/want-1) > 1/math.Ldexp(1, int(bits)) {
				t.Errorf("with %d bits Quantile(%g) = %g, want %g", bits, p, got, want)
			}
		}
	}
}

func TestExtremesAreExact(t *testing.T) {
	tests := []struct {
		name           string
		values         []int64
		min, max, half int64
	}{
		{"nothing", nil, 0, 0, 0},
		{"zero", []int64{0}, 0, 0, 0},
		{"negative values count as 0", []int64{-5, 3}, 0, 3, 3},
		{"one large value", []int64{123456789}, 123456789, 123456789, 123456789},
		{"the largest there is", []int64{1, math.MaxInt64}, 1, math.MaxInt64, 1<<63 - 1<<52},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := of(9, test.values...)
			if h.Min() != test.min || h.Max() != test.max || h.Quantile(0.5) != test.half || h.Count() != uint64(len(test.values)) {
				t.Errorf("min %d, max %d, middle %d of %d; want %d, %d, %d", h.Min(), h.Max(), h.Quantile(0.5), h.Count(), test.min, test.max, test.half)
			}
		})
	}
}

func TestAboveCountsWhatIsLarger(t *testing.T) {
	h := of(12, 100, 200, 300, 400)
	for _, test := range []struct {
		v    int64
		want float64
	}{{-1, 1}, {0, 1}, {100, 0.75}, {250, 0.5}, {400, 0}, {math.MaxInt64, 0}} {
		if got := h.Above(test.v); got != test.want {
			t.Errorf("Above(%d) = %g, want %g", test.v, got, test.want)
		}
	}
	if got := New(9).Above(3); got != 0 {
		t.Errorf("Above of nothing = %g", got)
	}
}

// Charts and clients have histograms that most runs leave empty.
func TestAnEmptyHistogramTakesNoMemory(t *testing.T) {
	var h *Histogram
	if n := testing.AllocsPerRun(10, func() { h = New(15); h.Merge(New(15)); h.Reset() }); n > 2 || h.counts != nil {
		t.Errorf("two empty histograms take %v pieces of memory, %d buckets", n, len(h.counts))
	}
	if h.Quantile(0.5) != 0 || h.Above(0) != 0 || h.Count() != 0 || h.Min() != 0 || h.Max() != 0 {
		t.Errorf("an empty histogram has %d values from %d to %d", h.Count(), h.Min(), h.Max())
	}
	h.Each(func(from, to float64, count uint64) { t.Errorf("%d values from %g to %g", count, from, to) })
	h.Merge(of(15, 3))
	if h.Count() != 1 || h.Max() != 3 {
		t.Errorf("merged with one value: %d up to %d", h.Count(), h.Max())
	}
}

func TestBitsAreWithinTheirBounds(t *testing.T) {
	for bits, want := range map[uint]int{0: 63 << 1, 1: 63 << 1, 15: 49 << 15, 16: 49 << 15, 99: 49 << 15} {
		h := New(bits)
		h.Add(math.MaxInt64)
		if len(h.counts) != want || h.Quantile(1) != math.MaxInt64 {
			t.Errorf("with %d bits: %d buckets, want %d; the largest value is %d", bits, len(h.counts), want, h.Quantile(1))
		}
	}
}

// Every value lies in its bucket, and buckets lie side by side.
func TestBucketsAreSideBySide(t *testing.T) {
	for _, bits := range []uint{1, 5, 9} {
		h := New(bits)
		before := 0.0
		for i := range buckets(bits) {
			from, to := h.bounds(i)
			if from != before || to <= from {
				t.Fatalf("with %d bits, bucket %d is from %g to %g, and the one before ends at %g", bits, i, from, to, before)
			}
			if before = to; from < 1<<53 && (h.bucket(int64(from)) != i || h.bucket(int64(to)-1) != i) {
				t.Fatalf("with %d bits, %g and %g do not lie in bucket %d", bits, from, to-1, i)
			}
		}
		if before != 1<<63 {
			t.Errorf("with %d bits the last bucket ends at %g, want 2^63", bits, before)
		}
	}
}

func TestMergedHistogramsAreThatOfAllValues(t *testing.T) {
	v := values(5000)
	h, want := New(9), of(9, v...)
	for fine := New(12); len(v) > 0; v = v[1000:] {
		fine.Reset()
		for _, x := range v[:1000] {
			fine.Add(x)
		}
		h.Merge(fine)
	}
	h.Merge(New(12))
	if h.n != want.n || h.Min() != want.Min() || h.Max() != want.Max() || !slices.Equal(h.counts, want.counts) {
		t.Errorf("merged %d values from %d to %d, want %d from %d to %d", h.n, h.Min(), h.Max(), want.n, want.Min(), want.Max())
	}
}

func TestResetEmpties(t *testing.T) {
	h := of(9, values(1000)...)
	h.Reset()
	h.Add(7)
	if h.Count() != 1 || h.Quantile(0.99) != 7 || h.Min() != 7 || h.Max() != 7 {
		t.Errorf("after Reset and Add(7): %d values from %d to %d", h.Count(), h.Min(), h.Max())
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	for name, h := range map[string]*Histogram{"a run": of(9, values(50_000)...), "nothing": New(9), "one": of(5, 1<<40)} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			var got Histogram
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if got.n != h.n || got.Min() != h.Min() || got.max != h.max || !slices.Equal(got.counts, h.counts) {
				t.Errorf("read back %d values from %d to %d, want %d from %d to %d", got.n, got.min, got.max, h.n, h.min, h.max)
			}
			total := uint64(0)
			got.Each(func(from, to float64, count uint64) {
				if from >= to {
					t.Errorf("a bucket from %g to %g", from, to)
				}
				total += count
			})
			if total != h.n {
				t.Errorf("Each passes %d values of %d", total, h.n)
			}
		})
	}
}

func TestAMillionValuesTakeKilobytes(t *testing.T) {
	text, err := json.Marshal(of(9, values(1_000_000)...))
	if err != nil || len(text) > 12_000 {
		t.Errorf("%d bytes, %v; want at most 12000", len(text), err)
	}
}

func TestContradictionsAreRefused(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"another unit", `{"unit":"ms"}`, `unit is "ms"`},
		{"no bits", `{"unit":"ns"}`, "bits_per_octave is 0"},
		{"too many bits", `{"unit":"ns","bits_per_octave":60}`, "bits_per_octave is 60"},
		{"no base64", `{"unit":"ns","bits_per_octave":9,"counts":"!"}`, "illegal base64"},
		{"another number of values", `{"unit":"ns","bits_per_octave":9,"count":3,"counts":"AgI="}`, "of 1 values, count is 3"},
		{"values elsewhere", `{"unit":"ns","bits_per_octave":9,"count":1,"min":5,"max":5,"counts":"AgI="}`, "not of values from 5 to 5"},
		{"a bucket that is none", `{"unit":"ns","bits_per_octave":1,"count":1,"counts":"////fwI="}`, "there is no bucket"},
		{"cut off", `{"unit":"ns","bits_per_octave":9,"count":1,"counts":"gA=="}`, "cut off"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var h Histogram
			if err := json.Unmarshal([]byte(test.text), &h); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// FuzzUnmarshal never panics, and what it accepts survives being written and read again.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"unit":"ns","bits_per_octave":1,"counts":"000="}`)) // a first bucket, and no counts
	for _, h := range []*Histogram{New(9), of(9, 1, 2, 3), of(5, values(100)...), of(1, math.MaxInt64)} {
		text, err := json.Marshal(h)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var h, again Histogram
		if json.Unmarshal(text, &h) != nil || h.counts == nil { // null is no histogram
			return
		}
		for _, p := range []float64{0, 0.5, 1} {
			if q := h.Quantile(p); h.n > 0 && (q < h.Min() || q > h.Max()) {
				t.Fatalf("Quantile(%g) = %d, outside of %d to %d", p, q, h.Min(), h.Max())
			}
		}
		written, err := json.Marshal(&h)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(written, &again); err != nil || again.n != h.n || !slices.Equal(again.counts, h.counts) {
			t.Fatalf("written and read again: %v", err)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	v := values(1 << 16)
	h := New(9)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		h.Add(v[i&(1<<16-1)])
	}
}
