package jpeg

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// A plainFile is decoded as ITU-T T.81 has it: step by step, with the transform of its definition and nothing that is quick.
// It reads sequential files that are right.
type plainFile struct {
	width, height int
	comps         []plainComponent
	steps         [4][64]int
	dc, ac        [4]symbolCode
	restart       int
	maxH, maxV    int
}

type plainComponent struct {
	id, h, v, table int
	across          int // blocks in a row, whole MCUs
	blocks          map[int][64]int
	samples         func(x, y int) int
}

// plainly decodes a file to RGB.
func plainly(t *testing.T, data []byte) (width, height int, pixel func(x, y int) [3]float64) {
	t.Helper()
	var f plainFile
	for at := 2; data[at+1] != markerEOI; {
		marker, n := data[at+1], int(binary.BigEndian.Uint16(data[at+2:]))
		seg := data[at+4 : at+2+n]
		at += 2 + n
		switch marker {
		case markerDQT:
			f.readSteps(seg)
		case markerSOF0, markerSOF1:
			f.readFrame(seg)
		case markerDHT:
			f.readCodes(seg)
		case markerDRI:
			f.restart = int(binary.BigEndian.Uint16(seg))
		case markerSOS:
			at += f.readScan(seg, data[at:])
		}
	}
	for i := range f.comps {
		f.comps[i].transform(&f)
	}
	return f.width, f.height, f.pixel
}

func (f *plainFile) readSteps(seg []byte) {
	for len(seg) > 0 {
		table := seg[0] & 15
		for k := range 64 {
			f.steps[table][k] = int(seg[1+k])
		}
		seg = seg[65:]
	}
}

func (f *plainFile) readFrame(seg []byte) {
	f.height, f.width = int(binary.BigEndian.Uint16(seg[1:])), int(binary.BigEndian.Uint16(seg[3:]))
	for i := range int(seg[5]) {
		s := seg[6+3*i:]
		c := plainComponent{id: int(s[0]), h: int(s[1] >> 4), v: int(s[1] & 15), table: int(s[2]), blocks: map[int][64]int{}}
		f.comps = append(f.comps, c)
		f.maxH, f.maxV = max(f.maxH, c.h), max(f.maxV, c.v)
	}
	for i := range f.comps {
		f.comps[i].across = int(math.Ceil(float64(f.width)/float64(8*f.maxH))) * f.comps[i].h
	}
}

func (f *plainFile) readCodes(seg []byte) {
	for len(seg) > 0 {
		var spec huffSpec
		copy(spec.counts[1:], seg[1:17])
		copy(spec.values[:], seg[17:])
		if seg[0]>>4 == 0 {
			f.dc[seg[0]&15] = codeOf(&spec)
		} else {
			f.ac[seg[0]&15] = codeOf(&spec)
		}
		seg = seg[17+spec.size():]
	}
}

// readScan reads the MCUs behind a header, with the markers in between, and returns how many bytes that are.
func (f *plainFile) readScan(head, data []byte) int {
	var of []*plainComponent
	var dc, ac []symbolCode
	for i := range int(head[0]) {
		for k := range f.comps {
			if f.comps[k].id == int(head[1+2*i]) {
				of = append(of, &f.comps[k])
			}
		}
		dc, ac = append(dc, f.dc[head[2+2*i]>>4]), append(ac, f.ac[head[2+2*i]&15])
	}
	across, down := 8*f.maxH, 8*f.maxV // pixels of an MCU
	if len(of) == 1 {
		across, down = 8*f.maxH/of[0].h, 8*f.maxV/of[0].v
	}
	columns, rows := (f.width+across-1)/across, (f.height+down-1)/down
	at := 0
	var bits plainBits
	pred := make([]int, len(of))
	for mcu := range columns * rows {
		if mcu == 0 || f.restart > 0 && mcu%f.restart == 0 {
			coded, marker, n := plainSegment(data[at:])
			bits, pred = plainBits{data: coded}, make([]int, len(of))
			if at += n; marker < markerRST0 || marker > markerRST7 {
				at -= 2 // it is no part of the scan
			}
		}
		for i, c := range of {
			h, v := c.h, c.v
			if len(of) == 1 {
				h, v = 1, 1
			}
			for y := range v {
				for x := range h {
					c.blocks[(mcu/columns*v+y)*c.across+mcu%columns*h+x] = plainBlock(&bits, dc[i], ac[i], &pred[i])
				}
			}
		}
	}
	return at
}

// transform makes samples of the coefficients (T.81 §A.3.3).
func (c *plainComponent) transform(f *plainFile) {
	done := map[int][64]int{}
	block := func(i int) [64]int {
		if s, ok := done[i]; ok {
			return s
		}
		var natural [64]float64
		for k, v := range c.blocks[i] {
			natural[naturalOrder[k]] = float64(v * f.steps[c.table][k])
		}
		var out [64]int
		for at := range out {
			sum := 0.0
			for k, v := range natural {
				if v != 0 {
					sum += v * basis(k%8, at%8) * basis(k/8, at/8)
				}
			}
			out[at] = min(max(int(math.Round(sum))+128, 0), 255)
		}
		done[i] = out
		return out
	}
	// Beyond the samples of the picture, which are fewer than those of the blocks, its edge is repeated.
	width, height := (f.width*c.h+f.maxH-1)/f.maxH, (f.height*c.v+f.maxV-1)/f.maxV
	c.samples = func(x, y int) int {
		x, y = min(max(x, 0), width-1), min(max(y, 0), height-1)
		return block(y/8*c.across + x/8)[y%8*8+x%8]
	}
}

