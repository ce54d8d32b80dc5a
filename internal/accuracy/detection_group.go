package accuracy

import (
	"slices"

	"github.com/mlperf-go/mlperf/internal/workerpool"
)

// A matcher matches the boxes of one group after another. Its fields are memory for that.
type matcher struct {
	*evaluation
	ious     []float64 // [detection][truth]
	hopeless []bool    // detections that reach no threshold with any truth
	ignore   []bool    // by place, the position in the order of trying, as the rest
	taken    []bool
	crowd    []bool
	column   []int
}

// unmatched is the place of no truth.
const unmatched = -1

// match decides the outcome of every detection.
func (e *evaluation) match() {
	e.outcomes = make([]outcome, len(e.slots)*len(e.p.AreaRanges)*len(e.p.IoUThresholds))
	const block = 64
	workerpool.ComputeWith(e.p.Workers, (len(e.groups)+block-1)/block, func() func(int) {
		m := matcher{evaluation: e}
		return func(i int) {
			for g := i * block; g < min((i+1)*block, len(e.groups)); g++ {
				m.matchGroup(g)
			}
		}
	})
}

// matchGroup decides the outcomes of one group.
func (m *matcher) matchGroup(index int) {
	g := m.groups[index]
	m.computeIoUs(g)
	for a, area := range m.p.AreaRanges {
		m.arrange(g, area)
		for t := range m.p.IoUThresholds {
			m.matchThreshold(index, a, t)
		}
	}
}

// matchThreshold gives each detection of a group, from the best score down, the best
// truth that is left.
func (m *matcher) matchThreshold(index, a, t int) {
	g, areas, thresholds := m.groups[index], m.p.AreaRanges, m.p.IoUThresholds
	clear(m.taken)
	for d := range g.slots.len() {
		place := m.best(d, thresholds[t])
		if place != unmatched {
			m.taken[place] = true
		}
		slot := g.slots.first + d
		m.outcomes[(slot*len(areas)+a)*len(thresholds)+t] = m.outcome(g, slot, place, areas[a])
	}
}

// computeIoUs fills in ious and hopeless.
func (m *matcher) computeIoUs(g group) {
	n, k := g.slots.len(), g.truths.len()
	m.ious = slices.Grow(m.ious[:0], n*k)
	m.hopeless = m.hopeless[:0]
	lowest := effectiveThreshold(slices.Min(m.p.IoUThresholds))
	for _, detection := range m.slots[g.slots.first:g.slots.last] {
		box := m.detections[detection].Box
		hopeless := true
		for _, truth := range m.truths[g.truths.first:g.truths.last] {
			a := &m.annotations[truth]
			iou := boxIoU(box, a.Box, a.Crowd)
			m.ious = append(m.ious, iou)
			hopeless = hopeless && iou < lowest
		}
		m.hopeless = append(m.hopeless, hopeless)
	}
}

// effectiveThreshold keeps a threshold of 1 within reach of a perfect box.
func effectiveThreshold(t float64) float64 { return min(t, 1-1e-10) }

// arrange puts the truths in the order in which they are tried for an area range:
// those to ignore, crowds and other sizes, last.
func (m *matcher) arrange(g group, area AreaRange) {
	m.column, m.ignore, m.crowd = m.column[:0], m.ignore[:0], m.crowd[:0]
	truths := m.truths[g.truths.first:g.truths.last]
	for _, ignore := range []bool{false, true} {
		for i, truth := range truths {
			a := &m.annotations[truth]
			if (a.Crowd || a.Area < area.Min || a.Area > area.Max) == ignore {
				m.column = append(m.column, i)
				m.ignore = append(m.ignore, ignore)
				m.crowd = append(m.crowd, a.Crowd)
			}
		}
	}
	m.taken = append(m.taken[:0], m.ignore...)
}

// best returns the place of the truth that detection d takes, or unmatched. It is the
// free one of the greatest IoU, the last of equals; one that is not ignored goes before
// all that are; a crowd is never used up.
func (m *matcher) best(d int, threshold float64) int {
	place := unmatched
	if m.hopeless[d] {
		return place
	}
	ious := m.ious[d*len(m.column) : (d+1)*len(m.column)]
	iou := effectiveThreshold(threshold)
	for i, column := range m.column {
		if m.taken[i] && !m.crowd[i] {
			continue
		}
		if place != unmatched && !m.ignore[place] && m.ignore[i] {
			break
		}
		if ious[column] < iou {
			continue
		}
		iou = ious[column]
		place = i
	}
	return place
}

// outcome judges a detection by what it matched. An annotation of id 0 counts as no
// match, because pycocotools stores ids and takes 0 for none.
func (m *matcher) outcome(g group, slot, place int, area AreaRange) outcome {
	if place != unmatched {
		if m.ignore[place] {
			return ignored
		}
		if m.annotations[m.truths[g.truths.first+m.column[place]]].ID != 0 {
			return truePositive
		}
	}
	if size := m.detections[m.slots[slot]].Box.Area(); size < area.Min || size > area.Max {
		return ignored
	}
	return falsePositive
}
