package synth

import "math"

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
