package synth

import (
	"bytes"
	"image"
	imagedraw "image/draw"
	"image/jpeg"
	"math"
	"math/bits"
	"slices"
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

// A frame is how a scene becomes a JPEG file.
type frame struct {
	width, height int // as seen, which with an orientation is not as stored
	quality       int // 1 to 100
	gray          bool
	orientation   byte // of EXIF; 0: the file has none
}

// encode returns the file of a picture.
func (f frame) encode(picture *image.RGBA) ([]byte, error) {
	var stored image.Image = storedFor(picture, f.orientation)
	if f.gray {
		gray := image.NewGray(stored.Bounds())
		imagedraw.Draw(gray, gray.Bounds(), stored, image.Point{}, imagedraw.Src)
		stored = gray
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, stored, &jpeg.Options{Quality: f.quality}); err != nil {
		return nil, err
	}
	marked := slices.Insert(file.Bytes(), 2, jpegComment(markComment)...) // behind SOI
	if f.orientation == 0 {
		return marked, nil
	}
	// Behind SOI comes an APP1 segment with a TIFF header and a directory of one entry (EXIF 2.3 §4.5.2, tag 0x0112).
	app1 := "\xFF\xE1\x00\x22Exif\x00\x00MM\x00\x2A\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00" +
		string(rune(f.orientation)) + "\x00\x00\x00\x00\x00\x00"
	return slices.Insert(marked, 2, []byte(app1)...), nil
}

// A mix is a distribution of frames.
type mix struct {
	common   []size // sizes that many pictures have
	ordinary int    // weight of pictures of any proportions between the limits of side
	side     [2]int // of the longer side
	small    int    // weight of pictures with a side below 224
	large    int    // weight of pictures with a side above 1000
}

// A size has a weight per mille. Upright pictures are as many as turned says, of each
// hundred.
type size struct{ width, height, weight, turned int }

// imageNetMix is like the sizes of the ILSVRC-2012 validation set: half the pictures
// have 500×375 pixels, a few are tiny or huge.
func imageNetMix() mix {
	return mix{
		common: []size{
			{500, 375, 560, 22},
			{500, 333, 140, 25},
			{500, 500, 30, 0},
			{640, 480, 30, 20},
			{400, 300, 20, 25},
		},
		ordinary: 190, side: [2]int{300, 640},
		small: 15, large: 15,
	}
}

// cocoMix is like val2017, whose longer side is 640 but for a few.
func cocoMix() mix {
	return mix{
		common: []size{
			{640, 480, 430, 27},
			{640, 427, 260, 22},
			{640, 640, 15, 0},
			{640, 426, 60, 20},
			{500, 375, 75, 25},
			{612, 612, 20, 0},
		},
		ordinary: 130, side: [2]int{400, 640},
		small: 10,
	}
}

// openImagesMix is like the validation set of OpenImages: the longer side has 1024 pixels.
func openImagesMix() mix {
	return mix{
		common: []size{
			{1024, 768, 480, 27},
			{1024, 683, 300, 25},
			{1024, 680, 60, 20},
			{1024, 576, 40, 20},
			{1024, 1024, 30, 0},
		},
		ordinary: 90, side: [2]int{900, 1024},
	}
}

// draw chooses a frame.
func (m *mix) draw(r *stream) frame {
	var f frame
	f.width, f.height = m.drawSize(r)
	// The better of two: files of low quality are rarer.
	f.quality = max(r.between(70, 98), r.between(70, 98))
	f.gray = r.below(100) < 2 // about as in the ILSVRC-2012 validation set
	return f
}

func (m *mix) drawSize(r *stream) (width, height int) {
	weights := []int{m.ordinary, m.small, m.large}
	for _, s := range m.common {
		weights = append(weights, s.weight)
	}
	switch i := r.pick(weights); i {
	case 0:
		return anySize(r, m.side[0], m.side[1])
	case 1:
		return anySize(r, 110, 223)
	case 2:
		return anySize(r, 1024, 1800)
	default:
		s := m.common[i-3]
		return turnedSize(r, s.width, s.height, s.turned)
	}
}

// anySize draws a longer side between limits and a shorter one of 56 to 100 per cent.
func anySize(r *stream, low, high int) (width, height int) {
	longer := r.between(low, high)
	return turnedSize(r, longer, longer*r.between(56, 100)/100, 30)
}

// turnedSize exchanges the sides with a chance in per cent.
func turnedSize(r *stream, width, height, turned int) (int, int) {
	if r.below(100) < turned {
		return height, width
	}
	return width, height
}
