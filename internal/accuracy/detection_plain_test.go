package accuracy

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// plainCOCO is COCOeval of pycocotools, written down function by function without a thought of speed: lists for each
// image, category and area, and every threshold by itself.
type plainCOCO struct {
	gt         *GroundTruth
	detections []Detection
	p          DetectionParams
}

// A plainImage is what evaluateImg returns.
type plainImage struct {
	scores            []float64
	matched, ignoredD [][]bool // by threshold
	wanted            int
}

// of returns the objects or detections of an image in a category, or in all of them, category by category.
func plainOf[T any](p DetectionParams, all []T, ids func(T) (image, category int64), image int64, category int) (list []T) {
	categories := p.CategoryIDs
	if !p.ClassAgnostic {
		categories = categories[category : category+1]
	}
	for _, id := range categories {
		for _, v := range all {
			if i, c := ids(v); i == image && c == id {
				list = append(list, v)
			}
		}
	}
	return list
}

// plainMatch is the object that a detection is taken for; -1: none.
func plainMatch(d Detection, truths []Annotation, taken []bool, ignore func(Annotation) bool, threshold float64) int {
	best, at := min(threshold, 1-1e-10), -1
	for g, a := range truths {
		if taken[g] && !a.Crowd {
			continue
		}
		if at >= 0 && !ignore(truths[at]) && ignore(a) {
			break
		}
		if v := boxIoU(d.Box, a.Box, a.Crowd); v >= best {
			best, at = v, g
		}
	}
	return at
}

// image is evaluateImg: nil where there is neither an object nor a detection.
func (c *plainCOCO) image(image int64, category int, area AreaRange, most int) *plainImage {
	truths := plainOf(c.p, c.gt.Annotations, func(a Annotation) (int64, int64) { return a.ImageID, a.CategoryID }, image, category)
	found := plainOf(c.p, c.detections, func(d Detection) (int64, int64) { return d.ImageID, d.CategoryID }, image, category)
	if len(truths)+len(found) == 0 {
		return nil
	}
	outside := func(v float64) bool { return v < area.Min || v > area.Max }
	ignore := func(a Annotation) bool { return a.Crowd || outside(a.Area) }
	slices.SortStableFunc(truths, func(a, b Annotation) int { // argsort of _ignore
		return cmp.Compare(boolBit(ignore(a)), boolBit(ignore(b)))
	})
	slices.SortStableFunc(found, func(a, b Detection) int { return cmp.Compare(b.Score, a.Score) })
	found = found[:min(len(found), most)]
	r := &plainImage{}
	for _, a := range truths {
		if !ignore(a) {
			r.wanted++
		}
	}
	for _, d := range found {
		r.scores = append(r.scores, d.Score)
	}
	for _, threshold := range c.p.IoUThresholds {
		taken := make([]bool, len(truths))
		var matched, ignored []bool
		for _, d := range found {
			at := plainMatch(d, truths, taken, ignore, threshold)
			// gtm and dtm hold ids, of which 0 stands for none.
			hit := at >= 0 && truths[at].ID != 0
			if at >= 0 {
				taken[at] = true // by the id of the detection, which is from 1
			}
			matched = append(matched, hit)
			ignored = append(ignored, at >= 0 && ignore(truths[at]) || !hit && outside(d.Box.W*d.Box.H))
		}
		r.matched, r.ignoredD = append(r.matched, matched), append(r.ignoredD, ignored)
	}
	return r
}

