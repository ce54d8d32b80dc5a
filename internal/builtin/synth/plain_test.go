package synth

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A plainScene is drawn point by point in float64, as the words in scene.go say what a scene is, without tables and whole numbers.
type plainScene struct {
	Scene
	width, height int
}

// canvas is where a pixel's middle is: the scene has 4:3 and height 1, and is stretched over the frame.
func (s plainScene) canvas(x, y int) (float64, float64) {
	return (float64(x) + 0.5) / float64(s.width) * 4 / 3, (float64(y) + 0.5) / float64(s.height)
}

// basis is a quadratic B-spline over count control points on n pixels (de Boor's recursion, on whole knots).
func basis(point, i, n, count int) float64 {
	t := (float64(i)+0.5)/float64(n)*float64(count-2) - float64(point) + 2 // from 0 to 3 where the point counts
	switch {
	case t < 0 || t >= 3:
		return 0
	case t < 1:
		return t * t / 2
	case t < 2:
		return (-2*t*t + 6*t - 3) / 2
	}
	return (3 - t) * (3 - t) / 2
}

func plainLevels(c colour, middle, spread, tint float64) [3]float64 {
	light := middle + spread*(2*c[0]-1)
	blue, red := tint*(2*c[1]-1), tint*(2*c[2]-1)
	return [3]float64{light + 1.402*red, light - 0.344*blue - 0.714*red, light + 1.772*blue}
}

// field is the smooth colours behind everything.
func (s plainScene) field(x, y int) (sum [3]float64) {
	for r := range fieldRows {
		for c := range fieldColumns {
			w := basis(r, y, s.height, fieldRows) * basis(c, x, s.width, fieldColumns)
			for i, v := range plainLevels(s.Scene.field[r][c], 128, 170, 45) {
				sum[i] += w * v
			}
		}
	}
	return sum
}

// rotatedBy gives coordinates along and across an angle in turns.
func rotatedBy(x, y, angle float64) (float64, float64) {
	sin, cos := math.Sincos(2 * math.Pi * angle)
	return x*cos + y*sin, y*cos - x*sin
}

func (s plainScene) wave(w *wave, x, y int) (crest [3]float64, height float64) {
	strength := -14 + 56*w.strength
	if strength <= 0 {
		return crest, 0
	}
	u, v := s.canvas(x, y)
	along, across := rotatedBy(u, v, w.angle/2)
	long := math.Sin(2 * math.Pi * (across*1.3 + w.swell))
	short := math.Sin(2 * math.Pi * (along*(3+33*w.frequency*w.frequency) + w.phase + w.bend*1.2*long))
	return plainLevels(colour{1, w.tint[1], w.tint[2]}, 0, strength, strength/3), (1 + long) / 2 * short
}

// shape is whether a point lies in a shape, and its colour there.
func (s plainScene) shape(o *shape, u, v float64) (inside bool, ink [3]float64) {
	kind := min(Kind(o.kind*4), Stripes)
	size, stretch := 0.09+0.27*o.size, math.Sqrt(0.5+1.5*o.aspect)
	a, b := rotatedBy(u-(0.08+(4.0/3-0.16)*o.x), v-(0.08+0.84*o.y), o.angle/2)
	a, b = a/(size*stretch), b*stretch/size
	switch kind {
	case Ellipse:
		inside = a*a+b*b < 1
	case Triangle:
		inside = 2*b < 1 && math.Sqrt(3)*math.Abs(a)-b < 1
	default:
		inside = max(math.Abs(a), math.Abs(b)) < 1
	}
	turns, sharpness := 0.5, 1.0
	if kind == Stripes {
		turns, sharpness = math.Floor(2+6*o.stripes), 5
	}
	swing := sharpness * math.Cos(2*math.Pi*(a+1)*turns/2)
	share := 0.5 - 0.5*max(-1, min(1, swing))
	from, to := plainLevels(o.colours[0], 128, 115, 50), plainLevels(o.colours[1], 128, 115, 50)
	for i := range ink {
		ink[i] = from[i] + (to[i]-from[i])*share
	}
	return inside, ink
}

// pixel is the colour of a pixel, and how near one may come to it: not at all (0) where an edge goes through the pixel, of which
// it depends how finely one looks. Waves come from a table of 1024 steps, colours from one of 256, in which those of stripes are up to 16 levels high.
func (s plainScene) pixel(x, y int) (level [3]float64, near float64) {
	level, near = s.field(x, y), 7
	for i := range s.waves {
		crest, height := s.wave(&s.waves[i], x, y)
		for c := range level {
			level[c] += crest[c] * height
		}
	}
	for i := range s.shapeCount {
		inside, ink := s.shape(&s.shapes[i], float64(2*x+1)/float64(2*s.width)*4/3, float64(2*y+1)/float64(2*s.height))
		for point := range 49 { // and a little beyond the pixel
			u, v := (float64(x)+float64(point%7)/5-0.1)/float64(s.width)*4/3, (float64(y)+float64(point/7)/5-0.1)/float64(s.height)
			if at, _ := s.shape(&s.shapes[i], u, v); at != inside {
				return level, 0
			}
		}
		if inside {
			level, near = ink, 7
			if s.shapes[i].kind >= 0.75 {
				near = 18
			}
		}
	}
	for c := range level {
		level[c] = min(max(level[c], 0), 255)
	}
	return level, near
}

func TestPicturesAreThoseOfTheirDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	for seed := range uint64(12) {
		width, height := 20+rng.IntN(60), 20+rng.IntN(60)
		s := plainScene{quiet(NewScene(seed)), width, height}
		img := s.Render(width, height)
		seen := 0
		for range 400 {
			x, y := rng.IntN(width), rng.IntN(height)
			want, near := s.pixel(x, y)
			if near == 0 {
				continue
			}
			seen++
			for c, v := range img.Pix[y*img.Stride+4*x:][:3] {
				if math.Abs(float64(v)-want[c]) > near {
					t.Fatalf("scene %d of %d×%d: channel %d at %d, %d is %d, want %.1f", seed, width, height, c, x, y, v, want[c])
				}
			}
		}
		if seen < 200 {
			t.Errorf("scene %d: only %d pixels have no edge", seed, seen)
		}
	}
}

// Weights are those of the spline, and add up to one.
func TestControlPointsShareEachPixel(t *testing.T) {
	for _, n := range []int{1, 2, 7, 100, 1000} {
		for _, count := range []int{fieldRows, fieldColumns, 3} {
			for i := range n {
				first, w := smoothAt(i, n, count)
				if first < 0 || first > count-3 || w[0]+w[1]+w[2] != 1<<weightBits {
					t.Fatalf("pixel %d of %d: points from %d of %d on, weights %v", i, n, first, count, w)
				}
				for k, got := range w {
					if want := basis(first+k, i, n, count); math.Abs(float64(got)/(1<<weightBits)-want) > 0.0005 {
						t.Fatalf("pixel %d of %d: point %d of %d has the weight %d, want %v", i, n, first+k, count, got, want)
					}
				}
			}
		}
	}
}

func TestLevelsAreCutOffToBytes(t *testing.T) {
	for level, want := range map[int32]uint8{
		0: 0, 1: 0, 255: 0, 256: 1, 128 << 8: 128, 255 << 8: 255, 255<<8 + 255: 255, 256 << 8: 255, 1 << 30: 255, -1: 0, -256: 0, -(1 << 30): 0, math.MaxInt32: 255, math.MinInt32: 0,
	} {
		if got := pixel(level); got != want {
			t.Errorf("level %d is %d, want %d", level, got, want)
		}
	}
}

// What is above 255 levels of noise is as much as 255.
func TestNoiseIsCoinTosses(t *testing.T) {
	const n = 3 * 20000
	for _, deviation := range []float64{2, 5, 20} {
		line, pixels := make([]int32, n), make([]uint8, n/3*4)
		for i := range line {
			line[i] = 128 << levelBits
		}
		develop(pixels, line, newStream("test", 3), deviation)
		var row []uint8 // without alpha
		for pixel := range slices.Chunk(pixels, 4) {
			row = append(row, pixel[:3]...)
		}
		var sum, squares, together float64
		for i, v := range row {
			d := float64(v) - 128
			sum += d
			squares += d * d
			if i%3 > 0 {
				together += d * (float64(row[i-1]) - 128)
			}
		}
		if mean := sum / n; math.Abs(mean) > 0.05*deviation+0.02 {
			t.Errorf("noise of %v has the mean %v", deviation, mean)
		}
		want := math.Sqrt(deviation*deviation + 1.0/12) // and rounding
		if got := math.Sqrt(squares / n); math.Abs(got-want) > 0.06*want {
			t.Errorf("noise of %v has the deviation %v", deviation, got)
		}
		// Most of it is brightness: 28 tosses of 40 are common to the three colours.
		if got := together / (n * 2 / 3) / (deviation * deviation); math.Abs(got-0.7) > 0.06 {
			t.Errorf("noise of %v: channels share %v of it, want 0.7", deviation, got)
		}
	}
	img := NewScene(1)
	img.Noise = 1e9
	if got := img.Render(4, 4); len(got.Pix) != 64 {
		t.Error("endless noise is not drawn")
	}
}

func TestShapesAreOfFourKinds(t *testing.T) {
	counts := map[Kind]int{}
	for seed := range uint64(300) {
		s := NewScene(seed)
		if s.shapeCount < minShapes || s.shapeCount > maxShapes || s.Noise < minNoise || s.Noise > maxNoise {
			t.Fatalf("scene %d has %d shapes and a noise of %v", seed, s.shapeCount, s.Noise)
		}
		frame := newView(100, 100)
		for i := range s.shapeCount {
			counts[s.shapes[i].place(frame, 100).kind]++
		}
	}
	for kind := Ellipse; kind < kinds; kind++ {
		if counts[kind] < 200 {
			t.Errorf("%d shapes are a %v", counts[kind], kind)
		}
	}
	if len(counts) != int(kinds) {
		t.Errorf("kinds %v", counts)
	}
	if got := kinds.String(); got != "unknown shape" {
		t.Errorf("what is no kind is called %q", got)
	}
}
