package accuracy

// A Box is an axis-parallel rectangle in pixels, given as COCO does: the corner with
// the smallest coordinates, and the extent.
type Box struct{ X, Y, W, H float64 }

// Area returns W·H.
func (b Box) Area() float64 { return b.W * b.H }

// boxIoU returns the intersection of a detection with a ground truth over their union;
// with a crowd, which has no single objects, over the detection's own area. Boxes
// that only touch do not intersect. A NaN in the detection behaves as in
// pycocotools (common/maskApi.c, bbIou), whose fmin and fmax prefer the other number.
func boxIoU(detection, truth Box, crowd bool) float64 {
	w := fmin(detection.W+detection.X, truth.W+truth.X) - fmax(detection.X, truth.X)
	if w <= 0 {
		return 0
	}
	h := fmin(detection.H+detection.Y, truth.H+truth.Y) - fmax(detection.Y, truth.Y)
	if h <= 0 {
		return 0
	}
	// The conversions keep compilers from fusing product and sum, which rounds differently.
	intersection := float64(w * h)
	union := float64(detection.Area())
	if !crowd {
		union = union + float64(truth.Area()) - intersection
	}
	return intersection / union
}

// fmin is C's: if one of the numbers is NaN, the other.
func fmin(a, b float64) float64 {
	if a < b || b != b {
		return a
	}
	return b
}

func fmax(a, b float64) float64 {
	if a > b || b != b {
		return a
	}
	return b
}
