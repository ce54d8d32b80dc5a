package accuracy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// An aucCounter computes the area under the ROC curve, exactly and with ties, from
// predictions as they come. It keeps two bytes of each, so that Criteo's 89 million take 200 MB:
// the bits of a float32 can be put in the order of the values; the high 17 choose
// a bucket, which keeps the low 15 and the label. The zero value is ready.
type aucCounter struct {
	buckets              [1 << 17][]uint16
	positives, negatives uint64
}

// add adds a prediction and whether it should have been positive. Infinity and NaN are errors,
// as in scikit-learn.
func (c *aucCounter) add(prediction float32, positive bool) error {
	if prediction-prediction != 0 {
		return fmt.Errorf("a prediction is %v: must be a number", prediction)
	}
	key := orderedBits(prediction)
	kept := uint16(key) << 1
	if positive {
		kept |= 1
		c.positives++
	} else {
		c.negatives++
	}
	c.buckets[key>>15] = append(c.buckets[key>>15], kept)
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

// area returns the share of the pairs of a positive and a negative sample in which the positive
// one has the higher prediction, with equal ones counted half. It is an error if all samples are of one kind.
func (c *aucCounter) area() (float64, error) {
	if c.positives == 0 || c.negatives == 0 {
		return 0, fmt.Errorf("%d labels are positive and %d negative, the area under the ROC curve needs both", c.positives, c.negatives)
	}
	var room []uint16
	var below, twice uint64 // negatives so far; twice the pairs
	for _, values := range c.buckets {
		room = sortBytes(values, room)
		for i := 0; i < len(values); {
			var equal [2]uint64 // negatives and positives of one value
			for v := values[i] >> 1; i < len(values) && values[i]>>1 == v; i++ {
				equal[values[i]&1]++
			}
			twice += equal[1] * (2*below + equal[0])
			below += equal[0]
		}
	}
	return float64(twice) / (2 * float64(c.positives) * float64(c.negatives)), nil
}

// sortBytes sorts values: a few by comparing, many by the low byte and then by the high one, which is
// five times as fast. It returns the memory that it used, to be used again.
func sortBytes(values, room []uint16) []uint16 {
	if len(values) < 64 {
		slices.Sort(values)
		return room
	}
	room = slices.Grow(room[:0], len(values))[:len(values)]
	from, to := values, room
	for shift := 0; shift < 16; shift += 8 {
		var at [256]int
		for _, v := range from {
			at[v>>shift&0xff]++
		}
		next := 0
		for k, n := range at {
			at[k], next = next, next+n
		}
		for _, v := range from {
			k := v >> shift & 0xff
			to[at[k]] = v
			at[k]++
		}
		from, to = to, from
	}
	return room
}

// mostPairs bounds the predictions for which the area is computed again for sets of
// samples: these take a fraction of a second, Criteo's 89 million would take minutes.
const mostPairs = 1 << 18

// A pairKeeper keeps predictions with their samples, up to mostPairs.
type pairKeeper struct {
	pairs []keptPair
	many  bool // more than mostPairs
}

type keptPair struct {
	key      uint32 // orderedBits of the prediction
	sample   int32
	positive bool
}

func (k *pairKeeper) add(sample uint64, prediction float32, positive bool) {
	if k.many = k.many || len(k.pairs) == mostPairs; k.many {
		k.pairs = nil
		return
	}
	k.pairs = append(k.pairs, keptPair{orderedBits(prediction), int32(sample), positive})
}

// resampled computes the area, in percent, of sets of the samples that have pairs; nil if not all pairs were kept.
func (k *pairKeeper) resampled() []float64 {
	if k.many {
		return nil
	}
	samples := make([]int32, len(k.pairs))
	for i, p := range k.pairs {
		samples[i] = p.sample
	}
	slices.Sort(samples)
	samples = slices.Compact(samples)
	for i := range k.pairs { // from here on a sample is its place in the list
		at, _ := slices.BinarySearch(samples, k.pairs[i].sample)
		k.pairs[i].sample = int32(at)
	}
	slices.SortFunc(k.pairs, func(a, b keptPair) int { return cmp.Compare(a.key, b.key) })
	return resample(len(samples), func() func([]int) float64 { return k.area })
}

// area is the area for samples with weights; NaN if all are of one kind.
func (k *pairKeeper) area(weights []int) float64 {
	var below, ordered, positives float64 // negatives so far; pairs in order
	var equal [2]float64                  // negatives and positives of one prediction
	for i, p := range k.pairs {
		w := float64(weights[p.sample])
		if p.positive {
			equal[1] += w
		} else {
			equal[0] += w
		}
		if i+1 < len(k.pairs) && k.pairs[i+1].key == p.key {
			continue
		}
		ordered += equal[1] * (below + equal[0]/2)
		below, positives, equal = below+equal[0], positives+equal[1], [2]float64{}
	}
	return 100 * ordered / (positives * below)
}
