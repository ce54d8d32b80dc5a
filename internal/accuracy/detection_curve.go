package accuracy

import (
	"github.com/mlperf-go/mlperf/internal/workerpool"
)

// curves holds what an evaluation is summarised from. Undefined values are -1.
// Indices: t of IoUThresholds, r of RecallThresholds, k of Categories, a of
// AreaRanges, m of MaxDets.
type curves struct {
	thresholds, recalls, categories, areas, maxDets int
	precision                                       []float64 // [k][a][m][t][r]
	recall                                          []float64 // [k][a][m][t]
}

// Precision returns the best precision at the recall threshold or beyond, 0 if the
// recall is not reached.
func (c *curves) Precision(t, r, k, a, m int) float64 { return c.precision[c.at(t, r, k, a, m)] }

// Recall returns the recall of all detections.
func (c *curves) Recall(t, k, a, m int) float64 { return c.recall[c.line(t, k, a, m)] }

func (c *curves) line(t, k, a, m int) int {
	return ((k*c.areas+a)*c.maxDets+m)*c.thresholds + t
}

func (c *curves) at(t, r, k, a, m int) int { return c.line(t, k, a, m)*c.recalls + r }

// accumulate counts outcomes from the best score down.
func (e *evaluation) accumulate() *curves {
	p := e.p
	all := &curves{
		thresholds: len(p.IoUThresholds), recalls: len(p.RecallThresholds),
		categories: len(e.classes), areas: len(p.AreaRanges), maxDets: len(p.MaxDets),
	}
	lines := len(e.classes) * len(p.AreaRanges) * len(p.MaxDets) * len(p.IoUThresholds)
	all.recall = filled(lines, -1)
	all.precision = filled(lines*len(p.RecallThresholds), -1)
	workerpool.ComputeWith(p.Workers, len(e.classes), func() func(int) {
		c := newCounter(e, all)
		return c.countClass
	})
	return all
}

func filled(n int, v float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// A counter counts the outcomes of one class after another. Between its methods there
// is one line for each pair of area range and IoU threshold. True positives are a curve's
// only points where the recall grows, and where the precision is higher than at all later
// points up to the next one.
type counter struct {
	*evaluation
	curves   *curves
	hits     [][]float64 // the precision at each true positive of a line, best score first
	wrong    []int       // false positives of each line so far
	detected int         // detections so far
}

func newCounter(e *evaluation, all *curves) *counter {
	lines := len(e.p.AreaRanges) * len(e.p.IoUThresholds)
	return &counter{evaluation: e, curves: all, hits: make([][]float64, lines), wrong: make([]int, lines)}
}

func (c *counter) countClass(k int) {
	wanted := make([]int, len(c.p.AreaRanges))
	for a, area := range c.p.AreaRanges {
		wanted[a] = c.wanted(k, area)
	}
	for m, maxDets := range c.p.MaxDets {
		c.count(k, maxDets)
		for line, hits := range c.hits {
			a, t := line/len(c.p.IoUThresholds), line%len(c.p.IoUThresholds)
			if wanted[a] > 0 {
				c.draw(hits, wanted[a], c.curves.line(t, k, a, m))
			}
		}
	}
}

// wanted returns how many objects of a class there are to be found.
func (e *evaluation) wanted(k int, area AreaRange) int {
	n := 0
	for _, g := range e.groups[e.classes[k].groups.first:e.classes[k].groups.last] {
		n += e.wantedOf(g, area)
	}
	return n
}

// wantedOf is wanted in one image.
func (e *evaluation) wantedOf(g group, area AreaRange) int {
	n := 0
	for _, truth := range e.truths[g.truths.first:g.truths.last] {
		a := &e.annotations[truth]
		if !a.Crowd && a.Area >= area.Min && a.Area <= area.Max {
			n++
		}
	}
	return n
}

// wantedByClass is wanted of all classes at the first area range.
func (e *evaluation) wantedByClass() []int {
	list := make([]int, len(e.classes))
	for k := range list {
		list[k] = e.wanted(k, e.p.AreaRanges[0])
	}
	return list
}

// count goes through a class from the best score down, with the best maxDets detections
// of each image.
func (c *counter) count(k, maxDets int) {
	for line := range c.hits {
		c.hits[line] = c.hits[line][:0]
	}
	clear(c.wrong)
	c.detected = 0
	for _, s := range c.classes[k].byScore {
		if int(s.rank) >= maxDets {
			continue
		}
		c.detected++
		lines := len(c.wrong)
		for line, o := range c.outcomes[int(s.slot)*lines : (int(s.slot)+1)*lines] {
			switch o {
			case falsePositive:
				c.wrong[line]++
			case truePositive:
				c.hits[line] = append(c.hits[line], c.precision(line))
			}
		}
	}
}

// precision returns the precision of a line with one more true positive. The last term,
// numpy.spacing(1), is what pycocotools guards against a division by zero with.
func (c *counter) precision(line int) float64 {
	const spacing = 1.0 / (1 << 52)
	right := float64(len(c.hits[line]) + 1)
	return right / (float64(c.wrong[line]) + right + spacing)
}

// draw writes a line of the curves: for each recall threshold the best precision at the
// first hit that reaches it, or at a later one.
func (c *counter) draw(hits []float64, wanted, line int) {
	recalls := c.p.RecallThresholds
	precision := c.curves.precision[line*len(recalls) : (line+1)*len(recalls)]
	clear(precision)
	c.curves.recall[line] = float64(len(hits)) / float64(wanted)
	for i := len(hits) - 1; i > 0; i-- {
		hits[i-1] = max(hits[i-1], hits[i])
	}
	next := 0
	for r, recall := range recalls {
		if r > 0 && recall < recalls[r-1] {
			next = 0
		}
		for next < len(hits) && float64(next+1)/float64(wanted) < recall {
			next++
		}
		if next == len(hits) {
			if recall > 0 || c.detected == 0 {
				return
			}
			continue // reached before the first hit
		}
		precision[r] = hits[next]
	}
}
