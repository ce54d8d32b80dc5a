package accuracy

import (
	"fmt"
	"math"
	"slices"
)

// maxCoordinate bounds polygons, whose outlines are walked in fifths of a pixel.
const maxCoordinate = 1e6

// MaskFromBox returns the pixels of a box, as those of a polygon of four corners.
func MaskFromBox(height, width int, b Box) (Mask, error) {
	right, bottom := b.X+b.W, b.Y+b.H
	return MaskFromPolygon(height, width, []float64{b.X, b.Y, b.X, bottom, right, bottom, right, b.Y})
}

// MaskFromPolygon returns the pixels inside of a polygon, given as x and y by turns. What
// counts as inside follows pycocotools (common/maskApi.c, rleFrPoly) to the pixel: the
// outline is walked in steps of a fifth of a pixel, and each step across the centre of
// a column is a place where the column's pixels change sides.
func MaskFromPolygon(height, width int, xy []float64) (Mask, error) {
	if err := checkSize(height, width); err != nil {
		return Mask{}, err
	}
	if len(xy) < 6 || len(xy)%2 != 0 {
		return Mask{}, fmt.Errorf("polygon has %d numbers, want x and y of at least three corners", len(xy))
	}
	for _, v := range xy {
		if !(math.Abs(v) <= maxCoordinate) {
			return Mask{}, fmt.Errorf("polygon has coordinate %v, want numbers within ±%v", v, maxCoordinate)
		}
	}
	o := outline{height: height, width: width}
	last := len(xy)
	for i := 0; i < last; i += 2 {
		next := (i + 2) % last
		o.edge(fifths(xy[i]), fifths(xy[i+1]), fifths(xy[next]), fifths(xy[next+1]))
	}
	return o.mask(), nil
}

// fifths rounds a coordinate to a fifth of a pixel as C does: towards zero after adding a half.
func fifths(v float64) int { return int(float64(5*v) + 0.5) }

// An outline collects the places where the outline of a polygon crosses column centres.
type outline struct {
	height, width int
	crossings     []uint32 // positions in the image, column by column
	x, y          int      // last point, in fifths
	begun         bool
}

// edge walks from one corner to the next, in steps of one along the longer axis.
func (o *outline) edge(x0, y0, x1, y1 int) {
	dx, dy := abs(x1-x0), abs(y1-y0)
	if dx == 0 && dy == 0 {
		o.point(x0, y0)
		return
	}
	// The slope is always taken from the end with the smaller coordinate, so that an edge
	// shared by two polygons rounds alike.
	steep := dx < dy
	n := max(dx, dy)
	backward := !steep && x0 > x1 || steep && y0 > y1
	if backward {
		x0, y0, x1, y1 = x1, y1, x0, y0
	}
	for i := 0; i <= n; i++ {
		d := i
		if backward {
			d = n - i
		}
		if steep {
			o.point(along(x0, x1, d, dy), y0+d)
		} else {
			o.point(x0+d, along(y0, y1, d, dx))
		}
	}
}

// along returns the rounded coordinate after d of n steps from a to b.
func along(a, b, d, n int) int {
	slope := float64(b-a) / float64(n)
	return int(float64(a) + float64(slope*float64(d)) + 0.5)
}

// point goes on to the next point of the outline.
func (o *outline) point(x, y int) {
	switch {
	case o.begun && x < o.x:
		o.cross(x, min(y, o.y))
	case o.begun && x > o.x:
		o.cross(x-1, min(y, o.y))
	}
	o.x, o.y, o.begun = x, y, true
}

// cross notes a step between the fifths x and x+1 if it passes a column's centre.
func (o *outline) cross(x, y int) {
	const centre, perPixel = 2, 5
	if x < centre || (x-centre)%perPixel != 0 || x > (o.width-1)*perPixel+centre {
		return
	}
	row := 0
	if y > centre {
		row = min((y-centre+perPixel-1)/perPixel, o.height)
	}
	o.crossings = append(o.crossings, uint32((x-centre)/perPixel*o.height+row))
}

// mask makes runs of the distances between crossings. Where two fall together they cancel.
func (o *outline) mask() Mask {
	slices.Sort(o.crossings)
	m := Mask{Height: o.height, Width: o.width}
	previous := uint32(0)
	for _, at := range append(o.crossings, uint32(o.height*o.width)) {
		m.Counts = append(m.Counts, at-previous)
		previous = at
	}
	m.Counts = joinRuns(m.Counts)
	return m
}

// joinRuns removes empty runs but the first, joining their neighbours.
func joinRuns(runs []uint32) []uint32 {
	joined := runs[:1]
	for i := 1; i < len(runs); i++ {
		if runs[i] > 0 {
			joined = append(joined, runs[i])
		} else if i++; i < len(runs) {
			joined[len(joined)-1] += runs[i]
		}
	}
	return joined
}

func abs(v int) int { return max(v, -v) }
