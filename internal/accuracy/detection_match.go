package accuracy

import (
	"cmp"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/workerpool"
)

// An evaluation is what becomes of a set of detections: sorted into groups (newEvaluation),
// ranked by score (rank), matched within each group (match), and counted over each
// class (accumulate). A class is a category, or everything if class-agnostic.
//
// Detections have slots: positions in the order of class, image, score. What a slot's
// detection is worth for each area range and IoU threshold stands in outcomes.
type evaluation struct {
	p           DetectionParams
	annotations []Annotation
	detections  []Detection
	truths      []int32 // indices of annotations, by class, then image
	slots       []int32 // indices of detections, by class, then image, after rank then score
	groups      []group
	classes     []class
	outcomes    []outcome // [slot][area][threshold]
}

// A group is the boxes of one class in one image.
type group struct {
	class, image int32 // positions in the lists of ids
	truths       span
	slots        span // cut to the best by rank
}

// A class is a run of groups.
type class struct {
	groups  span
	byScore []scored // the slots of all groups, best first
}

type span struct{ first, last int } // last is not in it

func (s span) len() int { return s.last - s.first }

// A scored is a slot to be sorted by score.
type scored struct {
	key  uint64 // smaller for a better score
	slot int32
	rank int32 // in its image
}

// An outcome says how a detection counts.
type outcome uint8

const (
	falsePositive outcome = iota
	truePositive
	ignored // neither: it matched an ignored object, or matched none and has another size
)

// newEvaluation sorts annotations and detections into groups. Within a group the order
// is that of the input; class-agnostic, by position of the category first, as pycocotools
// joins the categories' lists.
func newEvaluation(annotations []Annotation, detections []Detection, p DetectionParams) *evaluation {
	e := &evaluation{p: p, annotations: annotations, detections: detections}
	images, categories := positions(p.ImageIDs), positions(p.CategoryIDs)
	keys := func(n int, ids func(i int) (image, category int64)) []groupKey {
		all := make([]groupKey, 0, n)
		for i := range n {
			imageID, categoryID := ids(i)
			image, ok := images[imageID]
			category, ok2 := categories[categoryID]
			if ok && ok2 {
				all = append(all, groupKey{class: category, image: image, index: int32(i)})
			}
		}
		sortGroups(all, len(p.ImageIDs), len(p.CategoryIDs), p.ClassAgnostic)
		return all
	}
	truths := keys(len(annotations), func(i int) (int64, int64) { return annotations[i].ImageID, annotations[i].CategoryID })
	slots := keys(len(detections), func(i int) (int64, int64) { return detections[i].ImageID, detections[i].CategoryID })
	e.truths, e.slots = indices(truths), indices(slots)
	e.group(truths, slots)
	return e
}

// positions maps ids to their positions in the list.
func positions(ids []int64) map[int64]int32 {
	m := make(map[int64]int32, len(ids))
	for i, id := range ids {
		m[id] = int32(i)
	}
	return m
}

// A groupKey says to which group the annotation or detection of an index belongs.
type groupKey struct{ class, image, index int32 }

func indices(keys []groupKey) []int32 {
	all := make([]int32, len(keys))
	for i, k := range keys {
		all[i] = k.index
	}
	return all
}

// sortGroups sorts by class, then image, otherwise keeping the order. If class-agnostic,
// it sorts by image, then category, and makes everything one class.
func sortGroups(keys []groupKey, images, categories int, agnostic bool) {
	byClass := func(k groupKey) int32 { return k.class }
	byImage := func(k groupKey) int32 { return k.image }
	scratch := make([]groupKey, len(keys))
	if !agnostic {
		countingSort(scratch, keys, images, byImage)
		countingSort(keys, scratch, categories, byClass)
		return
	}
	countingSort(scratch, keys, categories, byClass)
	countingSort(keys, scratch, images, byImage)
	for i := range keys {
		keys[i].class = 0
	}
}

