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
}

// NewIoUCounts returns zero counts for 1 to 255 classes.
func NewIoUCounts(classes int) (*IoUCounts, error) {
	if classes < 1 || classes > math.MaxUint8 {
		return nil, fmt.Errorf("mean IoU over %d classes: want 1 to 255", classes)
	}
	return &IoUCounts{make([]uint64, classes), make([]uint64, classes), make([]uint64, classes)}, nil
}

// Add counts the pixels of one image. Add one image once: the app counts the first of
// repeated ones.
func (c *IoUCounts) Add(prediction, truth []uint8) error {
	if len(prediction) != len(truth) {
		return fmt.Errorf("prediction has %d pixels, the ground truth %d", len(prediction), len(truth))
	}
	n := len(c.Right)
	for i, want := range truth {
		// Class 0 wraps around to 255 and so is beyond the last, like any other non-class.
		found, want := int(prediction[i]-1), int(want-1)
		if want >= n {
			continue
		}
		if found == want {
			c.Right[want]++
			continue
		}
		c.Missed[want]++
		if found < n {
			c.Extra[found]++
		}
	}
	return nil
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
	s.Values = []Value{{Name: "mIoU", Value: float64(mean)}, {Name: "mIoU of present classes", Value: c.MeanPresent()}}
	s.Classes = c.byClass()
	s.printf("%.4f mIoU", mean)
	for i, iou := range c.classes() {
		if iou != iou {
			s.warnf("class %d is in no image, so the mean over all classes is undefined", i+1)
		}
	}
	return s
}
