package jpeg

import (
	"errors"
	"fmt"
	"slices"
)

// maxScans bounds the work that a small hostile file can ask for. Encoders write
// about ten scans; libjpeg has no limit.
const maxScans = 1000

// A scan is what SOS says, and how its MCUs are laid out.
type scan struct {
	number int // counts from 1
	comps  []*component
	dcSlot [4]uint8 // by position in comps, like the following
	acSlot [4]uint8

	ss, se, ah, al int // spectral selection and successive approximation

	mcusX, mcusY int
	rowsPerMCU   int // rows of MCUs of this scan in one row of interleaved MCUs
	blocks       []mcuBlock
}

// An mcuBlock is the place of one block in an MCU.
type mcuBlock struct {
	comp   *component
	pos    int // of comp in the scan
	dx, dy int // in blocks, from the MCU's first block of that component
	mx, my int // size of the MCU, in blocks of that component
}

// readScanHeader reads a SOS segment.
func (d *Decoder) readScanHeader() error {
	s, f := &d.scan, &d.frame
	if !f.seen {
		return errors.New("scan without a frame header")
	}
	seg, err := d.src.segment()
	if err != nil {
		return fmt.Errorf("scan header: %w", err)
	}
	if err := s.read(seg, f); err != nil {
		return err
	}
	s.number++
	if s.number > maxScans {
		return fmt.Errorf("more than %d scans", maxScans)
	}
	return nil
}

// read takes the components of a scan, and what part of their coefficients it has.
func (s *scan) read(seg []byte, f *frame) error {
	if len(seg) < 1 || seg[0] < 1 || seg[0] > maxComponents || len(seg) != 4+2*int(seg[0]) {
		return fmt.Errorf("scan header has a wrong length of %d bytes", len(seg))
	}
	n := int(seg[0])
	s.comps = s.comps[:0]
	for i := range n {
		id, slots := seg[1+2*i], seg[2+2*i]
		if err := s.add(f, id); err != nil {
			return err
		}
		s.dcSlot[i], s.acSlot[i] = slots>>4, slots&15
	}
	tail := seg[1+2*n:]
	s.ss, s.se, s.ah, s.al = int(tail[0]), int(tail[1]), int(tail[2]>>4), int(tail[2]&15)
	return nil
}

// add appends the component with the given id. As in libjpeg, the order must be that
// of the frame header.
func (s *scan) add(f *frame, id uint8) error {
	for ci := range f.comps {
		c := &f.comps[ci]
		if c.id == id && ci >= len(s.comps) && !slices.Contains(s.comps, c) {
			s.comps = append(s.comps, c)
			return nil
		}
	}
	return fmt.Errorf("scan %d has an unknown, repeated or misplaced component %d", s.number+1, id)
}

// start lays out the MCUs of the scan and fixes the quantisation tables of components
// that have their first scan.
func (s *scan) start(f *frame, t *tables) error {
	s.blocks = s.blocks[:0]
	if len(s.comps) == 1 { // not interleaved: an MCU is one block
		c := s.comps[0]
		s.mcusX, s.mcusY, s.rowsPerMCU = c.blocksX, c.blocksY, c.v
		s.blocks = append(s.blocks, mcuBlock{comp: c, mx: 1, my: 1})
		return c.latch(t)
	}
	s.mcusX, s.mcusY, s.rowsPerMCU = f.mcusX, f.mcusY, 1
	for i, c := range s.comps {
		for dy := range c.v {
			for dx := range c.h {
				s.blocks = append(s.blocks, mcuBlock{comp: c, pos: i, dx: dx, dy: dy, mx: c.h, my: c.v})
			}
		}
		if err := c.latch(t); err != nil {
			return err
		}
	}
	if len(s.blocks) > maxMCUBlocks {
		return fmt.Errorf("MCU has %d blocks, want at most %d", len(s.blocks), maxMCUBlocks)
	}
	return nil
}

// latch keeps the quantisation table that is current when the component's first scan
// begins.
func (c *component) latch(t *tables) error {
	if c.quantOK {
		return nil
	}
	if c.quantSlot >= 4 || !t.quantOK[c.quantSlot] {
		return fmt.Errorf("component %d has no quantisation table %d", c.id, c.quantSlot)
	}
	c.quant, c.quantOK = t.quant[c.quantSlot], true
	for k := range c.deq {
		c.deq[k] = uint32(c.quant[min(k, 63)])<<8 | uint32(naturalOrder[k])
	}
	return nil
}

