package accuracy

import (
	"fmt"
	"slices"
)

// A Detection is one box that a model found.
type Detection struct {
	ImageID, CategoryID int64
	Box                 Box
	Score               float64
}

// DetectionParams are the parameters of an evaluation, by default those of COCO
// (pycocotools, Params.setDetParams). Nil slices stand for the default.
type DetectionParams struct {
	ImageIDs         []int64     // images to evaluate, in any order; default all
	CategoryIDs      []int64     // categories to evaluate, likewise
	MaxDets          []int       // best detections that count per image and category; default 1, 10, 100; at least three
	IoUThresholds    []float64   // default 0.5 to 0.95 by 0.05
	RecallThresholds []float64   // default 0 to 1 by 0.01
	AreaRanges       []AreaRange // default all, small, medium, large
	ClassAgnostic    bool        // a box may match any category's (useCats = 0)

	Workers int // most goroutines; default one per CPU. The result does not depend on it
}

// An AreaRange is a size class of objects, in square pixels; both ends belong to it.
// Objects outside of it are neither asked for nor wrong to find.
type AreaRange struct {
	Label    string
	Min, Max float64
}

// cocoAreaRanges returns the size classes of COCO.
func cocoAreaRanges() []AreaRange {
	const small, medium, all = 32 * 32, 96 * 96, 1e5 * 1e5
	return []AreaRange{{"all", 0, all}, {"small", 0, small}, {"medium", small, medium}, {"large", medium, all}}
}

// cocoIoUThresholds returns 0.50, 0.55 … 0.95, bit by bit as COCO has them.
func cocoIoUThresholds() []float64 { return linspace(0.5, 0.95, 10) }

// cocoRecallThresholds returns 0, 0.01 … 1, bit by bit as COCO has them.
func cocoRecallThresholds() []float64 { return linspace(0, 1, 101) }

// withDefaults fills in what is nil and puts ids and MaxDets in order.
func (p DetectionParams) withDefaults(gt *GroundTruth) (DetectionParams, error) {
	p, err := p.withIDs(gt)
	if err != nil {
		return p, err
	}
	p.MaxDets = slices.Sorted(slices.Values(orElse(p.MaxDets, func() []int { return []int{1, 10, 100} })))
	if len(p.MaxDets) < 3 || p.MaxDets[0] < 1 {
		return p, fmt.Errorf("max dets %v: want at least three numbers from 1", p.MaxDets)
	}
	p.IoUThresholds = orElse(p.IoUThresholds, cocoIoUThresholds)
	p.RecallThresholds = orElse(p.RecallThresholds, cocoRecallThresholds)
	p.AreaRanges = orElse(p.AreaRanges, cocoAreaRanges)
	if len(p.IoUThresholds) == 0 || len(p.RecallThresholds) == 0 || len(p.AreaRanges) == 0 {
		return p, fmt.Errorf("want at least one IoU threshold, recall threshold and area range")
	}
	return p, nil
}

// orElse is what is given, or else what is usual.
func orElse[T any](given []T, usual func() []T) []T {
	if given == nil {
		return usual()
	}
	return given
}

// withIDs fills in and sorts the ids of images and categories.
func (p DetectionParams) withIDs(gt *GroundTruth) (DetectionParams, error) {
	if p.ImageIDs == nil {
		for _, image := range gt.Images {
			p.ImageIDs = append(p.ImageIDs, image.ID)
		}
	}
	p.ImageIDs = sortedUnique(p.ImageIDs)
	if p.CategoryIDs == nil {
		for _, category := range gt.Categories {
			p.CategoryIDs = append(p.CategoryIDs, category.ID)
		}
		slices.Sort(p.CategoryIDs)
	}
	if !p.ClassAgnostic {
		p.CategoryIDs = sortedUnique(p.CategoryIDs)
	} else if len(sortedUnique(p.CategoryIDs)) < len(p.CategoryIDs) {
		return p, fmt.Errorf("category ids %v: one is given twice, which would count its objects twice", p.CategoryIDs)
	}
	return p, nil
}

func sortedUnique(ids []int64) []int64 { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// Positions of the twelve COCO numbers in DetectionResult.Stats. AP is the average
// precision, AR the average recall, over all IoU thresholds and categories. AP itself,
// the benchmark's mAP, asks for 100 detections, the ARMax numbers for the first, second
// and third of MaxDets, all others for the third.
const (
	ap   = iota
	ap50 // at IoU 0.50
	ap75 // at IoU 0.75
	apSmall
	apMedium
	apLarge
	arMax1
	arMax10
	arMax100
	arSmall
	arMedium
	arLarge
	statCount
)

// A DetectionResult is what an evaluation finds. A number that is undefined,
// because nothing was there to be found, is -1.
type DetectionResult struct {
	Stats      [statCount]float64
	APPerIoU   []float64 // all areas, last of MaxDets
	Categories []CategoryResult
	Params     DetectionParams // as used: ids and MaxDets sorted, defaults filled in
}

// A CategoryResult holds one category's numbers at the last of MaxDets.
type CategoryResult struct {
	CategoryID                 int64 // -1 if the evaluation was class-agnostic
	AP, AP50, AP75             float64
	APSmall, APMedium, APLarge float64
	AR                         []float64 // for each of MaxDets
}

// matched begins an evaluation of boxes as pycocotools' COCOeval does it with iouType bbox, to the last
// bit: what each detection is worth. Detections of categories that are not evaluated, and in images that
// are not, have no effect; one in an image that the ground truth lacks is an error. Among equal scores
// the order of detections decides; otherwise it is of no effect.
func matched(gt *GroundTruth, detections []Detection, params DetectionParams) (*evaluation, error) {
	p, err := params.withDefaults(gt)
	if err != nil {
		return nil, fmt.Errorf("evaluating detections: %w", err)
	}
	if err := checkImages(gt, detections); err != nil {
		return nil, fmt.Errorf("evaluating detections: %w", err)
	}
	e := newEvaluation(gt.Annotations, detections, p)
	e.rank()
	e.match()
	return e, nil
}

// checkImages refuses detections in unknown images, as pycocotools' loadRes does.
func checkImages(gt *GroundTruth, detections []Detection) error {
	known := make(map[int64]bool, len(gt.Images))
	for _, image := range gt.Images {
		known[image.ID] = true
	}
	for i, d := range detections {
		if i > 0 && d.ImageID == detections[i-1].ImageID {
			continue // usually they come image by image
		}
		if !known[d.ImageID] {
			return fmt.Errorf("detection %d: image id %d is not in the ground truth", i, d.ImageID)
		}
	}
	return nil
}
