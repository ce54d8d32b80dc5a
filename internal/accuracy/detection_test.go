package accuracy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// cocoGolden is what pycocotools computes (testdata/make_coco.py).
type cocoGolden struct {
	Parameters struct {
		IoU     []float64    `json:"iou_thresholds"`
		Recall  []float64    `json:"recall_thresholds"`
		Areas   [][2]float64 `json:"area_ranges"`
		Labels  []string     `json:"area_labels"`
		MaxDets []int        `json:"max_dets"`
	}
	IoUs []struct {
		Detections [][4]float64 `json:"dt"`
		Truths     [][4]float64 `json:"gt"`
		Crowd      []int        `json:"iscrowd"`
		IoUs       [][]float64  `json:"iou_dt_by_gt"`
	}
	Cases []struct {
		Name        string
		ImageIDs    []int64         `json:"img_ids"`
		GroundTruth json.RawMessage `json:"ground_truth"`
		Detections  []struct {
			ImageID    int64         `json:"image_id"`
			CategoryID int64         `json:"category_id"`
			Box        [4]jsonNumber `json:"bbox"`
			Score      jsonNumber
		}
		Expected struct {
			Stats   []float64
			Classes map[string]float64
		}
	}
}

func box[N ~float64](b [4]N) Box {
	return Box{float64(b[0]), float64(b[1]), float64(b[2]), float64(b[3])}
}

func TestDetectionAgreesWithPycocotools(t *testing.T) {
	g := golden[cocoGolden](t, "coco.json.gz")
	for _, c := range g.Cases {
		t.Run(c.Name, func(t *testing.T) {
			gt := must(ReadCOCO(text(string(c.GroundTruth))))
			if c.ImageIDs == nil {
				for _, image := range gt.Images {
					c.ImageIDs = append(c.ImageIDs, image.ID)
				}
			}
			var detections []detection
			for _, d := range c.Detections {
				detections = append(detections, detection{d.ImageID, d.CategoryID, box(d.Box), float64(d.Score)})
			}
			e := evaluate(gt, c.ImageIDs, detections)
			var stats []float64
			for _, s := range e.cocoStats() {
				stats = append(stats, s.value)
			}
			if d := cmp.Diff(c.Expected.Stats, stats, exact...); d != "" {
				t.Errorf("stats (-want +got):\n%s", d)
			}
			classes := map[string]float64{}
			for k := range e.classes {
				e.classes[k].Name = "" // so that the number is the name
			}
			for _, class := range e.byClass().List {
				classes[class.Name] = class.Value / 100
			}
			if d := cmp.Diff(c.Expected.Classes, classes, near...); d != "" {
				t.Errorf("classes (-want +got):\n%s", d)
			}
		})
	}
	for i, c := range g.IoUs {
		for d, row := range c.IoUs {
			for k, want := range row {
				if got := boxIoU(box(c.Detections[d]), box(c.Truths[k]), c.Crowd[k] == 1); got != want {
					t.Errorf("case %d: boxIoU(%v, %v, %d) = %v, want %v", i, c.Detections[d], c.Truths[k], c.Crowd[k], got, want)
				}
			}
		}
	}
	// Without a tolerance: a threshold that is off by a bit turns a match at exactly 0.9 into a miss.
	p := g.Parameters
	if d := cmp.Diff([]any{p.IoU, p.Recall, p.MaxDets}, []any{iouThresholds, recallThresholds, maxDetections[:]}); d != "" {
		t.Errorf("parameters (-want +got):\n%s", d)
	}
	for i, a := range areaRanges {
		if a.label != p.Labels[i] || a.min != p.Areas[i][0] || a.max != p.Areas[i][1] {
			t.Errorf("area range %d = %v, want %s %v", i, a, p.Labels[i], p.Areas[i])
		}
	}
}

