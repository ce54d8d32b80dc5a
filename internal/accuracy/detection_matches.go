package accuracy

// ImageMatches says which detections and annotations of one class in one image matched,
// in the first area range. It answers why an AP is low. The numbering is that of
// pycocotools: detections count from 1 in the order of the input, 0 is no match.
type ImageMatches struct {
	ImageID         int64
	CategoryID      int64     // -1 if class-agnostic
	DetectionIDs    []int64   // best score first, at most the last of MaxDets
	AnnotationIDs   []int64   // ignored ones last
	Scores          []float64 // of DetectionIDs
	Ignore          []bool    // whether an annotation is not asked for
	OfDetection     [][]int64 // [threshold][detection] matched annotation
	OfAnnotation    [][]int64 // [threshold][annotation] last detection that matched
	IgnoreDetection [][]bool  // [threshold][detection] whether it is neither right nor wrong
}

// recorder returns a function that stores the matches of a group, nil if nobody asked
// for those of this area range.
func (m *matcher) recorder(index, area, threshold int) func(d, place int) {
	if m.matches == nil || area != 0 {
		return nil
	}
	g, r := m.groups[index], &m.matches[index]
	if threshold == 0 {
		*r = m.newMatches(g)
	}
	r.OfDetection = append(r.OfDetection, make([]int64, len(r.DetectionIDs)))
	r.OfAnnotation = append(r.OfAnnotation, make([]int64, len(r.AnnotationIDs)))
	r.IgnoreDetection = append(r.IgnoreDetection, make([]bool, len(r.DetectionIDs)))
	return func(d, place int) {
		if place != unmatched {
			r.OfDetection[threshold][d] = r.AnnotationIDs[place]
			r.OfAnnotation[threshold][place] = r.DetectionIDs[d]
		}
		slot := g.slots.first + d
		r.IgnoreDetection[threshold][d] = m.outcome(g, slot, place, m.p.AreaRanges[0]) == ignored
	}
}

func (m *matcher) newMatches(g group) ImageMatches {
	r := ImageMatches{ImageID: m.p.ImageIDs[g.image], CategoryID: -1}
	if !m.p.ClassAgnostic {
		r.CategoryID = m.p.CategoryIDs[g.class]
	}
	for _, d := range m.slots[g.slots.first:g.slots.last] {
		r.DetectionIDs = append(r.DetectionIDs, int64(d)+1)
		r.Scores = append(r.Scores, m.detections[d].Score)
	}
	for i, column := range m.column {
		r.AnnotationIDs = append(r.AnnotationIDs, m.annotations[m.truths[g.truths.first+column]].ID)
		r.Ignore = append(r.Ignore, m.ignore[i])
	}
	return r
}
