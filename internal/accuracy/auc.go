package accuracy

import (
	"fmt"
	"math"
	"slices"
)

// An aucCounter computes the area under the ROC curve, exactly and with ties, from
// predictions as they come. It keeps two bytes of each: the rest is told by where they lie.
// The zero value is ready.
//
// A float32 is a number of 32 bits that are in the order of the values. The high 17 choose
// a bucket; the low 15 are kept beside the label. Within a bucket counting sorts them.
type aucCounter struct {
	buckets              [1 << bucketBits]bucket
	chunks               []*chunk
	positives, negatives uint64
}

const (
	bucketBits = 17
	keptBits   = 32 - bucketBits
)

// A chunk holds predictions of a bucket: the low bits of the key, and the label.
type chunk struct {
	kept [500]uint16
	next int32 // the chunk before this one; 0: none
}

// A bucket is a list of chunks, of which the first one is filled.
type bucket struct {
	first int32 // its number plus one
	n     int32 // in the first chunk
}

// Add adds a prediction and whether it should have been positive. One that is infinite or no number is an
// error, as in scikit-learn.
func (c *aucCounter) Add(prediction float32, positive bool) error {
	if prediction-prediction != 0 {
		return fmt.Errorf("a prediction is %v, want a number", prediction)
	}
	key := orderedBits(prediction)
	kept := uint16(key) << 1
	if positive {
		kept |= 1
		c.positives++
	} else {
		c.negatives++
	}
	b := &c.buckets[key>>keptBits]
	if b.first == 0 || int(b.n) == len(chunk{}.kept) {
		c.chunks = append(c.chunks, &chunk{next: b.first})
		b.first, b.n = int32(len(c.chunks)), 0
	}
	c.chunks[b.first-1].kept[b.n] = kept
	b.n++
	return nil
}

// orderedBits are the bits of a number, changed so that they have its order; −0 is 0.
func orderedBits(v float32) uint32 {
	bits := math.Float32bits(v + 0)
	if bits>>31 != 0 {
		return ^bits
	}
	return bits | 1<<31
}

// Area returns the area: the share of the pairs of a positive and a negative sample of
// which the positive one has the higher prediction, with equal ones counted half. Without
// samples of both kinds there is none.
func (c *aucCounter) Area() (float64, error) {
	if c.positives == 0 || c.negatives == 0 {
		return 0, fmt.Errorf("%d labels are positive and %d negative, the area under the ROC curve needs both", c.positives, c.negatives)
	}
	counts := make([][2]uint32, 1<<keptBits)
	var so pairsInOrder
	few, room := make([]uint16, 0, mostSorted), make([]uint16, mostSorted)
	for _, b := range c.buckets {
		if b.first == 0 {
			continue
		}
		var all bool
		if few, all = c.gather(b, few[:0]); all {
			so.addSorted(few, room)
			continue
		}
		c.count(b, counts)
		for k, n := range counts {
			so.add(n)
			counts[k] = [2]uint32{}
		}
	}
	return float64(so.twice) / (2 * float64(c.positives) * float64(c.negatives)), nil
}

// pairsInOrder counts pairs, as equal values come in ascending order.
type pairsInOrder struct{ below, twice uint64 } // negatives so far; twice the pairs

// add adds the negatives and the positives of a value.
func (so *pairsInOrder) add(n [2]uint32) {
	so.twice += uint64(n[1]) * (2*so.below + uint64(n[0]))
	so.below += uint64(n[0])
}

// addSorted adds the values of a bucket, which it sorts with room for as many others.
func (so *pairsInOrder) addSorted(values, room []uint16) {
	values = sorted(values, room)
	var n [2]uint32
	for i, kept := range values {
		if i > 0 && kept>>1 != values[i-1]>>1 {
			so.add(n)
			n = [2]uint32{}
		}
		n[kept&1]++
	}
	so.add(n)
}

// fewSorted is up to how many values comparing them is quicker than counting their bytes.
const fewSorted = 64

// sorted returns values in order, in their memory or in that of room: by the low byte first, then by the high one.
func sorted(values, room []uint16) []uint16 {
	if len(values) <= fewSorted {
		slices.Sort(values)
		return values
	}
	room = room[:len(values)]
	for shift := 0; shift < 16; shift += 8 {
		var at [256]int
		for _, v := range values {
			at[v>>shift&0xff]++
		}
		next := 0
		for k, n := range at {
			at[k], next = next, next+n
		}
		for _, v := range values {
			k := v >> shift & 0xff
			room[at[k]] = v
			at[k]++
		}
		values, room = room, values
	}
	return values
}

// mostSorted is how many values of a bucket are sorted: counting more of them is quicker, though it goes
// through all values that there may be.
const mostSorted = 1000

// gather appends the values of a bucket, and reports whether these are all.
func (c *aucCounter) gather(b bucket, to []uint16) ([]uint16, bool) {
	n := int(b.n)
	for at := b.first; at != 0; n = len(chunk{}.kept) {
		if len(to)+n > mostSorted {
			return to, false
		}
		chunk := c.chunks[at-1]
		to = append(to, chunk.kept[:n]...)
		at = chunk.next
	}
	return to, true
}

// count counts the values of a bucket by label.
func (c *aucCounter) count(b bucket, counts [][2]uint32) {
	n := int(b.n)
	for at := b.first; at != 0; n = len(chunk{}.kept) {
		chunk := c.chunks[at-1]
		for _, kept := range chunk.kept[:n] {
			counts[kept>>1][kept&1]++
		}
		at = chunk.next
	}
}