// countingSort writes from, stably sorted by keys in [0, n), to to.
func countingSort(to, from []groupKey, n int, key func(groupKey) int32) {
	start := make([]int, n+1)
	for _, k := range from {
		start[key(k)+1]++
	}
	for i := range n {
		start[i+1] += start[i]
	}
	for _, k := range from {
		to[start[key(k)]] = k
		start[key(k)]++
	}
}

// group merges the two sorted lists into groups, and the groups into classes.
func (e *evaluation) group(truths, slots []groupKey) {
	n := len(e.p.CategoryIDs)
	if e.p.ClassAgnostic {
		n = 1
	}
	e.classes = make([]class, n)
	for t, s := 0, 0; t < len(truths) || s < len(slots); {
		first := earliest(truths[t:], slots[s:])
		g := group{class: first.class, image: first.image}
		g.truths, g.slots = g.run(truths, t), g.run(slots, s)
		t, s = g.truths.last, g.slots.last
		c := &e.classes[g.class]
		if c.groups.last == 0 {
			c.groups.first = len(e.groups)
		}
		e.groups = append(e.groups, g)
		c.groups.last = len(e.groups)
	}
}

// run returns the keys of the group, which begin at first if there are any.
func (g *group) run(keys []groupKey, first int) span {
	last := first
	for last < len(keys) && keys[last].class == g.class && keys[last].image == g.image {
		last++
	}
	return span{first, last}
}

// earliest is the first key of two sorted lists, of which one is not empty.
func earliest(truths, slots []groupKey) groupKey {
	if len(slots) == 0 || len(truths) > 0 && before(truths[0], slots[0]) {
		return truths[0]
	}
	return slots[0]
}

func before(a, b groupKey) bool {
	return a.class < b.class || a.class == b.class && a.image < b.image
}

// rank orders each class's detections by score and drops those beyond the last of
// MaxDets of their image. Equal scores keep the order of images, then of the input.
func (e *evaluation) rank() {
	limit := int32(e.p.MaxDets[len(e.p.MaxDets)-1])
	workerpool.ComputeWith(e.p.Workers, len(e.classes), func() func(int) {
		return func(k int) { e.rankClass(&e.classes[k], limit) }
	})
}

func (e *evaluation) rankClass(c *class, limit int32) {
	groups := e.groups[c.groups.first:c.groups.last]
	if len(groups) == 0 {
		return
	}
	base := groups[0].slots.first
	owner := make([]int32, groups[len(groups)-1].slots.last-base) // group of each slot
	all := make([]scored, 0, len(owner))
	for i, g := range groups {
		for slot := g.slots.first; slot < g.slots.last; slot++ {
			owner[slot-base] = int32(i)
			all = append(all, scored{key: scoreKey(e.detections[e.slots[slot]].Score), slot: int32(slot)})
		}
	}
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.slot, b.slot))
	})
	unranked := slices.Clone(e.slots[base : base+len(owner)])
	kept := make([]int32, len(groups))
	c.byScore = all[:0]
	for _, s := range all {
		i := owner[int(s.slot)-base]
		if kept[i] == limit {
			continue
		}
		slot := int32(groups[i].slots.first) + kept[i]
		e.slots[slot] = unranked[int(s.slot)-base]
		c.byScore = append(c.byScore, scored{slot: slot, rank: kept[i]})
		kept[i]++
	}
	for i := range groups {
		groups[i].slots.last = groups[i].slots.first + int(kept[i])
	}
}

// scoreKey maps scores to numbers that sort the other way round. The two zeros are
// equal, and NaN comes last, as in numpy.argsort(-scores).
func scoreKey(score float64) uint64 {
	if score != score {
		return math.MaxUint64
	}
	bits := math.Float64bits(score + 0) // -0 + 0 = +0
	if bits>>63 == 1 {
		return bits
	}
	return ^bits &^ (1 << 63)
}