// TestReadDetectionsAgreesWithTheOfficialScripts compares the boxes that the scripts give to pycocotools.
func TestReadDetectionsAgreesWithTheOfficialScripts(t *testing.T) {
	g := golden[struct {
		Annotations json.RawMessage
		AccuracyLog json.RawMessage `json:"accuracy_log"`
		Results     map[string]struct {
			Detections []struct {
				Box        [4]float64 `json:"bbox"`
				CategoryID int64      `json:"category_id"`
				ImageID    int64      `json:"image_id"`
				Score      float64
			}
			ImageIDs []int64 `json:"image_ids"`
		}
	}](t, "log_to_detections.json.gz")
	gt := must(ReadCOCO(text(string(g.Annotations))))
	for name, want := range g.Results {
		t.Run(name, func(t *testing.T) {
			got := must(readDetections(text(string(g.AccuracyLog)), gt, DetectionOptions{InverseMap: strings.HasSuffix(name, "use_inv_map")}))
			var detections []detection
			for _, d := range want.Detections {
				detections = append(detections, detection{d.ImageID, d.CategoryID, box(d.Box), d.Score})
			}
			if d := cmp.Diff(detections, got.detections, cmp.AllowUnexported(detection{})); d != "" {
				t.Errorf("detections (-want +got):\n%s", d)
			}
			if d := cmp.Diff(want.ImageIDs, slices.Sorted(slices.Values(got.imageIDs))); d != "" {
				t.Errorf("image ids (-want +got):\n%s", d)
			}
		})
	}
}

func smallTruth() *GroundTruth {
	return &GroundTruth{
		Images:     []Image{{ID: 10, Width: 100, Height: 50}, {ID: 20, Width: 100, Height: 100}, {ID: 30, Width: 10, Height: 10}},
		Categories: []Category{{ID: 7, Name: "dog"}, {ID: 3}},
		Annotations: []Annotation{
			{ID: 1, ImageID: 10, CategoryID: 7, Box: Box{10, 10, 40, 20}, Area: 800},
			{ID: 2, ImageID: 30, CategoryID: 3, Box: Box{1, 1, 5, 5}, Area: 25},
		},
	}
}

func TestInverseMapIsAPythonList(t *testing.T) {
	// Labels 0, 1, 2, then -1 and -3 from the end of [0, 7, 3], in the order of the file.
	var payload []byte
	for _, label := range []float32{0, 1, 2, -1, -3, 1.9, -0.9} {
		payload = append(payload, floats(0, 0, 0, 1, 1, 0.5, label)...)
	}
	var ids []int64
	for _, d := range must(readDetections(logOf(payload), smallTruth(), DetectionOptions{InverseMap: true})).detections {
		ids = append(ids, d.categoryID)
	}
	if d := cmp.Diff([]int64{0, 7, 3, 3, 0, 7, 0}, ids); d != "" {
		t.Errorf("category ids (-want +got):\n%s", d)
	}
}

func TestMinScore(t *testing.T) {
	// The box with the low score is right, the other one wrong.
	payload := append(floats(0, 0.2, 0.1, 0.6, 0.5, 0.25, 7), floats(0, 0, 0, 0.1, 0.1, 0.3, 7)...)
	for least, want := range map[float64]float64{0: 25, 0.25: 25, 0.26: 0, 0.3: 0} { // one of two right, behind the wrong one; of one of two categories
		got := must(ScoreDetections(logOf(payload), &GroundTruth{Images: smallTruth().Images, Categories: smallTruth().Categories[:1], Annotations: smallTruth().Annotations[:1]}, DetectionOptions{MinScore: least}))
		if v, _ := got.Lookup("mAP"); v.Value != 2*want {
			t.Errorf("mAP of scores from %g on = %g, want %g", least, v.Value, 2*want)
		}
	}
	_, err := ScoreDetections(logOf(payload), smallTruth(), DetectionOptions{MinScore: 0.31})
	wantError(t, err, "no detection with a score of 0.31 or more in 1 records")
}

