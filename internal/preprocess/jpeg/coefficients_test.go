package jpeg

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"math/rand/v2"
	"testing"
)

// A coefWriter writes a file of given coefficients, divided into scans in any way that the
// standard allows: what comes out must not depend on it.
type coefWriter struct {
	buf     []byte
	acc     uint32
	n       uint
	restart int
}

// coded is a picture of coefficients: per component its factors and blocks in zigzag order, as
// many as whole MCUs take.
type coded struct {
	width, height int
	comps         []codedComponent
}

type codedComponent struct {
	h, v, across int // across is blocks in a row
	blocks       [][64]int
}

// A script is one scan: its components, and what part of the coefficients it has.
type script struct {
	comps          []int
	ss, se, ah, al int
}

func (w *coefWriter) bits(v uint32, n int) {
	for i := n - 1; i >= 0; i-- {
		w.acc, w.n = w.acc<<1|v>>i&1, w.n+1
		if w.n == 8 {
			w.buf = append(w.buf, byte(w.acc))
			if byte(w.acc) == 0xFF {
				w.buf = append(w.buf, 0)
			}
			w.acc, w.n = 0, 0
		}
	}
}

func (w *coefWriter) flush() {
	for w.n != 0 {
		w.bits(1, 1)
	}
}

// The tables are as plain as can be: DC symbols have codes of 5 bits, AC symbols of 8, but for
// the last, which would be all ones.
func (w *coefWriter) dcSymbol(s int) { w.bits(uint32(s), 5) }

func (w *coefWriter) acSymbol(s int) {
	if s == 255 {
		w.bits(510, 9)
		return
	}
	w.bits(uint32(s), 8)
}

func plainTables() []byte {
	dc := make([]byte, 17)
	dc[5] = 16
	ac := make([]byte, 17)
	ac[0], ac[8], ac[9] = 0x10, 255, 1
	for s := range 16 {
		dc = append(dc, byte(s))
	}
	for s := range 256 {
		ac = append(ac, byte(s))
	}
	return append(dc, ac...)
}

// sizeOf is how many bits a number has, and the bits that stand for it (T.81 §F.1.2.1).
func sizeOf(v int) (size int, bits uint32) {
	for a := max(v, -v); a > 0; a >>= 1 {
		size++
	}
	if v < 0 {
		v += 1<<size - 1
	}
	return size, uint32(v)
}

// shifted is a coefficient without its al lowest bits, rounded towards zero.
func shifted(v, al int) int {
	if v < 0 {
		return -(-v >> al)
	}
	return v >> al
}

func (w *coefWriter) segment(marker byte, content []byte) {
	w.buf = append(w.buf, 0xFF, marker)
	w.buf = binary.BigEndian.AppendUint16(w.buf, uint16(len(content)+2))
	w.buf = append(w.buf, content...)
}

// write writes a file with these scans.
func (p *coded) write(frame byte, restart int, quant [64]byte, scans []script) []byte {
	w := &coefWriter{restart: restart, buf: []byte{0xFF, markerSOI}}
	w.segment(markerDQT, append([]byte{0}, quant[:]...))
	head := []byte{8, byte(p.height >> 8), byte(p.height), byte(p.width >> 8), byte(p.width), byte(len(p.comps))}
	for i, c := range p.comps {
		head = append(head, byte(i+1), byte(c.h<<4|c.v), 0)
	}
	w.segment(frame, head)
	w.segment(markerDHT, plainTables())
	if restart > 0 {
		w.segment(markerDRI, []byte{byte(restart >> 8), byte(restart)})
	}
	for _, s := range scans {
		head := []byte{byte(len(s.comps))}
		for _, c := range s.comps {
			head = append(head, byte(c+1), 0)
		}
		w.segment(markerSOS, append(head, byte(s.ss), byte(s.se), byte(s.ah<<4|s.al)))
		w.scan(p, s, frame == markerSOF2)
		w.flush()
	}
	return append(w.buf, 0xFF, markerEOI)
}

