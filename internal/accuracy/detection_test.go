package accuracy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// evaluateDetections evaluates boxes as a log of detections is scored.
func evaluateDetections(gt *GroundTruth, detections []Detection, params DetectionParams) (*DetectionResult, error) {
	e, err := matched(gt, detections, params)
	if err != nil {
		return nil, err
	}
	return summarise(e.accumulate(), e.p), nil
}

// A scene is a random data set with detections near the truth, and some that are not.
type scene struct{ images, categories, truths, detections int }

func (s scene) make(seed uint64) (*GroundTruth, []Detection) {
	rng := rand.New(rand.NewPCG(seed, 1))
	gt := &GroundTruth{}
	for i := range s.images {
		gt.Images = append(gt.Images, Image{ID: int64(3*i + 7), FileName: fmt.Sprint(i), Width: 640, Height: 480})
	}
	for i := range s.categories {
		gt.Categories = append(gt.Categories, Category{ID: int64(2*i + 1), Name: fmt.Sprint(i)})
	}
	for i := range s.truths {
		size := math.Exp(1 + 5*rng.Float64())
		b := Box{600 * rng.Float64(), 440 * rng.Float64(), size, size * (0.5 + rng.Float64())}
		gt.Annotations = append(gt.Annotations, Annotation{
			ID: int64(i + 1), ImageID: gt.Images[rng.IntN(s.images)].ID, CategoryID: gt.Categories[rng.IntN(s.categories)].ID,
			Box: b, Area: 0.8 * b.Area(), Crowd: rng.IntN(20) == 0,
		})
	}
	var detections []Detection
	for range s.detections {
		d := Detection{
			ImageID: gt.Images[rng.IntN(s.images)].ID, CategoryID: gt.Categories[rng.IntN(s.categories)].ID,
			Box: Box{600 * rng.Float64(), 440 * rng.Float64(), 100 * rng.Float64(), 100 * rng.Float64()}, Score: rng.Float64(),
		}
		if len(gt.Annotations) > 0 && rng.IntN(3) > 0 {
			a := gt.Annotations[rng.IntN(len(gt.Annotations))]
			near := func(v float64) float64 { return v + 0.2*rng.NormFloat64()*a.Box.W }
			d = Detection{a.ImageID, a.CategoryID, Box{near(a.Box.X), near(a.Box.Y), near(a.Box.W), near(a.Box.H)}, rng.Float64()}
		}
		detections = append(detections, d)
	}
	return gt, detections
}

