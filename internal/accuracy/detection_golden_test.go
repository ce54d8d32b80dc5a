package accuracy

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A cocoCase is one golden evaluation of pycocotools.
type cocoCase struct {
	Name   string
	Params struct {
		ImageIDs    []int64   `json:"img_ids"`
		CategoryIDs []int64   `json:"cat_ids"`
		MaxDets     []int     `json:"max_dets"`
		UseCats     int       `json:"use_cats"`
		IoUs        []float64 `json:"iou_thrs"`
		Recalls     []float64 `json:"rec_thrs"`
		Areas       [][]any   `json:"areas"` // label, min, max
	}
	GroundTruth json.RawMessage `json:"ground_truth"`
	Detections  []struct {
		ImageID    int64     `json:"image_id"`
		CategoryID int64     `json:"category_id"`
		Box        [4]number `json:"bbox"`
		Score      number
	}
	Expected cocoExpected
}

type cocoExpected struct {
	Stats       []float64
	APPerIoU    []float64 `json:"ap_all_per_iou"`
	PerCategory []struct {
		CategoryID int64 `json:"category_id"`
		AP         float64
		AP50       float64
		AP75       float64
		APSmall    float64 `json:"ap_small"`
		APMedium   float64 `json:"ap_medium"`
		APLarge    float64 `json:"ap_large"`
		AR         []float64
	} `json:"per_category"`
	Precision [][][]float64   `json:"precision_all_lastmaxdet_TxKxR"`
	Recall    [][][][]float64 `json:"recall_TxKxAxM"`
}

func (c *cocoCase) params() DetectionParams {
	p := DetectionParams{
		ImageIDs: c.Params.ImageIDs, CategoryIDs: c.Params.CategoryIDs, MaxDets: c.Params.MaxDets,
		IoUThresholds: c.Params.IoUs, RecallThresholds: c.Params.Recalls,
		ClassAgnostic: c.Params.UseCats == 0,
	}
	for _, a := range c.Params.Areas {
		p.AreaRanges = append(p.AreaRanges, AreaRange{a[0].(string), a[1].(float64), a[2].(float64)})
	}
	return p
}

func (c *cocoCase) load(t testing.TB) (*GroundTruth, []Detection) {
	t.Helper()
	gt, err := ReadCOCO(Named(c.Name, bytes.NewReader(c.GroundTruth)))
	if err != nil {
		t.Fatal(err)
	}
	var detections []Detection
	for _, d := range c.Detections {
		detections = append(detections, Detection{d.ImageID, d.CategoryID, box([4]float64(floats(d.Box[:]))), float64(d.Score)})
	}
	return gt, detections
}

func TestDetectionAgreesWithPycocotools(t *testing.T) {
	files, err := os.ReadDir("testdata/coco")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		c := decodeTestdata[cocoCase](t, "coco/"+strings.TrimSuffix(file.Name(), ".gz"))
		t.Run(c.Name, func(t *testing.T) {
			gt, detections := c.load(t)
			got, err := evaluateDetections(gt, detections, c.params())
			if err != nil {
				t.Fatal(err)
			}
			c.Expected.compare(t, got)
			c.Expected.compareCurves(t, curvesOf(gt, detections, got.Params))
		})
	}
}

// TestDetectionAgreesWithPycocotoolsForOtherParameters has boxes and scores that are NaN,
// infinite or negative, and parameters that are not COCO's, in all combinations.
func TestDetectionAgreesWithPycocotoolsForOtherParameters(t *testing.T) {
	for i, c := range decodeTestdata[struct{ Cases []cocoCase }](t, "coco_random.json").Cases {
		gt, detections := c.load(t)
		got, err := evaluateDetections(gt, detections, c.params())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.Expected.Stats, got.Stats[:], exact); d != "" {
			t.Errorf("case %d, parameters %+v (-want +got):\n%s", i, c.Params, d)
		}
	}
}

func (want *cocoExpected) compare(t *testing.T, got *DetectionResult) {
	t.Helper()
	diff := func(what string, want, got any) {
		t.Helper()
		if d := cmp.Diff(want, got, exact); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	diff("Stats", want.Stats, got.Stats[:])
	diff("APPerIoU", want.APPerIoU, got.APPerIoU)
	var categories []CategoryResult
	for _, c := range want.PerCategory {
		categories = append(categories, CategoryResult{c.CategoryID, c.AP, c.AP50, c.AP75, c.APSmall, c.APMedium, c.APLarge, c.AR})
	}
	diff("Categories", categories, got.Categories)
}

// curvesOf returns the curves that a result was summarised from.
func curvesOf(gt *GroundTruth, detections []Detection, p DetectionParams) *curves {
	e := newEvaluation(gt.Annotations, detections, p)
	e.rank()
	e.match()
	return e.accumulate()
}

func (want *cocoExpected) compareCurves(t *testing.T, c *curves) {
	t.Helper()
	last := c.maxDets - 1
	check := func(what string, want, got float64) {
		t.Helper()
		if !cmp.Equal(want, got, exact) {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	for iou, categories := range want.Precision {
		for k, values := range categories {
			for r := range values {
				check("precision", values[r], c.Precision(iou, r, k, 0, last))
			}
		}
	}
	for iou, categories := range want.Recall {
		for k, areas := range categories {
			for a, values := range areas {
				for m, v := range values {
					check("Recall", v, c.Recall(iou, k, a, m))
				}
			}
		}
	}
}

func TestParametersAreThoseOfCOCO(t *testing.T) {
	want := decodeTestdata[struct {
		IoU     []float64    `json:"iou_thresholds"`
		Recall  []float64    `json:"recall_thresholds"`
		Areas   [][2]float64 `json:"area_ranges"`
		Labels  []string     `json:"area_labels"`
		MaxDets []int        `json:"max_dets"`
	}](t, "coco_parameters.json")
	got, err := DetectionParams{}.withDefaults(&GroundTruth{})
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range got.AreaRanges {
		if a.Label != want.Labels[i] || a.Min != want.Areas[i][0] || a.Max != want.Areas[i][1] {
			t.Errorf("area range %d = %v, want %s %v", i, a, want.Labels[i], want.Areas[i])
		}
	}
	// Without a tolerance: a threshold that is off by a bit turns a match at exactly 0.9 into a miss.
	if d := cmp.Diff(want.IoU, got.IoUThresholds); d != "" {
		t.Errorf("IoU thresholds (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want.Recall, got.RecallThresholds); d != "" {
		t.Errorf("recall thresholds (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want.MaxDets, got.MaxDets); d != "" {
		t.Errorf("max dets (-want +got):\n%s", d)
	}
}

func TestIoUAgreesWithPycocotools(t *testing.T) {
	type ioUCase struct {
		Detections [][4]float64 `json:"dt"`
		Truths     [][4]float64 `json:"gt"`
		Crowd      []int        `json:"iscrowd"`
		IoUs       [][]float64  `json:"iou_dt_by_gt"`
	}
	for i, c := range decodeTestdata[struct{ Cases []ioUCase }](t, "coco_iou.json").Cases {
		for d, row := range c.IoUs {
			for g, want := range row {
				if got := boxIoU(box(c.Detections[d]), box(c.Truths[g]), c.Crowd[g] == 1); got != want {
					t.Errorf("case %d: boxIoU(%v, %v, %d) = %v, want %v", i, c.Detections[d], c.Truths[g], c.Crowd[g], got, want)
				}
			}
		}
	}
}

func box(b [4]float64) Box { return Box{b[0], b[1], b[2], b[3]} }