func basis(k, x int) float64 {
	v := math.Cos(float64(2*x+1)*float64(k)*math.Pi/16) / 2
	if k == 0 {
		v /= math.Sqrt2
	}
	return v
}

// at is a component at a pixel: smooth between samples where two pixels share one, else the nearest sample.
func (f *plainFile) at(c *plainComponent, x, y int) float64 {
	sx, sy := f.maxH/c.h, f.maxV/c.v
	smooth := (f.width*c.h+f.maxH-1)/f.maxH > 2
	type weighted struct{ at, weight int }
	along := func(v, scale int, smooth bool) []weighted {
		if scale != 2 || !smooth {
			return []weighted{{v / scale, 4}}
		}
		return []weighted{{v / 2, 3}, {v/2 - 1 + v%2*2, 1}}
	}
	// Sideways it is smooth by itself or in both directions, downwards by itself only where nothing is shared sideways.
	down := sy == 2 && (sx == 1 || sx == 2 && smooth)
	xs, ys := along(x, sx, smooth && (sy == 1 || sy == 2)), along(y, sy, down)
	sum := 0
	for _, a := range xs {
		for _, b := range ys {
			sum += a.weight * b.weight * c.samples(a.at, b.at)
		}
	}
	return float64(sum) / 16
}

// pixel is that of JFIF: BT.601 in the full range.
func (f *plainFile) pixel(x, y int) [3]float64 {
	light := f.at(&f.comps[0], x, y)
	if len(f.comps) == 1 {
		return [3]float64{light, light, light}
	}
	blue, red := f.at(&f.comps[1], x, y)-128, f.at(&f.comps[2], x, y)-128
	rgb := [3]float64{light + 1.402*red, light - 0.344136*blue - 0.714136*red, light + 1.772*blue}
	for i, v := range rgb {
		rgb[i] = min(max(v, 0), 255)
	}
	return rgb
}

// agree compares a file with its plain decoding. Rounded are samples, sums of neighbours and colours, a level each at most,
// of which those of colours count up to 1.8 times.
func agree(t *testing.T, name string, data []byte) {
	t.Helper()
	img, err := new(Decoder).Decode(data, nil)
	if err != nil || img.Damaged {
		t.Fatalf("%s: damaged %v, %v", name, img.Damaged, err)
	}
	width, height, pixel := plainly(t, data)
	if img.Width != width || img.Height != height {
		t.Fatalf("%s: %d×%d pixels, want %d×%d", name, img.Width, img.Height, width, height)
	}
	for y := range height {
		for x := range width {
			want := pixel(x, y)
			for i, v := range img.Pix[3*(y*width+x):][:3] {
				if math.Abs(float64(v)-want[i]) > 4.5 {
					t.Fatalf("%s: channel %d at %d, %d is %d, want %.1f", name, i, x, y, v, want[i])
				}
			}
		}
	}
}

func TestPicturesAreThoseOfTheStandard(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 1))
	for range 25 {
		data := ours(t, rng, 30)
		agree(t, "an encoded picture", data)
	}
	for range 10 {
		agree(t, "another encoder's picture", encode(t, 1+rng.IntN(30), 1+rng.IntN(30), 1+rng.IntN(100)))
	}
}

// Coefficients of any factors, which no encoder of ours writes.
func TestAnySamplingIsThatOfTheStandard(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 2))
	var quant [64]byte
	for k := range quant {
		quant[k] = byte(1 + k/8)
	}
	for _, factors := range [][3][2]int{
		{{1, 1}, {1, 1}, {1, 1}}, {{2, 2}, {1, 1}, {1, 1}}, {{2, 1}, {1, 1}, {1, 1}}, {{1, 2}, {1, 1}, {1, 1}}, {{4, 1}, {1, 1}, {1, 1}},
		{{2, 2}, {2, 1}, {1, 2}}, {{1, 1}, {2, 2}, {1, 2}}, {{4, 2}, {1, 1}, {1, 1}}, {{2, 4}, {1, 1}, {1, 1}}, {{3, 1}, {1, 1}, {1, 1}},
	} {
		p := random(rng, 1+rng.IntN(40), 1+rng.IntN(40), factors[0], factors[1], factors[2])
		for _, c := range p.comps { // no more than what is a picture: sums that leave 16 bits are libjpeg's own
			for i := range c.blocks {
				for k := range c.blocks[i] {
					c.blocks[i][k] /= 1 + k/4
				}
			}
		}
		all := []int{0, 1, 2}
		agree(t, "interleaved", p.write(markerSOF0, rng.IntN(4), quant, []script{{all, 0, 63, 0, 0}}))
		agree(t, "one after the other", p.write(markerSOF1, rng.IntN(4), quant, []script{{all[:1], 0, 63, 0, 0}, {all[1:2], 0, 63, 0, 0}, {all[2:], 0, 63, 0, 0}}))
	}
}
