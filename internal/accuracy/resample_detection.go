package accuracy

import (
	"math"
	"slices"
)

// A weighedClass is what the average precision of a class follows from, at the first area range.
type weighedClass struct {
	found  []weighedBox // best score first
	truths []weighedTruth
}

// A weighedBox has a bit for each IoU threshold.
type weighedBox struct {
	image       int32
	right, none uint32 // right there; neither right nor wrong
}

// A weighedTruth says how many objects of a class are in an image.
type weighedTruth struct{ image, wanted int32 }

// resampled computes the mean average precision, in percent, of sets of images. An image that
// is drawn twice counts as two that have the same scores. It is nil where the first of COCO's
// numbers is not defined.
func (e *evaluation) resampled() []float64 {
	const most = 32 // bits
	p := &e.p
	if !slices.Contains(p.MaxDets, 100) || p.AreaRanges[0].Label != "all" || len(p.IoUThresholds) > most || !slices.IsSorted(p.RecallThresholds) {
		return nil
	}
	classes := e.weighedClasses()
	return resample(len(p.ImageIDs), func() func([]int) float64 { return e.weighedScore(classes) })
}

// weighedScore computes the mean average precision of sets of images.
func (e *evaluation) weighedScore(classes []weighedClass) func(weights []int) float64 {
	var hits []recallPoint
	return func(weights []int) float64 {
		sum, n := 0.0, 0
		for k := range classes {
			wanted := classes[k].wanted(weights)
			for t := 0; wanted > 0 && t < len(e.p.IoUThresholds); t++ {
				hits = classes[k].hits(hits[:0], weights, t)
				sum, n = sum+averagePrecision(hits, wanted, e.p.RecallThresholds), n+1
			}
		}
		if n == 0 {
			return math.NaN()
		}
		return 100 * sum / float64(n)
	}
}

func (e *evaluation) weighedClasses() []weighedClass {
	image := e.imageOfSlots()
	all := make([]weighedClass, len(e.classes))
	for k, c := range e.classes {
		for _, s := range c.byScore {
			if s.rank < 100 {
				all[k].found = append(all[k].found, e.weighed(s.slot, image[s.slot]))
			}
		}
		for _, g := range e.groups[c.groups.first:c.groups.last] {
			if n := e.wantedOf(g, e.p.AreaRanges[0]); n > 0 {
				all[k].truths = append(all[k].truths, weighedTruth{g.image, int32(n)})
			}
		}
	}
	return all
}

// imageOfSlots has the image of each slot.
func (e *evaluation) imageOfSlots() []int32 {
	image := make([]int32, len(e.slots))
	for _, g := range e.groups {
		for slot := g.slots.first; slot < g.slots.last; slot++ {
			image[slot] = g.image
		}
	}
	return image
}

// weighed gathers the outcomes of a slot at the first area range.
func (e *evaluation) weighed(slot, image int32) weighedBox {
	b, lines := weighedBox{image: image}, len(e.p.AreaRanges)*len(e.p.IoUThresholds)
	for t := range e.p.IoUThresholds {
		switch e.outcomes[int(slot)*lines+t] {
		case truePositive:
			b.right |= 1 << t
		case ignored:
			b.none |= 1 << t
		}
	}
	return b
}

func (c *weighedClass) wanted(weights []int) int {
	n := 0
	for _, t := range c.truths {
		n += weights[t.image] * int(t.wanted)
	}
	return n
}

// A recallPoint is a number of right boxes, and the precision down to the last of them.
type recallPoint struct {
	right     int
	precision float64
}

// hits appends the points of a class at a threshold.
func (c *weighedClass) hits(list []recallPoint, weights []int, t int) []recallPoint {
	right, wrong, bit := 0, 0, uint32(1)<<t
	for i := range c.found {
		b := &c.found[i]
		switch w := weights[b.image]; {
		case w == 0:
		case b.right&bit != 0:
			right += w
			list = append(list, recallPoint{right, float64(right) / float64(right+wrong)})
		case b.none&bit == 0:
			wrong += w
		}
	}
	return list
}

// averagePrecision is the mean over recall thresholds, which are sorted, of the best precision
// at the first point that reaches each, or at a later one.
func averagePrecision(hits []recallPoint, wanted int, recalls []float64) float64 {
	for i := len(hits) - 1; i > 0; i-- {
		hits[i-1].precision = max(hits[i-1].precision, hits[i].precision)
	}
	sum, next := 0.0, 0
	for _, recall := range recalls {
		for next < len(hits) && float64(hits[next].right)/float64(wanted) < recall {
			next++
		}
		if next == len(hits) {
			break
		}
		sum += hits[next].precision
	}
	return sum / float64(len(recalls))
}
