package accuracy

import (
	"fmt"
	"slices"
)

// every stands for all thresholds or all categories in a mean.
const every = -1

// A summary computes means over parts of the curves.
type summary struct {
	*curves
	p      DetectionParams
	values []float64 // scratch
}

// summarise computes every number of a result.
func summarise(c *curves, p DetectionParams) *DetectionResult {
	s := &summary{curves: c, p: p}
	r := &DetectionResult{Params: p}
	for i, stat := range cocoStats {
		r.Stats[i] = s.stat(stat)
	}
	last := len(p.MaxDets) - 1
	for t := range p.IoUThresholds {
		r.APPerIoU = append(r.APPerIoU, s.meanPrecision(t, every, 0, last))
	}
	for k := range c.categories {
		id := int64(-1)
		if !p.ClassAgnostic {
			id = p.CategoryIDs[k]
		}
		r.Categories = append(r.Categories, s.category(id, k))
	}
	return r
}

// category computes the numbers of one category. Its AP and AR are those of the first area range.
func (s *summary) category(id int64, k int) CategoryResult {
	last := len(s.p.MaxDets) - 1
	r := CategoryResult{
		CategoryID: id,
		AP:         s.meanPrecision(every, k, 0, last),
		AP50:       s.meanPrecision(s.threshold(0.5), k, 0, last),
		AP75:       s.meanPrecision(s.threshold(0.75), k, 0, last),
		APSmall:    s.meanPrecision(every, k, s.area("small"), last),
		APMedium:   s.meanPrecision(every, k, s.area("medium"), last),
		APLarge:    s.meanPrecision(every, k, s.area("large"), last),
	}
	for m := range s.p.MaxDets {
		r.AR = append(r.AR, s.meanRecall(k, 0, m))
	}
	return r
}

// A cocoStat says what one of the twelve numbers is the mean of.
type cocoStat struct {
	recall  bool
	iou     float64 // 0 for all thresholds
	area    string
	maxDets int // position in MaxDets, or fixed100
}

// fixed100 marks the first number, which asks for 100 detections whatever MaxDets is.
const fixed100 = -1

// cocoStats lists the numbers in COCO's order (pycocotools, _summarizeDets).
var cocoStats = [statCount]cocoStat{
	ap:       {area: "all", maxDets: fixed100},
	ap50:     {area: "all", maxDets: 2, iou: 0.5},
	ap75:     {area: "all", maxDets: 2, iou: 0.75},
	apSmall:  {area: "small", maxDets: 2},
	apMedium: {area: "medium", maxDets: 2},
	apLarge:  {area: "large", maxDets: 2},
	arMax1:   {area: "all", maxDets: 0, recall: true},
	arMax10:  {area: "all", maxDets: 1, recall: true},
	arMax100: {area: "all", maxDets: 2, recall: true},
	arSmall:  {area: "small", maxDets: 2, recall: true},
	arMedium: {area: "medium", maxDets: 2, recall: true},
	arLarge:  {area: "large", maxDets: 2, recall: true},
}

// maxDetsOf returns how many detections a number asks for.
func (c cocoStat) maxDetsOf(p *DetectionParams) int {
	if c.maxDets == fixed100 {
		return 100
	}
	return p.MaxDets[c.maxDets]
}

func (s *summary) stat(c cocoStat) float64 {
	m := slices.Index(s.p.MaxDets, c.maxDetsOf(&s.p))
	if c.recall {
		return s.meanRecall(every, s.area(c.area), m)
	}
	t := every
	if c.iou != 0 {
		t = s.threshold(c.iou)
	}
	return s.meanPrecision(t, every, s.area(c.area), m)
}

// missing stands for a threshold that is not among the parameters.
const missing = -2

func (s *summary) threshold(iou float64) int {
	if t := slices.Index(s.p.IoUThresholds, iou); t >= 0 {
		return t
	}
	return missing
}

// area returns the position of an area range, negative if there is none.
func (s *summary) area(label string) int {
	return slices.IndexFunc(s.p.AreaRanges, func(a AreaRange) bool { return a.Label == label })
}

// part returns the range of indices that i stands for.
func part(i, n int) (first, last int) {
	switch i {
	case every:
		return 0, n
	case missing:
		return 0, 0
	}
	return i, i + 1
}

// meanPrecision returns the mean over threshold t, or all, category k, or all, and
// all recall thresholds. Undefined values do not count; without any it is -1. The
// order of summation is that of the array in pycocotools, so that not a bit differs.
func (s *summary) meanPrecision(t, k, a, m int) float64 {
	if a < 0 || m < 0 {
		return -1
	}
	s.values = s.values[:0]
	firstT, lastT := part(t, s.thresholds)
	firstK, lastK := part(k, s.categories)
	for t := firstT; t < lastT; t++ {
		for r := range s.recalls {
			for k := firstK; k < lastK; k++ {
				s.add(s.Precision(t, r, k, a, m))
			}
		}
	}
	return s.mean()
}

// meanRecall returns the mean over all thresholds and category k, or all.
func (s *summary) meanRecall(k, a, m int) float64 {
	if a < 0 || m < 0 {
		return -1
	}
	s.values = s.values[:0]
	firstK, lastK := part(k, s.categories)
	for t := range s.thresholds {
		for k := firstK; k < lastK; k++ {
			s.add(s.Recall(t, k, a, m))
		}
	}
	return s.mean()
}

func (s *summary) add(v float64) {
	if v > -1 {
		s.values = append(s.values, v)
	}
}

func (s *summary) mean() float64 {
	if len(s.values) == 0 {
		return -1
	}
	return mean(s.values)
}

// Lines returns the twelve lines that pycocotools' summarize prints.
func (r *DetectionResult) Lines() []string {
	lines := make([]string, 0, statCount)
	for i, c := range cocoStats {
		title, kind := "Average Precision", "(AP)"
		if c.recall {
			title, kind = "Average Recall", "(AR)"
		}
		iou := fmt.Sprintf("%.2f", c.iou)
		if c.iou == 0 {
			thresholds := r.Params.IoUThresholds
			iou = fmt.Sprintf("%.2f:%.2f", thresholds[0], thresholds[len(thresholds)-1])
		}
		lines = append(lines, fmt.Sprintf(" %-18s %s @[ IoU=%-9s | area=%6s | maxDets=%3d ] = %.3f",
			title, kind, iou, c.area, c.maxDetsOf(&r.Params), r.Stats[i]))
	}
	return lines
}