func TestScoreDetectionsErrors(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name string
		log  Input
		want string
	}{
		{"a sample too many", logOf(nil, nil, nil, nil), "record 3 (qsl_idx 3): the ground truth has only 3 samples"},
		{"a payload of 3 bytes", logOf([]byte{1, 2, 3}), "payload of 3 bytes"},
		{"half a detection", logOf(floats(0, 1, 2, 3, 4, 5, 6, 7)), "record 0 (qsl_idx 0): payload of 8 numbers does not consist of detections of 7"},
		{"a label beyond the categories", logOf(floats(0, 0, 0, 1, 1, 0.5, 3)), "detection 0: label 3: the ground truth has 2 categories"},
		{"a negative label beyond the categories", logOf(floats(0, 0, 0, 1, 1, 0.5, -4)), "label -4"},
		{"a label of NaN", logOf(floats(0, 0, 0, 1, 1, 0.5, nan)), "label: NaN is not a whole number"},
		{"an index of NaN", logOf(floats(nan, 0, 0, 1, 1, 0.5, 1)), "sample index: NaN"},
		{"no record", logOf(), "no detection in 0 records"},
		{"no detection", logOf(floats(0, 1, 2, 3, 4, 5)), "no detection in 1 records"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ScoreDetections(c.log, smallTruth(), DetectionOptions{InverseMap: true})
			wantError(t, err, "test.json: ", c.want)
		})
	}
	_, err := ScoreDetections(logOf(), &GroundTruth{}, DetectionOptions{})
	wantError(t, err, "no image to score")
}

