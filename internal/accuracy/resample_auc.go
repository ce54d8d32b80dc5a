package accuracy

import (
	"cmp"
	"math"
	"slices"
)

// mostPairs is of how many predictions the area under the ROC curve is computed again for sets of
// samples: of so many it takes a fraction of a second, of Criteo's 89 million it would take minutes.
const mostPairs = 1 << 18

// A pairKeeper keeps predictions with the samples that they are of, up to mostPairs.
type pairKeeper struct {
	pairs []keptPair
	many  bool // too many of them
}

type keptPair struct {
	key      uint32 // orderedBits of the prediction
	sample   int32
	positive bool
}

func (k *pairKeeper) add(sample uint64, prediction float32, positive bool) {
	if k.many = k.many || len(k.pairs) == mostPairs || sample > math.MaxInt32; k.many {
		k.pairs = nil
		return
	}
	k.pairs = append(k.pairs, keptPair{orderedBits(prediction), int32(sample), positive})
}

// resampled computes the area, in percent, of sets of so many samples; nil if not all pairs were kept.
func (k *pairKeeper) resampled(samples int) []float64 {
	if k.many || slices.ContainsFunc(k.pairs, func(p keptPair) bool { return int(p.sample) >= samples }) {
		return nil
	}
	slices.SortFunc(k.pairs, func(a, b keptPair) int { return cmp.Compare(a.key, b.key) })
	return resample(samples, func() func([]int) float64 { return k.area })
}

// area is that of the pairs of samples with weights: the share of the pairs of a positive and a
// negative one in order, with equal ones counted half; no number without both.
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
