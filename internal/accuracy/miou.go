package accuracy

import (
	"fmt"
	"math"
)

// IoUCounts accumulates the pixel counts of a segmentation benchmark over images
// (MLPerf Mobile, ADE20K with 31 or 32 classes). Classes count from 1; 0 and labels
// beyond the last class are no class. A pixel of such a truth is nobody's false positive.
type IoUCounts struct {
	// Right, Extra and Missed are the true positives, false positives and false negatives of class i+1.
	Right, Extra, Missed []uint64

	images [][]uint64 // the same of each image, one kind after the other; nil: it was not added
}

// NewIoUCounts returns zero counts for 1 to 255 classes.
func NewIoUCounts(classes int) (*IoUCounts, error) {
	if classes < 1 || classes > math.MaxUint8 {
		return nil, fmt.Errorf("mean IoU over %d classes: want 1 to 255", classes)
	}
	return &IoUCounts{Right: make([]uint64, classes), Extra: make([]uint64, classes), Missed: make([]uint64, classes)}, nil
}

// Add counts the pixels of one image, by its number. Add one image once: the app counts the first
// of repeated ones.
func (c *IoUCounts) Add(image int, prediction, truth []uint8) error {
	if len(prediction) != len(truth) {
		return fmt.Errorf("prediction has %d pixels, the ground truth %d", len(prediction), len(truth))
	}
	n := len(c.Right)
	counts := countPixels(n, prediction, truth)
	for i := range n {
		c.Right[i] += counts[i]
		c.Extra[i] += counts[n+i]
		c.Missed[i] += counts[2*n+i]
	}
	if image >= len(c.images) {
		c.images = append(c.images, make([][]uint64, image+1-len(c.images))...)
	}
	c.images[image] = counts
	return nil
}

// countPixels counts those of n classes that are right, extra and missed, one kind after the other.
func countPixels(n int, prediction, truth []uint8) []uint64 {
	counts := make([]uint64, 3*n)
	right, extra, missed := counts[:n], counts[n:2*n], counts[2*n:]
	for i, want := range truth {
		// Class 0 wraps around to 255 and so is beyond the last, like any other non-class.
		switch found, want := int(prediction[i]-1), int(want-1); {
		case want >= n:
		case found == want:
			right[want]++
		default:
			missed[want]++
			if found < n {
				extra[found]++
			}
		}
	}
	return counts
}

// resampled computes the mean over the classes that occur in sets of images: a class that a few
// images have is in some sets nowhere.
func (c *IoUCounts) resampled() []float64 {
	n := len(c.Right)
	return resampleSums(c.images, 3*n, func(sums []uint64) float64 {
		set := IoUCounts{Right: sums[:n], Extra: sums[n : 2*n], Missed: sums[2*n:]}
		return set.MeanPresent()
	})
}

// classes returns the IoU of each class, NaN for one that is in neither the predictions
// nor the truth.
func (c *IoUCounts) classes() []float64 {
	ious := make([]float64, len(c.Right))
	for i := range ious {
		ious[i] = float64(c.Right[i]) / float64(c.Right[i]+c.Extra[i]+c.Missed[i])
	}
	return ious
}

// MeanPresent returns the mean over the classes that occur, NaN if none does.
func (c *IoUCounts) MeanPresent() float64 {
	sum, n := 0.0, 0
	for _, iou := range c.classes() {
		if iou == iou {
			sum += iou
			n++
		}
	}
	return sum / float64(n)
}

// meanFloat32 returns the mean over all classes, NaN if one never occurs, as the MLPerf
// Mobile app computes it: with a float32 sum of float64 terms
// (flutter/cpp/datasets/ade20k.cc).
func (c *IoUCounts) meanFloat32() float32 {
	sum := float32(0)
	for _, iou := range c.classes() {
		sum = float32(float64(sum) + iou)
	}
	return sum / float32(len(c.Right))
}

// Score returns the app's result and line. Its first value is "mIoU", from 0 to 1.
func (c *IoUCounts) Score() Score {
	var s Score
	mean := c.meanFloat32()
	s.Values = []Value{{Name: "mIoU", Value: float64(mean), Resampled: c.resampled()}, {Name: "mIoU of present classes", Value: c.MeanPresent()}}
	s.Classes = c.byClass()
	s.printf("%.4f mIoU", mean)
	for i, iou := range c.classes() {
		if iou != iou {
			s.warnf("class %d is in no image, so the mean over all classes is undefined", i+1)
		}
	}
	return s
}
