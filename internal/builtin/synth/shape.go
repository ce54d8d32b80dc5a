package synth

import "math"

// Kind is what a shape is.
type Kind int

// The kinds of shape. Stripes are a rectangle of two colours in turn.
const (
	Ellipse Kind = iota
	Rectangle
	Triangle
	Stripes
	kinds
)

// String returns the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Ellipse:
		return "ellipse"
	case Rectangle:
		return "rectangle"
	case Triangle:
		return "triangle"
	case Stripes:
		return "stripes"
	}
	return "unknown shape"
}

// A figure is a shape placed in a frame. In the coordinates of own, an ellipse is the
// unit circle, a rectangle the square from -1 to 1, a triangle has its corners on the
// unit circle.
type figure struct {
	kind    Kind
	width   int // of the frame
	own     view
	sides   [4]plane // of all but ellipses: at most 1 inside
	along   plane    // turns of the wave of colour
	palette [256][3]int32
	spans   [subrows]span
}

// place puts a shape into a frame.
func (s *shape) place(frame view, width int) figure {
	const smallest, largest = 0.09, 0.36 // half the height, as a part of the frame's
	kind := min(Kind(float64(s.kind*float64(kinds))), kinds-1)
	size := within(s.size, smallest, largest)
	stretch := math.Sqrt(within(s.aspect, 0.5, 2))
	own := frame.rotated(within(s.angle, 0, 0.5), within(s.x, 0.08, canvasWidth-0.08), within(s.y, 0.08, 0.92))
	own.x = own.x.times(1 / float64(size*stretch))
	own.y = own.y.times(stretch / size)
	f := figure{kind: kind, width: width, own: own}
	f.setSides()
	f.setColours(s)
	return f
}

func (f *figure) setSides() {
	u, v := f.own.x, f.own.y
	if f.kind == Triangle {
		const root3 = 1.7320508075688772
		slanted := v.times(-1)
		f.sides = [4]plane{v.times(2), slanted.plus(u.times(root3)), slanted.plus(u.times(-root3))}
		return
	}
	f.sides = [4]plane{u, v, u.times(-1), v.times(-1)}
}

// setColours makes a smooth change of colour across the shape, or stripes.
func (f *figure) setColours(s *shape) {
	const spread, tint = 115, 50
	turns, sharpness := 0.5, 1.0
	if f.kind == Stripes {
		turns, sharpness = math.Floor(within(s.stripes, 2, 8)), 5
	}
	f.along = f.own.x.shifted(1).times(turns / 2)
	from, to := s.colours[0].levels(128, spread, tint), s.colours[1].levels(128, spread, tint)
	for i := range f.palette {
		swing := float64(sharpness * cosine(float64(float64(i)/float64(len(f.palette)))))
		share := fixed(0.5-float64(0.5*max(-1, min(1, swing))), levelBits)
		for c := range from {
			f.palette[i][c] = from[c] + (to[c]-from[c])*share>>levelBits
		}
	}
}

// A row of pixels is looked at in several rows of points, and a span counts parts of
// pixels, so that edges come out smooth.
const (
	subrows   = 4
	subpixels = 16
	opaque    = subrows * subpixels // the cover of a pixel that lies inside
)

// A span is a piece of a row from left up to but not including right, in parts of pixels.
type span struct{ left, right int32 }

// cover fills in how much of each pixel of row y the figure covers, from 0 to opaque, and
// returns the first pixel and the one after the last of which it covers anything.
func (f *figure) cover(y int, cover []uint8) (first, last int) {
	end := int32(f.width * subpixels)
	outer, inner := span{end, 0}, span{0, end}
	for i := range f.spans {
		s := f.spanAt(float64(y) + float64((float64(i)+0.5)/subrows))
		f.spans[i] = s
		if s.left < s.right {
			outer.left, outer.right = min(outer.left, s.left), max(outer.right, s.right)
		}
		inner.left, inner.right = max(inner.left, s.left), min(inner.right, s.right)
	}
	if outer.left >= outer.right {
		return 0, 0
	}
	first, last = int(outer.left/subpixels), int(outer.right+subpixels-1)/subpixels
	full, rest := int(inner.left+subpixels-1)/subpixels, int(inner.right/subpixels)
	rest = max(rest, full)
	full, rest = min(full, last), min(rest, last)
	f.coverEdge(cover, first, full)
	for x := full; x < rest; x++ {
		cover[x] = opaque
	}
	f.coverEdge(cover, rest, last)
	return first, last
}

// coverEdge counts the parts of pixels one by one.
func (f *figure) coverEdge(cover []uint8, first, last int) {
	for x := first; x < last; x++ {
		left := int32(x * subpixels)
		sum := int32(0)
		for _, s := range f.spans {
			sum += max(0, min(s.right, left+subpixels)-max(s.left, left))
		}
		cover[x] = uint8(sum)
	}
}

// spanAt returns the span inside the figure of a row of points.
func (f *figure) spanAt(py float64) span {
	left, right := f.sidesAt(py)
	if f.kind == Ellipse {
		left, right = f.circleAt(py)
	}
	if !(left < right) {
		return span{}
	}
	return span{f.part(left), f.part(right)}
}

// sidesAt cuts a row at each of the sides: side.x·px + rest ≤ 1.
func (f *figure) sidesAt(py float64) (left, right float64) {
	left, right = 0, float64(f.width)
	for _, side := range f.sides {
		rest := 1 - side.at(0, py)
		switch {
		case side.x > 0:
			right = min(right, rest/side.x)
		case side.x < 0:
			left = max(left, rest/side.x)
		case rest < 0:
			return 0, 0
		}
	}
	return left, right
}

// circleAt solves (u + p·px)² + (v + q·px)² = 1.
func (f *figure) circleAt(py float64) (left, right float64) {
	p, q := f.own.x.x, f.own.y.x
	u, v := f.own.x.at(0, py), f.own.y.at(0, py)
	a := float64(p*p) + float64(q*q)
	b := float64(p*u) + float64(q*v)
	c := float64(u*u) + float64(v*v) - 1
	root := float64(b*b) - float64(a*c)
	if root <= 0 {
		return 0, 0
	}
	root = math.Sqrt(root)
	return (-b - root) / a, (-b + root) / a
}

// part rounds to parts of pixels. It limits before it converts, since what becomes of
// too large a number differs between processors.
func (f *figure) part(px float64) int32 {
	px = max(0, min(px, float64(f.width)))
	return int32(math.Floor(float64(px*subpixels) + 0.5))
}

// paint lays the figure over a row, of which it covers the pixels from first to last.
func (f *figure) paint(y, first, last int, cover []uint8, line []int32) {
	t := f.along.turnsAlong(y)
	t.phase += t.step * uint32(first)
	for x := first; x < last; x++ {
		ink := &f.palette[t.phase>>24]
		t.phase += t.step
		pixel := line[3*x : 3*x+3 : 3*x+3]
		if cover[x] == opaque {
			pixel[0], pixel[1], pixel[2] = ink[0], ink[1], ink[2]
			continue
		}
		share := int32(cover[x])
		pixel[0] += (ink[0] - pixel[0]) * share / opaque
		pixel[1] += (ink[1] - pixel[1]) * share / opaque
		pixel[2] += (ink[2] - pixel[2]) * share / opaque
	}
}
