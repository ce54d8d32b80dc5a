package points

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/dataset/waymo"
)

var errNaN = errors.New("not numbers")

// The rules of PointPillarsPos (model/pointpillars_core.py).
const (
	candidateRow = 11 // numbers: x, y, z, width, length, height, angle, a score for each class, direction
	kinds        = 3  // of objects
	leastScore   = 0.1
	mostShared   = 0.25 // of the ground, with a better box
	mostBoxes    = 500
)

// A box is a detection in the axes of the scanner: the middle of its lower side, width, length, height, and angle.
type box struct {
	at    [3]float32
	size  [3]float32
	angle float32
	class int
	score float32
}

// suppress chooses boxes among candidates: of each class those with a score, in its order, that share little ground with a better one.
// Beyond mostBoxes the best of all classes are left.
func suppress(candidates []float32) ([]box, error) {
	for i, v := range candidates {
		if v-v != 0 {
			return nil, fmt.Errorf("number %d of candidate %d is %v", i%candidateRow, i/candidateRow, v)
		}
	}
	grounds := make([]accuracy.Rectangle, len(candidates)/candidateRow)
	for i := range grounds {
		c := candidates[i*candidateRow:][:candidateRow]
		grounds[i] = accuracy.NewRectangle(float64(c[0]-c[3]/2), float64(c[1]-c[4]/2), float64(c[0]+c[3]/2), float64(c[1]+c[4]/2), float64(groundTurn*c[6]))
	}
	var boxes []box
	for class := range kinds {
		score := func(i int) float32 { return candidates[i*candidateRow+7+class] }
		var order, kept []int
		for i := range grounds {
			if score(i) > leastScore {
				order = append(order, i)
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score(b), score(a)) })
		for _, i := range order {
			if !slices.ContainsFunc(kept, func(k int) bool { return shared(&grounds[i], &grounds[k]) > mostShared }) {
				kept = append(kept, i)
			}
		}
		for _, i := range kept {
			c := candidates[i*candidateRow:][:candidateRow]
			boxes = append(boxes, box{[3]float32(c), [3]float32(c[3:]), turned(c[6], c[10]), class, score(i)})
		}
	}
	if len(boxes) > mostBoxes {
		slices.SortStableFunc(boxes, func(a, b box) int { return cmp.Compare(b.score, a.score) })
		boxes = boxes[:mostBoxes]
	}
	return boxes, nil
}

// groundTurn is the direction of angles in Open3D's nms, which turns from y to x.
const groundTurn = -1

// shared is the part of the ground of two boxes that both cover.
func shared(a, b *accuracy.Rectangle) float64 {
	both := a.Overlap(b)
	return both / max(a.Area()+b.Area()-both, 1e-8)
}

// turned is an angle from -π to 0, or half a turn more where the direction is 0, in float32 as the reference has it.
func turned(angle, direction float32) float32 {
	angle -= float32(float32(math.Floor(float64(angle/math.Pi+1))) * math.Pi)
	return angle + float32((1-direction)*math.Pi)
}

// respond appends the response of a frame: accuracy.WaymoRow numbers of each box, or a row that says there is none.
func respond(dst []byte, boxes []box, c *waymo.Calibration, frame int64, last waymo.Size) []byte {
	add := func(numbers ...float32) {
		for _, v := range numbers {
			dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v))
		}
	}
	if len(boxes) == 0 {
		add(append(slices.Repeat([]float32{-1}, accuracy.WaymoRow-1), float32(frame))...)
	}
	first, final := product(&c.Rectify, &c.ToCamera[0]), product(&c.Rectify, &c.ToCamera[waymo.Cameras-1])
	for _, b := range boxes {
		at := times(&first, [4]float32{b.at[0], b.at[1], b.at[2], 1})
		x1, y1, x2, y2 := outline(b, &final, &c.Project[waymo.Cameras-1], last)
		add(b.size[1], b.size[2], b.size[0], at[0], at[1], at[2], b.angle, x1, y1, x2, y2, float32(b.class), b.score, float32(frame))
	}
	return dst
}

// outline is the box around a box in the picture of a camera. The reference gives that of the last camera, whichever sees the box.
func outline(b box, toCamera, project *waymo.Matrix, size waymo.Size) (x1, y1, x2, y2 float32) {
	at := times(toCamera, [4]float32{b.at[0], b.at[1], b.at[2], 1})
	sine, cosine := math.Sincos(float64(b.angle))
	sin, cos := float32(sine), float32(cosine)
	x1, y1, x2, y2 = float32(math.Inf(1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.Inf(-1))
	for corner := range 8 {
		part := func(bit int) float32 { return float32(corner>>bit&1) - 0.5 }
		x, y, z := part(0)*b.size[1], float32(corner>>1&1-1)*b.size[2], part(2)*b.size[0]
		p := times(project, [4]float32{float32(x*cos) + float32(z*sin) + at[0], y + at[1], float32(z*cos) - float32(x*sin) + at[2], 1})
		u, v := p[0]/p[2], p[1]/p[2]
		x1, y1, x2, y2 = min(x1, u), min(y1, v), max(x2, u), max(y2, v)
	}
	return max(x1, 0), max(y1, 0), min(x2, float32(size.Width)), min(y2, float32(size.Height))
}