// decodeScans decodes everything up to the samples of the components.
func (d *Decoder) decodeScans() error {
	f := &d.frame
	if !f.progressive && len(d.scan.comps) == len(f.comps) {
		if err := d.startScan(); err != nil {
			return err
		}
		f.allocateSamples()
		d.decodeOnePass()
		return nil // libjpeg does not mind what follows
	}
	if err := d.decodeBuffered(); err != nil {
		return err
	}
	f.allocateSamples()
	if f.progressive && f.needsSmoothing(d.scan.number) {
		d.ent.damaged = true
		d.transformSmoothed()
	} else {
		f.transformAll()
	}
	return nil
}

func (f *frame) allocateSamples() {
	for i := range f.comps {
		c := &f.comps[i]
		c.samples = resized(c.samples, c.stride*8*c.blocksY)
	}
}

// startScan prepares the first or a later scan for decoding.
func (d *Decoder) startScan() error {
	if err := d.scan.start(&d.frame, &d.tables); err != nil {
		return err
	}
	if d.frame.progressive {
		if err := d.scan.noteProgression(); err != nil {
			return fmt.Errorf("scan %d: %w", d.scan.number, err)
		}
	}
	if err := d.ent.start(&d.src, &d.frame, &d.scan, &d.tables); err != nil {
		return fmt.Errorf("scan %d: %w", d.scan.number, err)
	}
	return nil
}

// decodeOnePass decodes a sequential file of a single scan straight into samples.
func (d *Decoder) decodeOnePass() {
	s, e := &d.scan, &d.ent
	for my := range s.mcusY {
		for mx := range s.mcusX {
			e.beginMCU(&d.src)
			for i := range s.blocks {
				b := &s.blocks[i]
				d.decodeSamples(b, mx*b.mx+b.dx, my*b.my+b.dy)
			}
			e.endMCU()
		}
	}
}

// decodeSamples decodes one block to the samples at block position x, y. Blocks that
// are not wanted, or only fill up the last MCU of a row or column, are decoded to get
// past them.
func (d *Decoder) decodeSamples(m *mcuBlock, x, y int) {
	e, c := &d.ent, m.comp
	var nonZero uint64
	var sum int64
	if !e.short {
		slot := &e.slots[m.pos]
		nonZero, sum = e.bits.block(&e.coefs, slot.dc, slot.ac, &c.deq, &e.dcPred[m.pos])
	}
	if w := &c.wanted; x >= w.Min.X && x < w.Max.X && y >= w.Min.Y && y < w.Max.Y {
		inverse(c.samples[8*(y*c.stride+x):], c.stride, &e.coefs, nonZero, sum)
	}
	if nonZero != 0 {
		e.coefs = block{}
	}
}

// decodeBuffered reads all scans of a file into the coefficient buffers.
func (d *Decoder) decodeBuffered() error {
	d.frame.allocateCoefs()
	for {
		if err := d.startScan(); err != nil {
			return err
		}
		if err := d.decodeCoefs(); err != nil {
			return fmt.Errorf("scan %d: %w", d.scan.number, err)
		}
		found, err := d.readMarkers()
		if err != nil || !found {
			return err
		}
	}
}

func (f *frame) allocateCoefs() {
	for i := range f.comps {
		c := &f.comps[i]
		c.coefStride = f.mcusX * c.h
		c.coefs = resized(c.coefs, c.coefStride*f.mcusY*c.v)
		clear(c.coefs)
		for k := range c.bits {
			c.bits[k], c.prevBits[k] = -1, -1
		}
	}
}

// decodeCoefs decodes one scan into the coefficient buffers.
func (d *Decoder) decodeCoefs() error {
	s, e := &d.scan, &d.ent
	decode := e.blockDecoder(d.frame.progressive, s)
	for my := range s.mcusY {
		for mx := range s.mcusX {
			if !e.short {
				e.lastGood = my / s.rowsPerMCU
			} else if e.exhausted(&d.src) {
				return nil
			}
			e.beginMCU(&d.src)
			for i := range s.blocks {
				b := &s.blocks[i]
				at := (my*b.my+b.dy)*b.comp.coefStride + mx*b.mx + b.dx
				if err := decode(&b.comp.coefs[at], b.pos); err != nil {
					return err
				}
			}
			e.endMCU()
		}
	}
	return nil
}