// scan writes the blocks of a scan in their order, with restart markers in between.
func (w *coefWriter) scan(p *coded, s script, progressive bool) {
	pred := make([]int, len(p.comps))
	n, rst := 0, byte(0)
	begin := func() {
		if w.restart > 0 && n > 0 && n%w.restart == 0 {
			w.flush()
			w.buf = append(w.buf, 0xFF, markerRST0+rst)
			rst = (rst + 1) & 7
			clear(pred)
		}
		n++
	}
	block := func(ci, x, y int) {
		c := &p.comps[ci]
		w.block(&c.blocks[y*c.across+x], &pred[ci], s, progressive)
	}
	maxH, maxV := 1, 1
	for _, c := range p.comps {
		maxH, maxV = max(maxH, c.h), max(maxV, c.v)
	}
	if len(s.comps) == 1 {
		c := p.comps[s.comps[0]]
		for y := range ceilDiv(p.height*c.v, 8*maxV) {
			for x := range ceilDiv(p.width*c.h, 8*maxH) {
				begin()
				block(s.comps[0], x, y)
			}
		}
		return
	}
	for my := range ceilDiv(p.height, 8*maxV) {
		for mx := range ceilDiv(p.width, 8*maxH) {
			begin()
			for _, ci := range s.comps {
				c := p.comps[ci]
				for i := range c.h * c.v {
					block(ci, mx*c.h+i%c.h, my*c.v+i/c.h)
				}
			}
		}
	}
}

func (w *coefWriter) block(b *[64]int, pred *int, s script, progressive bool) {
	if s.ss == 0 {
		dc := b[0] >> s.al
		if s.ah > 0 {
			w.bits(uint32(dc&1), 1)
		} else {
			size, bits := sizeOf(dc - *pred)
			*pred = dc
			w.dcSymbol(size)
			w.bits(bits, size)
		}
		if progressive {
			return
		}
	}
	if s.ah > 0 {
		w.refine(b, s)
		return
	}
	run := 0
	for k := max(s.ss, 1); k <= s.se; k++ {
		v := shifted(b[k], s.al)
		if v == 0 {
			run++
			continue
		}
		for ; run > 15; run -= 16 {
			w.acSymbol(0xF0)
		}
		size, bits := sizeOf(v)
		w.acSymbol(run<<4 | size)
		w.bits(bits, size)
		run = 0
	}
	if run > 0 {
		w.acSymbol(0)
	}
}

// refine writes one more bit of a band: symbols for what is new, and behind each of them the bits
// of what was passed (T.81 §G.1.2.3).
func (w *coefWriter) refine(b *[64]int, s script) {
	last := 0 // the last new coefficient
	for k := s.ss; k <= s.se; k++ {
		if v := shifted(b[k], s.al); v == 1 || v == -1 {
			last = k
		}
	}
	var passed []uint32
	run := 0
	emit := func(symbol int, sign ...uint32) {
		w.acSymbol(symbol)
		for _, bit := range append(sign, passed...) {
			w.bits(bit, 1)
		}
		passed, run = nil, 0
	}
	for k := s.ss; k <= s.se; k++ {
		v := shifted(b[k], s.al)
		if v == 0 {
			if run++; run == 16 && k < last {
				emit(0xF0)
			}
			continue
		}
		if v != 1 && v != -1 {
			passed = append(passed, uint32(max(v, -v)&1))
			continue
		}
		emit(run<<4|1, uint32(v+1)/2)
	}
	if run > 0 || passed != nil {
		emit(0)
	}
}

// random makes a picture of sparse coefficients.
func random(rng *rand.Rand, width, height int, factors ...[2]int) *coded {
	p := &coded{width: width, height: height}
	maxH, maxV := 1, 1
	for _, f := range factors {
		maxH, maxV = max(maxH, f[0]), max(maxV, f[1])
	}
	for _, f := range factors {
		c := codedComponent{h: f[0], v: f[1], across: ceilDiv(width, 8*maxH) * f[0]}
		c.blocks = make([][64]int, c.across*ceilDiv(height, 8*maxV)*f[1])
		for i := range c.blocks {
			c.blocks[i][0] = rng.IntN(200) - 100
			for range rng.IntN(12) {
				c.blocks[i][1+rng.IntN(63)] = (rng.IntN(63) - 31) >> rng.IntN(5)
			}
		}
		// Blocks beyond the picture are in interleaved scans only: nobody sees them.
		p.comps = append(p.comps, c)
	}
	return p
}

