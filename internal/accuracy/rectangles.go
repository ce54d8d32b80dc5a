package accuracy

import "math"

// A Rectangle lies rotated in a plane.
type Rectangle struct {
	corners [4]corner // counter-clockwise
	middle  corner
	reach   float64 // from the middle to a corner
}

type corner struct{ x, y float64 }

// NewRectangle returns a rectangle between two corners that is rotated about its middle, by an angle in radians, from x to y, as
// shapely.affinity.rotate does it.
func NewRectangle(x1, y1, x2, y2, angle float64) Rectangle {
	x1, x2, y1, y2 = min(x1, x2), max(x1, x2), min(y1, y2), max(y1, y2)
	r := Rectangle{middle: corner{(x1 + x2) / 2, (y1 + y2) / 2}, reach: math.Hypot(x2-x1, y2-y1) / 2}
	sin, cos := math.Sincos(angle)
	for i, p := range [4]corner{{x1, y1}, {x2, y1}, {x2, y2}, {x1, y2}} {
		dx, dy := p.x-r.middle.x, p.y-r.middle.y
		r.corners[i] = corner{r.middle.x + float64(cos*dx) - float64(sin*dy), r.middle.y + float64(sin*dx) + float64(cos*dy)}
	}
	return r
}

// Area is that of the rectangle.
func (r *Rectangle) Area() float64 { return area(r.corners[:]) }

// Overlap is the area that two rectangles have in common.
func (r *Rectangle) Overlap(o *Rectangle) float64 {
	if math.Hypot(r.middle.x-o.middle.x, r.middle.y-o.middle.y) > r.reach+o.reach {
		return 0
	}
	// Each side of o cuts off what lies on its right (Sutherland and Hodgman, 1974). Each cut adds at most one corner.
	var memory [2][8]corner
	polygon := append(memory[0][:0], r.corners[:]...)
	for i := range o.corners {
		cut := memory[1-i%2][:0]
		from, to := o.corners[i], o.corners[(i+1)%4]
		for k, p := range polygon {
			q := polygon[(k+1)%len(polygon)]
			left, next := side(from, to, p), side(from, to, q)
			if left >= 0 {
				cut = append(cut, p)
			}
			if (left > 0 && next < 0) || (left < 0 && next > 0) {
				t := left / (left - next)
				cut = append(cut, corner{p.x + float64(t*(q.x-p.x)), p.y + float64(t*(q.y-p.y))})
			}
		}
		polygon = cut
	}
	return max(0, area(polygon))
}

// side is above 0 if p lies on the left of the way from a to b.
func side(a, b, p corner) float64 { return float64((b.x-a.x)*(p.y-a.y)) - float64((b.y-a.y)*(p.x-a.x)) }

// area is that of a polygon whose corners are listed counter-clockwise.
func area(polygon []corner) (sum float64) {
	if len(polygon) < 3 {
		return 0
	}
	o := polygon[0]
	for i := 1; i+1 < len(polygon); i++ {
		a, b := polygon[i], polygon[i+1]
		sum += float64((a.x-o.x)*(b.y-o.y)) - float64((a.y-o.y)*(b.x-o.x))
	}
	return sum / 2
}
