package accuracy

import (
	"errors"
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
	// Verbose also gives the lines that the scripts add with --verbose.
	Verbose bool
	// Float32Boxes scales boxes in float32, as the scripts do under NumPy 2. Under NumPy 1
	// and by default it is float64. Results rarely differ.
	Float32Boxes bool
	// Params change the evaluation; ImageIDs is set to the images in the log.
	Params DetectionParams
}

// LoggedDetections is what a log of a detection benchmark holds.
type LoggedDetections struct {
	Detections []Detection
	ImageIDs   []int64 // images in the log, in its order: the ones to evaluate
	Coverage   Coverage
	NoResults  int      // images with no detection
	Lines      []string // what the scripts print about single records
	Mismatches int      // detections whose own image index disagrees with the record's
}

// maxMismatchLines bounds the lines about image indices that disagree, of which there is
// one per box: a log that is wrong throughout would give millions.
const maxMismatchLines = 10_000

// rowLength is the length of a detection in a payload: sample index, ymin, xmin, ymax,
// xmax (from 0 to 1), score, label, all float32.
const rowLength = 7

// readDetections reads the detections of a log with the rules of the official scripts:
// the first record of a sample counts; sample i is image i of the ground truth, whatever
// the index in the payload says; fewer than seven numbers are an image without a
// detection, but one that is evaluated.
func readDetections(log Input, gt *GroundTruth, opts DetectionOptions) (*LoggedDetections, error) {
	images, err := samples(gt, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", log.Name(), err)
	}
	r := detectionReader{opts: opts, out: &LoggedDetections{Coverage: Coverage{Samples: len(images)}}}
	if opts.InverseMap {
		r.inverseMap = inverseMap(gt)
	}
	for rec, err := range FirstRecords(log, &r.out.Coverage) {
		if err != nil {
			return nil, err
		}
		if err := r.record(&rec, images[rec.QSLIndex]); err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
	}
	return r.out, nil
}

// samples returns the images in the order of the QSL.
func samples(gt *GroundTruth, opts DetectionOptions) ([]*Image, error) {
	var annotated map[int64]bool
	if opts.RemoveEmptyImages {
		annotated = annotatedImages(gt)
	}
	var images []*Image
	for i := range gt.Images {
		if image := &gt.Images[i]; !opts.RemoveEmptyImages || annotated[image.ID] {
			images = append(images, image)
		}
	}
	if len(images) == 0 {
		return nil, errors.New("the ground truth has no image to score")
	}
	return images, nil
}

// annotatedImages are the images that have an annotation of a category that is listed.
func annotatedImages(gt *GroundTruth) map[int64]bool {
	annotated := make(map[int64]bool)
	listed := positions(categoryIDs(gt))
	for _, a := range gt.Annotations {
		if _, ok := listed[a.CategoryID]; ok {
			annotated[a.ImageID] = true
		}
	}
	return annotated
}

func categoryIDs(gt *GroundTruth) []int64 {
	ids := make([]int64, len(gt.Categories))
	for i, category := range gt.Categories {
		ids[i] = category.ID
	}
	return ids
}

// inverseMap returns the category id of each label: 0 of label 0, then the categories
// in the order of the file.
func inverseMap(gt *GroundTruth) []int64 { return append([]int64{0}, categoryIDs(gt)...) }

// A detectionReader turns records into detections.
type detectionReader struct {
	opts       DetectionOptions
	inverseMap []int64
	out        *LoggedDetections
}

func (r *detectionReader) record(rec *Record, image *Image) error {
	if err := Float32.checkPayload(rec.Data); err != nil {
		return err
	}
	r.out.ImageIDs = append(r.out.ImageIDs, image.ID)
	n := len(rec.Data) / 4
	if n < rowLength {
		r.noResults(rec, image)
		return nil
	}
	if n%rowLength != 0 {
		return fmt.Errorf("payload of %d numbers does not consist of detections of %d", n, rowLength)
	}
	for i := 0; i < n; i += rowLength {
		var row [rowLength]float32
		for k := range row {
			row[k] = float32At(rec.Data, i+k)
		}
		if err := r.row(row, rec.QSLIndex, image); err != nil {
			return fmt.Errorf("detection %d: %w", i/rowLength, err)
		}
	}
	return nil
}

// noResults notes an image without a detection.
func (r *detectionReader) noResults(rec *Record, image *Image) {
	r.out.NoResults++
	if r.opts.Verbose {
		r.out.Lines = append(r.out.Lines, fmt.Sprintf("no results: %s, idx=%d", pythonString(image.COCOURL), rec.QSLIndex))
	}
}

// pythonString is str(s) of a string or None.
func pythonString(s *string) string {
	if s == nil {
		return "None"
	}
	return *s
}

// row adds one detection.
func (r *detectionReader) row(row [rowLength]float32, sample uint64, image *Image) error {
	index, err := truncate(float64(row[0]))
	if err != nil {
		return fmt.Errorf("sample index: %w", err)
	}
	if index != int64(sample) {
		r.mismatch(sample, float64(row[0]))
	}
	label, err := truncate(float64(row[6]))
	if err != nil {
		return fmt.Errorf("label: %w", err)
	}
	if r.inverseMap != nil {
		if label, err = r.category(label); err != nil {
			return err
		}
	}
	r.out.Detections = append(r.out.Detections, Detection{
		ImageID: image.ID, CategoryID: label, Box: r.scale(row, image), Score: float64(row[5]),
	})
	return nil
}

// category applies the inverse map as a Python list: negative labels count from its end.
func (r *detectionReader) category(label int64) (int64, error) {
	n := int64(len(r.inverseMap))
	if label < -n || label >= n {
		return 0, &NoCategoryError{Label: label, Categories: n - 1}
	}
	if label < 0 {
		label += n
	}
	return r.inverseMap[label], nil
}

// mismatch notes that a payload names another sample than its record.
func (r *detectionReader) mismatch(sample uint64, index float64) {
	r.out.Mismatches++
	if r.out.Mismatches > maxMismatchLines {
		return
	}
	r.out.Lines = append(r.out.Lines, fmt.Sprintf("ERROR: loadgen(%d) and payload(%s) disagree on image_idx", sample, wholeText(index)))
}

// scale turns corners from 0 to 1 into a box in pixels, in the scripts' order of operations.
func (r *detectionReader) scale(row [rowLength]float32, image *Image) Box {
	if r.opts.Float32Boxes {
		w, h := float32(image.Width), float32(image.Height)
		top, left, bottom, right := float32(row[1]*h), float32(row[2]*w), float32(row[3]*h), float32(row[4]*w)
		return Box{float64(left), float64(top), float64(right - left), float64(bottom - top)}
	}
	w, h := float64(image.Width), float64(image.Height)
	top, left := float64(float64(row[1])*h), float64(float64(row[2])*w)
	bottom, right := float64(float64(row[3])*h), float64(float64(row[4])*w)
	return Box{left, top, right - left, bottom - top}
}

// A NoCategoryError says that a label is beyond the list of categories. Labels that are
// categories' ids, read as numbers of categories, often are.
type NoCategoryError struct{ Label, Categories int64 }

func (e *NoCategoryError) Error() string {
	return fmt.Sprintf("label %d: the ground truth has %d categories, so labels end at %d", e.Label, e.Categories, e.Categories)
}