func TestPixelsDoNotDependOnHowCoefficientsAreDividedIntoScans(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	all := []int{0, 1, 2}
	divisions := map[string]struct {
		frame byte
		scans []script
	}{
		"one scan, extended":       {markerSOF1, []script{{all, 0, 63, 0, 0}}},
		"a scan for each":          {markerSOF0, []script{{all[:1], 0, 63, 0, 0}, {all[1:2], 0, 63, 0, 0}, {all[2:], 0, 63, 0, 0}}},
		"colours first":            {markerSOF0, []script{{all[1:], 0, 63, 0, 0}, {all[:1], 0, 63, 0, 0}}},
		"DC before AC":             {markerSOF2, []script{{all, 0, 0, 0, 0}, {all[:1], 1, 63, 0, 0}, {all[1:2], 1, 63, 0, 0}, {all[2:], 1, 63, 0, 0}}},
		"bands":                    {markerSOF2, []script{{all, 0, 0, 0, 0}, {all[:1], 40, 63, 0, 0}, {all[:1], 1, 39, 0, 0}, {all[1:2], 1, 1, 0, 0}, {all[1:2], 2, 63, 0, 0}, {all[2:], 1, 63, 0, 0}}},
		"DC bit by bit":            {markerSOF2, []script{{all, 0, 0, 0, 2}, {all, 0, 0, 2, 1}, {all, 0, 0, 1, 0}, {all[:1], 1, 63, 0, 0}, {all[1:2], 1, 63, 0, 0}, {all[2:], 1, 63, 0, 0}}},
		"AC bit by bit":            {markerSOF2, []script{{all, 0, 0, 0, 0}, {all[:1], 1, 63, 0, 3}, {all[:1], 1, 63, 3, 2}, {all[:1], 1, 63, 2, 1}, {all[:1], 1, 63, 1, 0}, {all[1:2], 1, 63, 0, 1}, {all[1:2], 1, 63, 1, 0}, {all[2:], 1, 63, 0, 0}}},
		"a DC scan for each":       {markerSOF2, []script{{all[2:], 0, 0, 0, 0}, {all[1:2], 0, 0, 0, 0}, {all[:1], 0, 0, 0, 0}, {all[:1], 1, 63, 0, 0}, {all[1:2], 1, 63, 0, 0}, {all[2:], 1, 63, 0, 0}}},
		"bits of bands in between": {markerSOF2, []script{{all, 0, 0, 0, 1}, {all[:1], 1, 5, 0, 2}, {all[:1], 6, 63, 0, 2}, {all[:1], 1, 63, 2, 1}, {all, 0, 0, 1, 0}, {all[:1], 1, 63, 1, 0}, {all[1:2], 1, 63, 0, 0}, {all[2:], 1, 63, 0, 0}}},
	}
	var quant [64]byte
	for k := range quant {
		quant[k] = byte(1 + k/4)
	}
	var d Decoder
	for _, factors := range [][][2]int{{{1, 1}, {1, 1}, {1, 1}}, {{2, 2}, {1, 1}, {1, 1}}, {{2, 1}, {1, 1}, {2, 1}}, {{1, 4}, {1, 1}, {1, 2}}} {
		p := random(rng, 1+rng.IntN(50), 1+rng.IntN(50), factors...)
		one := script{all, 0, 63, 0, 0}
		want, err := d.Decode(p.write(markerSOF0, 0, quant, []script{one}), nil)
		if err != nil || want.Damaged {
			t.Fatal(err, want.Damaged)
		}
		for name, division := range divisions {
			for _, restart := range []int{0, 1, 3, 300} {
				file := p.write(division.frame, restart, quant, division.scans)
				got, err := new(Decoder).Decode(file, nil)
				if err != nil || got.Damaged || !bytes.Equal(got.Pix, want.Pix) {
					t.Errorf("%d×%d, factors %v, %s, restart interval %d: damaged: %v, error: %v, or other pixels", p.width, p.height, factors, name, restart, got.Damaged, err)
				}
			}
		}
	}
}

