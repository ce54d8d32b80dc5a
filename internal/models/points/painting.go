package points

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/dataset/waymo"
)

// Each point is painted with paints numbers, of classes scores of a pixel (model/painter.py): background, bicycle, vehicles, person, rider
// and motorcycle.
const (
	classes = 19
	paints  = 6
)

// paintOf is the paint of each class.
var paintOf = [classes]int{11: 3, 12: 4, 13: 2, 14: 2, 15: 2, 16: 2, 17: 5, 18: 1}

// sharedBy are the pairs of cameras that may see the same point. Its paint is halved for each pair that does, in this order.
var sharedBy = [][2]int{{0, 1}, {0, 2}, {1, 3}, {2, 4}}

// normal are the values of the first model's input for each byte of red, green and blue: as a part of 255, less the mean of ImageNet, by its
// deviation.
var normal = func() (table [3][256]float32) {
	mean, deviation := [3]float32{0.485, 0.456, 0.406}, [3]float32{0.229, 0.224, 0.225}
	for c := range table {
		for v := range table[c] {
			table[c][v] = (float32(v)/255 - mean[c]) / deviation[c]
		}
	}
	return table
}()

// normalise writes a picture of bytes as [3 height width].
func normalise(dst []float32, pixels []byte) {
	plane := len(pixels) / 3
	red, green, blue := dst[:plane], dst[plane:2*plane], dst[2*plane:3*plane]
	for i := range plane {
		pixel := pixels[3*i:][:3]
		red[i], green[i], blue[i] = normal[0][pixel[0]], normal[1][pixel[1]], normal[2][pixel[2]]
	}
}

// times returns what a matrix makes of a vector, in float32 as the reference.
func times(m *waymo.Matrix, v [4]float32) (out [4]float32) {
	for i := range out {
		row := m[4*i:][:4]
		out[i] = float32(row[0]*v[0]) + float32(row[1]*v[1]) + float32(row[2]*v[2]) + float32(row[3]*v[3])
	}
	return out
}

// product is a·b.
func product(a, b *waymo.Matrix) (out waymo.Matrix) {
	for i := range 4 {
		for k := range 4 {
			out[4*i+k] = float32(a[4*i]*b[k]) + float32(a[4*i+1]*b[4+k]) + float32(a[4*i+2]*b[8+k]) + float32(a[4*i+3]*b[12+k])
		}
	}
	return out
}

// canvas is a cloud of points that are being painted, painted numbers each.
type canvas struct {
	points []float32
	seen   []uint8 // a bit for each camera
}

// begin takes points without paint.
func (c *canvas) begin(points []float32) {
	n := len(points) / waymo.Features
	c.points, c.seen = make([]float32, n*painted), make([]uint8, n)
	for i := range n {
		copy(c.points[i*painted:], points[i*waymo.Features:][:waymo.Features])
	}
}

// paint adds what a camera sees: scores [classes height width] of its picture.
func (c *canvas) paint(camera int, calibration *waymo.Calibration, scores []float32, size waymo.Size) error {
	plane := size.Height * size.Width
	for i := range c.seen {
		point := c.points[i*painted:][:painted]
		before := times(&calibration.ToCamera[camera], [4]float32{point[0], point[1], point[2], 1})
		before[3] = 1
		image := times(&calibration.Project[camera], times(&calibration.Rectify, before))
		u, v := image[0]/image[2], image[1]/image[2]
		if !(0 < u && u < float32(size.Width) && 0 < v && v < float32(size.Height) && before[2] > 0) {
			continue
		}
		c.seen[i] |= 1 << camera
		if err := mix(point[waymo.Features:], scores, int(v)*size.Width+int(u), plane); err != nil {
			return fmt.Errorf("the scores of pixel (%d, %d) of picture %d: %w", int(u), int(v), camera, err)
		}
	}
	return nil
}

// mix adds the paint of a pixel, of the softmax of its scores.
func mix(paint, scores []float32, pixel, plane int) error {
	var part [classes]float64
	largest, sum := float32(math.Inf(-1)), 0.0
	for class := range part {
		largest = max(largest, scores[class*plane+pixel])
	}
	for class := range part {
		part[class] = math.Exp(float64(scores[class*plane+pixel] - largest))
		sum += part[class]
	}
	if !(sum > 0) {
		return errNaN
	}
	var own [paints]float32
	for class, v := range part {
		own[paintOf[class]] += float32(v / sum)
	}
	for i, v := range own {
		paint[i] += v
	}
	return nil
}

// finish halves the paint of points that two cameras of a pair see, and returns the points.
func (c *canvas) finish() []float32 {
	for i, seen := range c.seen {
		for _, pair := range sharedBy {
			if both := uint8(1<<pair[0] | 1<<pair[1]); seen&both == both {
				for k := range paints {
					c.points[i*painted+waymo.Features+k] *= 0.5
				}
			}
		}
	}
	return c.points
}
