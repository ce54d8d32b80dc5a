package accuracy

import "slices"

// Curves holds what an evaluation is summarised from. Undefined values are -1.
// Indices: t of IoUThresholds, r of RecallThresholds, k of Categories, a of
// AreaRanges, m of MaxDets.
type Curves struct {
	thresholds, recalls, categories, areas, maxDets int
	precision, scores                               []float64 // [k][a][m][t][r]
	recall                                          []float64 // [k][a][m][t]
}

// Shape returns the numbers of t, r, k, a and m.
func (c *Curves) Shape() [5]int {
	return [5]int{c.thresholds, c.recalls, c.categories, c.areas, c.maxDets}
}

// Precision returns the best precision at the recall threshold or beyond, 0 if the
// recall is not reached.
func (c *Curves) Precision(t, r, k, a, m int) float64 { return c.precision[c.at(t, r, k, a, m)] }

// Score returns the score of the detection that reaches the recall threshold, 0 if
// it is not reached.
func (c *Curves) Score(t, r, k, a, m int) float64 { return c.scores[c.at(t, r, k, a, m)] }

// Recall returns the recall of all detections.
func (c *Curves) Recall(t, k, a, m int) float64 { return c.recall[c.line(t, k, a, m)] }

func (c *Curves) line(t, k, a, m int) int {
	return ((k*c.areas+a)*c.maxDets+m)*c.thresholds + t
}

func (c *Curves) at(t, r, k, a, m int) int { return c.line(t, k, a, m)*c.recalls + r }

// accumulate counts outcomes from the best score down and summarises them.
func (e *evaluation) accumulate() *DetectionResult {
	p := e.p
	curves := &Curves{
		thresholds: len(p.IoUThresholds), recalls: len(p.RecallThresholds),
		categories: len(e.classes), areas: len(p.AreaRanges), maxDets: len(p.MaxDets),
	}
	lines := len(e.classes) * len(p.AreaRanges) * len(p.MaxDets) * len(p.IoUThresholds)
	curves.recall = filled(lines, -1)
	curves.precision = filled(lines*len(p.RecallThresholds), -1)
	if p.Curves {
		curves.scores = slices.Clone(curves.precision)
	}
	forEach(p.Workers, len(e.classes), func() func(int) {
		c := newCounter(e, curves)
		return c.countClass
	})
	result := summarise(curves, p)
	result.Matches = e.matches
	if p.Curves {
		result.Curves = curves
	}
	return result
}

func filled(n int, v float64) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// A counter counts the outcomes of one class after another. Between its methods there
// is one line for each pair of area range and IoU threshold.
type counter struct {
	*evaluation
	curves    *Curves
	hits      [][]hit // true positives of each line, best score first
	wrong     []int   // false positives of each line so far
	detected  int     // detections so far
	bestScore float64 // of the first of them
}

// A hit is a true positive: the curve's only points where the recall grows, and where
// the precision is higher than at all later points up to the next hit.
type hit struct{ precision, score float64 }

func newCounter(e *evaluation, curves *Curves) *counter {
	lines := len(e.p.AreaRanges) * len(e.p.IoUThresholds)
	return &counter{evaluation: e, curves: curves, hits: make([][]hit, lines), wrong: make([]int, lines)}
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
func (c *counter) wanted(k int, area AreaRange) int {
	n := 0
	for _, g := range c.groups[c.classes[k].groups.first:c.classes[k].groups.last] {
		for _, truth := range c.truths[g.truths.first:g.truths.last] {
			a := &c.annotations[truth]
			if !a.Crowd && a.Area >= area.Min && a.Area <= area.Max {
				n++
			}
		}
	}
	return n
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
		score := c.detections[c.slots[s.slot]].Score
		if c.detected == 0 {
			c.bestScore = score
		}
		c.detected++
		lines := len(c.wrong)
		for line, o := range c.outcomes[int(s.slot)*lines : (int(s.slot)+1)*lines] {
			switch o {
			case falsePositive:
				c.wrong[line]++
			case truePositive:
				c.hits[line] = append(c.hits[line], hit{c.precision(line), score})
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
func (c *counter) draw(hits []hit, wanted, line int) {
	recalls := c.p.RecallThresholds
	precision := c.curves.precision[line*len(recalls) : (line+1)*len(recalls)]
	clear(precision)
	var scores []float64
	if c.curves.scores != nil {
		scores = c.curves.scores[line*len(recalls) : (line+1)*len(recalls)]
		clear(scores)
	}
	c.curves.recall[line] = float64(len(hits)) / float64(wanted)
	for i := len(hits) - 1; i > 0; i-- {
		hits[i-1].precision = max(hits[i-1].precision, hits[i].precision)
	}
	next := 0
	for r, recall := range recalls {
		if r > 0 && recall < recalls[r-1] {
			next = 0
		}
		for next < len(hits) && float64(next+1)/float64(wanted) < recall {
			next++
		}
		switch {
		case recall <= 0 && c.detected > 0: // reached before the first hit
			if len(hits) > 0 {
				precision[r] = hits[0].precision
			}
			if scores != nil {
				scores[r] = c.bestScore
			}
		case next == len(hits):
			return
		default:
			precision[r] = hits[next].precision
			if scores != nil {
				scores[r] = hits[next].score
			}
		}
	}
}
