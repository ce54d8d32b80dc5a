package synth

import (
	"math"
)

// A Scene is a picture without a size: a field of smooth colour, waves over it, and two
// to five shapes in front. It is a small value; copies are independent. The zero Scene
// is of no use, NewScene makes one.
//
// Every parameter is a number from 0 to 1, and only where it is used is it given its
// range. So one rule, in Jitter, moves all of them.
type Scene struct {
	// Noise is the standard deviation of the noise of each pixel, in grey levels.
	// NewScene chooses one like that of photographs; 0, or less, is none.
	Noise float64

	noiseSeed  uint64
	field      [fieldRows][fieldColumns]colour
	waves      [2]wave
	shapes     [maxShapes]shape
	shapeCount int
}

const (
	fieldRows, fieldColumns = 5, 6
	minShapes, maxShapes    = 2, 5
	minNoise, maxNoise      = 1.5, 4.0
)

// A colour is a lightness and two differences of colour, blue and red.
type colour [3]float64

// A wave is a sinusoid over the whole picture, bent and in some places stronger than in
// others by a long second wave across it, the swell.
type wave struct {
	strength, frequency, angle, phase float64
	swell, bend                       float64 // phase of the swell, and what it does
	tint                              colour
}

// A shape is a filled outline, or with stripes.
type shape struct {
	kind, x, y, size, aspect, angle float64
	stripes                         float64 // how many, if it has any
	colours                         [2]colour
}

// NewScene returns the scene of a seed.
func NewScene(seed uint64) Scene {
	r := newStream("scene", seed)
	s := Scene{noiseSeed: deriveSeed("noise", seed)}
	s.Noise = minNoise + float64((maxNoise-minNoise)*r.uniform())
	s.shapeCount = r.between(minShapes, maxShapes)
	s.each(func(p *float64) { *p = r.uniform() })
	for i := range s.shapes {
		s.shapes[i].kind = r.uniform()
	}
	return s
}

// Jitter returns the scene with every parameter moved by a bell-shaped random amount,
// in proportion to amount: at 0 it is the same scene, at 0.1 to 0.2 one recognises
// it, at 1 nothing is left. Noise and the number of shapes stay, the noise
// falls differently. An amount that is not above 0 counts as 0.
func (s Scene) Jitter(seed uint64, amount float64) Scene {
	if !(amount > 0) {
		return s
	}
	reach := float64(min(amount, maxJitter) * jitterReach)
	r := newStream("jitter", seed)
	s.noiseSeed = deriveSeed("noise", seed)
	s.each(func(p *float64) { *p = reflected(*p + float64(reach*r.normal())) })
	// What a shape is cannot move a little. So it moves later than the rest.
	reach = float64(reach * min(amount, 1))
	for i := range s.shapes {
		kind := &s.shapes[i].kind
		*kind = reflected(*kind + float64(reach*r.normal()))
	}
	return s
}

const (
	// jitterReach is how far, as a part of its range, a parameter moves at amount 1.
	jitterReach = 0.6
	// maxJitter keeps numbers within reason. Long before it everything is random.
	maxJitter = 100
)

// reflected brings a number back between 0 and 1, by reflection at both ends.
func reflected(v float64) float64 {
	v -= 2 * math.Floor(v/2)
	if v > 1 {
		return 2 - v
	}
	return v
}

// each visits all parameters but the kinds, those of unused shapes too, always in the
// same order.
func (s *Scene) each(visit func(*float64)) {
	for r := range s.field {
		for c := range s.field[r] {
			s.field[r][c].each(visit)
		}
	}
	for i := range s.waves {
		w := &s.waves[i]
		for _, p := range []*float64{&w.strength, &w.frequency, &w.angle, &w.phase, &w.swell, &w.bend} {
			visit(p)
		}
		w.tint.each(visit)
	}
	for i := range s.shapes {
		s.shapes[i].each(visit)
	}
}

func (s *shape) each(visit func(*float64)) {
	for _, p := range []*float64{&s.x, &s.y, &s.size, &s.aspect, &s.angle, &s.stripes} {
		visit(p)
	}
	for i := range s.colours {
		s.colours[i].each(visit)
	}
}

func (c *colour) each(visit func(*float64)) {
	for i := range c {
		visit(&c[i])
	}
}

// within gives a parameter its range.
func within(p, low, high float64) float64 { return low + float64(p*(high-low)) }

// levels returns red, green and blue in units of 1/256 grey level. Spread is how far the
// lightness goes from the middle, tint how far the colour goes from grey, both in grey
// levels; the result may lie outside 0 to 255.
func (c colour) levels(middle, spread, tint float64) [3]int32 {
	light := middle + float64(spread*(2*c[0]-1))
	blue, red := float64(tint*(2*c[1]-1)), float64(tint*(2*c[2]-1))
	// The differences of colour of ITU-R BT.601.
	return [3]int32{
		fixed(light+float64(1.402*red), levelBits),
		fixed(light-float64(0.344*blue)-float64(0.714*red), levelBits),
		fixed(light+float64(1.772*blue), levelBits),
	}
}

// levelBits is how finely a row is computed before it is rounded to pixels.
const levelBits = 8

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

// An Object is a shape of a scene, where it can be seen in a frame.
type Object struct {
	Kind Kind
	// Box is [x, y, width, height] in pixels, around the pixels that the shape makes up
	// at least half of.
	Box [4]int
}

// Objects returns the shapes of the scene as Render draws them in a frame of the same
// size, the farthest first. Shapes of which nothing is to be seen are left out.
func (s Scene) Objects(width, height int) []Object {
	width, height = max(0, width), max(0, height)
	var p painter
	p.place(&s, width, height)
	boxes := make([]extent, len(p.figures))
	unseen := make([]uint32, width) // of each pixel, what is not taken by nearer shapes
	for y := range height {
		for x := range unseen {
			unseen[x] = untaken
		}
		for i := len(p.figures) - 1; i >= 0; i-- {
			p.take(i, y, unseen, &boxes[i])
		}
	}
	var objects []Object
	for i, b := range boxes {
		if b.right > 0 {
			box := [4]int{b.left, b.top, b.right - b.left, b.bottom - b.top}
			objects = append(objects, Object{p.figures[i].kind, box})
		}
	}
	return objects
}

// untaken is a whole pixel, in units so small that it can be divided by opaque for each
// shape without a remainder.
const untaken = opaque * opaque * opaque * opaque * opaque

// An extent is the box around some pixels. It is empty if right is 0.
// take takes from row y what is seen of a figure, and adds pixels that are mostly its own to its box.
func (p *painter) take(figure, y int, unseen []uint32, box *extent) {
	first, last := p.figures[figure].cover(y, p.cover)
	for x := first; x < last; x++ {
		taken := unseen[x] / opaque * uint32(p.cover[x])
		unseen[x] -= taken
		if taken >= untaken/2 {
			box.add(x, y)
		}
	}
}

type extent struct{ left, top, right, bottom int }

func (b *extent) add(x, y int) {
	if b.right == 0 {
		*b = extent{x, y, x + 1, y + 1}
		return
	}
	b.left, b.right = min(b.left, x), max(b.right, x+1)
	b.bottom = y + 1
}
