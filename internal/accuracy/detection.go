package accuracy

import (
	"fmt"
)

// DetectionOptions are the options of accuracy-coco.py and accuracy-openimages.py,
// which differ only in where they look for the annotations.
type DetectionOptions struct {
	// InverseMap takes labels as positions in the file's list of categories, from 1
	// (--use-inv-map), instead of as category ids.
	InverseMap bool
	// RemoveEmptyImages numbers samples over the images that have an annotation, in the
	// order of the file (--remove-48-empty-images).
	//
	// accuracy-coco.py numbers them in the order of a Python set, which for the real
	// data set is not the order in which the reference SUT loads them; this is the latter.
	RemoveEmptyImages bool
	// MinScore leaves out detections with a lower score, as other benchmarks do: EEMBC's MLMark with 0.3
	// (github.com/eembc/mlmark, harness/eelib/validate.py). The scripts have no such option.
	MinScore float64
	// Verbose also gives the lines that the scripts add with --verbose.
	Verbose bool
}

// ScoreDetections scores a log as accuracy-coco.py and accuracy-openimages.py do. Only
// images in the log are evaluated. Like the scripts it fails if the log has no
// detection at all. The first value is "mAP" in percent.
func ScoreDetections(log Input, gt *GroundTruth, opts DetectionOptions) (*Score, error) {
	found, err := readDetections(log, gt, opts)
	if err != nil {
		return nil, err
	}
	coverage := found.coverage
	if len(found.detections) == 0 {
		enough := ""
		if opts.MinScore > 0 {
			enough = fmt.Sprintf(" with a score of %g or more", opts.MinScore)
		}
		return nil, fmt.Errorf("%s: no detection%s in %d records; pycocotools cannot evaluate that", log.Name(), enough, coverage.records())
	}
	e := evaluate(gt, found.imageIDs, found.detections)
	stats := e.cocoStats()
	mAP := 100 * stats[0].value
	score := &Score{Coverage: coverage, Lines: found.lines, Classes: e.byClass()}
	score.Values = []Value{{Name: "mAP", Value: mAP, Unit: "%", Resampled: e.resampled()}}
	for _, s := range stats {
		score.Values = append(score.Values, Value{Name: s.name, Value: s.value})
		score.printf("%v", s)
	}
	score.printf("mAP=%.3f%%", mAP)
	if opts.Verbose {
		score.printf("found %d results", coverage.records())
		score.printf("found %d images", len(found.imageIDs))
		score.printf("found %d images with no results", found.noResults)
		score.printf("ignored %d dupes", coverage.Repeated)
	}
	if opts.MinScore > 0 {
		score.warnf("detections with scores below %g do not count: the official script counts them", opts.MinScore)
	}
	if n := found.mismatches; n > 0 {
		score.warnf("%d detections name another sample than their record; the record's was taken", n)
	}
	if n := found.mismatches - maxMismatchLines; n > 0 {
		score.warnf("%d of the lines about that are left out", n)
	}
	if strays := gt.Strays(); strays != "" {
		score.warnf("%s: they have no effect", strays)
	}
	return score, nil
}

// loggedDetections is the content of a log of a detection benchmark.
type loggedDetections struct {
	detections []detection
	imageIDs   []int64 // images in the log, in its order: the ones to evaluate
	coverage   Coverage
	noResults  int      // images with no detection
	lines      []string // output of the scripts about single records
	mismatches int      // detections whose own image index disagrees with the record's
}

// maxMismatchLines bounds the lines about image indices that disagree, one per box: a log that is
// wrong throughout would give millions.
const maxMismatchLines = 10_000

// rowLength is the length of a detection in a payload: sample index, ymin, xmin, ymax,
// xmax (from 0 to 1), score, label, all float32.
const rowLength = 7

// readDetections reads the detections of a log with the rules of the official scripts:
// the first record of a sample counts; sample i is image i of the ground truth, whatever
// the index in the payload says; fewer than seven numbers are an image without a
// detection, which is evaluated too.
func readDetections(log Input, gt *GroundTruth, opts DetectionOptions) (*loggedDetections, error) {
	images := gt.Images
	if opts.RemoveEmptyImages {
		images = gt.Annotated()
	}
	if len(images) == 0 {
		return nil, fmt.Errorf("%s: the ground truth has no image to score", log.Name())
	}
	var inverseMap []int64 // the category id of each label: 0 of label 0, then the categories in the order of the file
	if opts.InverseMap {
		inverseMap = append(inverseMap, 0)
		for _, category := range gt.Categories {
			inverseMap = append(inverseMap, category.ID)
		}
	}
	out := &loggedDetections{coverage: Coverage{Samples: len(images)}}
	for rec, err := range FirstRecords(log, &out.coverage) {
		if err != nil {
			return nil, err
		}
		n, number, err := float32s.numbers(rec.Data)
		if err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
		image := &images[rec.QSLIndex]
		out.imageIDs = append(out.imageIDs, image.ID)
		switch {
		case n < rowLength:
			if out.noResults++; opts.Verbose {
				url := "None" // as Python writes it
				if image.COCOURL != nil {
					url = *image.COCOURL
				}
				out.lines = append(out.lines, fmt.Sprintf("no results: %s, idx=%d", url, rec.QSLIndex))
			}
			continue
		case n%rowLength != 0:
			return nil, rec.errorf(log, "payload of %d numbers does not consist of detections of %d", n, rowLength)
		}
		for i := 0; i < n; i += rowLength {
			index, err := truncate(number(i))
			if err != nil {
				return nil, rec.errorf(log, "detection %d: sample index: %w", i/rowLength, err)
			}
			if index != int64(rec.QSLIndex) {
				if out.mismatches++; out.mismatches <= maxMismatchLines {
					out.lines = append(out.lines, fmt.Sprintf("ERROR: loadgen(%d) and payload(%s) disagree on image_idx", rec.QSLIndex, integerText(number(i))))
				}
			}
			label, err := truncate(number(i + 6))
			if err != nil {
				return nil, rec.errorf(log, "detection %d: label: %w", i/rowLength, err)
			}
			if opts.InverseMap { // a Python list: negative labels count from its end
				n := int64(len(inverseMap))
				if label < -n || label >= n {
					return nil, rec.errorf(log, "detection %d: %w", i/rowLength, &NoCategoryError{Label: label, Categories: n - 1})
				}
				label = inverseMap[(label+n)%n]
			}
			if number(i+5) < opts.MinScore {
				continue
			}
			// Corners from 0 to 1 become a box in pixels in the scripts' order of operations; conversions keep compilers from fusing them.
			w, h := float64(image.Width), float64(image.Height)
			top, left, bottom, right := float64(number(i+1)*h), float64(number(i+2)*w), float64(number(i+3)*h), float64(number(i+4)*w)
			out.detections = append(out.detections, detection{image.ID, label, Box{left, top, right - left, bottom - top}, number(i + 5)})
		}
	}
	return out, nil
}

// A NoCategoryError says that a label is beyond the list of categories. This often happens where labels are category ids
// and are read as positions in the list.
type NoCategoryError struct{ Label, Categories int64 }

func (e *NoCategoryError) Error() string {
	return fmt.Sprintf("label %d: the ground truth has %d categories, so labels end at %d", e.Label, e.Categories, e.Categories)
}