func evaluate(t *testing.T, gt *GroundTruth, detections []Detection, p DetectionParams) *DetectionResult {
	t.Helper()
	r, err := evaluateDetections(gt, detections, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// perfect returns each object that is no crowd as a detection.
func perfect(gt *GroundTruth) []Detection {
	var detections []Detection
	for i, a := range gt.Annotations {
		if !a.Crowd {
			detections = append(detections, Detection{a.ImageID, a.CategoryID, a.Box, 1 / float64(i+1)})
		}
	}
	return detections
}

func TestPerfectDetectionsHaveAPOne(t *testing.T) {
	gt, _ := scene{20, 5, 200, 0}.make(1)
	r := evaluate(t, gt, perfect(gt), DetectionParams{})
	for i, v := range r.Stats {
		if i != arMax1 && i != arMax10 && math.Abs(v-1) > 1e-9 {
			t.Errorf("%s = %v, want 1", statNames[i], v)
		}
	}
}

func TestOrderOfInputsHasNoEffectWithoutTies(t *testing.T) {
	gt, detections := scene{10, 4, 80, 400}.make(2)
	want := evaluate(t, gt, detections, DetectionParams{})
	rng := rand.New(rand.NewPCG(3, 1))
	shuffled := &GroundTruth{slices.Clone(gt.Images), slices.Clone(gt.Categories), gt.Annotations}
	rng.Shuffle(len(shuffled.Images), func(i, j int) {
		shuffled.Images[i], shuffled.Images[j] = shuffled.Images[j], shuffled.Images[i]
	})
	rng.Shuffle(len(shuffled.Categories), func(i, j int) {
		shuffled.Categories[i], shuffled.Categories[j] = shuffled.Categories[j], shuffled.Categories[i]
	})
	rng.Shuffle(len(detections), func(i, j int) { detections[i], detections[j] = detections[j], detections[i] })
	got := evaluate(t, shuffled, detections, DetectionParams{})
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("result after shuffling (-want +got):\n%s", d)
	}
}

func TestIdsOfImagesHaveNoEffectWithoutTies(t *testing.T) {
	gt, detections := scene{10, 4, 80, 400}.make(4)
	want := evaluate(t, gt, detections, DetectionParams{})
	renumber := func(id int64) int64 { return 1_000_000_007 - 5*id }
	for i := range gt.Images {
		gt.Images[i].ID = renumber(gt.Images[i].ID)
	}
	for i := range gt.Annotations {
		gt.Annotations[i].ImageID = renumber(gt.Annotations[i].ImageID)
	}
	for i := range detections {
		detections[i].ImageID = renumber(detections[i].ImageID)
	}
	got := evaluate(t, gt, detections, DetectionParams{})
	if d := cmp.Diff(want.Stats, got.Stats); d != "" {
		t.Errorf("stats after renumbering the images (-want +got):\n%s", d)
	}
}

func TestScoresMatterOnlyByTheirOrder(t *testing.T) {
	gt, detections := scene{10, 4, 80, 400}.make(5)
	want := evaluate(t, gt, detections, DetectionParams{})
	for i := range detections {
		detections[i].Score = math.Exp(3*detections[i].Score) - 100
	}
	got := evaluate(t, gt, detections, DetectionParams{})
	if d := cmp.Diff(want.Stats, got.Stats); d != "" {
		t.Errorf("stats after a monotone change of scores (-want +got):\n%s", d)
	}
}

func TestNumberOfWorkersHasNoEffect(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	gt, detections := scene{150, 2, 300, 1500}.make(6)
	for _, agnostic := range []bool{false, true} {
		p := DetectionParams{ClassAgnostic: agnostic, Workers: 1}
		want := evaluate(t, gt, detections, p)
		p.Workers = 4
		got := evaluate(t, gt, detections, p)
		got.Params.Workers = 1
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("result with 4 workers (-with 1 +with 4):\n%s", d)
		}
	}
}

func TestInputsAreNotChanged(t *testing.T) {
	gt, detections := scene{10, 4, 80, 400}.make(7)
	ids, max := []int64{gt.Images[3].ID, gt.Images[1].ID}, []int{100, 1, 10}
	before := slices.Clone(detections)
	evaluate(t, gt, detections, DetectionParams{ImageIDs: ids, MaxDets: max})
	if d := cmp.Diff(before, detections); d != "" || ids[0] < ids[1] || max[0] != 100 {
		t.Errorf("ids %v, max dets %v, detections (-before +after):\n%s", ids, max, d)
	}
}

func TestNaNScoresComeLast(t *testing.T) {
	gt := &GroundTruth{
		Images: []Image{{ID: 1, Width: 9, Height: 9}}, Categories: []Category{{ID: 1}},
		Annotations: []Annotation{{ID: 1, ImageID: 1, CategoryID: 1, Box: Box{0, 0, 5, 5}, Area: 25}},
	}
	hit := Detection{1, 1, Box{0, 0, 5, 5}, math.Inf(-1)}
	miss := Detection{1, 1, Box{5, 5, 4, 4}, math.NaN()}
	if r := evaluate(t, gt, []Detection{miss, hit}, DetectionParams{}); math.Abs(r.Stats[ap]-1) > 1e-9 {
		t.Errorf("AP = %v, want 1: a score of NaN must rank below -Inf", r.Stats[ap])
	}
}

func TestScoreKeysSortLikeNumPy(t *testing.T) {
	order := []float64{math.Inf(1), math.MaxFloat64, 1, math.SmallestNonzeroFloat64, 0, -math.SmallestNonzeroFloat64, -1, math.Inf(-1), math.NaN()}
	for i := 1; i < len(order); i++ {
		if scoreKey(order[i-1]) >= scoreKey(order[i]) {
			t.Errorf("scoreKey(%v) = %x, not below scoreKey(%v) = %x", order[i-1], scoreKey(order[i-1]), order[i], scoreKey(order[i]))
		}
	}
	if scoreKey(0) != scoreKey(math.Copysign(0, -1)) {
		t.Error("the two zeros have different keys")
	}
}

