package accuracy

import "fmt"

// IoUCounts accumulates the pixel counts of a segmentation benchmark over images
// (MLPerf Mobile, ADE20K with 31 or 32 classes). Classes count from 1; 0 and labels
// beyond the last class are no class, and a pixel with such a truth does not count.
type IoUCounts struct {
	// right, extra and missed are the true positives, false positives and false negatives of class i+1.
	right, extra, missed []uint64

	images [][]uint64 // the same of each image, one kind after the other; nil: it was not added
}

// NewIoUCounts returns zero counts for 1 to 255 classes.
func NewIoUCounts(classes int) *IoUCounts { return countsOf(make([]uint64, 3*classes)) }

// countsOf are counts of one kind after the other.
func countsOf(all []uint64) *IoUCounts {
	n := len(all) / 3
	return &IoUCounts{right: all[:n], extra: all[n : 2*n], missed: all[2*n:]}
}

// Add counts the pixels of one image, by its number. Add one image once: the app counts the first
// of repeated ones.
func (c *IoUCounts) Add(image int, prediction, truth []uint8) error {
	if len(prediction) != len(truth) {
		return fmt.Errorf("prediction has %d pixels, the ground truth %d", len(prediction), len(truth))
	}
	n := len(c.right)
	all := make([]uint64, 3*n)
	one := countsOf(all)
	for i, want := range truth {
		// Class 0 wraps around to 255 and so is beyond the last, like any label without a class.
		switch found, want := int(prediction[i]-1), int(want-1); {
		case want >= n:
		case found == want:
			one.right[want]++
		default:
			one.missed[want]++
			if found < n {
				one.extra[found]++
			}
		}
	}
	for i := range n {
		c.right[i] += one.right[i]
		c.extra[i] += one.extra[i]
		c.missed[i] += one.missed[i]
	}
	if image >= len(c.images) {
		c.images = append(c.images, make([][]uint64, image+1-len(c.images))...)
	}
	c.images[image] = all
	return nil
}

// classes returns the IoU of each class, NaN for one that is in neither the predictions
// nor the truth.
func (c *IoUCounts) classes() []float64 {
	ious := make([]float64, len(c.right))
	for i := range ious {
		ious[i] = float64(c.right[i]) / float64(c.right[i]+c.extra[i]+c.missed[i])
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

// Score returns the app's result and line. Its first value is "mIoU", from 0 to 1.
func (c *IoUCounts) Score() *Score {
	s := &Score{Classes: &Classes{Metric: "IoU", Of: "pixels"}}
	// The MLPerf Mobile app computes the mean over all classes with a float32 sum of float64 terms
	// (flutter/cpp/datasets/ade20k.cc): NaN if a class never occurs.
	sum := float32(0)
	for i, iou := range c.classes() {
		sum = float32(float64(sum) + iou)
		if iou == iou {
			s.Classes.add("", int64(i+1), iou, int(c.right[i]+c.missed[i]))
		} else {
			s.warnf("class %d is in no image, so the mean over all classes is undefined", i+1)
		}
	}
	mean := sum / float32(len(c.right))
	s.printf("%.4f mIoU", mean)
	// Of the classes that occur in a set: a class that a few images have is in some sets nowhere.
	resampled := resampleSums(c.images, 3*len(c.right), func(sums []uint64) float64 { return countsOf(sums).MeanPresent() })
	s.Values = []Value{{Name: "mIoU", Value: float64(mean), Resampled: resampled}, {Name: "mIoU of present classes", Value: c.MeanPresent()}}
	return s
}
