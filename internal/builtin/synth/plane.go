package synth

import "math"

// A plane is a quantity that changes evenly over the picture: x·px + y·py + c at the
// point (px, py), in pixels.
type plane struct{ x, y, c float64 }

// at keeps products apart from sums, because some processors fuse them into one
// rounding and others do not. The same holds for every float64(a*b) in this package. One
// that is missing shows as a fused instruction (FMADDD, FMSUBD, …) in the output of
// GOARCH=arm64 go build -gcflags=-S.
func (p plane) at(px, py float64) float64 {
	return float64(p.x*px) + float64(p.y*py) + p.c
}

// times returns the plane with all values multiplied.
func (p plane) times(f float64) plane {
	return plane{float64(p.x * f), float64(p.y * f), float64(p.c * f)}
}

// plus returns the sum of two planes.
func (p plane) plus(q plane) plane { return plane{p.x + q.x, p.y + q.y, p.c + q.c} }

// shifted returns the plane with all values raised.
func (p plane) shifted(by float64) plane { return plane{p.x, p.y, p.c + by} }

// A turner walks along a row of pixels and says for each how far a wave is: 2³² is a
// whole turn, so overflow is right.
type turner struct{ phase, step uint32 }

// turnsAlong follows a plane that counts turns, from the first pixel of row y.
func (p plane) turnsAlong(y int) turner {
	start := p.at(0.5, float64(y)+0.5)
	return turner{inTurns(start), inTurns(p.x)}
}

func inTurns(turns float64) uint32 {
	part := turns - math.Floor(turns)
	return uint32(int64(float64(part * (1 << 32))))
}

// A view says where the points of a scene are in a frame of some size. Scenes are drawn
// on a canvas of 4:3 and height 1, which is stretched over the frame.
type view struct{ x, y plane } // canvas coordinates of a pixel

const canvasWidth = 4.0 / 3

func newView(width, height int) view {
	return view{
		x: plane{x: canvasWidth / float64(width)},
		y: plane{y: 1 / float64(height)},
	}
}

// rotated returns the view from a point, with axes turned by an angle in turns: the
// first along the angle, the second a quarter turn on.
func (v view) rotated(angle, x, y float64) view {
	c, s := cosine(angle), sine(angle)
	dx, dy := v.x.shifted(-x), v.y.shifted(-y)
	return view{
		x: dx.times(c).plus(dy.times(s)),
		y: dx.times(-s).plus(dy.times(c)),
	}
}