// A lone component is not interleaved, whatever its factors say.
func TestAGrayFileHasNoMCUsOfSeveralBlocks(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	var quant [64]byte
	for k := range quant {
		quant[k] = 3
	}
	p := random(rng, 37, 21, [2]int{1, 1})
	want, err := new(Decoder).Decode(p.write(markerSOF0, 0, quant, []script{{[]int{0}, 0, 63, 0, 0}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, factors := range [][2]int{{2, 2}, {4, 1}, {1, 3}} {
		p.comps[0].h, p.comps[0].v = factors[0], factors[1]
		for _, frame := range []byte{markerSOF0, markerSOF2} {
			scans := []script{{[]int{0}, 0, 63, 0, 0}}
			if frame == markerSOF2 {
				scans = []script{{[]int{0}, 0, 0, 0, 0}, {[]int{0}, 1, 63, 0, 0}}
			}
			got, err := new(Decoder).Decode(p.write(frame, 5, quant, scans), nil)
			if err != nil || !bytes.Equal(got.Pix, want.Pix) {
				t.Errorf("factors %v, frame %02X: other pixels, or %v", factors, frame, err)
			}
		}
	}
}

func TestQuantisationTablesOfEightAndSixteenBitsAreTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 3))
	var quant [64]byte
	wide := []byte{0x10}
	for k := range quant {
		quant[k] = byte(1 + rng.IntN(20))
		wide = append(wide, 0, quant[k])
	}
	file := random(rng, 20, 20, [2]int{1, 1}).write(markerSOF1, 0, quant, []script{{[]int{0}, 0, 63, 0, 0}})
	want, err := new(Decoder).Decode(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	const dqt = 4 + 1 + 64
	w := &coefWriter{buf: bytes.Clone(file[:2])}
	w.segment(markerDQT, wide)
	got, err := new(Decoder).Decode(append(w.buf, file[2+dqt:]...), nil)
	if err != nil || !bytes.Equal(got.Pix, want.Pix) {
		t.Errorf("a table of 16 bits gives other pixels, or %v", err)
	}
}

// Scans that no progressive file may have, by T.81 table G.1 as libjpeg reads it.
func TestScansThatAreNotAllowedAreErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 4))
	p := random(rng, 16, 16, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1})
	all := []int{0, 1, 2}
	for _, c := range []struct {
		name string
		scan script
		ok   bool
	}{
		{"DC of all", script{all, 0, 0, 0, 0}, true},
		{"DC with 13 bits to come", script{all, 0, 0, 0, 13}, true},
		{"DC with 14 bits to come", script{all, 0, 0, 0, 14}, false},
		{"DC and AC", script{all[:1], 0, 5, 0, 0}, false},
		{"AC of one", script{all[:1], 1, 63, 0, 0}, true},
		{"AC of two", script{all[:2], 1, 63, 0, 0}, false},
		{"a band backwards", script{all[:1], 5, 4, 0, 0}, false},
		{"a band of one", script{all[:1], 5, 5, 0, 0}, true},
		{"a band beyond the block", script{all[:1], 1, 64, 0, 0}, false},
		{"a second bit that is not the next", script{all, 0, 0, 3, 1}, false},
		{"a second bit", script{all, 0, 0, 2, 1}, true},
	} {
		scan := script{c.scan.comps, c.scan.ss, min(c.scan.se, 63), c.scan.ah, c.scan.al}
		file := p.write(markerSOF2, 0, [64]byte{1}, []script{scan})
		at := bytes.LastIndex(file, []byte{0xFF, markerSOS})
		file[at+4+1+2*len(scan.comps)+1] = byte(c.scan.se)
		_, err := new(Decoder).Decode(file, nil)
		want := fmt.Sprintf("scan 1: progression Ss=%d Se=%d Ah=%d Al=%d of %d components is not allowed",
			c.scan.ss, c.scan.se, c.scan.ah, c.scan.al, len(c.scan.comps))
		if c.ok && err != nil || !c.ok && (err == nil || err.Error() != want) {
			t.Errorf("%s: error %v, want %q: %v", c.name, err, want, !c.ok)
		}
	}
}

