package histogram

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// document is a histogram as JSON.
type document struct {
	Unit   string `json:"unit"`
	Count  uint64 `json:"count"`
	Min    int64  `json:"min"`
	Max    int64  `json:"max"`
	Bits   uint   `json:"bits_per_octave"`
	Counts string `json:"counts"`
}

const unit = "ns"

// MarshalJSON writes the histogram.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	return json.Marshal(document{unit, h.n, h.Min(), h.max, h.bits, base64.StdEncoding.EncodeToString(h.encode())})
}

func (h *Histogram) encode() []byte {
	if h.n == 0 {
		return nil
	}
	first, last := h.used()
	data := binary.AppendVarint(nil, int64(first))
	empty := int64(0)
	for _, c := range h.counts[first : last+1] {
		if c == 0 {
			empty++
			continue
		}
		if empty > 0 {
			data = binary.AppendVarint(data, -empty)
			empty = 0
		}
		data = binary.AppendVarint(data, int64(c))
	}
	return data
}

// UnmarshalJSON reads a histogram, and refuses one whose numbers contradict each other.
func (h *Histogram) UnmarshalJSON(data []byte) error {
	var d document
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	if d.Unit != unit {
		return fmt.Errorf("histogram: unit is %q, want %q", d.Unit, unit)
	}
	if d.Bits < 1 || d.Bits > maxBits {
		return fmt.Errorf("histogram: bits_per_octave is %d, want 1 to %d", d.Bits, maxBits)
	}
	counts, err := base64.StdEncoding.DecodeString(d.Counts)
	if err != nil {
		return fmt.Errorf("histogram: counts: %w", err)
	}
	read := New(d.Bits)
	first, last, err := read.decode(counts)
	if err != nil {
		return fmt.Errorf("histogram: counts: %w", err)
	}
	if err := read.agree(d, first, last); err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	*h = *read
	return nil
}

// decode reads what encode writes. It returns the first and the last bucket with values.
func (h *Histogram) decode(data []byte) (first, last int, err error) {
	var numbers []int64
	for len(data) > 0 {
		v, n := binary.Varint(data)
		if n <= 0 {
			return 0, 0, errors.New("a number is cut off or too long")
		}
		numbers, data = append(numbers, v), data[n:]
	}
	if len(numbers) == 0 {
		return 0, -1, nil
	}
	first = -1
	at, size := numbers[0], int64(buckets(h.bits))
	for _, v := range numbers[1:] {
		if at < 0 || at >= size {
			return 0, 0, fmt.Errorf("there is no bucket %d", at)
		}
		if v < 0 {
			at -= max(v, -size)
			continue
		}
		if err := h.put(int(at), v); err != nil {
			return 0, 0, err
		}
		if last = int(at); first < 0 {
			first = last
		}
		at++
	}
	return first, last, nil
}

// put takes over the count of a bucket.
func (h *Histogram) put(bucket int, c int64) error {
	sum, carry := bits.Add64(h.n, uint64(c), 0)
	switch {
	case c == 0:
		return errors.New("a count is 0")
	case carry != 0 || sum > math.MaxInt64:
		return errors.New("the counts are too large")
	}
	h.room()
	h.counts[bucket], h.n = uint64(c), sum
	return nil
}

// agree compares the counts, of which there are some from the first to the last bucket, with
// the numbers beside them.
func (h *Histogram) agree(d document, first, last int) error {
	if h.n != d.Count {
		return fmt.Errorf("the counts are of %d values, count is %d", h.n, d.Count)
	}
	if h.n == 0 {
		return nil
	}
	if d.Min < 0 || d.Max < d.Min || h.bucket(d.Min) != first || h.bucket(d.Max) != last {
		return fmt.Errorf("the counts are not of values from %d to %d", d.Min, d.Max)
	}
	h.min, h.max = d.Min, d.Max
	return nil
}