func TestMismatchLinesAreBounded(t *testing.T) {
	row := floats(-0.5, 0.2, 0.1, 0.6, 0.5, 0.5, 7) // int(-0.5) is 0: no mismatch
	payload := append(row, bytes.Repeat(floats(2, 0.2, 0.1, 0.6, 0.5, 0.5, 7), maxMismatchLines+5)...)
	got := must(ScoreDetections(logOf(payload), smallTruth(), DetectionOptions{}))
	if got.Lines[0] != "ERROR: loadgen(0) and payload(2) disagree on image_idx" || len(got.Lines) != maxMismatchLines+13 {
		t.Errorf("%d lines, the first %q", len(got.Lines), got.Lines[0])
	}
	want := []string{"10005 detections name another sample than their record; the record's was taken", "5 of the lines about that are left out"}
	if d := cmp.Diff(want, got.Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
}

func TestScoreDetections(t *testing.T) {
	gt, url := smallTruth(), "http://x/1.jpg"
	gt.Images[1].COCOURL = &url
	gt.Annotations[1].ImageID = 99
	got := must(ScoreDetections(logOf(floats(0, 0.2, 0.1, 0.6, 0.5, 0.5, 7), nil), gt, DetectionOptions{Verbose: true}))
	if got.Lines[0] != "no results: http://x/1.jpg, idx=1" {
		t.Errorf("first line %q", got.Lines[0])
	}
	if len(got.Warnings) != 1 || !testenv.Tells(got.Warnings[0], "1 annotations … images") {
		t.Errorf("warnings %q", got.Warnings)
	}
	if v, _ := got.Lookup("mAP"); math.Abs(v.Value-100) > 1e-9 || v.Unit != "%" || got.Coverage != (Coverage{Samples: 3, Scored: 2}) {
		t.Errorf("mAP = %v, want 100 %%; %+v", v, got.Coverage)
	}
	if d := cmp.Diff(&Classes{Metric: "AP", Unit: "%", Of: "objects", List: []Class{{"dog", 100, 1}}}, got.Classes, near...); d != "" {
		t.Errorf("classes (-want +got):\n%s", d)
	}
}

// A scene is a random data set with detections near the truth, and some that are not.
type scene struct{ images, categories, truths, detections int }

func (s scene) make(seed uint64) (gt *GroundTruth, imageIDs []int64, detections []detection) {
	rng := rand.New(rand.NewPCG(seed, 1))
	gt = &GroundTruth{}
	for i := range s.images {
		gt.Images = append(gt.Images, Image{ID: int64(3*i + 7), FileName: strconv.Itoa(i), Width: 640, Height: 480})
		imageIDs = append(imageIDs, gt.Images[i].ID)
	}
	for i := range s.categories {
		gt.Categories = append(gt.Categories, Category{ID: int64(2*i + 1), Name: strconv.Itoa(i)})
	}
	for i := range s.truths {
		size := math.Exp(1 + 5*rng.Float64())
		b := Box{600 * rng.Float64(), 440 * rng.Float64(), size, size * (0.5 + rng.Float64())}
		gt.Annotations = append(gt.Annotations, Annotation{
			ID: int64(i + 1), ImageID: imageIDs[rng.IntN(s.images)], CategoryID: gt.Categories[rng.IntN(s.categories)].ID,
			Box: b, Area: 0.8 * b.Area(), Crowd: rng.IntN(20) == 0,
		})
	}
	for range s.detections {
		d := detection{imageIDs[rng.IntN(s.images)], gt.Categories[rng.IntN(s.categories)].ID,
			Box{600 * rng.Float64(), 440 * rng.Float64(), 100 * rng.Float64(), 100 * rng.Float64()}, rng.Float64()}
		if rng.IntN(3) > 0 {
			a := gt.Annotations[rng.IntN(len(gt.Annotations))]
			near := func(v float64) float64 { return v + 0.2*rng.NormFloat64()*a.Box.W }
			d = detection{a.ImageID, a.CategoryID, Box{near(a.Box.X), near(a.Box.Y), near(a.Box.W), near(a.Box.H)}, rng.Float64()}
		}
		detections = append(detections, d)
	}
	return gt, imageIDs, detections
}

func TestCOCO80To91(t *testing.T) {
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

// BenchmarkEvaluate has the size that pycocotools 2.0.11 needs 3.07 s for.
func BenchmarkEvaluate(b *testing.B) {
	gt, imageIDs, detections := scene{500, 80, 5000, 40_000}.make(1)
	b.ReportAllocs()
	for b.Loop() {
		evaluate(gt, imageIDs, detections).cocoStats()
	}
}

// BenchmarkScoreDetections is the whole of scoring: reading both files, and evaluating.
func BenchmarkScoreDetections(b *testing.B) {
	gt, _, detections := scene{500, 80, 5000, 40_000}.make(1)
	annotations := formatCOCO(b, gt)
	payloads := make([][]byte, len(gt.Images))
	for _, d := range detections {
		i := (d.imageID - 7) / 3
		x, y, w, h := float32(d.box.X/640), float32(d.box.Y/480), float32(d.box.W/640), float32(d.box.H/480)
		payloads[i] = append(payloads[i], floats(float32(i), y, x, y+h, x+w, float32(d.score), float32(d.categoryID))...)
	}
	log := must(io.ReadAll(logOf(payloads...)))
	b.ReportAllocs()
	for b.Loop() {
		gt := must(ReadCOCO(Named("annotations", bytes.NewReader(annotations))))
		must(ScoreDetections(Named("log", bytes.NewReader(log)), gt, DetectionOptions{}))
	}
}

func ExampleScoreDetections() {
	gt := &GroundTruth{
		Images:     []Image{{ID: 1, FileName: "000001.jpg", Width: 200, Height: 100}},
		Categories: []Category{{ID: 18, Name: "dog"}},
		Annotations: []Annotation{
			{ID: 1, ImageID: 1, CategoryID: 18, Box: Box{X: 20, Y: 10, W: 100, H: 80}, Area: 7000},
			{ID: 2, ImageID: 1, CategoryID: 18, Box: Box{X: 150, Y: 20, W: 40, H: 40}, Area: 1500},
		},
	}
	// Sample, corners from 0 to 1, score, label.
	log := logOf(floats(0, 0.1, 0.1, 0.9, 0.61, 0.9, 18))
	score, err := ScoreDetections(log, gt, DetectionOptions{})
	fmt.Println(score.Lines[12], err)
	// Output: mAP=50.495% <nil>
}
