package synth

import (
	"image"
	"math"
	"math/bits"
)

// Render draws the scene in a frame of some size in pixels. It is stretched over the
// frame, so that other sizes and proportions show the same things; only the noise is
// another one.
//
// The pixels are the same on every platform: they are computed in whole numbers.
func (s Scene) Render(width, height int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, max(width, 0), max(height, 0)))
	var p painter
	p.render(&s, img)
	return img
}

// A painter draws scenes, one after the other, and keeps the memory that takes.
type painter struct {
	field   [fieldRows][]int32 // the rows of colours, drawn out to the width
	line    []int32            // the row of the picture that is being made
	cover   []uint8
	waves   []ripple
	figures []figure
}

// A ripple is a wave placed in a frame.
type ripple struct {
	along, across plane // count turns of the wave and of its swell
	bend          int32 // what the swell adds to the phase of the wave
	crest         [3]int32
}

// render draws over the whole of a picture.
func (p *painter) render(s *Scene, img *image.RGBA) {
	width, height := img.Rect.Dx(), img.Rect.Dy()
	p.place(s, width, height)
	noise := newStream("pixels", s.noiseSeed, uint64(width), uint64(height))
	for y := range height {
		p.drawRow(y, height)
		develop(img.Pix[y*img.Stride:][:4*width], p.line, noise, s.Noise)
	}
}

// drawRow makes a row of the picture, without its noise, in line.
func (p *painter) drawRow(y, height int) {
	p.drawField(y, height)
	p.drawWaves(y)
	for i := range p.figures {
		f := &p.figures[i]
		first, last := f.cover(y, p.cover)
		f.paint(y, first, last, p.cover, p.line)
	}
}

// place works out where everything is in a frame.
func (p *painter) place(s *Scene, width, height int) {
	frame := newView(width, height)
	p.line = resized(p.line, 3*width)
	p.cover = resized(p.cover, width)
	p.placeField(s, width)
	p.waves = p.waves[:0]
	for i := range s.waves {
		if r, visible := s.waves[i].place(frame); visible {
			p.waves = append(p.waves, r)
		}
	}
	p.figures = p.figures[:0]
	for i := range s.shapeCount {
		p.figures = append(p.figures, s.shapes[i].place(frame, width))
	}
}

func resized[T any](v []T, n int) []T {
	if cap(v) < n {
		return make([]T, n)
	}
	return v[:n]
}

// placeField draws out the rows of colours to the width of the frame.
func (p *painter) placeField(s *Scene, width int) {
	const middle, spread, tint = 128, 170, 45
	for r := range s.field {
		var colours [fieldColumns][3]int32
		for c := range colours {
			colours[c] = s.field[r][c].levels(middle, spread, tint)
		}
		p.field[r] = resized(p.field[r], 3*width)
		row := p.field[r]
		for x := range width {
			at, w := smoothAt(x, width, fieldColumns)
			for c := range 3 {
				row[3*x+c] = (w[0]*colours[at][c] + w[1]*colours[at+1][c] + w[2]*colours[at+2][c]) >> weightBits
			}
		}
	}
}

// drawField begins a row with the smooth colours.
func (p *painter) drawField(y, height int) {
	at, w := smoothAt(y, height, fieldRows)
	line := p.line
	a, b, c := p.field[at][:len(line)], p.field[at+1][:len(line)], p.field[at+2][:len(line)]
	for i := range line {
		line[i] = (w[0]*a[i] + w[1]*b[i] + w[2]*c[i]) >> weightBits
	}
}

// weightBits is the unit of the weights of smoothAt.
const weightBits = 12

// smoothAt spreads count control points over n pixels and returns the first of the three
// that decide on pixel i, and their weights: a quadratic B-spline, which has no corners.
func smoothAt(i, n, count int) (first int, weights [3]int32) {
	t := float64((float64(i) + 0.5) / float64(n) * float64(count-2))
	first = min(int(t), count-3)
	f := t - float64(first)
	weights[2] = fixed(float64(f*f)/2, weightBits)
	weights[0] = fixed(float64((1-f)*(1-f))/2, weightBits)
	weights[1] = 1<<weightBits - weights[0] - weights[2]
	return first, weights
}

// place puts a wave into a frame. One of little strength is left out.
func (w *wave) place(frame view) (r ripple, visible bool) {
	const weakest, strongest = -14, 42 // half of its height, in grey levels
	const longest, shortest = 3, 36    // waves over the height of the picture
	const swells = 1.3                 // as many of the long waves
	const mostBend = 1.2               // turns
	strength := within(w.strength, weakest, strongest)
	if strength <= 0 {
		return ripple{}, false
	}
	frequency := longest + float64(float64(w.frequency*w.frequency)*(shortest-longest))
	axes := frame.rotated(within(w.angle, 0, 0.5), 0, 0)
	crest := colour{1, w.tint[1], w.tint[2]}
	return ripple{
		along:  axes.x.times(frequency).shifted(w.phase),
		across: axes.y.times(swells).shifted(w.swell),
		bend:   fixed(float64(w.bend*mostBend), 32-sineUnit),
		crest:  crest.levels(0, strength, strength/3),
	}, true
}

// drawWaves lays the waves over a row.
func (p *painter) drawWaves(y int) {
	for i := range p.waves {
		w := &p.waves[i]
		wave, swell := w.along.turnsAlong(y), w.across.turnsAlong(y)
		red, green, blue := w.crest[0], w.crest[1], w.crest[2]
		for line := p.line; len(line) >= 3; line = line[3:] {
			long := sineTable[swell.phase>>(32-sineBits)]
			short := sineTable[(wave.phase+uint32(w.bend*long))>>(32-sineBits)]
			height := (long + 1<<sineUnit) * short >> (sineUnit + 1)
			wave.phase += wave.step
			swell.phase += swell.step
			line[0] += red * height >> sineUnit
			line[1] += green * height >> sineUnit
			line[2] += blue * height >> sineUnit
		}
	}
}

// develop rounds a row to pixels, with noise.
//
// The noise of a pixel is a number of coin tosses: 28 that decide on its brightness, as
// most of the noise of cameras does, and 12 for each colour.
func develop(row []uint8, line []int32, noise *stream, deviation float64) {
	const common, own = 28, 12
	const tossed = 3.1622776601683795 // √(40/4), their deviation
	unit := int32(0)
	if deviation > 0 {
		unit = fixed(min(deviation, 255)/tossed, levelBits)
	}
	offset := int32(1<<(levelBits-1)) - unit*(common+own)/2
	for ; len(row) > 0; row, line = row[4:], line[3:] {
		toss := uint64(0)
		if unit != 0 {
			toss = noise.pcg.Uint64()
		}
		light := offset + unit*int32(bits.OnesCount64(toss>>(64-common)))
		row[0] = pixel(line[0] + light + unit*int32(bits.OnesCount64(toss&0xfff)))
		row[1] = pixel(line[1] + light + unit*int32(bits.OnesCount64(toss>>12&0xfff)))
		row[2] = pixel(line[2] + light + unit*int32(bits.OnesCount64(toss>>24&0xfff)))
		row[3] = math.MaxUint8
	}
}

// pixel cuts a level off to a byte.
func pixel(level int32) uint8 {
	level >>= levelBits
	if uint32(level) > math.MaxUint8 {
		level = ^(level >> 31)
	}
	return uint8(level)
}