// Each sample of the smaller plane is a square of pixels; between two of them there is the
// mean of both, weighted by distance. The slow definition of jdsample.c's smooth upsampling.
func TestUpsamplingFollowsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 5))
	at := func(row []uint8, x int) int { return int(row[min(max(x, 0), len(row)-1)]) }
	for width := 1; width < 40; width++ {
		near, far := make([]uint8, width), make([]uint8, width)
		for x := range near {
			near[x], far[x] = uint8(rng.IntN(256)), uint8(rng.IntN(256))
		}
		sideways, both := make([]uint8, 2*width), make([]uint8, 2*width)
		widen(sideways, near, near, 4, 8)
		widen(both, near, far, 8, 7)
		down := make([]uint8, width)
		upsample1x2(down, near, far, 2)
		repeated := make([]uint8, 3*width)
		repeat(repeated, near, 3)
		for x := range 2 * width {
			other := x/2 - 1 + x%2*2
			want := (3*at(near, x/2) + at(near, other) + 1 + x%2) / 4
			if int(sideways[x]) != want {
				t.Errorf("width %d: sideways[%d] = %d, want %d", width, x, sideways[x], want)
			}
			want = (9*at(near, x/2) + 3*at(near, other) + 3*at(far, x/2) + at(far, other) + 8 - x%2) / 16
			if int(both[x]) != want {
				t.Errorf("width %d: both[%d] = %d, want %d", width, x, both[x], want)
			}
		}
		for x := range width {
			if want := (3*at(near, x) + at(far, x) + 2) / 4; int(down[x]) != want {
				t.Errorf("width %d: down[%d] = %d, want %d", width, x, down[x], want)
			}
			if r := repeated[3*x:]; r[0] != near[x] || r[1] != near[x] || r[2] != near[x] {
				t.Errorf("width %d: sample %d = %d is repeated as %v", width, x, near[x], r[:3])
			}
		}
	}
}

func TestAPartThatIsEmptyOrBeyondThePictureIsNoError(t *testing.T) {
	data := encode(t, 20, 10, 80)
	whole, err := new(Decoder).Decode(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string]image.Rectangle{
		"nothing":          {},
		"beside it":        image.Rect(30, 30, 40, 40),
		"more than all":    image.Rect(-5, -5, 100, 100),
		"beyond one side":  image.Rect(10, -3, 30, 5),
		"the last pixel":   image.Rect(19, 9, 20, 10),
		"inside out, none": {Min: image.Pt(10, 5), Max: image.Pt(5, 2)},
	} {
		got, err := new(Decoder).DecodePart(data, nil, func(Config) image.Rectangle { return part })
		if err != nil || len(got.Pix) != len(whole.Pix) {
			t.Errorf("%s: %d bytes, %v", name, len(got.Pix), err)
			continue
		}
		inside := part.Intersect(image.Rect(0, 0, 20, 10))
		for y := inside.Min.Y; y < inside.Max.Y; y++ {
			from, to := 3*(20*y+inside.Min.X), 3*(20*y+inside.Max.X)
			if !bytes.Equal(got.Pix[from:to], whole.Pix[from:to]) {
				t.Errorf("%s: row %d differs", name, y)
			}
		}
	}
}

// The differences of DC coefficients add up; libjpeg gives up where the sum leaves 32 bits.
func TestDCCoefficientsBeyond32BitsAreAnError(t *testing.T) {
	const side = 257 * 8 // 66049 blocks, of which 65538 are enough
	file := func(blocks int) []byte {
		w := &coefWriter{buf: []byte{0xFF, markerSOI}}
		w.segment(markerDQT, append(make([]byte, 1), bytes.Repeat([]byte{1}, 64)...))
		w.segment(markerSOF2, []byte{8, side >> 8, side & 0xFF, side >> 8, side & 0xFF, 1, 1, 0x11, 0})
		w.segment(markerDHT, plainTables())
		w.segment(markerSOS, []byte{1, 1, 0, 0, 0, 0})
		w.flush()
		for range blocks {
			w.dcSymbol(15)
			w.bits(1<<15-1, 15)
		}
		w.flush()
		return append(w.buf, 0xFF, markerEOI)
	}
	if _, err := new(Decoder).Decode(file(65538), nil); err != nil {
		t.Errorf("a sum of %d: %v", 65538*32767, err)
	}
	if _, err := new(Decoder).Decode(file(65540), nil); err == nil || err.Error() != "scan 1: DC coefficient exceeds 32 bits" {
		t.Errorf("a sum of %d: %v", 65540*32767, err)
	}
}
