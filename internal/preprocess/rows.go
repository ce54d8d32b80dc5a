package preprocess

import "fmt"

// byteRows resizes bytes to bytes, row by row. It keeps the working memory of each
// kernel.
type byteRows struct {
	linear linearBytes
	area   areaRows[uint8]
	cells  cellRows[uint8]
	pillow pillowBytes
	padded deepLabBytes
	plain  copyRows[uint8]

	row func(y int, dst []byte) // writes row y of the wanted ones
}

// start prepares for a task; row then gives its rows, best from top to bottom.
func (r *byteRows) start(t task, src []byte) error {
	switch method := t.method(); method {
	case methodCopy:
		r.plain.start(t, src)
		r.row = r.plain.byteRow
	case methodLinear, methodLinearArea:
		r.linear.start(t, src, method == methodLinearArea)
		r.row = r.linear.row
	case methodCells:
		r.cells.start(t, src)
		r.row = r.cells.byteRow
	case methodArea:
		r.area.start(t, src)
		r.row = r.area.byteRow
	case methodPillow:
		r.pillow.start(t, src)
		r.row = r.pillow.row
	case methodDeepLab:
		r.padded.start(t, src)
		r.row = r.padded.row
	default:
		return fmt.Errorf("%v does not resize bytes", t.kernel)
	}
	return nil
}

// floatRows resizes bytes or float32 to float32, row by row.
type floatRows[T sample] struct {
	linear  linearFloats[T]
	area    areaRows[T]
	cells   cellRows[T]
	pillow  pillowFloats[T]
	corners cornerRows[T]
	plain   copyRows[T]

	row func(y int, dst []float32)
}

func (r *floatRows[T]) start(t task, src []T) error {
	switch method := t.method(); method {
	case methodCopy:
		r.plain.start(t, src)
		r.row = r.plain.floatRow
	case methodLinear, methodLinearArea:
		r.linear.start(t, src, method == methodLinearArea)
		r.row = r.linear.row
	case methodCells:
		r.cells.start(t, src)
		r.row = r.cells.floatRow
	case methodArea:
		r.area.start(t, src)
		r.row = r.area.floatRow
	case methodPillow:
		r.pillow.start(t, src)
		r.row = r.pillow.row
	case methodCorners:
		r.corners.start(t, src)
		r.row = r.corners.row
	default:
		return fmt.Errorf("%v does not resize floats", t.kernel)
	}
	return nil
}

// A method is the algorithm that a kernel comes down to for certain sizes.
type method uint8

const (
	methodUnknown method = iota
	methodCopy
	methodLinear
	methodLinearArea // the linear method with the fractions of INTER_AREA
	methodCells
	methodArea
	methodPillow
	methodCorners
	methodDeepLab
)

// methodOf has the kernels that use one method for all sizes.
var methodOf = [...]method{
	PillowBilinear: methodPillow, PillowBicubic: methodPillow,
	TorchBilinear: methodCorners, TFLiteBilinear: methodCorners,
	DeepLabBilinear: methodDeepLab,
	CV2Linear:       methodUnknown, CV2Area: methodUnknown,
}

// method decides as cv::resize does for OpenCV's kernels: shrinking both sides to half
// makes INTER_LINEAR a mean of 2×2 pixels, and enlarging any makes INTER_AREA linear.
func (t task) method() method {
	if t.kernel == 0 || int(t.kernel) >= len(kernelNames) {
		return methodUnknown
	}
	if t.x.src == t.x.dst && t.y.src == t.y.dst {
		return methodCopy
	}
	if always := methodOf[t.kernel]; always != methodUnknown {
		return always
	}
	if t.kernel == CV2Linear {
		return t.linearMethod()
	}
	return t.areaMethod()
}

// linearMethod is the method of CV2Linear.
func (t task) linearMethod() method {
	if wholeFactor(t.x) == 2 && wholeFactor(t.y) == 2 {
		return methodCells
	}
	return methodLinear
}

// areaMethod is the method of CV2Area.
func (t task) areaMethod() method {
	switch {
	case t.x.scale() < 1 || t.y.scale() < 1:
		return methodLinearArea
	case wholeFactor(t.x) > 0 && wholeFactor(t.y) > 0:
		return methodCells
	}
	return methodArea
}

// copyRows only cuts out the wanted part.
type copyRows[T sample] struct {
	src            []T
	stride, offset int
}

func (r *copyRows[T]) start(t task, src []T) {
	r.src, r.stride = src, t.channels*t.x.src
	r.offset = t.y.first*r.stride + t.x.first*t.channels
}

func (r *copyRows[T]) byteRow(y int, dst []byte) {
	for i, v := range r.src[r.offset+y*r.stride:][:len(dst)] {
		dst[i] = uint8(v)
	}
}

func (r *copyRows[T]) floatRow(y int, dst []float32) {
	for i, v := range r.src[r.offset+y*r.stride:][:len(dst)] {
		dst[i] = float32(v)
	}
}