func TestEvaluateDetectionsRefusesWhatItCannotEvaluate(t *testing.T) {
	gt, _ := scene{2, 2, 2, 0}.make(8)
	for _, c := range []struct {
		name       string
		detections []Detection
		params     DetectionParams
		want       string
	}{
		{"an unknown image", []Detection{{ImageID: 7, CategoryID: 1}, {ImageID: 8, CategoryID: 1}}, DetectionParams{}, "detection 1: image id 8"},
		{"two max dets", nil, DetectionParams{MaxDets: []int{1, 10}}, "at least three"},
		{"max dets of 0", nil, DetectionParams{MaxDets: []int{0, 1, 10}}, "at least three numbers from 1"},
		{"no IoU threshold", nil, DetectionParams{IoUThresholds: []float64{}}, "at least one IoU threshold"},
		{"a category twice without classes", nil, DetectionParams{CategoryIDs: []int64{1, 1}, ClassAgnostic: true}, "given twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := evaluateDetections(gt, c.detections, c.params)
			wantError(t, err, "evaluating detections", c.want)
		})
	}
}

func TestNothingToEvaluateIsUndefined(t *testing.T) {
	gt, detections := scene{5, 2, 20, 50}.make(9)
	for name, p := range map[string]DetectionParams{
		"no images":                    {ImageIDs: []int64{}},
		"no categories":                {CategoryIDs: []int64{}},
		"no categories, no classes":    {CategoryIDs: []int64{}, ClassAgnostic: true},
		"categories that do not exist": {CategoryIDs: []int64{99}},
	} {
		r := evaluate(t, gt, detections, p)
		for i, v := range r.Stats {
			if v != -1 {
				t.Errorf("%s: %s = %v, want -1", name, statNames[i], v)
			}
		}
	}
}

func TestLabelsOfCOCOAreItsIdsWithoutTheUnusedOnes(t *testing.T) {
	unused := []int{12, 26, 29, 30, 45, 66, 68, 69, 71, 83}
	want := 0
	for label := 1; label <= 80; label++ {
		for want++; slices.Contains(unused, want); want++ {
		}
		if id, ok := COCO80To91(label); !ok || id != want {
			t.Errorf("COCO80To91(%d) = %d, %v, want %d", label, id, ok, want)
		}
	}
	for _, label := range []int{0, 81, -1} {
		if id, ok := COCO80To91(label); ok {
			t.Errorf("COCO80To91(%d) = %d, want none", label, id)
		}
	}
}

// BenchmarkEvaluateDetections has the size that pycocotools 2.0.11 needs 3.07 s for.
func BenchmarkEvaluateDetections(b *testing.B) {
	for _, c := range []struct {
		name     string
		scene    scene
		agnostic bool
	}{
		{"500 images 80 categories 40k detections", scene{500, 80, 5000, 40_000}, false},
		{"class-agnostic", scene{500, 80, 5000, 40_000}, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			gt, detections := c.scene.make(1)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := evaluateDetections(gt, detections, DetectionParams{ClassAgnostic: c.agnostic}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func Example_detections() {
	gt := &GroundTruth{
		Images:     []Image{{ID: 1, FileName: "000001.jpg", Width: 640, Height: 480}},
		Categories: []Category{{ID: 18, Name: "dog"}},
		Annotations: []Annotation{
			{ID: 1, ImageID: 1, CategoryID: 18, Box: Box{X: 10, Y: 10, W: 100, H: 100}, Area: 7000},
			{ID: 2, ImageID: 1, CategoryID: 18, Box: Box{X: 300, Y: 200, W: 50, H: 50}, Area: 1800},
		},
	}
	r, _ := evaluateDetections(gt, []Detection{{ImageID: 1, CategoryID: 18, Box: Box{X: 12, Y: 10, W: 100, H: 100}, Score: 0.9}}, DetectionParams{})
	fmt.Printf("mAP %.3f\n%s\n", r.Stats[ap], r.Lines()[0])
	// Output:
	// mAP 0.505
	//  Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.505
}
