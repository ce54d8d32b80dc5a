package histogram

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func ExampleHistogram() {
	h := New(9)
	for ms := range int64(1000) {
		h.Add(ms * 1_000_000)
	}
	fmt.Println(h.Count(), h.Min(), h.Max())
	fmt.Printf("%.1f ms\n", float64(h.Quantile(0.99))/1e6)
	fmt.Printf("%.0f %%\n", 100*h.Above(900_500_000))
	// Output:
	// 1000 0 999000000
	// 990.4 ms
	// 10 %
}

// edge is where a bucket of a value begins: a power of two has as many buckets as there are bits for.
func edge(v int64, bits uint) (from, width int64) {
	if v < 1<<bits {
		return v, 1
	}
	width = 1
	for v/width >= 1<<(bits+1) {
		width *= 2
	}
	return v / width * width, width
}

// A histogram that is filled, merged, emptied, written and read at random says what a list of the values does.
func TestAHistogramIsAListOfItsValues(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for range 40 {
		bits := 1 + uint(r.IntN(7))
		h := New(bits)
		var list []int64
		for range 60 {
			switch r.IntN(12) {
			case 0:
				h.Reset()
				list = nil
			case 1:
				finer, n := New(bits+uint(r.IntN(3))), r.IntN(20)
				for range n {
					v := int64(r.Uint64() >> (1 + r.IntN(63)))
					finer.Add(v)
					list = append(list, v)
				}
				h.Merge(finer)
			case 2:
				text, err := json.Marshal(h)
				if err != nil {
					t.Fatal(err)
				}
				h = New(3) // what was there before is gone
				h.Add(99)
				if err := json.Unmarshal(text, h); err != nil {
					t.Fatal(err)
				}
			default:
				v := int64(r.Uint64() >> (1 + r.IntN(63)))
				h.Add(v)
				list = append(list, v)
			}
			compare(t, h, bits, list)
		}
	}
}

// compare compares a histogram with the values that are in it.
func compare(t *testing.T, h *Histogram, bits uint, list []int64) {
	t.Helper()
	list = slices.Sorted(slices.Values(list))
	if h.Count() != uint64(len(list)) {
		t.Fatalf("%d values are counted, %d were added", h.Count(), len(list))
	}
	if len(list) == 0 {
		return
	}
	if h.Min() != list[0] || h.Max() != list[len(list)-1] {
		t.Fatalf("values are from %d to %d, want %d to %d", h.Min(), h.Max(), list[0], list[len(list)-1])
	}
	counts := map[int64]uint64{}
	for _, v := range list {
		from, _ := edge(v, bits)
		counts[from]++
	}
	before := -1.0
	h.Each(func(from, to float64, count uint64) {
		if from < before || counts[int64(from)] != count {
			t.Fatalf("the bucket from %g has %d values, want %d", from, count, counts[int64(from)])
		}
		if _, width := edge(int64(from), bits); to-from != float64(width) {
			t.Fatalf("the bucket from %g ends at %g, want %d later", from, to, width)
		}
		before = to
		delete(counts, int64(from))
	})
	if len(counts) > 0 {
		t.Fatalf("values from %v are in no bucket", counts)
	}
	for _, p := range []float64{0, 0.3, 0.5, 0.99, 1} {
		want := list[min(int(p*float64(len(list))), len(list)-1)]
		from, width := edge(want, bits)
		if got := h.Quantile(p); got < from || float64(got) > float64(from)+float64(width) {
			t.Fatalf("Quantile(%g) = %d, want one of the bucket of %d", p, got, want)
		}
	}
	v := list[len(list)/2]
	from, width := edge(v, bits)
	above := 0
	for _, other := range list {
		if float64(other) >= float64(from)+float64(width) {
			above++
		}
	}
	if got, want := h.Above(v), float64(above)/float64(len(list)); got != want {
		t.Fatalf("Above(%d) = %g, want %g", v, got, want)
	}
}

func TestSharesThatAreNoneAreTheNearestOnes(t *testing.T) {
	h := of(9, 10, 20, 30)
	for p, want := range map[float64]int64{-1: 10, math.Inf(-1): 10, 2: 30, math.Inf(1): 30} {
		if got := h.Quantile(p); got != want {
			t.Errorf("Quantile(%g) = %d, want %d", p, got, want)
		}
	}
	if got := h.Quantile(math.NaN()); got != 10 {
		t.Errorf("Quantile(NaN) = %d, want the smallest", got)
	}
}

// counted is a document with numbers in the form of its counts.
func counted(bits, count int, low, high int64, numbers ...int64) string {
	var data []byte
	for _, v := range numbers {
		data = binary.AppendVarint(data, v)
	}
	return fmt.Sprintf(`{"unit":"ns","bits_per_octave":%d,"count":%d,"min":%d,"max":%d,"counts":%q}`, bits, count, low, high, base64.StdEncoding.EncodeToString(data))
}

func TestCountsThatCannotBeAreRefused(t *testing.T) {
	const most = math.MaxInt64
	for _, c := range []struct{ name, text, want string }{
		{"one bucket", counted(4, 3, 5, 5, 5, 3), ""},
		{"two with empty ones between", counted(4, 3, 5, 9, 5, 1, -3, 2), ""},
		{"as many as can be counted", counted(4, most, 5, 6, 5, most-1, 1), ""},
		{"nothing", counted(4, 0, 0, 0), ""},
		{"a count of 0", counted(4, 3, 5, 5, 5, 3, 0), "a count is 0"},
		{"more than can be counted", counted(4, most, 5, 6, 5, most, 1), "the counts are too large"},
		{"a bucket before the first", counted(4, 1, 0, 0, -1, 1), "there is no bucket -1"},
		{"a bucket behind the last", counted(4, 1, 0, 0, 60<<4, 1), "there is no bucket 960"},
		{"as many empty ones as there are not", counted(4, 2, 5, 5, 5, 1, -most, 1), "there is no bucket"},
		{"another smallest value", counted(4, 3, 4, 5, 5, 3), "not of values from 4 to 5"},
		{"another largest value", counted(4, 3, 5, 6, 5, 3), "not of values from 5 to 6"},
		{"a negative smallest value", counted(4, 3, -5, 5, 5, 3), "not of values from -5 to 5"},
		{"the largest before the smallest", counted(4, 3, 5000, 4999, 148, 3), "not of values from 5000 to 4999"},
		{"bits beyond the bound", counted(16, 0, 0, 0), "bits_per_octave is 16, want 1 to 15"},
	} {
		var h Histogram
		err := json.Unmarshal([]byte(c.text), &h)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// What cannot be read leaves the histogram as it was.
func TestAHistogramStaysAsItWasWhereAnotherCannotBeRead(t *testing.T) {
	h := of(9, 1, 2, 3)
	if err := json.Unmarshal([]byte(counted(4, 3, 5, 5, 5, 2)), h); err == nil {
		t.Fatal("it was read")
	}
	if h.Count() != 3 || h.Max() != 3 || h.Quantile(0.5) != 2 {
		t.Errorf("it has %d values up to %d", h.Count(), h.Max())
	}
}