// curve is accumulate for one category, area, threshold and number of detections: precision at each recall, and the
// recall; nil where there is nothing to be found.
func (c *plainCOCO) curve(category int, area AreaRange, t, most int) (precision []float64, recall float64) {
	type hit struct {
		score            float64
		matched, ignored bool
	}
	var all []hit
	wanted := 0
	for _, id := range c.p.ImageIDs {
		r := c.image(id, category, area, c.p.MaxDets[len(c.p.MaxDets)-1])
		if r == nil {
			continue
		}
		wanted += r.wanted
		for i, score := range r.scores[:min(len(r.scores), most)] {
			all = append(all, hit{score, r.matched[t][i], r.ignoredD[t][i]})
		}
	}
	if wanted == 0 {
		return nil, -1
	}
	slices.SortStableFunc(all, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var recalls, precisions []float64
	tp, fp := 0.0, 0.0
	for _, h := range all {
		switch {
		case h.ignored:
		case h.matched:
			tp++
		default:
			fp++
		}
		recalls = append(recalls, tp/float64(wanted))
		precisions = append(precisions, tp/(fp+tp+math.Nextafter(1, 2)-1))
	}
	for i := len(precisions) - 1; i > 0; i-- {
		precisions[i-1] = max(precisions[i-1], precisions[i])
	}
	for _, at := range c.p.RecallThresholds {
		v := 0.0
		if i, _ := slices.BinarySearch(recalls, at); i < len(precisions) {
			v = precisions[i]
		}
		precision = append(precision, v)
	}
	if len(recalls) > 0 {
		recall = recalls[len(recalls)-1]
	}
	return precision, recall
}

// stat is one number of _summarizeDets: a mean of what is not -1.
func (c *plainCOCO) stat(ofRecall bool, iou float64, area string, most int) float64 {
	sum, n := 0.0, 0
	for _, a := range c.p.AreaRanges {
		if a.Label != area || !slices.Contains(c.p.MaxDets, most) {
			continue
		}
		for t, threshold := range c.p.IoUThresholds {
			if iou != 0 && threshold != iou {
				continue
			}
			categories := len(c.p.CategoryIDs)
			if c.p.ClassAgnostic {
				categories = 1
			}
			for k := range categories {
				precision, recall := c.curve(k, a, t, most)
				if ofRecall && recall > -1 {
					precision = []float64{recall}
				}
				for _, v := range precision {
					sum, n = sum+v, n+1
				}
			}
		}
	}
	if n == 0 {
		return -1
	}
	return sum / float64(n)
}

func (c *plainCOCO) stats() []float64 {
	m := c.p.MaxDets
	return []float64{
		c.stat(false, 0, "all", 100), c.stat(false, 0.5, "all", m[2]), c.stat(false, 0.75, "all", m[2]),
		c.stat(false, 0, "small", m[2]), c.stat(false, 0, "medium", m[2]), c.stat(false, 0, "large", m[2]),
		c.stat(true, 0, "all", m[0]), c.stat(true, 0, "all", m[1]), c.stat(true, 0, "all", m[2]),
		c.stat(true, 0, "small", m[2]), c.stat(true, 0, "medium", m[2]), c.stat(true, 0, "large", m[2]),
	}
}

// coarse moves boxes and scores of a scene onto few values, so that many overlaps and scores are equal.
func coarse(gt *GroundTruth, detections []Detection) {
	round := func(v float64) float64 { return 16 * math.Round(v/16) }
	for i := range gt.Annotations {
		a := &gt.Annotations[i]
		a.Box = Box{round(a.Box.X), round(a.Box.Y), round(a.Box.W), round(a.Box.H)}
		a.Area = round(a.Area)
	}
	for i := range detections {
		d := &detections[i]
		d.Box, d.Score = Box{round(d.Box.X), round(d.Box.Y), round(d.Box.W), round(d.Box.H)}, math.Round(d.Score*4)/4
	}
}

func TestDetectionIsThatOfAPlainEvaluation(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for n := range 60 {
		gt, detections := scene{1 + r.IntN(6), 1 + r.IntN(3), r.IntN(25), r.IntN(60)}.make(r.Uint64())
		if n%2 == 0 {
			coarse(gt, detections)
		}
		if len(gt.Annotations) > 0 && r.IntN(3) == 0 {
			gt.Annotations[0].ID = 0
		}
		p := DetectionParams{ClassAgnostic: r.IntN(4) == 0}
		if r.IntN(3) == 0 {
			p.MaxDets = []int{1 + r.IntN(3), 4 + r.IntN(3), []int{8, 100}[r.IntN(2)]}
		}
		if r.IntN(4) == 0 {
			p.IoUThresholds, p.RecallThresholds = []float64{0.3, 0.5, 0.75}, []float64{0, 0.1, 1.0 / 3, 0.5, 1}
		}
		if r.IntN(4) == 0 {
			p.ImageIDs = []int64{gt.Images[len(gt.Images)-1].ID, gt.Images[0].ID}
		}
		got := evaluate(t, gt, detections, p)
		want := (&plainCOCO{gt, detections, got.Params}).stats()
		for i, v := range want {
			if math.Abs(v-got.Stats[i]) > 1e-12 {
				t.Errorf("scene %d, %s: %v, want %v (%+v)", n, statNames[i], got.Stats[i], v, p)
			}
		}
	}
}

// Objects that are found twice, boxes that were found beyond the bound, and the like: how a number changes.
func TestWhatAddsToAScoreAndWhatDoesNot(t *testing.T) {
	gt, _ := scene{4, 2, 20, 0}.make(5)
	for i := range gt.Annotations {
		gt.Annotations[i].Crowd = false
	}
	best := perfect(gt)
	all := evaluate(t, gt, best, DetectionParams{}).Stats
	for _, c := range []struct {
		name   string
		change func([]Detection) []Detection
		same   bool
	}{
		{"nothing", func(d []Detection) []Detection { return d }, true},
		{"each again with a lower score", func(d []Detection) []Detection {
			again := slices.Clone(d)
			for i := range again {
				again[i].Score /= 1000
			}
			return append(d, again...)
		}, true},
		{"each again with a higher score: what is wrong then comes behind all that is right", func(d []Detection) []Detection {
			again := slices.Clone(d)
			for i := range again {
				again[i].Score += 5
			}
			return append(d, again...)
		}, true},
		{"one again, before others are found", func(d []Detection) []Detection {
			again := d[0]
			again.Score += 5
			return append(d, again)
		}, false},
		{"one is missing", func(d []Detection) []Detection { return d[1:] }, false},
		{"one is of another category", func(d []Detection) []Detection {
			d[0].CategoryID = 4 - d[0].CategoryID // 1 and 3
			return d
		}, false},
		{"one is of a category that nobody asks for", func(d []Detection) []Detection {
			return append(d, Detection{d[0].ImageID, 99, d[0].Box, 9})
		}, true},
		{"scores are all negative", func(d []Detection) []Detection {
			for i := range d {
				d[i].Score -= 100
			}
			return d
		}, true},
	} {
		got := evaluate(t, gt, c.change(slices.Clone(best)), DetectionParams{}).Stats
		if same := got[ap] == all[ap]; same != c.same {
			t.Errorf("%s: AP %v, of all %v", c.name, got[ap], all[ap])
		}
	}
}

// Numbers of a category are those of an evaluation of it alone.
func TestACategoryScoresAsIfItWereAlone(t *testing.T) {
	gt, detections := scene{5, 4, 60, 200}.make(8)
	all := evaluate(t, gt, detections, DetectionParams{})
	sum, n := 0.0, 0
	for _, c := range all.Categories {
		alone := evaluate(t, gt, detections, DetectionParams{CategoryIDs: []int64{c.CategoryID}})
		if d := gocmp.Diff(alone.Categories[0], c, exact); d != "" {
			t.Errorf("category %d (-alone +among others):\n%s", c.CategoryID, d)
		}
		if alone.Stats[ap] != c.AP || alone.Stats[apSmall] != c.APSmall || alone.Stats[arMax100] != c.AR[2] {
			t.Errorf("category %d: AP %v, alone %v", c.CategoryID, c.AP, alone.Stats[ap])
		}
		sum, n = sum+c.AP, n+1
	}
	if mean := sum / float64(n); math.Abs(mean-all.Stats[ap]) > 1e-12 {
		t.Errorf("the mean over categories is %v, AP %v", mean, all.Stats[ap])
	}
}

func ExampleDetectionResult_Lines() {
	gt := &GroundTruth{
		Images: []Image{{ID: 1, Width: 100, Height: 100}}, Categories: []Category{{ID: 1, Name: "cat"}},
		Annotations: []Annotation{{ID: 1, ImageID: 1, CategoryID: 1, Box: Box{10, 10, 50, 50}, Area: 2500}},
	}
	r, err := evaluateDetections(gt, []Detection{{1, 1, Box{10, 10, 50, 40}, 0.9}}, DetectionParams{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range r.Lines()[:3] {
		fmt.Println(line)
	}
	// Output:
	// Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.700
	//  Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = 1.000
	//  Average Precision  (AP) @[ IoU=0.75      | area=   all | maxDets=100 ] = 1.000
}

func boolBit(b bool) byte {
	if b {
		return 1
	}
	return 0
}
